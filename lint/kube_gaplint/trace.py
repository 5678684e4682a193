"""What a run asks of the disk, what it is told, and what it says itself: all that is needed to repeat it.

A run is a function of its command line, its surroundings and the answers of the disk. Where the cache records one,
every question that passes here is noted with its answer (of contents and listings a digest, with the status of the
file); where all answers are still the same, the run would say the same again. Nobody but `disk` asks here.
"""

from __future__ import annotations

import struct

from kube_gaplint import filesystem
from kube_gaplint.filesystem import Refused

try:
    from _blake2 import blake2b  # as hashlib has it, without OpenSSL, which costs a third of a start
except ImportError:  # not every Python has it under this name
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself costs a third of a short run, and this is loaded by each
    import os
    from collections.abc import Callable
    from datetime import date
    from typing import TypeVar

    T = TypeVar("T")

OUT, ERROR = 1, 2
"""Where something is said: standard output (bytes), standard error (text as UTF-8)."""

READ, HEAD, ENTRIES, TYPE, EXISTS, REAL, BOUNDARY = "read", "head", "entries", "type", "exists", "real", "boundary"
"""The questions."""

SEEN = struct.Struct("<qqqQQq16s")
"""What was seen of a file or folder: size, mtime and ctime (ns), inode, device, `argument`, digest of the answer.

The argument tells the question: READ with its limit (above 0), HEAD with its size (below), ENTRIES (0).
"""
DIGEST = 16


def digest_of(data: bytes, key: bytes = b"") -> bytes:
    """The digest of some bytes (BLAKE2b, 128 bits); with a key, one that is good for that key alone."""
    return blake2b(data, digest_size=DIGEST, key=key).digest()


class Trace:
    """The record of one run."""

    __slots__ = ("answers", "complete", "day", "said", "seen", "spoiled")

    def __init__(self) -> None:
        self.seen: dict[tuple[str, int], bytes] = {}
        """By path and argument, what was seen, as `SEEN` packs it."""
        self.answers: dict[tuple[str, str, int], str] = {}
        """The answers to all other questions, and the failures of those, by question, path and argument."""
        self.said: list[tuple[int, bytes]] = []
        """In its order, where (OUT, ERROR) and what."""
        self.day = ""
        """The day (YYYY-MM-DD) that the result holds for, where it does not hold for others."""
        self.complete = False
        """Whether the run is known to stand on this record alone."""
        self.spoiled = False
        """Whether one question had two answers: the files changed meanwhile."""

    def note_seen(self, path: str, argument: int, status: os.stat_result, digest: bytes) -> None:
        known = self.seen.setdefault((path, argument), record := packed(status, argument, digest))
        if known is not record and known[-DIGEST:] != digest:
            self.spoiled = True

    def note(self, question: str, path: str, argument: int, answer: str) -> None:
        if self.answers.setdefault((question, path, argument), answer) != answer:
            self.spoiled = True

    def add(self, other: Trace) -> None:
        """Take over what another process has noted."""
        for key, record in other.seen.items():
            if self.seen.setdefault(key, record)[-DIGEST:] != record[-DIGEST:]:
                self.spoiled = True
        for (question, path, argument), answer in other.answers.items():
            self.note(question, path, argument, answer)
        self.said += other.said
        self.day = self.day or other.day
        self.spoiled |= other.spoiled


_current: Trace | None = None


def begin() -> Trace:
    """Record from here on."""
    global _current  # noqa: PLW0603 - the run of this process
    _current = Trace()
    return _current


def end() -> None:
    """Record no longer."""
    global _current  # noqa: PLW0603
    _current = None


def apart(work: Callable[[], T]) -> tuple[T, Trace | None]:
    """What `work` gives in a process that was forked off, with what it asked, for `take_over` there; None where
    nothing is recorded."""
    if _current is None:
        return work(), None
    noted = begin()
    return work(), noted


def take_over(noted: Trace | None) -> None:
    """Add what a forked process has noted."""
    if _current is not None and noted is not None:
        _current.add(noted)


def said(where: int, what: bytes) -> None:
    """Note what the run has said."""
    if _current is not None:
        _current.said.append((where, what))


def depends_on(day: date) -> None:
    """Note that the result depends on the day that it is."""
    if _current is not None:
        _current.day = day.isoformat()


def complete() -> None:
    """Note that the run stands on its command line, its surroundings and what is recorded, and on nothing else."""
    if _current is not None:
        _current.complete = True


def spoil() -> None:
    """Note that the run cannot be repeated from its record."""
    if _current is not None:
        _current.spoiled = True


# The questions


def entries(folder: str) -> list[tuple[str, str]]:
    """As `filesystem.entries`, without the status."""
    if _current is None:
        return filesystem.entries(folder)[0]
    try:
        found, status = filesystem.entries(folder)
    except OSError as problem:
        _current.note(ENTRIES, folder, 0, _failure(problem))
        raise
    _current.note_seen(folder, 0, status, _digest_of_entries(found))
    return found


def read(path: str, limit: int) -> bytes:
    """As `filesystem.read`, without the status."""
    if _current is None:
        return filesystem.read(path, limit)[0]
    try:
        data, status = filesystem.read(path, limit)
    except (OSError, Refused) as problem:
        _current.note(READ, path, limit, _failure(problem))
        raise
    _current.note_seen(path, limit, status, digest_of(data))
    return data


def head(path: str, size: int) -> bytes:
    """As `filesystem.head`, without the status."""
    if _current is None:
        return filesystem.head(path, size)[0]
    try:
        data, status = filesystem.head(path, size)
    except (OSError, Refused) as problem:
        _current.note(HEAD, path, size, _failure(problem))
        raise
    _current.note_seen(path, -size, status, digest_of(data))
    return data


def file_type(path: str) -> int:
    """As `filesystem.file_type`."""
    if _current is None:
        return filesystem.file_type(path)
    try:
        found = filesystem.file_type(path)
    except OSError as problem:
        _current.note(TYPE, path, 0, _failure(problem))
        raise
    _current.note(TYPE, path, 0, str(found))
    return found


def exists(path: str) -> bool:
    """As `filesystem.exists`."""
    found = filesystem.exists(path)
    if _current is not None:
        _current.note(EXISTS, path, 0, str(found))
    return found


def real(path: str) -> str:
    """As `filesystem.real`."""
    found = filesystem.real(path)
    if _current is not None:
        _current.note(REAL, path, 0, found)
    return found


def real_below(folder: str, relative: str) -> str:
    """As `filesystem.real_below`."""
    found = filesystem.real_below(folder, relative)
    if _current is not None:
        _current.note(REAL, f"{folder}/{relative}", 0, found)
    return found


def boundary_of(folder: str) -> str:
    """As `filesystem.boundary_of`."""
    found = filesystem.boundary_of(folder)
    if _current is not None:
        _current.note(BOUNDARY, folder, 0, found)
    return found


# The questions, asked again


def see(path: str, argument: int) -> tuple[os.stat_result, bytes]:
    """The status and the digest of a file or folder as they are now. Raises OSError and Refused."""
    if argument == 0:
        found, status = filesystem.entries(path)
        return status, _digest_of_entries(found)
    data, status = filesystem.read(path, argument) if argument > 0 else filesystem.head(path, -argument)
    return status, digest_of(data)


def answer(question: str, path: str, argument: int) -> str:
    """The answer to another question as it is now. Raises ValueError for a question that there is not."""
    if question == REAL:
        return filesystem.real(path)
    if question == EXISTS:
        return str(filesystem.exists(path))
    if question == BOUNDARY:
        return filesystem.boundary_of(path)
    try:
        if question == TYPE:
            return str(filesystem.file_type(path))
        return "seen " + see(path, {READ: argument, HEAD: -argument, ENTRIES: 0}[question])[1].hex()
    except (OSError, Refused) as problem:
        return _failure(problem)
    except KeyError:
        raise ValueError(question) from None


def packed(status: os.stat_result, argument: int, digest: bytes) -> bytes:
    """What was seen, as `SEEN` has it."""
    return SEEN.pack(
        status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev, argument, digest
    )


def _failure(problem: Exception) -> str:
    return f"errno {problem.errno}" if isinstance(problem, OSError) else str(problem)


def _digest_of_entries(found: list[tuple[str, str]]) -> bytes:
    text = "\0".join([f"{name}/{what}" for name, what in found])
    return digest_of(text.encode("utf-8", "surrogateescape"))
