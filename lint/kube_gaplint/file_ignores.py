"""Rules that do not count in some files: the key `per-file-ignores` of the configuration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint import disk, git_patterns
from kube_gaplint.findings import Finding, Suppressed

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class FileIgnore(Struct, frozen=True):
    """A pattern as in git-ignore files, the codes that do not count where it matches, and where that is written."""

    pattern: str
    codes: frozenset[str]
    place: str


class FileIgnores:
    """The rows of one configuration. Patterns start from its `folder`, a real path."""

    def __init__(self, folder: str, rows: Sequence[FileIgnore]) -> None:
        self.folder = folder
        self.rows = tuple(rows)
        self._matching: dict[str, list[FileIgnore]] = {}

    @cached_property
    def _specs(self) -> list[tuple[GitIgnoreSpec, FileIgnore]]:
        return [(git_patterns.spec([row.pattern]), row) for row in self.rows]

    def reason(self, finding: Finding) -> Suppressed | None:
        """Why a finding does not count in its file; None where it does."""
        path = finding.place.source.path
        rows = self._matching.get(path)
        if rows is None:
            rows = self._matching[path] = self._rows(path)
        row = next((row for row in rows if finding.code in row.codes), None)
        if row is None:
            return None
        return Suppressed(f"per-file-ignores {row.pattern!r} ({row.place})", None, how="configuration")

    def _rows(self, path: str) -> list[FileIgnore]:
        below = os.path.relpath(disk.real(path), self.folder)
        return [row for spec, row in self._specs if spec.match_file(below)]
