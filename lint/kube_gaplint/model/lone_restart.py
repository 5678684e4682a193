"""Controllers that start single pods of a gang again although a lone rank cannot join the others."""

from __future__ import annotations

from msgspec import Struct

from kube_gaplint.model.budget import failure_layers, several_pods
from kube_gaplint.model.rendezvous import agent_of, meeting, restarts_processes
from kube_gaplint.model.setting import Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import RestartLayer, Workload

_WITHOUT_TORCH_RENDEZVOUS = frozenset({"MPIJob", "XGBoostJob", "RayJob", "RayCluster", "RayService"})
"""Kinds in which one launcher or driver restarts all ranks, or which bring a rendezvous of another sort."""


class LoneRestart(Struct, frozen=True):
    """The controller, and a process of the pods that it starts again in vain."""

    layer: RestartLayer
    process: TrainingProcess

    @property
    def is_static(self) -> bool:
        """The rendezvous is static; otherwise torchrun gives up with its first failure."""
        return meeting(self.process) == "static"


def lone_restart(workload: Workload) -> LoneRestart | None:
    """What restarts single pods in vain; None where nothing does, where all restart together, or where that is not
    known."""
    if not workload.trains or workload.batch is not None or workload.subject.kind in _WITHOUT_TORCH_RENDEZVOUS:
        return None
    if not several_pods(workload) or not isinstance(workload.elastic, Set) or workload.elastic.value:
        return None
    layer = _restarts_pods(workload)
    if layer is None:
        return None
    stuck = [process for process in workload.processes if _cannot_rejoin(process)]
    return LoneRestart(layer, stuck[0]) if stuck and len(stuck) == len(workload.processes) else None


def _restarts_pods(workload: Workload) -> RestartLayer | None:
    """The controller that restarts single pods where nothing restarts them all; None where something may."""
    if any(layer.owner == "HyperPod" for layer in workload.restarts):
        return None  # it restarts the whole job after a node has failed
    found = None
    one_role = sum(role.trains for role in workload.roles) == 1
    for layer in failure_layers(workload):
        budget = layer.budget.value if isinstance(layer.budget, Set) else None
        if layer.scope == "workload" or (layer.scope == "role" and one_role):
            if budget != 0:
                return None
        elif budget is None:
            return None
        elif budget > 0 and found is None:
            found = layer
    return found


def _cannot_rejoin(process: TrainingProcess) -> bool:
    """A rank of it that is started again alone surely waits in vain.

    A static rendezvous with restarts of its own is a gap of its own (RETRY018). Where a script turns its failure into
    success (RETRY004), it is not started again at all.
    """
    if process.status_lost is not None:
        policy = process.role.pod.restart_policy
        if not isinstance(policy, Set) or policy.value != "Always":
            return False
    if not process.program or process.recovers_in_process or restarts_processes(process) is not False:
        return False
    how = meeting(process)
    if how == "dynamic":
        agent = agent_of(process)
        return agent is not None and isinstance(agent.nodes, Set) and agent.nodes.value > 1
    return how == "static" and not process.uses_torch_surely_not
