"""Run a command line, or repeat what it said the last time."""

from __future__ import annotations

import os
import sys
import time

from kube_gaplint import streams, trace
from kube_gaplint.cache import key, place
from kube_gaplint.cache.entry import Damaged, Entry, decoded, encoded
from kube_gaplint.cache.shelf import Shelf, Unusable
from kube_gaplint.filesystem import Refused
from kube_gaplint.trace import OUT, SEEN, Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RUN = ".run"
"""The ending of entries."""
_REPEATED = frozenset({0, 1, 3})
"""The exit codes of runs that came to an end: no findings, findings, nothing to check."""


def run(arguments: Sequence[str], command: Callable[[], int]) -> int:
    """The exit code of `command`, which runs the command line `arguments`. What it says, it says itself, or the cache
    does where nothing has changed.

    Raises what `command` raises, and OSError where what is repeated cannot be written.
    """
    shelf = _shelf(arguments)
    if shelf is None:
        return command()
    with shelf:
        try:
            own = key.of(arguments, key.code(shelf))
        except (OSError, ValueError):  # no current folder, a closed stream, code in an archive
            return command()
        entry = _entry(shelf, own)
        if entry is not None:
            return _repeat(entry)
        begun = time.time_ns()
        noted = trace.begin()
        try:
            code = command()
        finally:
            trace.end()
        if noted.complete and not noted.spoiled and code in _REPEATED:
            _keep(shelf, own, _entry_of(noted, code, begun))
        return code


def _shelf(arguments: Sequence[str]) -> Shelf | None:
    """The opened cache; None where it is not used."""
    if place.switched_off(arguments) or "-" in arguments:  # standard input is there once
        return None
    path = place.folder()
    try:
        return None if place.why_not(path, arguments) else Shelf(path, make=True)
    except (OSError, ValueError, Unusable):
        return None


def _entry(shelf: Shelf, own: bytes) -> Entry | None:
    """The entry for a key, where all that its run was told is still so."""
    data = shelf.get(own.hex() + RUN)
    if data is None:
        return None
    now = time.time_ns()
    try:
        entry = decoded(data, own)
        if not _answers_hold(entry):
            return None
        known = _renewed(entry, now)
    except (Damaged, OSError, ValueError, Refused):
        return None
    if known is None:
        return None
    if known is not entry:
        _keep(shelf, own, known)
    return known


def _answers_hold(entry: Entry) -> bool:
    if entry.day and entry.day != time.strftime("%Y-%m-%d"):
        return False
    ask = trace.answer
    return all(ask(question, path, argument) == told for question, path, argument, told in entry.answers)


def _renewed(entry: Entry, now: int) -> Entry | None:
    """The entry with what is known of its files now; None where one has changed.

    A file is the same where size, times, inode and device are: no program can set the time of a change (ctime). Where
    that time is not well before the run, a later change may have got the same, and contents are compared; so they are
    where anything differs, as after a new checkout. What is known then spares the next run that comparison.
    """
    settled = entry.begun - key.SETTLED
    again = []
    for number, (path, row) in enumerate(zip(entry.paths, SEEN.iter_unpack(entry.seen), strict=True)):
        size, modified, changed, inode, device, argument, _ = row
        status = os.lstat(path)
        if (
            status.st_ctime_ns != changed
            or changed >= settled
            or status.st_mtime_ns != modified
            or status.st_size != size
            or status.st_ino != inode
            or status.st_dev != device
        ):
            again.append((number, argument))
    seen = bytearray(entry.seen)
    learnt = False
    for number, argument in again:
        at = number * SEEN.size
        status, digest = trace.see(entry.paths[number], argument)
        record = trace.packed(status, argument, digest)
        if record[-trace.DIGEST :] != entry.seen[at : at + SEEN.size][-trace.DIGEST :]:
            return None
        if status.st_ctime_ns < now - key.SETTLED:
            seen[at : at + SEEN.size] = record
            learnt = True
    return entry.seen_at(now, bytes(seen)) if learnt else entry


def _entry_of(noted: Trace, code: int, begun: int) -> Entry:
    return Entry(
        begun=begun,
        code=code,
        day=noted.day,
        paths=[path for path, _ in noted.seen],
        seen=b"".join(noted.seen.values()),
        answers=[(*question, told) for question, told in noted.answers.items()],
        said=noted.said,
    )


def _keep(shelf: Shelf, own: bytes, entry: Entry) -> None:
    try:
        shelf.put(own.hex() + RUN, encoded(entry, own))
    except (ValueError, OverflowError):  # a name that cannot be written down
        pass


def _repeat(entry: Entry) -> int:
    for where, what in entry.said:
        if where == OUT:
            streams.write(sys.stdout, what)
            continue
        try:
            sys.stderr.write(what.decode("utf-8", "surrogatepass"))
            sys.stderr.flush()
        except OSError:  # there is nowhere else to tell it
            pass
    return entry.code
