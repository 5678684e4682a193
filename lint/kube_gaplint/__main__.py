"""The entry point. `--version` is answered here, before anything else is imported."""

import gc
import os
import sys


def version() -> str:
    """The versions of gaplint and of its rules, in one line."""
    from importlib import import_module

    from kube_gaplint import BUILTIN_PACK, __version__

    return f"gaplint {__version__} (rules {import_module(BUILTIN_PACK).__version__})"


def main() -> None:
    """The program: run, and end the process.

    It ends at once. The interpreter would first free all that the run has made, one by one, for nobody.
    """
    code = run()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # whoever wrote to it has told so; or it is closed
            continue
    os._exit(code)


def run() -> int:
    """Run gaplint with the arguments of the process; the result is its exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        try:
            print(version(), flush=True)
        except OSError as problem:
            sys.stdout = None  # or the interpreter tries again when it ends
            print(f"gaplint: error: the version could not be written: {problem.strerror}", file=sys.stderr)
            return 2
        return 0
    gc.disable()  # a run only builds up; what judges again and again switches the search for cycles on
    try:
        from kube_gaplint.cli.names import is_check

        if not is_check(arguments):
            return _command(arguments)
        from kube_gaplint.cache import place

        if place.switched_off(arguments):
            return _command(arguments)
        from kube_gaplint.cache import replay

        return replay.run(arguments, lambda: _command(arguments))
    except KeyboardInterrupt:  # while the modules were being imported
        return 130
    except OSError as problem:  # while a result was being repeated
        from kube_gaplint.cli.app import not_written

        return not_written(problem)


def _command(arguments: list[str]) -> int:
    from kube_gaplint.cli import app

    return app.run(arguments)


if __name__ == "__main__":
    main()
