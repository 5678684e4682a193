"""Where gaplint speaks: standard output for results, standard error for everything else, files for reports."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TYPE_CHECKING, TextIO

from kube_gaplint import streams, trace
from kube_gaplint.report.escape import guarded, visible

if TYPE_CHECKING:
    from pathlib import Path

WIDTH_WITHOUT_TERMINAL = 100
_BOX = "─╭│├╰┆┃━…"


def width() -> int:
    """Columns of the terminal (COLUMNS overrides), or a fixed number where there is none."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns <= 0 and sys.__stdout__ is not None:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns
        except (ValueError, OSError):  # it is closed, or no terminal
            columns = 0
    return columns if columns > 0 else WIDTH_WITHOUT_TERMINAL


def wants_color(choice: str, stream: TextIO | None) -> bool:
    """Whether to colour: `always`, `never`, or `auto`: on a terminal without NO_COLOR."""
    if choice != "auto":
        return choice == "always"
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def is_ascii_only(stream: TextIO | None) -> bool:
    """Whether the stream's encoding lacks the characters that draw frames."""
    try:
        _BOX.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def write_out(text: str) -> None:
    """Write to standard output, whatever its encoding, and flush.

    Raises OSError: BrokenPipeError where the reader has gone (`| head`).
    """
    stream = sys.stdout
    if not text:
        return
    if stream is None:
        raise OSError(errno.EBADF, "standard output is closed")
    data = text.encode(stream.encoding or "utf-8", "backslashreplace")
    streams.write(stream, data)
    trace.said(trace.OUT, data)


def note(message: str) -> None:
    """A line on standard error. It may hold text from outside: it is made visible here."""
    stream = sys.stderr
    if stream is None:
        return
    lines = message.split("\n")
    text = "".join(f"{guarded(visible(line, ascii_only=is_ascii_only(stream)))}\n" for line in lines)
    trace.said(trace.ERROR, text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(OSError):  # there is nowhere else to tell it
        stream.write(text)
        stream.flush()


def error(message: str) -> None:
    note(f"gaplint: error: {message}")


def hint(message: str) -> None:
    note(f"gaplint: hint: {message}")


def write_file(path: Path, text: str) -> None:
    """Write a report so that it is there whole or not at all. Raises OSError.

    A device or pipe (`/dev/stderr`, a process substitution) is written to as it is. A link that leads out of its folder
    is not followed: it may come from the repository, and would let it choose which file is lost.
    """
    import tempfile
    from pathlib import Path

    data = text.encode("utf-8", "backslashreplace")
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve()
    folder = path.parent.resolve()
    if path.is_symlink() and not target.is_relative_to(folder) and folder != Path("/dev"):
        raise OSError(errno.ELOOP, "it is a symbolic link out of its folder, which is not followed")
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
