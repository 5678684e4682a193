"""Slurm: batch scripts with their directives and steps, and slurm.conf wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.facts.clusters import machine_of
from kube_gaplint.facts.nvlink import has_nvlink
from kube_gaplint.facts.purposes import words_of
from kube_gaplint.model.command import Command, Script
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.model.nodes import CarriesGpus
    from kube_gaplint.model.workload import Workload


_SYMBOL = lazy_re.compile(r"%\d*([A-Za-z%])")


def name_holds(pattern: str, letters: str) -> bool:
    """Whether a file name holds one of the replacement symbols: `N` host, `n` node, `t` task, `j` job, `r` restarts …

    A backslash in the name switches all of them off (sbatch(1), FILENAME PATTERN).
    """
    return "\\" not in pattern and any(found in letters for found in _SYMBOL.findall(pattern))


_DEVICES = ("gres", "gpus", "gpus-per-node", "gpus-per-task")
_TYPE = lazy_re.compile(r"(?:(?:gres[/:])?gpu:)?([A-Za-z][\w.-]*)[:=]\d+(?:\([^)]*\))?")
"""`gpu:a100:8`, `a100:8`"""
_NONE = lazy_re.compile(r"(?:(?:gpu:)?0|none|NONE)")
_PROCESSORS = lazy_re.compile(r"cpus?(?:only|nodes?|\d+)?|(?:amd|intel)cpu|(?:big|high|hi|large|huge)mem|haswell|knl")
OF_PROCESSORS = ("partition", "account", "constraint", "qos")
"""Options of a job whose values may say that its nodes have no accelerators."""


def is_of_processors(partition: Setting[str]) -> bool:
    """Whether a partition, an account, a feature of nodes or a quality of service says by its name that the nodes have
    no accelerators."""
    words = set(words_of(partition.value)) if isinstance(partition, Set) else set()
    return any(_PROCESSORS.fullmatch(word) for word in words) and not any("gpu" in word for word in words)


class Directive(Struct, frozen=True):
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
    after_command: bool = False
    """It stands behind the first command, where sbatch has stopped reading."""
    is_comment: bool = False
    """A plain comment that looks like a directive: a blank before `SBATCH`, or before the `#`."""
    is_placeholder: bool = False
    """No option but a text that stands for options, which somebody fills in before the script is submitted."""
    variable: str = ""
    """The shell variable in its value: sbatch expands none, so it needs something that fills it in first."""


class Step(Struct, eq=False):
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
    """The container image that the step runs in (`--container-image`, `apptainer exec`); None where there is none,
    absent where the batch job names it (`#SBATCH --image` of shifter)."""
    log: Setting[str] | None = None
    """The file that its output goes to instead of, or besides, the job's own: `--output`, `> file`, `| tee file`."""
    log_grows: bool = False
    """The file keeps what stands in it when the job starts again (`>> file`, `| tee -a file`)."""
    inside: tuple[Command, ...] = ()
    """The commands of the script that it starts (`srun bash -c "…"`)."""
    logs_apart: bool = False
    """These send their output to files that may be each task's or host's own, not to `log`."""

    @property
    def on_several_nodes(self) -> bool:
        """False where it surely runs on one node."""
        return not isinstance(self.nodes, Set) or self.nodes.value > 1


class SlurmConf(Struct, eq=False):
    """slurm.conf, whole or as a fragment. Keys are lower case; the last occurrence wins.

    Of a row of nodes `gres` is kept besides the row's own key.
    """

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

    @property
    def without_gpus(self) -> bool:
        """The cluster surely has no accelerators: its nodes are listed, and none names any."""
        named = ("grestypes", "gres", "accountingstoragetres")
        return self.whole and not self.writer and "nodename" in self.values and not any(map(self.values.get, named))


class Batch(Struct, eq=False):
    """A batch script: the view of rules on Slurm."""

    subject: Subject
    origin: Origin
    script: Script
    directives: tuple[Directive, ...]
    header: Place
    """The #SBATCH block, where a missing directive would be added."""
    requeue: Setting[bool]
    """Whether Slurm puts the job back into the queue after a node failure or preemption: the directive, then
    JobRequeue of `conf`, then Slurm's default (true, `via` default)."""
    continuation: Setting[str]
    """How the job is started again after a crash of its own program, in words: a job array, a dependency chain, a
    resubmission, `scontrol requeue`, HyperPod's auto-resume, RequeueExit. `Absent`: not at all."""
    open_mode: Setting[str]
    """`append` or `truncate`: the directive, then JobFileAppend of `conf`, then Slurm's default (truncate)."""
    steps: list[Step] = field(default_factory=list)
    conf: SlurmConf | None = None
    """The slurm.conf found in the given paths, if exactly one can apply."""
    workload: Workload | None = None
    requeues_itself: Origin | None = None
    """Where the script puts its own job back into the queue (`scontrol requeue`); None where it does not."""
    looped: tuple[Place, ...] = ()
    """Commands that a loop without an end starts again, also when they have failed."""
    open_because: str = ""
    """Why more options may be given than are written: a placeholder stands for some. Empty where none does."""
    submitted_nodes: Setting[int] | None = None
    """The fewest nodes in numbers that `sbatch` commands around it ask for; None where one of them asks for none."""
    submitted_as_is: Origin | None = None
    """A command around it that gives the very file to sbatch; None where none is seen, or where one beside it may fill
    in the variables of its directives first."""
    stands_alone: bool = False
    """It is a file as it stands: no here-document, no value of a ConfigMap, no template."""
    unresolved_merge: Origin | None = None
    """The mark of a merge that was never resolved: bash ends there, and sbatch has read the directives up to it."""
    submitted_with: frozenset[str] = frozenset()
    """The options that commands around it give to sbatch, by their long names."""

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
        if found is not None:
            return found.value
        home = Origin(self.header)
        given = next((name for name in names if name in self.submitted_with), "")
        if given:
            return Unknown(f"commands around it submit the script with --{given}", home)
        return Unknown(self.open_because, home) if self.open_because else Absent(home)

    @property
    def multi_node(self) -> bool | None:
        """Whether it runs on several nodes: by its own options, or else by all that is written of how to submit it."""
        nodes = None if self.workload is None else self.workload.nodes
        if isinstance(nodes, Unknown) and isinstance(self.submitted_nodes, Set) and self.submitted_nodes.value > 1:
            return True
        return nodes.value > 1 if isinstance(nodes, Set) else None

    @property
    def trains(self) -> bool:
        """It trains: benchmarks, evaluations, data preparation and interactive jobs do not."""
        return self.workload is not None and self.workload.trains

    @property
    def trains_on_several_nodes(self) -> bool:
        return self.trains and self.multi_node is True

    @property
    def training_steps(self) -> list[Step]:
        """The steps that start the training, those on a single node left out."""
        return [step for step in self.steps if step.trains and step.on_several_nodes]

    @property
    def on_processors(self) -> bool:
        """Its nodes have no accelerators: the partition or the account says so and none are asked for, or the number
        that is asked for is zero."""
        count = None if self.workload is None else self.workload.accelerators_per_node
        if isinstance(count, Set) and count.value > 0:
            return False
        if any(isinstance(given := self.get(name), Set) and _NONE.fullmatch(given.value) for name in _DEVICES):
            return True
        if not isinstance(count, Absent):
            return False
        return any(is_of_processors(self.get(name)) for name in OF_PROCESSORS)

    @property
    def leaves_its_size_open(self) -> bool:
        """It asks for no devices, and neither its nodes nor what they have is known: whoever submits it chooses."""
        workload = self.workload
        if workload is None or any(self.directive(name) is not None for name in _DEVICES):
            return False
        return not isinstance(workload.nodes, Set) and not isinstance(workload.accelerators_per_node, Set)

    @property
    def gpus_at_least(self) -> int | None:
        """The GPUs of one node where the script tells those and says nothing of how many nodes it takes: sbatch gives
        it one unless its command line asks for more. None where a number of nodes or tasks is told, here or by all that
        is written of how to submit it."""
        workload = self.workload
        if workload is None or self.directive("nodes", "ntasks") is not None or self.submitted_nodes is not None:
            return None
        each = workload.accelerators_per_node
        return each.value if isinstance(each, Set) and not isinstance(workload.nodes, Set) else None

    def linked_gpus(self, gpus: int) -> Origin | None:
        """What shows that a fast link joins the GPUs of its nodes, `gpus` each: their type, or a machine that is known.
        The note says which link it is; `via` is "derived" where it is the machine."""
        for name in _DEVICES:
            given = self.directive(name)
            if given is None or not isinstance(given.value, Set):
                continue
            types = [kind for part in given.value.value.split(",") if (kind := _TYPE.fullmatch(part.strip()))]
            if types and all(has_nvlink(kind[1], gpus) for kind in types):
                return Origin(given.place, note="NVLink joins these GPUs")
        known = {one.name: one for one in self.directives if one.in_force}
        values = {name: one.value.value for name, one in known.items() if isinstance(one.value, Set)}
        text = self.script.text
        machine = machine_of(values, text.text, gpus)
        if machine is None:
            return None
        note = f"{machine.link} joins the GPUs of a node of {machine.name}"
        if machine.path in text.text and machine.path:
            start = text.text.index(machine.path)
            return Origin(text.place(start, start + len(machine.path)), "derived", note)
        return Origin(known[next(iter(machine.signs))].place, "derived", note)

    @property
    def elastic(self) -> bool:
        """Its launcher goes on, or starts again, with fewer nodes than it began with."""
        elastic = None if self.workload is None else self.workload.elastic
        return isinstance(elastic, Set) and elastic.value

    @property
    def loops_for_ever(self) -> bool:
        """A loop without an end starts the program again when it has failed, on the first node at least."""
        processes = () if self.workload is None else self.workload.processes
        starts = [process.origin.place for process in processes]
        return any(
            at.source is loop.source and loop.span.start <= at.span.start < loop.span.end
            for loop in self.looped
            for at in starts
        )

    @property
    def restarts_inside(self) -> Origin | None:
        """What starts the program again within the running job: a launcher with restarts. None: nothing does.

        With a static rendezvous the other nodes do not join again, so that does not count.
        """
        for process in () if self.workload is None else self.workload.processes:
            for launcher in process.launchers:
                budget, backend = launcher.max_restarts, launcher.rendezvous_backend
                if isinstance(budget, Absent) or (isinstance(budget, Set) and budget.value == 0):
                    continue
                if not (isinstance(backend, Set) and backend.value == "static"):
                    return budget.origin or launcher.origin
        return None


class SlurmNodeSet(Struct, eq=False):
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


class HealthCheck(Struct, eq=False):
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
