"""What a renderer is told besides the report itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kube_gaplint.findings import Finding, Severity
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.model.plan import Plan
    from kube_gaplint.report.show.shape import Location, Shown
    from kube_gaplint.rule import Rule


class IncidentView(Protocol):
    """What a report says of an incident. `sources` are pairs of title and address, the best one first; a sentence is
    empty where the incident's report is silent."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def organisation(self) -> str: ...
    @property
    def year(self) -> int: ...
    @property
    def symptom(self) -> str: ...
    @property
    def cause(self) -> str: ...
    @property
    def remediation(self) -> str: ...
    @property
    def lesson(self) -> str: ...
    @property
    def sources(self) -> tuple[tuple[str, str], ...]: ...


def no_incident(_identifier: str) -> IncidentView | None:
    """A library without incidents."""
    return None


def no_rule(_code: str) -> Rule | None:
    """A registry without rules."""
    return None


class Understood(Struct, frozen=True):
    """What gaplint made of the paths. `plans` are those of the training jobs, by where each workload stands."""

    shown: Shown
    plans: Mapping[Location, Plan]


def nothing_understood() -> Understood | None:
    """A report that is not told what gaplint understood of the workloads."""
    return None


def no_edits(_finding: Finding) -> tuple[tuple[Place, str], ...]:
    """A report that carries no fixes."""
    return ()


class RenderOptions(Struct, frozen=True):
    """How a report is to look.

    `width` is in columns. `ascii_only`: the output's encoding has no box characters. `statistics` adds counts by rule
    and by kind of workload, `summary` the closing lines. `incident` finds the public report behind an id.
    `min_severity` is the one in force, for the hint on hidden findings. `show_source` prints the lines concerned.
    `rule` finds the rule behind a code, for formats that carry its page. `folder` is the one that relative paths start
    from and `root` that of the repository, for formats whose reader wants paths from there; both are absolute.
    `edits` works out what the fix of a finding replaces, and by what; nothing where it cannot be made. `understood`
    reads the paths again and tells what gaplint made of them, for formats that draw the workloads. `jobs`: processes to
    use for a large report, where the system can fork; 0 means to choose.
    """

    width: int = 100
    color: bool = False
    ascii_only: bool = False
    show_source: bool = True
    summary: bool = True
    statistics: bool = False
    min_severity: Severity = Severity.WARNING
    incident: Callable[[str], IncidentView | None] = no_incident
    rule: Callable[[str], Rule | None] = no_rule
    edits: Callable[[Finding], tuple[tuple[Place, str], ...]] = no_edits
    understood: Callable[[], Understood | None] = nothing_understood
    folder: str = ""
    root: str = ""
    jobs: int = 1
