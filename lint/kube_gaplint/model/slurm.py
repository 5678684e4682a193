"""Slurm: batch scripts with their directives and steps, and slurm.conf wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kube_gaplint.model.command import Command, Script
from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Directive:
    """One option of an `#SBATCH` line, by its long name (`nodes`, `gres`, `kill-on-bad-exit`)."""

    name: str
    value: Setting[str]
    """`Set("")` for an option without a value."""
    place: Place
    """The option and its value within the line."""
    line: Place
    in_force: bool = True
    problem: str = ""
    """Why it is not in force: it stands after the first command, or sbatch does not know it."""


@dataclass(slots=True, eq=False)
class Step:
    """One `srun` of a batch script. Option values are effective: flag, then environment, then the allocation."""

    command: Command
    options: Options
    origin: Origin
    nodes: Setting[int]
    tasks: Setting[int]
    kill_on_bad_exit: Setting[str]
    wait_seconds: Setting[float]
    no_kill: Setting[bool]
    trains: bool
    """It starts a training program (helper steps such as `srun hostname` are not judged)."""


@dataclass(slots=True, eq=False)
class SlurmConf:
    """slurm.conf, whole or as a fragment. Keys are lower case; the last occurrence wins."""

    subject: Subject
    origin: Origin
    values: Mapping[str, Setting[str]]
    whole: bool
    """False for a fragment that is appended to a file not seen: a missing key is then unknown."""
    writer: str = ""
    """The operator that writes the rest (`slinky`, `soperator`, `sunk`), empty for plain Slurm."""

    @property
    def object_origin(self) -> Origin:
        return self.origin

    def get(self, key: str) -> Setting[str]:
        return self.values.get(key.lower(), Absent(self.origin))


@dataclass(slots=True, eq=False)
class Batch:
    """A batch script: the view of rules on Slurm."""

    subject: Subject
    origin: Origin
    script: Script
    directives: tuple[Directive, ...]
    header: Place
    """The #SBATCH block, where a missing directive would be added."""
    steps: list[Step] = field(default_factory=list)
    conf: SlurmConf | None = None
    """The slurm.conf found in the given paths, if exactly one can apply."""
    workload: Workload | None = None

    @property
    def object_origin(self) -> Origin:
        return self.origin

    def directive(self, *names: str) -> Directive | None:
        """The directive in force (the last of several)."""
        found = None
        for directive in self.directives:
            if directive.in_force and directive.name in names:
                found = directive
        return found

    def get(self, *names: str) -> Setting[str]:
        found = self.directive(*names)
        return Absent(Origin(self.header)) if found is None else found.value

    @property
    def multi_node(self) -> bool | None:
        nodes = None if self.workload is None else self.workload.nodes
        return nodes.value > 1 if isinstance(nodes, Set) else None
