"""What the views of nodes and of workloads tell one another."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kube_gaplint.kinds.node_table import is_gpu_pod
from kube_gaplint.model.nodes import POOL_LABEL, CarriesGpus, HostAgent, NodeDaemon, NodePool, UpgradeAgent
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload


def link(views: Iterable[object]) -> None:
    """Tell Karpenter's pools and GPU workloads of one another, and what covers every node that some have GPUs."""
    found = list(views)
    _cover(found)
    pools = [view for view in found if isinstance(view, NodePool) and view.controller in ("karpenter", "eks-auto")]
    if not pools:
        return
    workloads = [view for view in found if isinstance(view, Workload) and is_gpu_pod(view)]
    for pool in pools:
        pool.workloads = [workload for workload in workloads if _may_land(workload, pool)]
        for workload in pool.workloads:
            around = workload.surroundings
            workload.surroundings = replace(around, pools=(*around.pools, pool))


def _cover(views: list[object]) -> None:
    """Where the paths hold GPU workloads, what covers every node of the cluster covers GPU nodes."""
    covering = [
        view for view in views if isinstance(view, UpgradeAgent | HostAgent | NodeDaemon) and view.gpus.everywhere
    ]
    if not covering:
        return
    held = (view for view in views if isinstance(view, Workload) and is_gpu_pod(view))
    workload = next(held, None)
    if workload is None:
        return
    subject = f"{workload.subject.kind} {workload.subject.name}"
    for view in covering:
        reason = f"{view.gpus.reason}: {subject} runs on some"
        # which of the workloads is named may differ from run to run, so the place is the object's own
        view.gpus = CarriesGpus("yes", reason, view.gpus.origin or view.origin, everywhere=True)


def _may_land(workload: Workload, pool: NodePool) -> bool:
    for role in workload.roles:
        chosen = role.pod.node_selector.get(POOL_LABEL)
        if isinstance(chosen, Set) and chosen.value != pool.subject.name:
            return False
    return True
