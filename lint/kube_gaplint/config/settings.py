"""The settings of a configuration, typed, each with the place that gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint import registry
from kube_gaplint.config import find as finding
from kube_gaplint.findings import Severity
from kube_gaplint.model.profile import Profile

if TYPE_CHECKING:
    from kube_gaplint.file_ignores import FileIgnores
    from kube_gaplint.kinds.generic import UserKind

PROFILE_KEYS = Profile.__struct_fields__
"""The keys of a profile, in the order of the design."""
RELEASES = ("torch", "nccl", "kubernetes", "trainer", "training_operator")


class Config(Struct, frozen=True):
    """What the configuration says; empty and None where it is silent.

    `folder` is the real folder that patterns and paths in it start from. `places` tells where each key stands
    (`select`, `profile.torch`): `file:line`.
    """

    path: str = ""
    folder: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    min_severity: str | None = None
    fail_on: str | None = None
    exclude: tuple[str, ...] = ()
    baseline: str = ""
    kinds: tuple[UserKind, ...] = ()
    profile: Profile = field(default_factory=Profile)
    places: dict[str, str] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    """What is not in use any more, each with its place."""

    def severities(self) -> dict[str, Severity]:
        """The severities by code: a family gives way to a code or name."""
        rows = ((selector, registry.resolve(selector), severity) for selector, severity in self.severity)
        by_breadth = sorted(rows, key=lambda row: -len(row[1]))
        return {code: severity for _, codes, severity in by_breadth for code in codes}

    def file_ignores(self) -> FileIgnores | None:
        """The rules that do not count in some files; None where there are none."""
        if not self.per_file_ignores:
            return None
        from kube_gaplint.file_ignores import FileIgnore, FileIgnores

        rows = []
        for pattern, selectors in self.per_file_ignores:
            codes = frozenset(code for selector in selectors for code in registry.resolve(selector))
            rows.append(FileIgnore(pattern, codes, self.places[f"per-file-ignores.{pattern}"]))
        return FileIgnores(self.folder, rows)


def load(paths: Sequence[str], named: str = "") -> Config:
    """The configuration for a run over `paths`: that of the file `named`, else of the closest one, else empty.

    Raises ConfigProblem.
    """
    file = finding.read(named) if named else finding.find(paths)
    if file is None:
        return Config()
    from kube_gaplint.config.parse import parse

    return parse(file)
