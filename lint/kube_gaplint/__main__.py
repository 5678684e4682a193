"""The entry point. `--version` is answered here, before anything else is imported."""

import sys


def main() -> int:
    """Run gaplint with the arguments of the process; the result is its exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from kube_gaplint import __version__

        print(f"gaplint {__version__}")
        return 0
    try:
        from kube_gaplint.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:  # while the modules were being imported
        return 130


if __name__ == "__main__":
    sys.exit(main())
