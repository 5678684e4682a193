# ruff: noqa: PTH112, PTH113, PTH114, PTH116
# Paths are strings here, as in discover.
"""The files that a run sees: those on the disk, or others instead.

Every part that reads asks here. So a change is judged before it is made, and an earlier revision without a checkout.
Only regular files are opened, and never through a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from msgspec import Struct, field

from kube_gaplint.text import limits
from kube_gaplint.text.read import MAX_BYTES

SPECIAL = "not a regular file"
LARGE = f"larger than {limits.FILE.shown}"

_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY"):  # not every platform has them all
    _OPEN_FLAGS |= getattr(os, _flag, 0)


class Refused(Exception):
    """A file that is not read: it is `SPECIAL` or `LARGE`."""


class _Instead(Struct, frozen=True):
    """What is seen instead of the disk: files with other bytes, by real path, and files that are gone."""

    texts: Mapping[str, bytes] = field(default_factory=dict)
    gone: Collection[str] = frozenset()
    added: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    """By folder, the names that the disk does not hold there: whether each is a folder."""


_instead: ContextVar[_Instead] = ContextVar("_instead", default=_Instead())  # noqa: B039, nothing writes to it


@contextmanager
def reading_instead(texts: Mapping[str, bytes], gone: Collection[str] = frozenset()) -> Iterator[None]:
    """Within it, files have other bytes or are not there, by real path. Files that the disk lacks are there, too.

    The bytes are asked for when a file is read, not before.
    """
    token = _instead.set(_Instead(texts, gone, _added(texts)))
    try:
        yield
    finally:
        _instead.reset(token)


def _added(paths: Collection[str]) -> dict[str, dict[str, bool]]:
    added: dict[str, dict[str, bool]] = {}
    for path in paths:
        here, is_folder = path, False
        while not (os.path.isdir(here) if is_folder else os.path.isfile(here) and not os.path.islink(here)):
            parent, name = os.path.split(here)
            if not name or name in added.setdefault(parent, {}):
                break
            added[parent][name] = is_folder
            here, is_folder = parent, True
    return added


class Added(NamedTuple):
    """An entry of a folder that the disk does not hold; it answers as `os.DirEntry` does."""

    name: str
    folder: bool

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        del follow_symlinks
        return not self.folder

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        del follow_symlinks
        return self.folder

    def is_symlink(self) -> bool:
        return False


def entries(folder: str) -> list[os.DirEntry[str] | Added]:
    """What a folder holds, by name. Raises OSError."""
    instead = _instead.get()
    added = instead.added.get(folder, {})
    try:
        with os.scandir(folder) as listing:
            found: list[os.DirEntry[str] | Added] = [
                entry
                for entry in listing
                if entry.name not in added and not (instead.gone and entry.path in instead.gone)
            ]
    except OSError:
        if not added:
            raise
        found = []
    found += [Added(name, is_folder) for name, is_folder in added.items()]
    found.sort(key=lambda entry: entry.name)
    return found


def file_names(folder: str, *, links: bool = False) -> list[str]:
    """The names of the regular files in a folder, in order, those of `links` to files as well; empty where there is no
    such folder."""
    try:
        return [entry.name for entry in entries(folder) if entry.is_file(follow_symlinks=links)]
    except OSError:
        return []


def mode(path: str) -> int:
    """The type of a file or folder as in `os.stat`. Raises OSError."""
    instead = _instead.get()
    if path in instead.texts:
        return stat.S_IFREG
    if path in instead.gone:
        raise FileNotFoundError(path)
    parent, name = os.path.split(path)
    if instead.added.get(parent, {}).get(name):
        return stat.S_IFDIR
    return os.stat(path).st_mode


def is_file(path: str) -> bool:
    return _is(path, stat.S_IFREG)


def is_folder(path: str) -> bool:
    return _is(path, stat.S_IFDIR)


def _is(path: str, kind: int) -> bool:
    try:
        return stat.S_IFMT(mode(path)) == kind
    except (OSError, ValueError):
        return False


def read(path: str, limit: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file of at most `limit` bytes. Raises OSError and Refused."""
    instead = _instead.get()
    if path in instead.texts:
        return instead.texts[path]
    if path in instead.gone:
        raise FileNotFoundError(path)
    # A FIFO does not block the call and is refused, as is a link: paths here are real ones.
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(SPECIAL)
        if status.st_size > limit:
            raise Refused(LARGE)
        data = os.read(descriptor, status.st_size + 1)
        if len(data) == status.st_size:
            return data
        return _rest(descriptor, data, limit)
    finally:
        os.close(descriptor)


def _rest(descriptor: int, data: bytes, limit: int) -> bytes:
    parts = [data]  # it grew, or is one of those files whose size reads as 0
    total = len(data)
    while total <= limit and (data := os.read(descriptor, 2**16)):
        parts.append(data)
        total += len(data)
    if total > limit:
        raise Refused(LARGE)
    return b"".join(parts)


def head(path: str, size: int) -> bytes:
    """The first bytes of a regular file. Raises as `read` does."""
    instead = _instead.get()
    if path in instead.texts or path in instead.gone:
        return read(path)[:size]
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refused(SPECIAL)
        return os.read(descriptor, size)
    finally:
        os.close(descriptor)
