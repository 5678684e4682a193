"""How many pods of a job start together or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.model.units import as_integer
from kube_gaplint.model.workload import Role, Workload

KUBEFLOW_MINIMUM = "spec.runPolicy.schedulingPolicy.minAvailable"
VOLCANO_MINIMUM = "spec.minAvailable"


class GangMinimum(Struct, frozen=True):
    """A number of pods that a scheduler waits for. `key` is what sets it; `pods` how many of the roles that it covers
    take part in the collective, where that is known."""

    key: str
    least: Setting[int]
    origin: Origin
    pods: int | None


def gang_minimums(workload: Workload) -> Iterator[GangMinimum]:
    """The minimums that the manifest or a PodGroup beside it writes down."""
    pods = workload.nodes.value if isinstance(workload.nodes, Set) else None
    for key in (KUBEFLOW_MINIMUM, VOLCANO_MINIMUM):
        least = workload.fields.get(key, Absent(workload.origin))
        if not isinstance(least, Absent):
            origin = _where(workload, least)
            if origin is not None:
                yield GangMinimum("minAvailable", as_integer(least), origin, pods)
    for group in workload.surroundings.pod_groups:
        covered = [role for role in workload.roles if role.name in group.roles and role.trains]
        yield GangMinimum("minMember", group.least, group.least.origin or group.origin, _count(covered))


def _where(workload: Workload, least: Setting[str]) -> Origin | None:
    """Where a minimum is written: in the job, or in the task that lowers the sum; None where nobody wrote it."""
    if least.origin is not None and least.origin.written:
        return least.origin
    for role in workload.roles:
        own, pods = role.fields.get("minAvailable"), role.fields.get("replicas")
        if isinstance(own, Set) and own.origin.written and isinstance(pods, Set) and own.value != pods.value:
            return own.origin
    return None


def _count(roles: list[Role]) -> int | None:
    counts = [role.replicas.value for role in roles if isinstance(role.replicas, Set)]
    return sum(counts) if counts and len(counts) == len(roles) else None
