"""The entry point. `--version` is answered here, before anything else is imported."""

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
    try:
        from kube_gaplint.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:  # while the modules were being imported
        return 130
    finally:
        gc.freeze()  # the interpreter's last search for cycles would visit every node of every file


if __name__ == "__main__":
    sys.exit(main())
