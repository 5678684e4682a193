"""Workloads: one training job of any kind, with the values that its controllers really use.

Adapters in `kinds` build these. Every field is effective: defaults of the API version are applied, overrides are
merged, operators' own injections are added. `origin.via` tells where a value comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint.model.command import Command, Script
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.surroundings import Surroundings
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.text.source import Files, no_files

if TYPE_CHECKING:
    from kube_gaplint.model.slurm import Batch

Purpose: TypeAlias = Literal[
    "training", "benchmark", "smoke", "interactive", "inference", "evaluation", "simulation", "processing",
    "cpu", "unknown",
]  # fmt: skip


class Classified(Struct, frozen=True):
    """What a workload is for, and by what it was recognised (shown by `gaplint show`)."""

    purpose: Purpose
    reason: str


class Mount(Struct, frozen=True):
    """A volume mounted into a container."""

    path: Setting[str]
    volume: str
    sub_path: str
    read_only: bool
    origin: Origin


VolumeKind: TypeAlias = Literal[
    "claim", "empty-dir", "memory", "host-path", "nfs", "csi", "config-map", "secret", "ephemeral", "projected",
    "downward", "image", "other", "unknown",
]  # fmt: skip


class Backing(Struct, frozen=True):
    """How a volume is mounted. `driver`: a CSI driver, the provisioner of a class, or `nfs` for the kernel's client."""

    driver: str
    attributes: Mapping[str, Setting[str]]
    mount_options: Setting[tuple[str, ...]]
    origin: Origin


class Volume(Struct, frozen=True):
    """A volume of a pod. `source` is the claim, ConfigMap, host path, CSI driver … that it stands on."""

    name: str
    kind: VolumeKind
    source: Setting[str]
    origin: Origin
    size_limit: Setting[str]
    """`sizeLimit` of an emptyDir, as written."""
    access_modes: Setting[tuple[str, ...]]
    """Of the claim, where its object was found."""
    storage_class: Setting[str]
    capacity: Setting[str]
    durable: Setting[bool]
    """Whether data in it outlives the pod."""
    shared: Setting[bool]
    """Whether pods on several nodes can mount it at once."""
    per_pod: bool = False
    """A claim of its own for each pod, from a claim template of the controller."""
    backing: Backing | None = None
    """What mounts it, where that is seen: the volume itself, or the claim's PersistentVolume or StorageClass."""


class Accelerators(Struct, frozen=True):
    """Accelerators of one container (or pod): resource name (`nvidia.com/gpu`) and count.

    `vendor`: nvidia, amd, intel, habana, neuron, tpu, ascend, or "" where unknown. `partial`: MIG slices, shared or
    time-sliced devices: no collective across them.
    """

    resource: str
    count: Setting[int]
    vendor: str
    origin: Origin
    partial: bool = False


class Container(Struct, eq=False):
    """A container with everything that runs in it. For a batch script: the allocation's node environment."""

    name: str
    origin: Origin
    subject: Subject
    image: Setting[str]
    environment: Environment
    """What Kubernetes gives to the container's first process."""
    command: Setting[tuple[str, ...]]
    args: Setting[tuple[str, ...]]
    accelerators: tuple[Accelerators, ...]
    requests: Mapping[str, Setting[str]]
    limits: Mapping[str, Setting[str]]
    mounts: tuple[Mount, ...]
    mounts_open: str = ""
    """Why there may be more mounts than are seen (a template expression); empty where there are not."""
    init: bool = False
    sidecar: bool = False
    """An init container with restartPolicy Always."""
    commands: list[Command] = field(default_factory=list)
    """Every command that is seen to run, in order; those of scripts that it calls included."""
    scripts: list[Script] = field(default_factory=list)
    refers: frozenset[str] = frozenset()
    """Variables that the manifest's own `command`, `args` and `env` make use of (`--minutes=$(NCCL_MINUTES)`)."""
    entrypoint_unknown: str = ""
    """Not empty where what starts is not seen: no command and an image's ENTRYPOINT, or a wrapper from the image."""
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)
    """Further scalar fields by path, as the rules ask for them: `imagePullPolicy`, `securityContext.privileged` …"""
    exposed: Mapping[str, object] = field(default_factory=dict)
    """Structured parts (probes, lifecycle, capabilities) as typed values; see `model.pod`."""

    def environments(self) -> Iterator[Mapping[str, Setting[str]]]:
        """Its own variables, then those of each command and those at the end of each script; each once."""
        every = chain(
            [self.environment.variables],
            (command.environment.variables for command in self.commands),
            (script.exports for script in self.scripts),
        )
        seen: set[int] = set()
        for variables in every:
            if id(variables) not in seen:
                seen.add(id(variables))
                yield variables

    @property
    def files(self) -> Files:
        """The files that are visible to it: those of mounts, of its image's Dockerfile, of a clone."""
        found = self.exposed.get("files")
        return found if callable(found) else no_files

    @property
    def repository(self) -> Files:
        """The files of the repository that the manifest lies in, by their paths from its top. An image may hold others
        of the same names: what stands in them is a reason to keep quiet, and none to speak."""
        found = self.exposed.get("repository")
        return found if callable(found) else no_files

    @property
    def artifacts(self) -> tuple[str, ...]:
        """The paths whose content its controller keeps when it ends (Argo's output artifacts)."""
        found = self.exposed.get("artifacts")
        return found if isinstance(found, tuple) else ()

    @property
    def image_folders(self) -> tuple[str, ...]:
        """The folders of which one is the image's own working directory, as the Dockerfiles say that it may be built
        from; none where that is not known."""
        found = self.exposed.get("folders")
        return found() if callable(found) else ()

    @property
    def image_starts(self) -> tuple[str, ...]:
        """What its image starts, as the Dockerfile says, where the manifest has neither command nor args; none where
        that is not known."""
        found = self.exposed.get("image_starts")
        return found() if callable(found) else ()

    @property
    def accelerator_count(self) -> Setting[int]:
        """All accelerators of the container; `Absent` where it surely asks for none."""
        return _of_container(self)


class Pod(Struct, eq=False):
    """A pod template as the controller makes it."""

    origin: Origin
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    volumes: tuple[Volume, ...]
    annotations: Mapping[str, Setting[str]]
    labels: Mapping[str, Setting[str]]
    restart_policy: Setting[str]
    grace_seconds: Setting[float]
    node_selector: Mapping[str, Setting[str]]
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)
    """Further scalar fields by path: `hostNetwork`, `dnsPolicy`, `priorityClassName`, `subdomain`, `schedulerName` …"""
    exposed: Mapping[str, object] = field(default_factory=dict)
    """Structured parts (tolerations, affinity, topology spread …) as typed values; see `model.pod`."""
    template: Origin | None = None
    """The mapping with the pod's `metadata` and `spec`; None where no manifest holds one."""
    overrides_unknown: str = ""
    """Not empty where something unseen (a runtime that is not in the paths) may add volumes, variables or fields."""

    def volume(self, name: str) -> Volume | None:
        return next((volume for volume in self.volumes if volume.name == name), None)

    @property
    def accelerator_count(self) -> Setting[int]:
        """Accelerators of the whole pod."""
        return _of_pod(self)


@lru_cache(maxsize=32)  # nearly every rule asks
def _of_container(container: Container) -> Setting[int]:
    if not container.accelerators:
        return Absent(container.origin)
    total = 0
    for accelerator in container.accelerators:
        if not isinstance(accelerator.count, Set):
            return Unknown("the number of accelerators is not known", accelerator.origin)
        total += accelerator.count.value
    return Set(total, container.accelerators[0].origin)


@lru_cache(maxsize=16)
def _of_pod(pod: Pod) -> Setting[int]:
    counts = [container.accelerator_count for container in pod.containers]
    for count in counts:
        if isinstance(count, Unknown):
            return count
    found = [count for count in counts if isinstance(count, Set)]
    if not found:
        return Absent(pod.origin)
    return Set(sum(count.value for count in found), found[0].origin)


class Role(Struct, eq=False):
    """A group of like pods: Master, Worker, launcher, head, a Volcano task, the nodes of a batch job."""

    name: str
    origin: Origin
    pod: Pod
    replicas: Setting[int]
    """Pods of this role in the whole workload (replicas × parallelism where a kind has both)."""
    trains: bool = True
    """Its pods take part in the collective: false for launchers, submitters and parameter-free helpers."""
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)
    """Scalars of the part that makes this role's pods, by path: of a Job's spec (also that of a JobSet's child) its
    `backoffLimit`, of a Kubeflow replica its `restartPolicy`, of a Volcano task its `minAvailable`."""
    exposed: Mapping[str, object] = field(default_factory=dict)
    """Structured parts of the same; see `model.retry`."""


Scope: TypeAlias = Literal["container", "pod", "role", "workload", "process"]


class RestartLayer(Struct, frozen=True):
    """One controller that starts something again after a failure, outermost first in `Workload.restarts`.

    `scope` is what it restarts at once; `budget` how often (`Absent`: never; a very large number: no bound).
    `on` lists what it reacts to: "failure" (a container exits non-zero), "eviction", "node-loss".
    """

    owner: str
    scope: Scope
    budget: Setting[int]
    origin: Origin
    on: frozenset[str] = frozenset({"failure", "eviction", "node-loss"})
    note: str = ""
    counted_above: bool = False
    """Its restarts spend the budget of the layer above it (a Job counts the kubelet's restarts under OnFailure)."""

    @property
    def owner_shown(self) -> str:
        """The owner in a sentence: `the training operator`, but `Volcano`."""
        return f"the {self.owner}" if self.owner[:1].islower() else self.owner


UNBOUNDED = 2**31 - 1
"""A restart budget without bound."""


class Workload(Struct, eq=False):
    """One training job, or what looks like one."""

    subject: Subject
    origin: Origin
    roles: tuple[Role, ...]
    classified: Classified
    restarts: tuple[RestartLayer, ...]
    nodes: Setting[int]
    """Pods (or Slurm nodes) that take part in the collective; each is taken as a node of its own."""
    accelerators_per_node: Setting[int]
    restart_budget: Setting[int]
    """How many failures of one member the whole survives, through every layer (`UNBOUNDED`: all)."""
    gang_scheduled: Setting[bool]
    elastic: Setting[bool]
    deadline_seconds: Setting[float]
    run_days: Setting[float]
    """Planned or declared duration (profile, annotation, time limit)."""
    step_seconds: Setting[float]
    save_seconds: Setting[float]
    annotations: Mapping[str, Setting[str]] = field(default_factory=dict)
    labels: Mapping[str, Setting[str]] = field(default_factory=dict)
    processes: list[TrainingProcess] = field(default_factory=list)
    batch: Batch | None = None
    """For a Slurm batch script: its directives and steps."""
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)
    """Kind-specific scalars by path: `spec.runPolicy.cleanPodPolicy`, `spec.maxRetry` …"""
    exposed: Mapping[str, object] = field(default_factory=dict)
    surroundings: Surroundings = field(default_factory=Surroundings)
    """What the given paths say about the cluster around it."""
    notes: list[str] = field(default_factory=list)
    """What could not be seen, in words (shown by `gaplint show`, GAP003)."""

    @property
    def object_origin(self) -> Origin:
        return self.origin

    @property
    def purpose(self) -> Purpose:
        return self.classified.purpose

    @property
    def trains(self) -> bool:
        """Whether rules for training speak of it: benchmarks, serving, interactive and CPU jobs are out."""
        return self.classified.purpose == "training"

    @property
    def controller_saves(self) -> bool:
        """Its controller is told of checkpoints and may take them itself, as some of unknown kinds do."""
        return "controller_saves" in self.exposed

    @property
    def accelerators(self) -> Setting[int]:
        """All accelerators of the collective (the world size of one process a device)."""
        nodes, each = self.nodes, self.accelerators_per_node
        if isinstance(nodes, Set) and isinstance(each, Set):
            counts = self.accelerators_of_pods
            return Set(nodes.value * each.value if counts is None else sum(p * n for p, n in counts), each.origin)
        return next(s for s in (nodes, each) if not isinstance(s, Set))

    @property
    def accelerators_of_pods(self) -> list[tuple[int, int]] | None:
        """Of each role of the collective its pods and the accelerators of each, none for a Master that only
        coordinates; None where not all of them are known."""
        roles = [role for role in self.roles if role.trains]
        counts: list[tuple[int, int]] = []
        for role in roles:
            each = role.pod.accelerator_count
            if not isinstance(role.replicas, Set) or isinstance(each, Unknown) or role.pod.overrides_unknown:
                return None
            counts.append((role.replicas.value, each.value if isinstance(each, Set) else 0))
        whole = isinstance(self.nodes, Set) and sum(pods for pods, _ in counts) == self.nodes.value
        return counts if whole and any(each for _, each in counts) else None

    @property
    def asks_for_no_accelerator(self) -> bool:
        """Its pods surely ask the scheduler for none: if they run on GPUs all the same, they keep them from nobody."""
        pods = [role.pod for role in self.roles]
        return bool(pods) and all(
            isinstance(pod.accelerator_count, Absent) and not pod.overrides_unknown for pod in pods
        )

    @property
    def starts_again(self) -> Origin | None:
        """What surely starts the job again after a failure: a layer with a budget; for a batch script its requeue."""
        if self.batch is not None:
            batch = self.batch
            if isinstance(batch.continuation, Set):
                return batch.continuation.origin
            asked = isinstance(batch.requeue, Set) and batch.requeue.value and batch.requeue.origin.written
            return batch.requeue.origin if asked else None
        if not isinstance(self.restart_budget, Set) or self.restart_budget.value <= 0:
            return None
        for layer in self.restarts:
            if isinstance(layer.budget, Set) and layer.budget.value > 0:
                return layer.origin
        return None

    @property
    def multi_node(self) -> bool | None:
        """True or False where the number of nodes is known, else None."""
        return self.nodes.value > 1 if isinstance(self.nodes, Set) else None

    @property
    def alone(self) -> bool:
        """It surely runs on a single accelerator, or on none: nothing talks through NCCL."""
        nodes, each = self.nodes, self.accelerators_per_node
        if not isinstance(nodes, Set) or nodes.value > 1:
            return False
        return isinstance(each, Absent) or (isinstance(each, Set) and each.value <= 1)

    def processes_of(self, role: Role) -> list[TrainingProcess]:
        """The training processes that run in the pods of a role."""
        return [process for process in self.processes if process.role is role]

    def containers(self) -> Iterator[tuple[Role, Container]]:
        """All containers, init containers excluded."""
        for role in self.roles:
            for container in role.pod.containers:
                yield role, container
