"""The size of a job in words and numbers, for messages."""

from __future__ import annotations

from functools import lru_cache

from kube_gaplint.model.placement import joins_others, kept_apart, names_its_host
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload


def node_count(workload: Workload) -> int | None:
    """Nodes of the collective where they are known."""
    return workload.nodes.value if isinstance(workload.nodes, Set) else None


@lru_cache(maxsize=8)  # many rules ask for each workload
def gpu_count(workload: Workload) -> int | None:
    """Accelerators of the whole job where they are known, there are any, and each is a whole one."""
    total = workload.accelerators
    if any(one.partial for _, container in workload.containers() for one in container.accelerators):
        return None
    return total.value if isinstance(total, Set) and total.value > 0 else None


_GPU_VENDORS = frozenset({"nvidia", "amd", "intel", ""})


def noun(workload: Workload) -> str:
    """What its accelerators are called: a GPU, or just an accelerator (TPU, Neuron, Gaudi …)."""
    vendors = {device.vendor for _, container in workload.containers() for device in container.accelerators}
    return "GPU" if vendors <= _GPU_VENDORS else "accelerator"


LEAST_OF_A_MACHINE = 4
"""Pods with fewer accelerators may share a machine: their number says little of how many machines the job holds."""


def shares_machines(workload: Workload) -> bool:
    """Several of its pods may run on one machine: they have few accelerators and nothing keeps them apart, one host
    name is asked for, or one pod must join others on their node."""
    if workload.batch is not None:
        return False
    each, pods = workload.accelerators_per_node, [role.pod for role in workload.roles if role.trains]
    if any(names_its_host(pod) or joins_others(pod) for pod in pods):
        return True
    few = isinstance(each, Set) and each.value < LEAST_OF_A_MACHINE
    return few and not (pods and all(map(kept_apart, pods)))


@lru_cache(maxsize=8)
def size(workload: Workload) -> str:
    """`48 nodes with 384 GPUs`, as far as it is known; `the job` where nothing is.

    Pods that may share a machine are told as pods: `4 pods with 4 GPUs`.
    """
    nodes, gpus = node_count(workload), gpu_count(workload)
    if nodes is None:
        return "the job"
    words = counted(nodes, "pod" if nodes > 1 and shares_machines(workload) else "node")
    if gpus is None:
        return words
    return f"{words} with {counted(gpus, noun(workload))}"


def held(workload: Workload) -> str:
    """What a job keeps from others: `its 48 nodes with 384 GPUs`; `its GPUs` where no number is known."""
    return f"its {noun(workload)}s" if node_count(workload) is None else f"its {size(workload)}"


def idle_cost(workload: Workload, seconds: float) -> str:
    """What waiting costs: `64 GPU-hours`; empty where the number of GPUs is not known."""
    gpus = gpu_count(workload)
    if gpus is None:
        return ""
    return accelerator_hours(workload, gpus * seconds / 3600.0)


def accelerator_hours(workload: Workload, hours: float) -> str:
    """Hours of its accelerators for a message: `64 GPU-hours`."""
    return f"{hours:,.0f} {noun(workload)}-hours" if hours >= 10 else f"{hours:.1f} {noun(workload)}-hours"


def duration(seconds: float) -> str:
    """A duration for people: `40 s`, `10 min`, `2.5 h`, `3.0 days`."""
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{_short(seconds / 60)} min"
    if seconds < 2 * 86400:
        return f"{_short(seconds / 3600)} h"
    return f"{_short(seconds / 86400)} days"


def _short(number: float) -> str:
    return f"{number:.0f}" if abs(number - round(number)) < 0.05 else f"{number:.1f}"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 GPU`, `2,048 GPUs`; `many` is the plural where it is not the word with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
