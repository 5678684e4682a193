"""Whether what launchers and programs are told about processes, nodes and parallel groups fits the pods."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts.accelerators import GENERATORS, SEVERAL_A_PROCESS
from kube_gaplint.model.rendezvous import is_foreign
from kube_gaplint.model.scale import counted
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.slurm_ranks import ranks_never_started
from kube_gaplint.model.training import Launcher, TrainingProcess
from kube_gaplint.model.units import as_integer
from kube_gaplint.model.workload import Container, Workload

if TYPE_CHECKING:
    from kube_gaplint.model.slurm import Batch

AGENTS = frozenset({
    "torchrun", "torch.distributed.launch", "ft_launcher", "hyperpodrun", "dlrover-run", "deepspeed", "accelerate",
    "composer", "lightning",
})  # fmt: skip
"""Launchers that run once in every pod (or reach all of them) and start the processes there."""

COMPARABLE_VENDORS = frozenset({"nvidia", "amd", "habana"})
"""One process takes one device of these; a Neuron device has several cores."""

SLURM_GPU = "gres/gpu"
"""What Slurm calls them all."""

PROCESSES_BY_FIELD = {
    "PyTorchJob": "spec.nprocPerNode",
    "HyperPodPyTorchJob": "spec.nprocPerNode",
    "TrainJob": "spec.trainer.numProcPerNode",
}
"""Fields by which an operator is told the processes of a node."""

MOST_ROLES = 8
"""Roles of a workload whose sums are tried as the size of a gang."""

PARALLEL = {
    "tensor-parallel": "tensor",
    "pipeline-parallel": "pipeline",
    "context-parallel": "context",
    "data-parallel": "data",
}


class Mismatch(Struct, frozen=True):
    """A number that does not fit another one."""

    detail: str
    message: str
    consequence: str
    origin: Origin
    other: Origin
    other_says: str
    told: int = 0
    """The number at `origin`, and what it would have to be; 0 where that is not one number's affair."""
    fits: int = 0
    along: tuple[tuple[Origin, int, int], ...] = ()
    """Numbers that follow from it: where they stand, what they are and what they would have to be."""
    remedy: str = ""
    """What to do, where it is not to change one of the two numbers."""
    slots: int = 0
    """The slotsPerWorker with which all devices are used and the number at `origin` is right; 0 where none is known."""


def mismatches(process: TrainingProcess) -> list[Mismatch]:
    """What does not fit, at the places where it is written. Empty where anything that decides is not known.

    Parallel groups are only counted in a world whose own numbers fit.
    """
    if process.command.certainty == "repeated" or _shares_container(process):
        return []
    found = [
        *_slots(process),
        *_ranks_of_slurm(process),
        *_agents(process),
        *_processes(process),
        *_nodes(process),
        *_world_size(process),
    ]
    return found or list(_groups(process))


def _shares_container(process: TrainingProcess) -> bool:
    """Other programs of the container, or other branches of its script, may take some of the devices. The same run,
    started in another way, does not run beside it."""
    return any(
        other is not process
        and other.container is process.container
        and other.role is process.role
        and (not process.starts or other.starts != process.starts)
        for other in process.workload.processes
    )


def _agent(process: TrainingProcess) -> Launcher | None:
    launcher = process.launcher(*AGENTS)
    if launcher is None:
        return None
    outer = process.launchers[: process.launchers.index(launcher)]
    for other in outer:
        each = other.processes_per_node
        if other.kind in AGENTS or (not isinstance(each, Absent) and not (isinstance(each, Set) and each.value == 1)):
            return None  # several agents on a node share its devices
    return launcher


def _devices(container: Container) -> Set[int] | None:
    """Whole devices of a container where each is one process's."""
    count = container.accelerator_count
    if not isinstance(count, Set) or count.value < 1:
        return None
    for one in container.accelerators:
        if one.partial or (one.vendor not in COMPARABLE_VENDORS and one.resource != SLURM_GPU):
            return None
    return count


def _told(setting: Setting[int] | None) -> Set[int] | None:
    """A number that somebody wrote: on the command line, in a file, or in the object that an operator passes on."""
    return setting if isinstance(setting, Set) and setting.origin.via != "default" else None


# Launchers of a node


def _agents(process: TrainingProcess) -> Iterator[Mismatch]:
    """srun starts torchrun several times on each node, and every one of them takes itself for the node's only one."""
    step, agent = process.launcher("srun"), process.launcher("torchrun", "torch.distributed.launch")
    workload = process.workload
    if step is None or agent is None or workload.batch is None:
        return
    yield from _as_many_again(step, agent, workload.batch)
    if not isinstance(workload.nodes, Set):
        return
    each, told = step.processes_per_node, _told(agent.nodes)
    nodes = workload.nodes if isinstance(step.nodes, Absent) else step.nodes
    if not isinstance(each, Set) or each.value < 2 or told is None or not isinstance(nodes, Set):
        return
    if told.value != nodes.value or told.value < 2 or agent.options.find("standalone") is not None:
        return
    total = each.value * nodes.value
    yield Mismatch(
        f"agents:{each.value}",
        f"srun starts {agent.kind} {each.value} times on each of {counted(nodes.value, 'node')}, {total} in all, and "
        f"each is told that there are {told.value}",
        f"{counted(total - told.value, agent.kind, agent.kind)} too many want to join, and the job fails at its start",
        each.origin,
        told.origin,
        f"{counted(told.value, 'node')}, one {agent.kind} on each",
        each.value,
        1,
    )


def _as_many_again(step: Launcher, agent: Launcher, batch: Batch) -> Iterator[Mismatch]:
    """One variable to be filled in says how often srun starts torchrun on a node, and how many processes it starts."""
    given = batch.directive("ntasks-per-node")
    told = agent.options.find("nproc-per-node")
    if given is None or told is None or not isinstance(agent.processes_per_node, Unknown):
        return
    own = step.options.find("ntasks-per-node", "ntasks", "nodes") or agent.options.find("standalone")
    name, same = _variable_in(given.place.text), _variable_in(told.word.place.text)
    if own is not None or not name or name != same or not isinstance(given.value, Unknown):
        return
    shown = f"${{{name}}}"
    yield Mismatch(
        f"agents:{name}",
        f"srun starts {agent.kind} {shown} times on each node, and each of them starts {shown} processes",
        f"with {shown} above 1 there are more processes than GPUs, and the job fails at its start",
        Origin(given.place),
        Origin(told.word.place),
        f"{shown} processes for each {agent.kind}",
    )


def _ranks_of_slurm(process: TrainingProcess) -> Iterator[Mismatch]:
    """The program asks Slurm how many ranks there are, and no srun starts them."""
    tasks = ranks_never_started(process)
    if tasks is None:
        return
    yield Mismatch(
        f"ranks:{tasks.value}",
        f"the program takes its rank and the number of ranks, {tasks.value}, from Slurm, and no srun starts its tasks",
        f"it has rank 0 and waits in vain for {counted(tasks.value - 1, 'more rank', 'more ranks')}",
        process.origin,
        tasks.origin,
        f"{tasks.value} tasks, as SLURM_NTASKS and SLURM_NPROCS say",
        remedy=f"start it with srun, a process for each of the {tasks.value} tasks",
    )


def _variable_in(option: str) -> str:
    """The variable that an option as it is written has for its whole value."""
    found = _WHOLE_VARIABLE.search(option)
    return found["name"] if found is not None else ""


_WHOLE_VARIABLE = lazy_re.compile(r"[=\s][\"']?\$\{?(?P<name>[A-Za-z_]\w*)\}?[\"']?\Z")


# Processes of a node


def _processes(process: TrainingProcess) -> Iterator[Mismatch]:
    agent, devices = _agent(process), _devices(process.container)
    if devices is None or _sees_fewer(process):
        return
    for who, told in _told_processes(process, agent):
        if told is None or told.value < 1 or told.value == devices.value:
            continue
        left = devices.value - told.value
        if left > 0 and (_is_less_on_purpose(told.origin) or _uses_the_rest(process)):
            continue
        yield Mismatch(
            f"processes:{told.value}:{devices.value}",
            f"{who} starts {counted(told.value, 'process', 'processes')} in a container with "
            f"{counted(devices.value, 'accelerator')}",
            f"{counted(-left, 'process', 'processes')} of each pod find no device, and the job fails at its start"
            if left < 0
            else f"{counted(left, 'accelerator')} of each pod stay idle",
            told.origin,
            devices.origin,
            counted(devices.value, "accelerator"),
            told.value,
            devices.value,
        )
        return


def _told_processes(process: TrainingProcess, agent: Launcher | None) -> Iterator[tuple[str, Set[int] | None]]:
    """Who is told how many processes a node has: the launcher, the operator, the framework itself."""
    workload = process.workload
    told = None if agent is None else _told(agent.processes_per_node)
    field = PROCESSES_BY_FIELD.get(workload.subject.kind)
    if agent is not None and told is not None and told.origin.written:
        yield agent.kind, told
    elif field is not None:
        yield f"{field.rpartition('.')[2]}: the operator", _told(as_integer(workload.fields[field]))
    if agent is not None:
        yield agent.kind, told
    yield process.program.rsplit("/", 1)[-1], _told(_extra(process, "devices"))


def _sees_fewer(process: TrainingProcess) -> bool:
    """Some devices are kept from the processes, or for another program beside them (a generator of rollouts)."""
    batch = process.workload.batch is not None
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        chosen = process.environment.variables.get(name)
        if isinstance(chosen, Set) or (isinstance(chosen, Unknown) and not batch):
            return True  # in a batch job Slurm sets it for every step
    names = [occurrence.name.lower() for occurrence in process.options.occurrences]
    beside = ("vllm", "sglang", "rollout", "judge", "reward-num-gpus")
    if any(part in name for name in names for part in beside):
        return True
    return any(command.name in {"vllm", "sglang", "trl"} for command in process.container.commands)


def _is_less_on_purpose(told: Origin) -> bool:
    """The script takes some off another number: `$((GPUS - 1))`."""
    return _TAKES_OFF.search(told.place.text) is not None


_TAKES_OFF = lazy_re.compile(r"\$\(\([^\n]{1,120}?-\s*\d{1,3}\s*\)\)|\bexpr\s[^\n]{1,120}?\s-\s\d{1,3}\b")


def _uses_the_rest(process: TrainingProcess) -> bool:
    """The program's own text shows what the other devices are for: a generator beside it, or each process has
    several."""
    if process.text.mentions(*GENERATORS) is True:
        return True
    return any(SEVERAL_A_PROCESS.search(text) is not None for text in process.text.texts)


# Nodes


def _nodes(process: TrainingProcess) -> Iterator[Mismatch]:
    workload = process.workload
    agent = _agent(process)
    if not _fixed(process) or not isinstance(workload.nodes, Set):
        return
    told_nodes = [(f"{agent.kind}'s number of nodes", _told(agent.nodes))] if agent is not None else []
    told_nodes.append(("the framework's number of nodes", _told(_extra(process, "nodes"))))
    sizes, one = gang_sizes(process), "pod"
    where = workload.nodes.origin
    if workload.batch is not None:
        step = process.launcher("srun")
        if step is None:
            return  # it runs on the first node alone, or is started on the others in a way that is not seen
        nodes = workload.nodes if isinstance(step.nodes, Absent) else step.nodes
        sizes, one = ({nodes.value} if isinstance(nodes, Set) else set()), "node"
        where = nodes.origin or where
    for name, told in told_nodes:
        if told is None or told.value < 1 or not sizes or told.value in sizes:
            continue
        if told.value == 1 and not workload.subject.api_version.startswith("kubeflow.org/"):
            continue  # every pod may train by itself
        total = max(sizes)
        if _is_part_of_a_group(process, agent, told.value, total):
            continue
        yield Mismatch(
            f"nodes:{told.value}:{total}",
            f"{name} is {told.value}, but {counted(total, one)} take{'s' if total == 1 else ''} part",
            f"the rendezvous waits for {told.value - total} more, and fails when its time is up"
            if told.value > total
            else f"{counted(total - told.value, one)} cannot join, and hold GPUs for nothing",
            told.origin,
            where,
            counted(total, one),
            told.value,
            total,
        )
        return


def _is_part_of_a_group(process: TrainingProcess, agent: Launcher | None, told: int, pods: int) -> bool:
    """More are told of than its object has pods, and others like it probably make up the rest."""
    return told > pods and ((pods == 1 and _one_of_several(process, agent)) or _led_from_outside(process))


def _one_of_several(process: TrainingProcess, agent: Launcher | None) -> bool:
    """Its object is probably one of several that form a group: a bare pod, or one that is told its own rank."""
    if process.workload.subject.kind == "Pod":
        return True
    if agent is not None and isinstance(agent.options.get("node-rank", "machine-rank"), Set):
        return True
    given = (process.container.environment.variables.get(name) for name in ("PET_NODE_RANK", "NODE_RANK", "RANK"))
    return any(isinstance(rank, Set) and rank.origin.written for rank in given)


def _led_from_outside(process: TrainingProcess) -> bool:
    """The first rank is in a pod of another object, which adds pods to the group."""
    leader = process.environment.get("MASTER_ADDR")
    return isinstance(leader, Set) and is_foreign(process, leader.value)


def _fixed(process: TrainingProcess) -> bool:
    elastic = process.workload.elastic
    return isinstance(elastic, Set) and not elastic.value


def gang_sizes(process: TrainingProcess) -> set[int]:
    """The numbers of pods that may form the group of a process: all, one role's, several roles', or those of one child
    Job or one group where the object makes several. Empty where a number is not known."""
    workload = process.workload
    if not isinstance(workload.nodes, Set):
        return set()
    sizes = {workload.nodes.value}
    counts = []
    groups = _groups_of_pods(workload)
    for role in workload.roles:
        if not role.trains and role is not process.role:
            continue
        if not isinstance(role.replicas, Set):
            return set()
        counts.append(role.replicas.value // groups)
        own = []
        for key in ("parallelism", "completions"):
            number = as_integer(role.fields[key]) if key in role.fields else None
            if isinstance(number, Set):
                own.append(number.value)
            elif number is not None and not isinstance(number, Absent):
                return set()
        # The Job controller never runs more pods at a time than are left to complete.
        sizes.update(own if len(own) < 2 else {min(own), own[1]})
    if len(counts) > MOST_ROLES:
        return set()
    for size in range(1, len(counts) + 1):
        sizes.update(sum(chosen) for chosen in combinations(counts, size))
    return sizes


def _groups_of_pods(workload: Workload) -> int:
    """How many groups of their own an object makes: a LeaderWorkerSet has `replicas` of them."""
    groups = as_integer(workload.fields["spec.replicas"]) if workload.subject.kind == "LeaderWorkerSet" else None
    return groups.value if isinstance(groups, Set) and groups.value > 0 else 1


# MPI


def _slots(process: TrainingProcess) -> Iterator[Mismatch]:
    """slotsPerWorker against the workers' devices, and `-np` against all slots."""
    workload = process.workload
    slots = as_integer(workload.fields["spec.slotsPerWorker"]) if workload.subject.kind == "MPIJob" else None
    if not isinstance(slots, Set) or workload.batch is not None:
        return
    launcher = process.launcher("mpirun", "horovodrun")
    inner = process.launcher(*AGENTS) is not None
    devices = _devices(process.container)
    written = slots.origin.via != "default"
    if written and devices is not None and slots.value != devices.value and not inner:
        one_each = slots.value == 1 or bool(process.opaque_because)
        if slots.value > devices.value or not one_each:
            yield Mismatch(
                f"slots:{slots.value}:{devices.value}",
                f"slotsPerWorker is {slots.value}, but a worker has {counted(devices.value, 'accelerator')}",
                f"{slots.value} processes a worker share {counted(devices.value, 'device')}, and the job fails at its "
                "start"
                if slots.value > devices.value
                else f"{counted(devices.value - slots.value, 'accelerator')} of each worker stay idle",
                slots.origin,
                devices.origin,
                counted(devices.value, "accelerator"),
                slots.value,
                devices.value,
                _ranks_along(process, slots.value, devices.value),
            )
            return
    count = None if launcher is None else as_integer(launcher.options.get("np", "n", "num-proc"))
    if launcher is None or not isinstance(count, Set) or not isinstance(workload.nodes, Set) or inner:
        return
    if not _fixed(process) or _placed_by_hand(launcher):
        return
    total = workload.nodes.value * slots.value
    if count.value == total or (not written and not _slots_are_kept(process, launcher, count.value, total)):
        return
    yield Mismatch(
        f"np:{count.value}:{total}",
        f"{launcher.kind} starts {count.value} processes, but {counted(workload.nodes.value, 'worker')} with "
        f"{counted(slots.value, 'slot')} have room for {total}",
        "there are not enough slots, and the job fails at its start"
        if count.value > total
        else f"{counted(total - count.value, 'slot')} and the accelerators behind them stay idle",
        count.origin,
        slots.origin,
        f"{counted(slots.value, 'slot')} a worker",
        count.value,
        total,
        slots=devices.value if devices is not None and count.value == workload.nodes.value * devices.value else 0,
    )


def _ranks_along(process: TrainingProcess, slots: int, wanted: int) -> tuple[tuple[Origin, int, int], ...]:
    """`-np`, where it counts all slots."""
    launcher, nodes = process.launcher("mpirun", "horovodrun"), process.workload.nodes
    count = None if launcher is None else as_integer(launcher.options.get("np", "n", "num-proc"))
    if not isinstance(count, Set) or not isinstance(nodes, Set) or count.value != nodes.value * slots:
        return ()
    return ((count.origin, count.value, nodes.value * wanted),)


def _slots_are_kept(process: TrainingProcess, launcher: Launcher, count: int, total: int) -> bool:
    """Whether the operator's default of one slot a worker surely stops a run: Open MPI does not start more processes
    than there are slots, unless it is told to."""
    implementation = process.workload.fields["spec.mpiImplementation"]
    if (
        launcher.kind != "mpirun"
        or count <= total
        or not (isinstance(implementation, Set) and implementation.value == "OpenMPI")
    ):
        return False
    return not any(name.startswith(("OMPI_MCA_", "PRTE_MCA_")) for name in process.environment)


def _placed_by_hand(launcher: Launcher) -> bool:
    """Options say where the processes go, whatever the operator's hostfile says; or more options may come."""
    by_hand = ("host", "hosts", "H", "hostfile", "machinefile", "default-hostfile", "f", "map-by", "npernode", "N",
               "ppn", "perhost", "oversubscribe", "pernode", "nooversubscribe")  # fmt: skip
    return launcher.options.has(*by_hand) is not False


# Ranks of a program without a launcher


def _world_size(process: TrainingProcess) -> Iterator[Mismatch]:
    workload = process.workload
    value = process.environment.get("WORLD_SIZE")
    told = as_integer(value) if isinstance(value, Set) and value.origin.written else None
    if not isinstance(told, Set) or workload.batch is not None or not _fixed(process) or process.launchers:
        return
    sizes, devices = gang_sizes(process), _devices(process.container)
    if not sizes or devices is None or told.value in sizes | {size * devices.value for size in sizes}:
        return
    pods = max(sizes)
    if _is_part_of_a_group(process, None, told.value, pods) or _sizes_its_group_itself(process):
        return
    yield Mismatch(
        f"world:{told.value}:{pods}:{devices.value}",
        f"WORLD_SIZE is {told.value}, but there {'is' if pods == 1 else 'are'} {counted(pods, 'pod')} with "
        f"{counted(devices.value, 'accelerator')} each",
        "the process group waits for ranks that never come, or leaves some out",
        told.origin,
        devices.origin,
        counted(devices.value, "accelerator"),
    )


def _sizes_its_group_itself(process: TrainingProcess) -> bool:
    """The text of its program, as it is seen or lies in the repository, gives the group its size and reads none."""
    path = process.program if process.program.endswith(".py") else process.program.replace(".", "/") + ".py"
    file = process.container.files(path) or process.container.repository(path)
    text = "" if file is None else file.text
    return bool(_OWN_SIZE.search(text)) and "WORLD_SIZE" not in text and "env://" not in text


_OWN_SIZE = lazy_re.compile(r"\binit_process_group\([^)]{0,400}\bworld_size\s*=")


# Parallel groups


def _groups(process: TrainingProcess) -> Iterator[Mismatch]:
    world = all_processes(process)
    sizes = {key: size for key in PARALLEL if (size := _size(process, key)) is not None}
    if world is None or not any(size.value > 1 for size in sizes.values()):
        return
    product = math.prod(size.value for size in sizes.values())
    whole = "data-parallel" in sizes
    if product == world.value or (not whole and world.value % product == 0):
        return
    # Older releases of Megatron clamp the pipeline to the processes that are left.
    names = " × ".join(f"{PARALLEL[key]} {size.value}" for key, size in sizes.items())
    widest = max(sizes.values(), key=lambda size: size.value)
    yield Mismatch(
        f"groups:{product}:{world.value}",
        f"{names} parallel is {product}, which {'is not' if whole else 'does not divide'} the {world.value} processes",
        "the program stops at its start, on all nodes at once"
        + (", or runs with another layout than the one written" if "pipeline-parallel" in sizes else ""),
        widest.origin,
        world.origin,
        f"{world.value} processes",
    )


def _size(process: TrainingProcess, key: str) -> Set[int] | None:
    found = _extra(process, key)
    return found if isinstance(found, Set) and found.value > 0 and found.origin.via != "default" else None


def _extra(process: TrainingProcess, key: str) -> Setting[int] | None:
    found = process.settings.extra.get(key)
    return None if found is None else as_integer(found)


def all_processes(process: TrainingProcess) -> Set[int] | None:
    """All processes of the run, by an agent's numbers or srun's tasks; None where one of them is not known."""
    agent = _agent(process)
    if agent is None:
        return _tasks(process)
    nodes: Setting[int] = agent.nodes
    if not isinstance(nodes, Set) or nodes.origin.via == "default":
        nodes = process.workload.nodes
        if not isinstance(nodes, Set) or (isinstance(agent.nodes, Set) and nodes.value != agent.nodes.value):
            return None
    each: Setting[int] | None = agent.processes_per_node
    if not isinstance(each, Set):
        each = _devices(process.container)
    if not isinstance(each, Set):
        return None
    origin = each.origin if agent.kind != "accelerate" else agent.origin
    return Set(nodes.value * each.value, origin)


def _tasks(process: TrainingProcess) -> Set[int] | None:
    """The tasks of a step that starts the program itself.

    None where a task has several devices: it may be a driver that starts its workers by other means (Ray, spawn).
    """
    if [launcher.kind for launcher in process.launchers if launcher.kind != "python"] != ["srun"]:
        return None
    step = process.launchers[0]
    if not isinstance(step.nodes, Set) or not isinstance(step.processes_per_node, Set):
        return None
    devices = _devices(process.container)
    if devices is None or step.processes_per_node.value < devices.value:
        return None
    return Set(step.nodes.value * step.processes_per_node.value, step.processes_per_node.origin)
