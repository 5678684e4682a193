"""The folder of the cache: it is private, its files are whole or not at all, and it does not grow without end.

All files are reached through the opened folder, which is checked once: nobody can put another in its place meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 100 * 2**20
"""What all files may take together; the ones that were not used for longest go first."""
MOST_DAYS = 30
"""How long a file stays that is not used."""
LARGEST = 32 * 2**20
"""What one file may take."""
_DAY = 24 * 60 * 60
_HOUR = 60 * 60
_TEMPORARY = ".new"
_TAG = "CACHEDIR.TAG"
_TAG_TEXT = b"""Signature: 8a477f597d28d172789f06886806bc55
# This folder holds what gaplint remembers of its runs; see `gaplint cache`. Backups may pass it over.
"""
_READ_FLAGS = os.O_RDONLY
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _flag in ("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW"):  # not every platform has them all
    _READ_FLAGS |= getattr(os, _flag, 0)
    _WRITE_FLAGS |= getattr(os, _flag, 0)
_FOLDER_FLAGS = _READ_FLAGS | getattr(os, "O_DIRECTORY", 0)


class Unusable(Exception):
    """The folder is not one that is trusted, or cannot be opened. The message says why."""


class Stored:
    """A file of the cache: its size in bytes and when it was used last (seconds)."""

    __slots__ = ("name", "size", "used")

    def __init__(self, name: str, size: int, used: float) -> None:
        self.name = name
        self.size = size
        self.used = used


class Shelf:
    """The opened folder of the cache. Use it in a `with` statement.

    A file's name is a key in hexadecimal digits and an ending. No method raises OSError.
    """

    def __init__(self, path: str, *, make: bool = False) -> None:
        """Open a folder; with `make`, make it and the one around it where they are missing.

        Raises Unusable; FileNotFoundError where it is missing and not to be made.
        """
        self.path = path
        try:
            self._folder = _opened(path, make=make)
        except OSError as problem:
            if isinstance(problem, FileNotFoundError) and not make:
                raise
            raise Unusable(_why(problem)) from problem
        if why := _why_not_trusted(os.fstat(self._folder)):
            os.close(self._folder)
            raise Unusable(why)

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)

    def get(self, name: str) -> bytes | None:
        """The bytes of a file; None where it is missing or not one that we wrote."""
        try:
            descriptor = os.open(name, _READ_FLAGS, dir_fd=self._folder)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_size > LARGEST:
                return None
            if status.st_mtime < time.time() - _DAY:
                os.utime(descriptor)  # it is used
            return os.read(descriptor, status.st_size)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def put(self, name: str, data: bytes) -> bool:
        """Write a file so that it is there whole or not at all, and make room for it; whether that was possible."""
        if len(data) > LARGEST:
            return False
        new = f"{name}.{os.getpid()}.{os.urandom(4).hex()}{_TEMPORARY}"
        try:
            self._write(new, data)
            try:
                os.replace(new, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            except BaseException:
                self._remove(new)
                raise
            self._make_room()
        except OSError:
            return False
        return True

    def stored(self) -> list[Stored]:
        """All files of the cache, the ones that were used last at the end."""
        found = [Stored(name, status.st_size, status.st_mtime) for name, status in self._files() if _is_ours(name)]
        return sorted(found, key=lambda one: (one.used, one.name))

    def clear(self) -> list[Stored]:
        """Remove all files that are ours, and the folder where nothing else is in it; what was removed."""
        gone = [one for one in self.stored() if self._remove(one.name)]
        for name, _ in list(self._files()):
            if name.endswith(_TEMPORARY) or name == _TAG:
                self._remove(name)
        try:
            os.rmdir(self.path)
        except OSError:  # not empty: others keep something there
            pass
        return gone

    def _write(self, name: str, data: bytes) -> None:
        descriptor = os.open(name, _WRITE_FLAGS, 0o600, dir_fd=self._folder)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
        except BaseException:
            self._remove(name)
            raise
        finally:
            os.close(descriptor)

    def _remove(self, name: str) -> bool:
        try:
            os.unlink(name, dir_fd=self._folder)
        except OSError:  # another run was faster
            return False
        return True

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return
        for name in names:
            try:
                yield name, os.stat(name, dir_fd=self._folder, follow_symlinks=False)
            except OSError:
                continue

    def _make_room(self) -> None:
        now = time.time()
        for name, status in list(self._files()):
            if name.endswith(_TEMPORARY) and status.st_mtime < now - _HOUR:  # of a run that was ended
                self._remove(name)
        total = 0
        for one in reversed(self.stored()):
            total += one.size
            if total > MOST_BYTES or one.used < now - MOST_DAYS * _DAY:
                self._remove(one.name)


def _opened(path: str, *, make: bool) -> int:
    try:
        return os.open(path, _FOLDER_FLAGS)
    except FileNotFoundError:
        if not make:
            raise
    for one in (os.path.dirname(path), path):
        try:
            os.mkdir(one, 0o700)
        except FileExistsError:  # for long, or another run was faster
            pass
    folder = os.open(path, _FOLDER_FLAGS)
    try:
        tag = os.open(_TAG, _WRITE_FLAGS, 0o600, dir_fd=folder)
    except OSError:
        return folder
    os.write(tag, _TAG_TEXT)
    os.close(tag)
    return folder


def _why_not_trusted(status: os.stat_result) -> str:
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & 0o022:
        return "others may write to it (chmod 700 mends that)"
    return ""


def _is_ours(name: str) -> bool:
    key, _, ending = name.partition(".")
    return bool(key) and ending.isalpha() and not key.strip("0123456789abcdef")


def _why(problem: OSError) -> str:
    if isinstance(problem, NotADirectoryError) or problem.errno == errno.ELOOP:
        return "it is a symbolic link or no folder"
    return (problem.strerror or type(problem).__name__).lower()
