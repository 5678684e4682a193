"""What a container asks of its node: requests and limits as they are in force, and whether a pod has a node alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint.facts.instances import GPUS_OF_A_BOARD, WHOLE_BY_PRODUCT, devices_of
from kube_gaplint.facts.resources import (
    AUTOPILOT_CLASSES,
    COMPUTE_CLASS,
    CPUS_OF_A_GPU,
    DATA_WORKERS_BY_NAME,
    SHARED_MEMORY_PER_GPU,
)
from kube_gaplint.model.pod import only_choices
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.scale import counted, noun
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.surroundings import Surroundings
from kube_gaplint.model.units import quantity
from kube_gaplint.model.workload import Container, Pod, Role, Workload

if TYPE_CHECKING:
    from kube_gaplint.model.slurm import Batch, Step
    from kube_gaplint.model.training import TrainingProcess

WORDS = {"memory": "memory", "cpu": "CPU", "ephemeral-storage": "ephemeral storage"}
"""The resources that a container should ask for, and what they are called."""


def request(resource: str, container: Container, pod: Pod, workload: Workload) -> Setting[str]:
    """The amount that the scheduler keeps for a container.

    The API copies a limit into a missing request; after that the pod's own resources, a LimitRange of the namespace and
    GKE Autopilot give one. `Absent`: surely nothing does.
    """
    own = _written(resource, container, pod, ("requests", "limits"))
    if not isinstance(own, Absent):
        return own
    for limits in workload.surroundings.limits:
        for table in (limits.requests, limits.defaults):
            found = table.get(resource)
            if found is not None and not isinstance(found, Absent):
                return found
    filler = workload.surroundings.fills_requests
    if filler is not None:
        return Unknown(f"{filler.what} gives requests to pods without", filler.origin)
    if _on_autopilot(pod):
        return Unknown("GKE Autopilot gives requests to pods without", pod.origin)
    return own


def limit(resource: str, container: Container, pod: Pod, workload: Workload) -> Setting[str]:
    """The most that a container may use; `Absent` where surely nothing bounds it."""
    own = _written(resource, container, pod, ("limits",))
    if isinstance(own, Absent):
        found = workload.surroundings.default_limit(resource)
        return own if found is None else found
    return own


def _written(resource: str, container: Container, pod: Pod, sections: tuple[str, ...]) -> Setting[str]:
    for fields in (container.fields, pod.fields):
        for section in sections:
            found = fields.get(f"resources.{section}.{resource}")
            if found is not None and not isinstance(found, Absent):
                return found
    if pod.overrides_unknown:
        return Unknown(pod.overrides_unknown, pod.origin)
    return Absent(container.origin)


def _on_autopilot(pod: Pod) -> bool:
    chosen = pod.node_selector.get(COMPUTE_CLASS)
    return isinstance(chosen, Set) and chosen.value.lower() in AUTOPILOT_CLASSES


class Asked(Struct, frozen=True):
    """A container with GPUs, and which of memory, CPU and ephemeral storage it surely asks for not."""

    role: Role
    container: Container
    devices: int
    missing: tuple[str, ...]
    alone: bool
    """Its pod surely takes all accelerators of a node."""

    @property
    def place(self) -> Origin:
        """Where a request is missed: the container, or where its accelerators are asked for in another file (a TrainJob
        over a runtime)."""
        home, devices = self.container.origin, self.container.accelerators[0].origin
        return home if devices.place.source.path == home.place.source.path else devices

    noun: str
    """What its accelerators are called."""

    @property
    def shown(self) -> str:
        """Its accelerators in words: `2 GPUs`, `a share of 1 GPU`."""
        words = counted(self.devices, self.noun)
        return f"a share of {words}" if any(one.partial for one in self.container.accelerators) else words

    @property
    def shared_without_memory(self) -> bool:
        """It shares a node and asks for no memory: the gap that its other missing requests are told with."""
        return not self.alone and "memory" in self.missing


@lru_cache(maxsize=8)  # several rules ask for each workload
def asked(workload: Workload, profile: Profile) -> list[Asked]:
    """The containers of a training job that have a known number of accelerators. A server beside the training (that
    of rollouts, say) is left out."""
    if not workload.trains or workload.batch is not None:
        return []
    training = {id(process.container) for process in workload.processes}
    found, word = [], noun(workload)
    for role, container in workload.containers():
        if id(container) not in training and any(id(other) in training for other in role.pod.containers):
            continue
        count = container.accelerator_count
        if isinstance(count, Set) and count.value > 0:
            missing = tuple(name for name in WORDS if isinstance(request(name, container, role.pod, workload), Absent))
            found.append(
                Asked(
                    role,
                    container,
                    count.value,
                    missing,
                    takes_whole_node(role.pod, profile, workload.surroundings),
                    word,
                )
            )
    return found


def takes_whole_node(pod: Pod, profile: Profile, around: Surroundings | None = None) -> bool:
    """Whether the pod's accelerators are all that a node has: a board of eight, a TPU host, or as many as the machine
    type carries that it asks for, or that the commands beside it make pools of. Nobody else can then use the node's
    memory and CPUs for a GPU job."""
    count = pod.accelerator_count
    if not isinstance(count, Set):
        return False
    if any(device.vendor == "tpu" for container in pod.containers for device in container.accelerators):
        return True
    if count.value >= (profile.gpus_per_node or GPUS_OF_A_BOARD):
        return True
    most_of_all = None if around is None else around.most_gpus_per_node
    if isinstance(most_of_all, Set) and not profile.gpus_per_node and count.value >= most_of_all.value:
        return True
    for name in _chosen_values(pod):
        most = devices_of(name)
        if most is not None and count.value >= most:
            return True
        if WHOLE_BY_PRODUCT.fullmatch(name.strip().lower()) and count.value >= 4:
            return True
    return False


def knows_the_nodes(pod: Pod, profile: Profile, around: Surroundings) -> bool:
    """Whether it is known how many GPUs the pod's nodes have: by the profile, the commands beside it or the machine
    type that it asks for."""
    if profile.gpus_per_node or isinstance(around.most_gpus_per_node, Set):
        return True
    return any(devices_of(name) is not None for name in _chosen_values(pod))


def _chosen_values(pod: Pod) -> Iterator[str]:
    """The values of the node labels that the pod asks for."""
    yield from (value.value for value in pod.node_selector.values() if isinstance(value, Set))
    yield from (value for _, value in only_choices(pod))


def cpus_of_a_node(workload: Workload) -> Set[int] | None:
    """The CPUs that a batch script's job gets on each of its nodes, where its options say so. A CPU of Slurm is a core
    or one of its threads. None for jobs that have their nodes to themselves."""
    batch = workload.batch
    if batch is None or batch.directive("exclusive") is not None:
        return None
    each, of_a_gpu = _whole(batch, "cpus-per-task"), _whole(batch, "cpus-per-gpu")
    if of_a_gpu is not None and each is None:
        gpus = workload.accelerators_per_node
        return Set(of_a_gpu.value * gpus.value, of_a_gpu.origin) if isinstance(gpus, Set) else None
    tasks = _tasks_of_a_node(batch, workload)
    if each is None or of_a_gpu is not None or tasks is None or any(_own_cpus(step) for step in batch.steps):
        return None
    return Set(each.value * tasks, each.origin)


def _own_cpus(step: Step) -> bool:
    return step.trains and (bool(step.options.open_because) or step.options.find("cpus-per-task", "c") is not None)


def _tasks_of_a_node(batch: Batch, workload: Workload) -> int | None:
    """One where nothing says another number."""
    if any(batch.directive(name) is not None for name in ("ntasks-per-gpu", "ntasks-per-socket", "gpus-per-task")):
        return 1 if _value(batch, "ntasks") == 1 else None
    if batch.directive("ntasks-per-node") is not None:
        return _value(batch, "ntasks-per-node")
    if batch.directive("ntasks") is None:
        return 1
    tasks, nodes = _value(batch, "ntasks"), workload.nodes
    if tasks is None or not isinstance(nodes, Set) or nodes.value < 1 or tasks % nodes.value:
        return None
    return tasks // nodes.value


def _value(batch: Batch, name: str) -> int | None:
    found = _whole(batch, name)
    return None if found is None else found.value


def _whole(batch: Batch, name: str) -> Set[int] | None:
    """A directive that is a whole number above 0."""
    found = batch.directive(name)
    value = None if found is None else found.value
    if found is None or not isinstance(value, Set) or not value.value.isdecimal() or len(value.value) > 6:
        return None
    return Set(int(value.value), Origin(found.place)) if int(value.value) > 0 else None


def processes_in(workload: Workload, container: Container) -> int:
    """The training processes that are surely started in a container: as many as a launcher is told, else one."""
    told = (
        launcher.processes_per_node
        for process in workload.processes
        if process.container is container
        for launcher in process.launchers
    )
    return max((each.value for each in told if isinstance(each, Set)), default=1)


def busy_cores(processes: int, workers: int) -> int:
    """Cores that training processes with so many data-loader workers each keep busy.

    Beside a few workers the process itself counts as one more; beside many it mostly waits for them.
    """
    return processes * (workers if workers >= CPUS_OF_A_GPU else workers + 1)


def data_workers(workload: Workload, container: Container) -> Set[int] | None:
    """The data-loader workers of each training process of a container, where its program is told of some. A bare
    number of workers of a program of Ray's does not count: it may be that of its ranks."""
    for process in workload.processes:
        workers = process.settings.extra.get("data-workers")
        if process.container is not container or not isinstance(workers, Set) or not workers.origin.written:
            continue
        if _may_count_ranks(process):
            continue
        if workers.value.isdecimal() and len(workers.value) < 9 and int(workers.value) > 0:
            return Set(int(workers.value), workers.origin)
    return None


def _may_count_ranks(process: TrainingProcess) -> bool:
    known = process.framework is not None and process.framework.name != "ray-train"
    return not known and process.options.find(*DATA_WORKERS_BY_NAME) is None and process.uses_ray


def shared_memory_room(container: Container) -> int:
    """GiB that a volume at /dev/shm may take: 8 for each GPU, and at most half of the memory limit, which what is
    written there counts towards. 0 where the limit is not known."""
    accelerators, most = container.accelerator_count, container.limits.get("memory")
    enough = SHARED_MEMORY_PER_GPU * (accelerators.value if isinstance(accelerators, Set) else 1)
    if most is None or isinstance(most, Absent):
        return enough
    room = quantity(most.value) if isinstance(most, Set) else None
    return 0 if room is None else min(enough, int(room / 2 / 2**30))
