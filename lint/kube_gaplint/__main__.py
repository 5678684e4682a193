"""The entry point. `--version` is answered here, before anything else is imported."""

import atexit
import gc
import sys


def version() -> str:
    """The versions of gaplint and of its rules, in one line."""
    from importlib import import_module

    from kube_gaplint import BUILTIN_PACK, __version__

    return f"gaplint {__version__} (rules {import_module(BUILTIN_PACK).__version__})"


def main() -> int:
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
    atexit.register(gc.freeze)  # the interpreter's last search for cycles would visit every node of every file
    try:
        from kube_gaplint.cli.names import is_check

        if not is_check(arguments):
            return _run(arguments)
        from kube_gaplint.cache import place

        if place.switched_off(arguments):
            return _run(arguments)
        from kube_gaplint.cache import replay

        return replay.run(arguments, lambda: _run(arguments))
    except KeyboardInterrupt:  # while the modules were being imported
        return 130
    except OSError as problem:  # while a result was being repeated
        from kube_gaplint.cli.app import not_written

        return not_written(problem)


def _run(arguments: list[str]) -> int:
    from kube_gaplint.cli.app import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
