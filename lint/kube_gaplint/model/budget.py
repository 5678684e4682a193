"""How often a workload is started again, against how often it will fail."""

from __future__ import annotations

import math

from kube_gaplint.facts.reliability import DAY, expected_failures, job_mtbf_seconds
from kube_gaplint.facts.retry import MANY
from kube_gaplint.model.pace import is_smoke, trains_on_a_toy
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.retry import disruptions_are_ignored
from kube_gaplint.model.scale import duration, node_count, shares_machines, size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Workload

OUTER_OWNERS = frozenset({"Argo Workflow", "AppWrapper"})
"""Owners in other objects around the job."""
KEEPERS = frozenset({
    "Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet", "RayCluster", "RayService", "kubelet", "Kueue",
    "Slurm",
}) | OUTER_OWNERS  # fmt: skip
"""Owners whose restarts are no setting of the job's own object, or that keep pods alive as their very purpose."""
FEWEST, MOST = 10, 100
"""The range of budgets that are proposed where the length of the run is not known."""
USUAL_DAYS = 30.0


def failure_layers(workload: Workload) -> list[RestartLayer]:
    """The controllers that react to a failed pod, outermost first; launchers inside the pods are left out."""
    return [layer for layer in workload.restarts if "failure" in layer.on and layer.scope != "process"]


def deciding_layer(workload: Workload) -> RestartLayer | None:
    """The controller whose budget the workload's own manifest should set."""
    layers = failure_layers(workload)
    own = [layer for layer in layers if layer.owner not in OUTER_OWNERS] or layers
    return next((layer for layer in own if layer.scope == "workload"), own[0] if own else None)


def endless_layer(workload: Workload, profile: Profile) -> RestartLayer | None:
    """A controller or launcher whose restarts have no bound worth the name: more than a hundred, and more than three
    times the failures to expect over the planned run. Owners that keep pods alive as their very purpose are none."""
    expected = failures_over_the_run(workload, profile)
    for layer in workload.restarts:
        if layer.owner in KEEPERS or "failure" not in layer.on or not isinstance(layer.budget, Set):
            continue
        number = layer.budget.value
        if number > MANY and (number >= UNBOUNDED or expected is None or number > 3 * expected):
            return layer
    return None


def whole_set(workload: Workload) -> Origin | None:
    """What lets a JobSet restart as a whole after a failure; None where nothing does, or where that is not known."""
    for layer in failure_layers(workload):
        if layer.owner == "JobSet" and isinstance(layer.budget, Set) and layer.budget.value > 0:
            return layer.origin
    return None


def loses_nodes(workload: Workload) -> bool:
    """A Volcano Job whose containers the kubelet restarts, while no policy brings a lost pod back."""
    own = [layer for layer in workload.restarts if layer.owner == "Volcano"]
    return bool(own) and all(isinstance(layer.budget, Set) and layer.budget.value == 0 for layer in own)


def several_pods(workload: Workload) -> bool:
    """It surely has more than one pod that trains, though their number may not be known."""
    if isinstance(workload.nodes, Set):
        return workload.nodes.value > 1
    counts = [role.replicas.value for role in workload.roles if role.trains and isinstance(role.replicas, Set)]
    return sum(counts) > 1


def pods_of_its_run(workload: Workload) -> Set[int] | None:
    """Of a bare pod: how many pods its launcher is told to wait for, where that is more than this one."""
    if workload.subject.kind != "Pod":
        return None
    told = (launcher.nodes for process in workload.processes for launcher in process.launchers)
    return next((number for number in told if isinstance(number, Set) and number.value > 1), None)


def large(workload: Workload, accelerators: int = 8) -> bool:
    """It surely has several pods, or that many accelerators."""
    each = workload.accelerators_per_node
    return several_pods(workload) or (isinstance(each, Set) and each.value >= accelerators)


def runs_once(workload: Workload, profile: Profile) -> Origin | None:
    """What says that nothing makes a pod anew that was evicted or lost with its node; None where something may.

    The retries of a RayJob are for its head; Ray itself goes on without a worker.
    """
    budget, layer = workload.restart_budget, deciding_layer(workload)
    if profile.supervisor or layer is None or layer.owner == "RayJob" or disruptions_are_ignored(workload):
        return None
    return layer.origin if isinstance(budget, Set) and budget.value == 0 else None


LONG = 8 * 3600.0
"""Seconds from which on a job is long: a night passes before somebody sees it dead."""
SHORT_SECONDS = 3600.0
"""A job that is declared to be shorter is cheap to start again."""


def declared_short(workload: Workload) -> bool:
    """It is declared to last less than an hour: by its run days, or by its own deadline."""
    days, deadline = workload.run_days, workload.deadline_seconds
    return (isinstance(days, Set) and days.value * DAY < SHORT_SECONDS) or (
        isinstance(deadline, Set) and deadline.value < SHORT_SECONDS
    )


def is_brief(workload: Workload, profile: Profile) -> bool:
    """A run so short that a person who starts it again loses little: declared so, a few steps long, or over a toy data
    set."""
    if declared_short(workload) or is_smoke(workload, profile):
        return True
    return bool(workload.processes) and all(map(trains_on_a_toy, workload.processes))


def failures_over_the_run(workload: Workload, profile: Profile) -> float | None:
    """Failures to expect over the planned run; None where its length or the number of its machines is not known."""
    nodes = node_count(workload)
    if nodes is None or (nodes > 1 and shares_machines(workload)) or not isinstance(workload.run_days, Set):
        return None
    return expected_failures(nodes, workload.run_days.value, profile.failures_per_1000_node_days)


def proposed_budget(workload: Workload, profile: Profile) -> int:
    """A budget that covers twice the failures to expect over the planned run, or over a month."""
    expected = failures_over_the_run(workload, profile)
    if expected is None:
        nodes = node_count(workload) or 1
        expected = expected_failures(nodes, USUAL_DAYS, profile.failures_per_1000_node_days)
        return min(max(FEWEST, math.ceil(2 * expected)), MOST)
    return max(FEWEST, math.ceil(2 * expected))


def time_between_failures(workload: Workload, profile: Profile) -> str:
    """`8 nodes see one about every 25 days`: what the declared or usual failure rate means for this job."""
    nodes, rate = node_count(workload), profile.failures_per_1000_node_days
    if nodes is None or nodes < 1 or rate <= 0 or shares_machines(workload):
        return ""
    seconds = job_mtbf_seconds(nodes, rate)
    if seconds > 1000 * DAY:
        return ""
    verb = "sees" if nodes == 1 else "see"
    often = f"{rate:g} failure{'' if rate == 1 else 's'}"
    return f"at {often} per 1,000 node-days {size(workload)} {verb} one about every {duration(seconds)}"
