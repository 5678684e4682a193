# ruff: noqa: PTH116, PTH118, PTH120
# Paths are strings here, as in discover.
"""The files on the disk, as they are: how gaplint lists folders and opens files.

Only regular files are opened, and never through a link: paths here are real ones. Nobody but `trace` asks here, so that
every look at the disk goes through one place. Nothing heavy is imported: a run that the cache answers loads this too.
"""

from __future__ import annotations

import os
import stat

SPECIAL = "not a regular file"

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"
"""What an entry of a folder is, without following it. `OTHER`: a device, a pipe, a socket."""

_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY"):  # not every platform has them all
    _OPEN_FLAGS |= getattr(os, _flag, 0)


class Refused(Exception):
    """A file that is not read: it is `SPECIAL` or `larger_than` the limit."""


def larger_than(limit: int) -> str:
    """Why a file of more than `limit` bytes is not read."""
    whole, rest = divmod(limit, 2**20)
    return f"larger than {limit:,} bytes" if rest else f"larger than {whole} MiB"


def entries(folder: str) -> tuple[list[tuple[str, str]], os.stat_result]:
    """What a folder holds, by name: each name with what it is; and the status of the folder just before.

    Raises OSError.
    """
    status = os.stat(folder)
    found = []
    with os.scandir(folder) as listing:
        for entry in listing:
            if entry.is_file(follow_symlinks=False):
                found.append((entry.name, FILE))
            elif entry.is_dir(follow_symlinks=False):
                found.append((entry.name, FOLDER))
            else:
                found.append((entry.name, LINK if entry.is_symlink() else OTHER))
    found.sort()
    return found, status


def file_type(path: str) -> int:
    """The type of a file or folder, as `stat.S_IFMT` gives it; that of its target for a link. Raises OSError."""
    return stat.S_IFMT(os.stat(path).st_mode)


def exists(path: str) -> bool:
    """Whether there is anything at a path, be it a link that leads nowhere."""
    return os.path.lexists(path)


def real(path: str) -> str:
    """The absolute path without links."""
    return os.path.realpath(path)


def real_below(folder: str, relative: str) -> str:
    """`real` of a path that is seen from a folder whose path is real itself: only what comes after it is looked at."""
    whole = os.path.join(folder, relative)
    here = folder
    for name in relative.split("/"):
        if name == "..":
            here = os.path.dirname(here)
        elif name not in ("", "."):
            here = here + name if here.endswith("/") else f"{here}/{name}"
            try:
                if not stat.S_ISLNK(os.lstat(here).st_mode):
                    continue
            except OSError:  # nothing is there, so no link either
                continue
            return os.path.realpath(whole)
    return os.path.realpath(whole) if relative.startswith("/") else here


def boundary_of(folder: str) -> str:
    """The git top level around a real folder, or empty."""
    here = folder
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            return ""
        here = parent


def read(path: str, limit: int) -> tuple[bytes, os.stat_result]:
    """All bytes of a regular file of at most `limit` bytes, and its status just before. Raises OSError and Refused."""
    # A FIFO does not block the call and is refused, as is a link.
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(SPECIAL)
        size = status.st_size
        if size > limit:
            raise Refused(larger_than(limit))
        data = os.read(descriptor, size + 1)
        return (data if len(data) == size else _rest(descriptor, data, limit)), status
    finally:
        os.close(descriptor)


def _rest(descriptor: int, data: bytes, limit: int) -> bytes:
    parts = [data]  # it grew, or is one of those files whose size reads as 0
    total = len(data)
    while total <= limit and (data := os.read(descriptor, 2**16)):
        parts.append(data)
        total += len(data)
    if total > limit:
        raise Refused(larger_than(limit))
    return b"".join(parts)


def head(path: str, size: int) -> tuple[bytes, os.stat_result]:
    """The first bytes of a regular file, and its status just before. Raises as `read` does."""
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(SPECIAL)
        return os.read(descriptor, size), status
    finally:
        os.close(descriptor)
