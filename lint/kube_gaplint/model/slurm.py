"""Slurm: batch scripts with their directives and steps, and slurm.conf wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kube_gaplint.model.command import Command, Script
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.model.nodes import CarriesGpus
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
    launcher: str = "srun"
    """`srun`, `mpirun` or `mpiexec`."""
    image: Setting[str] | None = None
    """The container image that the step runs in (`--container-image`, `apptainer exec`); None where there is none."""


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
        """The value of a key; a key that is missing from a fragment is unknown."""
        found = self.values.get(key.lower())
        if found is not None:
            return found
        return Absent(self.origin) if self.whole else Unknown("the rest of slurm.conf is not seen", self.origin)


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
    requeue: Setting[bool] = field(kw_only=True)
    """Whether Slurm puts the job back into the queue after a node failure or preemption: the directive, then
    JobRequeue of `conf`, then Slurm's default (true, `via` default)."""
    continuation: Setting[str] = field(kw_only=True)
    """How the job is started again after a crash of its own program, in words: a job array, a dependency chain, a
    resubmission, `scontrol requeue`, HyperPod's auto-resume, RequeueExit. `Absent`: not at all."""
    open_mode: Setting[str] = field(kw_only=True)
    """`append` or `truncate`: the directive, then JobFileAppend of `conf`, then Slurm's default (truncate)."""

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


@dataclass(slots=True, eq=False)
class SlurmNodeSet:
    """Slurm's compute nodes as pods: Slinky's or Soperator's NodeSet, with their defaults applied."""

    subject: Subject
    origin: Origin
    operator: str
    """`slinky` or `soperator`."""
    gpus: CarriesGpus
    replicas: Setting[int]
    strategy: Setting[str]
    """How a change of the object reaches the pods: RollingUpdate, OnDelete, ScheduledUpdate, rollingUpdate,
    slurmAwareRollingUpdate."""
    max_unavailable: Setting[str]
    protected: Setting[bool]
    """Pods with running jobs are kept from voluntary eviction (`workloadDisruptionProtection`)."""
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)

    @property
    def object_origin(self) -> Origin:
        return self.origin


@dataclass(slots=True, eq=False)
class HealthCheck:
    """A check of Slurm's nodes that an operator runs: Soperator's ActiveCheck."""

    subject: Subject
    origin: Origin
    suspended: Setting[bool]
    schedule: Setting[str]
    runs_after_creation: Setting[bool]
    reacts: Setting[str]
    """What a failed check does, in words; `Absent` where it does nothing."""

    @property
    def object_origin(self) -> Origin:
        return self.origin
