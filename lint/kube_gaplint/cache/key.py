"""What a run depends on besides files: its command line, its surroundings, and gaplint's own code."""

from __future__ import annotations

import os
import struct
import sys
import time

from kube_gaplint import BUILTIN_PACK
from kube_gaplint.trace import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from kube_gaplint.cache.shelf import Shelf

ENVIRONMENT = ("CI_PROJECT_DIR", "COLUMNS", "GAPLINT_DEBUG", "GITHUB_WORKSPACE", "NO_COLOR", "TERM")
"""The variables that a run reads."""
FORMAT = "1"
"""Of the entries: another number for another meaning."""
CODE = ".code"
"""The ending of the files that say which code stands behind the state of its files."""
SETTLED = 2_000_000_000
"""Nanoseconds after which a change of a file shows in its times for sure, whatever the system's clock is good for."""
_LOOK = struct.Struct("<qqqQ")
"""Size, mtime and ctime (ns) and inode of a file."""


def of(arguments: Sequence[str], code: bytes) -> bytes:
    """The key of a run, from its command line and the digest of the code that runs."""
    parts = [
        FORMAT.encode(),
        code,
        os.fsencode(os.getcwd()),
        f"{os.geteuid()} {os.getegid()} {sorted(os.getgroups())}".encode(),
        f"{sys.getfilesystemencoding()} {_stream(sys.stdout)} {_stream(sys.stderr)} {_terminal()}".encode(),
        *(os.fsencode(f"{name}={os.environ.get(name)!r}") for name in ENVIRONMENT),
        *map(os.fsencode, arguments),
    ]
    return digest_of(b"".join(b"%d:%b" % (len(part), part) for part in parts))


def code(shelf: Shelf | None) -> bytes:
    """The digest of the code that runs: Python, the packages there are, and all of gaplint's files. Raises OSError.

    It depends on contents alone, so that it is the same on another machine. As reading them all takes its time, `shelf`
    keeps the digest for as long as the files look the same.
    """
    look, settled = _look()
    name = look.hex() + CODE
    known = None if shelf is None else shelf.get(name)
    if known is not None and len(known) == 2 * len(look) and known.startswith(digest_of(known[len(look) :], look)):
        return known[len(look) :]
    found = _contents()
    if shelf is not None and settled:
        shelf.put(name, digest_of(found, look) + found)
    return found


def _look() -> tuple[bytes, bool]:
    """A digest of how the code's files look from outside, and whether none has changed just now."""
    parts = [sys.version, sys.prefix]
    numbers = []
    latest = 0
    for path in sys.path:
        try:
            status = os.stat(path or os.curdir)
        except OSError:
            parts.append(path)
            continue
        parts += [path, str(status.st_dev), str(status.st_ino), str(status.st_mtime_ns), str(status.st_ctime_ns)]
        latest = max(latest, status.st_ctime_ns)
    for package in _packages():
        parts.append(package)
        for path, status in _files_in(package):
            changed = status.st_ctime_ns
            parts.append(path)
            numbers.append(_LOOK.pack(status.st_size, status.st_mtime_ns, changed, status.st_ino))
            latest = max(latest, changed)
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return digest_of(b"".join([text, *numbers])), latest < time.time_ns() - SETTLED


def _contents() -> bytes:
    parts = [os.fsencode(sys.version)]
    for path in sys.path:
        try:
            names = sorted(os.listdir(path or os.curdir))  # the folders *.dist-info tell versions
        except OSError:
            continue
        parts.append(os.fsencode("/".join([path, *names])))
    for package in _packages():
        for path, _ in sorted(_files_in(package)):
            with open(path, "rb") as file:
                parts += [os.fsencode(path), file.read()]
    return digest_of(b"".join(b"%d:%b" % (len(part), part) for part in parts))


def _packages() -> tuple[str, ...]:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__))), __import__(BUILTIN_PACK).__path__[0]


def _files_in(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The files of a package with their status: modules and data."""
    folders = [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        folders.append(entry.path)
                else:
                    yield entry.path, entry.stat()


def _stream(stream: TextIO | None) -> str:
    return "closed" if stream is None else f"{stream.encoding} {stream.errors} {stream.isatty()}"


def _terminal() -> str:
    """The size of the terminal that standard output is."""
    try:
        return "none" if sys.__stdout__ is None else str(os.get_terminal_size(sys.__stdout__.fileno()))
    except (OSError, ValueError):
        return "none"
