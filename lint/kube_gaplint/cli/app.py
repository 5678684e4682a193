"""The command `gaplint`: picks the command, runs it, and turns whatever happens into an exit code.

0 nothing at or above --fail-on · 1 findings · 2 the run itself is wrong · 3 nothing to check, with --fail-if-empty ·
130 interrupted · 141 the reader of the report went away · 143 terminated.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kube_gaplint import lean
from kube_gaplint.__main__ import version
from kube_gaplint.cli import console
from kube_gaplint.cli.failure import Failure, Misuse
from kube_gaplint.cli.names import COMMANDS, COMPLETION

try:  # without the enumerations that `signal` makes of all numbers, a hundredth of a short run
    import _signal as signal  # type: ignore[import-not-found]
except ImportError:  # another interpreter may have it under its public name alone
    import signal

if TYPE_CHECKING:
    from types import FrameType

FOUND = 1
WRONG = 2
EMPTY = 3
INTERRUPTED = 130
READER_GONE = 141
"""What a shell gives for a program that SIGPIPE has ended: whoever read standard output wants no more of it."""

CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Terminated(KeyboardInterrupt):
    """Somebody ended the run by a signal other than that of Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _stop_like_an_interrupt() -> None:
    """Let the signals that end a process unwind it, so that no part of a file stays behind."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Terminated(number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            try:
                signal.signal(number, stop)
            except ValueError:  # not in the main thread: whoever started it, ends it
                return


def run(arguments: Sequence[str]) -> int:
    """Run a command line (without the program's name) and return its exit code. Raises nothing."""
    try:
        _stop_like_an_interrupt()
        if os.environ.get(COMPLETION):
            from kube_gaplint.cli import completion

            return completion.answer(os.environ[COMPLETION])
        return _run(list(arguments))
    except Terminated as signalled:
        console.note("gaplint: terminated")
        return 128 + signalled.number
    except KeyboardInterrupt:
        console.note("gaplint: interrupted")
        return INTERRUPTED
    except Failure as problem:
        console.error(str(problem))
        return WRONG
    except OSError as problem:
        return not_written(problem)
    except Exception as problem:
        return _crashed(problem)


def not_written(problem: OSError) -> int:
    """The exit code of a run whose report could not be written; says why. Any other problem is a crash."""
    if isinstance(problem, BrokenPipeError):
        return READER_GONE
    if problem.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EAGAIN):
        return _crashed(problem)
    console.error(f"the report could not be written: {problem.strerror}")
    return WRONG


def _run(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    if first in ("-h", "--help"):
        from kube_gaplint.cli.clicked import overview

        console.write_out(overview())
        return 0
    if first in ("-V", "--version"):
        console.write_out(f"{version()}\n")
        return 0
    name = first if first in COMMANDS else "check"
    rest = arguments[1:] if first in COMMANDS else arguments
    try:
        code = _outcome(name, rest)
    except Misuse as problem:
        console.error(str(problem))
        console.hint(f"`gaplint {name} --help` lists the options")
        return WRONG
    if name == first and not rest and _may_be_linted(name):
        console.hint(f"{name!r} was taken as the command; to lint the path of that name: gaplint check {name}")
    return code


def _outcome(name: str, arguments: list[str]) -> int:
    """The exit code of a command. Linting with few options is read without click: it is a tenth of a short run."""
    if name == "check":
        lean.import_msgspec()
        lean.import_yaml_events()
        from kube_gaplint.cli import plain

        asked = plain.read(arguments)
        if asked is not None:
            from kube_gaplint.cli import checking

            return checking.run(asked)
    from kube_gaplint.cli import clicked

    return clicked.invoke(name, arguments)


def _may_be_linted(path: str) -> bool:
    """Whether a path that is called like a command is a file, or a folder with a manifest or script right in it."""
    from pathlib import Path

    from kube_gaplint.disk import file_names, is_file, is_folder
    from kube_gaplint.facts.candidates import SCRIPT_ENDINGS, YAML_ENDINGS

    if not is_folder(path):
        return is_file(path)
    return any(Path(name).suffix.lower() in YAML_ENDINGS | SCRIPT_ENDINGS for name in file_names(path))


def _crashed(problem: BaseException) -> int:
    if os.environ.get("GAPLINT_DEBUG") == "1":
        import traceback

        traceback.print_exception(problem)
        return WRONG
    what = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    console.error(
        f"gaplint itself failed ({what[:300]}).\n"
        "This is a bug. Please report it with the file that causes it and what GAPLINT_DEBUG=1 prints."
    )
    return WRONG
