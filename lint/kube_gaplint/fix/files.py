"""Changed files: shown as a patch, or put in place."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from kube_gaplint import disk, lazy_re
from kube_gaplint.findings import Finding
from kube_gaplint.text.read import Unreadable, decode, encode_like
from kube_gaplint.text.source import Source

_PLAIN_PATH = lazy_re.compile(r"[^\x00-\x1f\x7f\"\\]*")


class Stale(OSError):
    """The file is no longer what was linted."""


class FileChange(Struct, frozen=True):
    """A file with all its fixes: the text that it would get, and the findings that these answer."""

    source: Source
    new_text: str
    findings: tuple[Finding, ...]

    @property
    def path(self) -> str:
        return self.source.path

    def diff(self) -> str:
        """A unified diff as `git apply` and `patch -p1` take it; empty where nothing changes."""
        return "".join(self._diff_lines())

    def _diff_lines(self) -> Iterator[str]:
        path = self.path.removeprefix("./").lstrip("/")
        lines = difflib.unified_diff(
            _lines(self.source.text), _lines(self.new_text), _shown(f"a/{path}"), _shown(f"b/{path}")
        )
        for line in lines:
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def write(change: FileChange) -> None:
    """Replace the file by its new text, at once or not at all; mode and encoding stay.

    Raises OSError where it cannot be written, and `Stale` where it has changed since it was read.
    """
    path = Path(disk.real(change.path))  # a link stays a link
    data = path.read_bytes()
    try:
        current = decode(data)
    except Unreadable as error:
        raise Stale(None, f"it has changed since it was read: it {error.reason}", change.path) from error
    if current != change.source.text:
        raise Stale(None, "it has changed since it was read", change.path)
    new = encode_like(data, change.new_text)
    mode = path.stat().st_mode
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".gaplint", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode & 0o7777)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _lines(text: str) -> list[str]:
    """The lines with their ends. Only `\\n` ends a line of a patch."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _shown(path: str) -> str:
    """A path in the header of a patch; git quotes what could break the line."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", quoted) + '"'
