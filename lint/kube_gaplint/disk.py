# ruff: noqa: PTH112, PTH113, PTH114, PTH118
# Paths are strings here, as in discover.
"""The files that a run sees: those on the disk, or others instead.

Every part that reads asks here. So a change is judged before it is made, and an earlier revision without a checkout.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from kube_gaplint import trace
from kube_gaplint.filesystem import FILE, FOLDER, LINK, OTHER, SPECIAL, Refused, larger_than
from kube_gaplint.text.read import MAX_BYTES

LARGE = larger_than(MAX_BYTES)

__all__ = [
    "FILE",
    "FOLDER",
    "LARGE",
    "LINK",
    "OTHER",
    "SPECIAL",
    "Refused",
    "boundary_of",
    "entries",
    "exists",
    "file_names",
    "file_type",
    "folder_names",
    "head",
    "is_file",
    "is_folder",
    "read",
    "reading_instead",
    "real",
]


class _Instead(Struct, frozen=True):
    """What is seen instead of the disk: files with other bytes, by real path, and files that are gone."""

    texts: Mapping[str, bytes]
    gone: Collection[str]
    added: Mapping[str, Mapping[str, bool]]
    """By folder, the names that the disk does not hold there: whether each is a folder."""

    def holds(self, path: str) -> int | None:
        """The type of what is there instead, 0 for what is gone, None where the disk is to be asked."""
        if path in self.texts:
            return stat.S_IFREG
        if path in self.gone:
            return 0
        parent, name = os.path.split(path)
        return stat.S_IFDIR if self.added.get(parent, {}).get(name) else None


_instead: ContextVar[_Instead | None] = ContextVar("_instead", default=None)


@contextmanager
def reading_instead(texts: Mapping[str, bytes], gone: Collection[str] = frozenset()) -> Iterator[None]:
    """Within it, files have other bytes or are not there, by real path. Files that the disk lacks are there, too.

    The bytes are asked for when a file is read, not before.
    """
    trace.spoil()  # what is not on the disk cannot be asked for again
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


def entries(folder: str) -> list[tuple[str, str]]:
    """What a folder holds, by name: each name with what it is (`FILE`, `FOLDER`, `LINK`, `OTHER`). Raises OSError."""
    instead = _instead.get()
    if instead is None:
        return trace.entries(folder)
    added = instead.added.get(folder, {})
    try:
        found = [
            entry
            for entry in trace.entries(folder)
            if entry[0] not in added and not (instead.gone and os.path.join(folder, entry[0]) in instead.gone)
        ]
    except OSError:
        if not added:
            raise
        found = []
    found += [(name, FOLDER if is_folder else FILE) for name, is_folder in added.items()]
    found.sort()
    return found


def file_names(folder: str, *, links: bool = False) -> list[str]:
    """The names of the regular files in a folder, in order, those of `links` to files as well; empty where there is no
    such folder."""
    try:
        found = entries(folder)
    except OSError:
        return []
    return [
        name for name, what in found if what == FILE or (links and what == LINK and is_file(os.path.join(folder, name)))
    ]


def folder_names(folder: str) -> list[str]:
    """The names of the folders in a folder, in order, hidden ones and links left out; empty where there is none."""
    try:
        return [name for name, what in entries(folder) if what == FOLDER and not name.startswith(".")]
    except OSError:
        return []


def file_type(path: str) -> int:
    """The type of a file or folder, as `stat.S_IFMT` gives it; that of its target for a link. Raises OSError."""
    instead = _instead.get()
    held = None if instead is None else instead.holds(path)
    if held == 0:
        raise FileNotFoundError(path)
    return trace.file_type(path) if held is None else held


def is_file(path: str) -> bool:
    return _type_of(path) == stat.S_IFREG


def is_folder(path: str) -> bool:
    return _type_of(path) == stat.S_IFDIR


def _type_of(path: str) -> int:
    try:
        return file_type(path)
    except (OSError, ValueError):
        return 0


def exists(path: str) -> bool:
    """Whether there is anything at a path, be it a link that leads nowhere."""
    instead = _instead.get()
    held = None if instead is None else instead.holds(path)
    return trace.exists(path) if held is None else bool(held)


def real(path: str) -> str:
    """The absolute path without links."""
    return trace.real(path)


def real_below(folder: str, relative: str) -> str:
    """`real` of a relative path in a folder whose path is real itself."""
    return trace.real_below(folder, relative)


def boundary_of(folder: str) -> str:
    """The git top level around a real folder, or empty."""
    return trace.boundary_of(folder)


def read(path: str, limit: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file of at most `limit` bytes. Raises OSError and Refused."""
    instead = _instead.get()
    if instead is not None:
        if path in instead.texts:
            return instead.texts[path]
        if path in instead.gone:
            raise FileNotFoundError(path)
    return trace.read(path, limit)


def head(path: str, size: int) -> bytes:
    """The first bytes of a regular file. Raises as `read` does."""
    instead = _instead.get()
    if instead is not None and instead.holds(path) is not None:
        return read(path)[:size]
    return trace.head(path, size)


def one_line(path: str) -> str:
    """A path as a message names it: a line end in it begins no line of its own."""
    return path.replace("\r", "\\r").replace("\n", "\\n")
