"""Training processes: the launcher chain, the program, and the settings that decide its fate."""

from __future__ import annotations

import re
from collections.abc import Iterator, KeysView, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.facts.fabric import (
    OTHER_FABRIC_RESOURCES,
    OTHER_FABRIC_VARIABLES,
    RDMA_NETWORKS,
    RDMA_VARIABLES,
    is_infiniband,
)
from kube_gaplint.facts.nvlink import has_nvlink
from kube_gaplint.facts.torch import MAKES_A_GROUP
from kube_gaplint.model.command import Command, EndStatus, LostStatus, ShellInFront, Word
from kube_gaplint.model.cpu_use import trains_on_cpu
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.pod import affinity
from kube_gaplint.model.program_text import ProgramText
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.subject import Subject

if TYPE_CHECKING:
    from kube_gaplint.model.workload import Container, Role, Workload

Release: TypeAlias = tuple[int, ...]
"""A version as numbers, most significant first: (2, 3, 1). Compare with shorter tuples: `release < (2, 2)`."""

NCCL_VENDORS = frozenset({"nvidia", "amd", ""})
_IMPORTS_RAY = lazy_re.needing(("ray",), r"(?m)^[ \t]*(?:import|from)[ \t]+ray\b")
_MEETING = lazy_re.compile(
    r"master|rdzv|rendezvous|coordinator|init.method|dist.url|world.?size|\bhosts?\b", re.IGNORECASE
)
"""Names of variables and options by which processes find one another."""
BARE_LAUNCHERS = frozenset({"srun", "mpirun", "python"})

Unit: TypeAlias = Literal["steps", "epochs", "fraction", "samples", "tokens", "seconds", "minutes", "hours"]


class Quantity(Struct, frozen=True):
    """An amount of training with its unit. `fraction` is of the whole run, from 0 to 1."""

    amount: float
    unit: Unit

    @property
    def seconds(self) -> float | None:
        """The amount in seconds, for units of time."""
        factor = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0}.get(self.unit)
        return None if factor is None else self.amount * factor

    def __str__(self) -> str:
        amount = f"{self.amount:,.0f}" if float(self.amount).is_integer() else f"{self.amount:g}"
        unit = self.unit[:-1] if self.amount == 1 and self.unit.endswith("s") else self.unit
        return f"{amount} {unit}"


class OptionValue(Struct, frozen=True):
    """One occurrence of an option: `--save-interval 500`, `trainer.max_steps=10`, a bare flag."""

    name: str
    """As written, without leading dashes."""
    value: Setting[str]
    """The value; for a bare flag `Set("")`."""
    word: Word
    """The word that holds the option's name: where a finding about it points."""
    bare: bool = False


class Options(Struct, frozen=True, eq=False):
    """Parsed arguments of a launcher or a program. Names compare with `-` and `_` alike; the last occurrence wins.

    `open_because`: words of unknown content may hold more options, so that a missing one is unknown.
    """

    occurrences: tuple[OptionValue, ...]
    positionals: tuple[Word, ...]
    home: Origin
    open_because: str = ""
    _last: dict[str, int] = field(default_factory=dict)
    """The last occurrence of each normal name, filled by the first look-up."""

    @staticmethod
    @lru_cache(maxsize=8192)  # the names of the tables come again and again
    def normal(name: str) -> str:
        return name.lstrip("-").replace("_", "-")

    @property
    def names(self) -> KeysView[str]:
        """The normal names of what is given."""
        return self._index().keys()

    def _index(self) -> dict[str, int]:
        last = self._last
        if not last:
            last.update((self.normal(one.name), index) for index, one in enumerate(self.occurrences))
        return last

    def find(self, *names: str) -> OptionValue | None:
        """The occurrence in force of an option under any of its names."""
        last = self._last or self._index()
        at = -1
        for name in names:
            at = max(at, last.get(self.normal(name), -1))
        return self.occurrences[at] if at >= 0 else None

    def among(self, names: Sequence[str]) -> Iterator[tuple[str, OptionValue]]:
        """Those of several options that are given, in the order of the names, each with its occurrence in force."""
        last = self._last or self._index()
        if last.keys().isdisjoint(map(self.normal, names)):
            return
        for name in names:
            at = last.get(self.normal(name))
            if at is not None:
                yield name, self.occurrences[at]

    def get(self, *names: str) -> Setting[str]:
        found = self.find(*names)
        if found is not None:
            return found.value
        if self.open_because:
            return Unknown(self.open_because, self.home)
        return Absent(self.home)

    def has(self, *names: str) -> bool | None:
        """Whether an option is given: True, False, or None where unseen words may hold it."""
        if self.find(*names) is not None:
            return True
        return None if self.open_because else False


class Launcher(Struct, eq=False):
    """One layer between the container's command and the training program: torchrun, srun, mpirun, deepspeed …

    Settings that the launcher does not have are `Absent`. Defaults are applied (`origin.via == "default"`), so a
    rule reads effective values. Times are seconds.
    """

    kind: str
    """Key of the launcher's module: `torchrun`, `torch.distributed.launch`, `deepspeed`, `accelerate`, `mpirun`,
    `srun`, `ray`, `composer`, `ft_launcher`, `hyperpodrun`, `dlrover-run`, `horovodrun`, `lightning`, `torchtune`,
    `litgpt` …"""
    options: Options
    command: Command
    origin: Origin
    nodes: Setting[int]
    """Fixed number of nodes; unknown for an elastic range (see `elastic`)."""
    processes_per_node: Setting[int]
    """Training processes on each node; unknown for `auto`/`gpu`."""
    max_restarts: Setting[int]
    rendezvous_backend: Setting[str]
    rendezvous_id: Setting[str]
    rendezvous_endpoint: Setting[str]
    rendezvous_conf: Setting[str]
    elastic: Setting[bool]
    exports: Mapping[str, Setting[str]] = field(default_factory=dict)
    """Variables that the launcher gives to the processes by itself or on request (`mpirun -x`, torchrun's
    async-error default)."""


class Framework(Struct, frozen=True):
    """The recognised training framework. `name` is its key in `facts.frameworks` (`megatron`, `hf-trainer` …)."""

    name: str
    title: str
    evidence: Origin
    """What it was recognised by."""

    timeout_option: str = ""
    """How its user sets the process-group timeout; empty where it has no option for that."""
    least_torch: Release = ()
    """The oldest torch that it runs with, where that is known."""
    guards: bool = False
    """It switches NCCL's asynchronous error handling on by itself."""
    keep_option: str = ""
    """The option that bounds how many checkpoints are kept; empty where it has none on the command line."""
    exit_option: str = ""
    """The option by which it saves and ends itself after a number of `{minutes}`; empty where it has none."""
    can_leave: bool = True
    """It can be made to save before a time limit: by an option, at a signal, or by code of the user's own."""
    data_options: tuple[str, ...] = ()
    """Options that name the training data, where a step takes as many samples of them as `samples_per_step` says."""
    saves_at_end: bool = False
    """It saves what it trained when it is done, whatever else it is told."""
    resume_option: tuple[str, str] = ("", "")
    """The option and its value that make a restart go on; an empty value is the save path."""
    resumes_by_file: bool = False
    """That option takes no folder and no word, but the path of one file: another one after each save."""


SAVES_ONCE = "it saves once, when the training is over"
"""The note of a `saving` of False where results are written all the same."""
SWITCHED_OFF = "saves only under a switch: "
"""How the note of a `saving` of False begins that a switch of the program's own decides; the switch follows."""

SAME_STATE = "each start is told the same checkpoint"
"""Why a `resume` is unknown that names one state of one run (`model_03.pt`): only a look of the program's own for a
later one makes it go on."""


class TrainingSettings(Struct, eq=False):
    """Framework-independent settings of a training program, read from flags, overrides, config files and Python.

    Defaults of the recognised framework are applied (`origin.via == "default"`). For a program whose framework or
    configuration is not visible, missing values are `Unknown`.
    """

    save_path: Setting[str]
    save_interval: Setting[Quantity]
    """`Absent`: the program surely never saves periodically."""
    saving: Setting[bool]
    """Whether saving is on at all, while it trains. Never `Absent`: where nothing asks for it, it is off or unknown."""
    total: Setting[Quantity]
    """The planned length of the run, in the unit of the option that gives it."""
    retention: Setting[int]
    """Checkpoints kept; `Absent`: all are kept."""
    resume: Setting[bool]
    """Whether a restart continues from the last checkpoint."""
    timeout: Setting[float]
    """The process-group (collective) timeout in seconds."""
    asynchronous: Setting[bool]
    in_memory: Setting[bool]
    """Frequent local or in-memory replicas cover faults between persistent saves."""
    best_only: Setting[bool]
    signal_save: Setting[bool]
    """Saves when it is told to stop."""
    second_path: Setting[str]
    """A second place that checkpoints go to (an asynchronous upload, a persistent tier)."""
    exit_after: Setting[float]
    """Seconds after which the program saves and exits by itself."""
    samples_per_step: Setting[float]
    """Global batch size in samples, to bring `samples` and `steps` together."""
    usual_total: Quantity | None = None
    """Where the length is up to who starts the script: what it is unless they say something else."""
    usual_interval: Quantity | None = None
    """The same for what passes between saves."""
    unseen_config: str = ""
    """Why a configuration that it is given is not seen whole: any option may stand there."""
    stop_signals: frozenset[str] = frozenset()
    """Signals to stop (SIGTERM, SIGUSR1 …) that the visible script handles."""
    fetched: tuple[Set[str], ...] = ()
    """What the visible script has the Hub's libraries look up in every process: ids, or paths."""
    extra: Mapping[str, Setting[str]] = field(default_factory=dict)
    """Other options that rules ask for by canonical key (tensor-parallel, data-workers, …); see facts.frameworks."""

    @property
    def told_one_state(self) -> bool:
        """Each start is told the same checkpoint."""
        return isinstance(self.resume, Unknown) and self.resume.reason == SAME_STATE

    @property
    def saves_once(self) -> bool:
        """It surely saves when the training is over, and never before."""
        return isinstance(self.saving, Set) and self.saving.origin.note == SAVES_ONCE

    @property
    def switched_off(self) -> str:
        """The program's own switch by which it does not save while it trains, in words; empty where there is none."""
        note = self.saving.origin.note if isinstance(self.saving, Set) and not self.saving.value else ""
        return note.removeprefix(SWITCHED_OFF) if note.startswith(SWITCHED_OFF) else ""


class TrainingProcess(Struct, eq=False):
    """A training program as it starts in one role: the view that rules on NCCL and checkpoints speak of."""

    workload: Workload
    role: Role
    container: Container
    command: Command
    launchers: tuple[Launcher, ...]
    """Outermost first."""
    program: str
    """Script path, module or binary; empty where it is unknown."""
    options: Options
    """The program's own arguments."""
    environment: Environment
    """As the program sees it: after exports, prefix assignments and what launchers add."""
    framework: Framework | None
    settings: TrainingSettings
    torch: Setting[Release]
    nccl: Setting[Release]
    uses_torch: Setting[bool]
    origin: Origin
    opaque_because: str = ""
    """Not empty where the program's text and options do not tell what it does (a wrapper, a binary)."""
    torch_is_early: bool = False
    """`torch` is a state of development before that release (NVIDIA's monthly images): what came with the release may
    not be in it."""
    torch_asked: Set[Release] | None = None
    """Where `torch` is not known: the oldest release that fits the project's requirements, or the image's Python."""
    reads: frozenset[str] = frozenset()
    """Environment variables that the visible scripts read by name themselves: private names are no misspelt ones."""
    status_lost: LostStatus | None = None
    """How its exit status is lost when it fails; None where it reaches the container's, or where that is not known."""
    shell_in_front: ShellInFront | None = None
    """The shell that stays in front of it in its container and hands no SIGTERM on; None where the program takes the
    shell's place or a trap tells it, and where that is not known."""
    end_status: EndStatus | None = None
    """With which status its container ends when it fails; None where that status is lost, or where it is not known."""
    text: ProgramText = field(default_factory=ProgramText)
    """What is visible of the program's own text."""
    starts: tuple[object, ...] = ()
    """What is started, on how many nodes and devices: equal for several starts of one run, in the branches of a script
    say, which differ in their variables or in the launchers' other settings."""
    launched: tuple[Origin, ...] = ()
    """The launchers of every start of the program in the container, also of those that differ in nothing."""

    @property
    def subject(self) -> Subject:
        return self.container.subject

    @property
    def begins_anew(self) -> bool:
        """Options that belong to the first launch alone are given: no restart is meant to run with them."""
        found = self.settings.extra.get("first-leg")
        return isinstance(found, Set) and found.value.strip().lower() not in {"false", "0", "no"}

    @property
    def object_origin(self) -> Origin:
        """The object that the process belongs to: gaps of like roles in one object are one finding."""
        return self.workload.origin

    @property
    def nodes(self) -> Setting[int]:
        return self.workload.nodes

    @property
    def collective(self) -> bool:
        """It surely is one of several GPU processes of a training job that talk through NCCL (or AMD's RCCL)."""
        workload = self.workload
        if not workload.trains:
            return False
        vendors = {accelerator.vendor for accelerator in self.container.accelerators}
        if vendors and not vendors & NCCL_VENDORS:
            return False
        if self.trains_by_itself or (workload.asks_for_no_accelerator and trains_on_cpu(self)):
            return False
        if self.launched_bare and self._many_tasks:
            return True
        return any(
            isinstance(count, Set) and count.value > 1 for count in (workload.nodes, workload.accelerators_per_node)
        )

    @property
    def trains_by_itself(self) -> bool:
        """Every process is a run of its own, as in a search for hyperparameters: all of the program's text is seen, and
        nothing in it makes a process group."""
        return self.launched_bare and self.framework is None and self.text.mentions(*MAKES_A_GROUP) is False

    @property
    def _many_tasks(self) -> bool:
        """srun starts it several times on each node."""
        step = self.launcher("srun")
        return step is not None and isinstance(each := step.processes_per_node, Set) and each.value > 1

    @property
    def uses_torch_surely_not(self) -> bool:
        """It is known to be another stack (JAX, TensorFlow, Horovod's own transport)."""
        return isinstance(self.uses_torch, Set) and not self.uses_torch.value

    @property
    def recovers_in_process(self) -> bool:
        """torchft or NVRx repairs communicators inside the process: NCCL's own handling is off on purpose."""
        return self.heals_from_peers or isinstance(self.settings.extra.get("in-process-recovery"), Set)

    @property
    def heals_from_peers(self) -> bool:
        """torchft: a replica that comes back takes its state from a live one."""
        recovery = self.settings.extra.get("in-process-recovery")
        torchft = isinstance(recovery, Set) and recovery.value.split(".")[0] in {"torchft", "fault-tolerance"}
        given = self.environment
        return torchft or any(name.startswith("TORCHFT_") and name in given for name in given.variables)

    def torch_at_least(self, release: Release) -> bool | None:
        """Whether torch has what came with a release; None where that is not known."""
        if not isinstance(self.torch, Set):
            return None
        own = self.torch.value
        if self.torch_is_early and own[:2] == release[:2]:
            return None
        return own >= release

    @property
    def torch_shown(self) -> str:
        """`torch 2.3`, with its doubt where it is a pre-release; empty where the release is not known."""
        if not isinstance(self.torch, Set):
            return ""
        number = ".".join(map(str, self.torch.value[:2]))
        return f"a pre-release of torch {number}" if self.torch_is_early else f"torch {number}"

    @property
    def uses_ray(self) -> bool:
        """Ray starts it, or its visible text imports Ray."""
        if self.workload.subject.api_version.startswith("ray.io/") or self.launcher("ray") is not None:
            return True
        return any(_IMPORTS_RAY.search(text) for text in self.text.texts)

    @property
    def _knows_no_other(self) -> bool:
        """A bare program that takes its share of the work by the pod's index, and is told nothing of a master: each
        pod may well train by itself."""
        if "JOB_COMPLETION_INDEX" not in self.reads or not self.launched_bare or self.environment.open_because:
            return False
        told = (*self.environment, *self.reads, *(one.name for one in self.options.occurrences))
        return not any(_MEETING.search(name) for name in told)

    @property
    def surely_several(self) -> bool:
        """Several processes are seen to be started: on several nodes, or by a launcher of several."""
        if self.workload.multi_node and not self._knows_no_other:
            return True
        return any(
            launcher.kind != "python" and not (isinstance(each := launcher.processes_per_node, Set) and each.value <= 1)
            for launcher in self.launchers
        )

    @property
    def launched_bare(self) -> bool:
        """A visible program that nothing but srun, mpirun or the container's command starts."""
        if not self.program or self.opaque_because:
            return False
        return set(self.layers()) <= BARE_LAUNCHERS

    @property
    def rdma_device(self) -> Origin | None:
        """What gives InfiniBand or RoCE devices to the process: an extended resource, or an SR-IOV network."""
        for name, amount in (*self.container.limits.items(), *self.container.requests.items()):
            if is_infiniband(name) and isinstance(amount, Set) and amount.value.strip() not in {"0", ""}:
                return amount.origin
        networks = self.role.pod.annotations.get("k8s.v1.cni.cncf.io/networks")
        if isinstance(networks, Set) and RDMA_NETWORKS.search(networks.value):
            return networks.origin
        return None

    @property
    def rdma_evidence(self) -> Origin | None:
        """What shows that the process uses InfiniBand or RoCE: a device, or a variable for it."""
        device = self.rdma_device
        if device is not None:
            return device
        for name in RDMA_VARIABLES:
            value = self.environment.get(name)
            if isinstance(value, Set):
                return value.origin
        net = self.environment.get("NCCL_NET")
        return net.origin if isinstance(net, Set) and net.value.upper() == "IB" else None

    @property
    def link_evidence(self) -> Origin | None:
        """What shows that NVLink or the like joins the GPUs of a node: a product or machine type that nodes are chosen
        by, or a batch script's machine, whose note then says which link it is."""
        pod, each = self.role.pod, self.workload.accelerators_per_node
        gpus = each.value if isinstance(each, Set) else 0
        if self.workload.batch is not None:
            return self.workload.batch.linked_gpus(gpus)
        for label in pod.node_selector.values():
            if isinstance(label, Set) and has_nvlink(label.value, gpus):
                return label.origin
        for term in affinity(pod).nodes:
            values = term.values.value if isinstance(term.values, Set) else ()
            if term.required and term.operator == "In" and values and all(has_nvlink(one, gpus) for one in values):
                return term.origin
        for accelerator in self.container.accelerators:
            if has_nvlink(accelerator.resource.rpartition("/")[2], gpus):
                return accelerator.origin
        return None

    @property
    def other_fabric(self) -> bool:
        """Its traffic surely or probably goes over something else than NCCL's own InfiniBand transport."""
        disabled = self.environment.get("NCCL_IB_DISABLE")
        return self.own_transport or (isinstance(disabled, Set) and disabled.value.strip() not in {"0", ""})

    @property
    def own_transport(self) -> bool:
        """A network plugin (EFA, TCPX, GIB …) surely or probably stands in for NCCL's InfiniBand transport."""
        environment = self.environment
        if any(OTHER_FABRIC_VARIABLES.match(name) for name in environment):
            return True
        if any(OTHER_FABRIC_RESOURCES.match(name) for name in (*self.container.limits, *self.container.requests)):
            return True
        if any(name.startswith("networking.gke.io/") for name in self.role.pod.annotations):
            return True
        if not isinstance(environment.get("NCCL_NET_PLUGIN"), Absent):
            return True
        net = environment.get("NCCL_NET")
        return isinstance(net, Set) and net.value.upper() != "IB"

    def launcher(self, *kinds: str) -> Launcher | None:
        """The innermost launcher of one of these kinds (of any kind without arguments)."""
        for launcher in reversed(self.launchers):
            if not kinds or launcher.kind in kinds:
                return launcher
        return None

    @property
    def remote_mpirun(self) -> Launcher | None:
        """The Open MPI mpirun that starts the processes in other pods, where only variables of `-x` arrive."""
        mpirun = self.launcher("mpirun")
        if mpirun is None or self.workload.batch or self.environment.home.place == self.container.origin.place:
            return None
        hydra = any(mpirun.options.find(name) for name in ("genv", "genvlist", "envall", "ppn", "perhost", "hosts"))
        return None if hydra else mpirun

    def layers(self) -> Iterator[str]:
        return (launcher.kind for launcher in self.launchers)


def known_release(setting: Setting[Release]) -> Release | None:
    return setting.value if isinstance(setting, Set) else None
