"""What keeps autoscalers, drains and the scheduler from taking pods away, and what does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts.surroundings import DRAINED
from kube_gaplint.model.pod import is_text, open_parts
from kube_gaplint.model.setting import Absent, Origin, Set, Unknown
from kube_gaplint.model.surroundings import DisruptionBudget
from kube_gaplint.model.units import duration_seconds, share
from kube_gaplint.model.workload import Pod, Role, Workload

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
LOCAL_VOLUMES: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DO_NOT_EVICT: Final = "karpenter.sh/do-not-evict"
REMOVED: Final = (DO_NOT_EVICT, "karpenter.sh/do-not-consolidate")
"""What Karpenter 1.0 took no notice of any more."""
BEFORE_1_0: Final = frozenset({"karpenter.sh/v1alpha5", "karpenter.sh/v1beta1"})
"""API versions of pools that a Karpenter before 1.0 serves; it knows `do-not-disrupt` only since v1beta1."""
SLURM_MARKS: Final = ("sunk.coreweave.com/", "slinky.slurm.net/", "slurm.nebius.ai/")
"""Beginnings of labels by which pods are nodes of a Slurm cluster, or are placed by one."""


def gang(workload: Workload) -> Iterator[Role]:
    """The roles whose loss stops the training: those on accelerators."""
    return (role for role in workload.roles if not isinstance(role.pod.accelerator_count, Absent))


def before_karpenter_1_0(workload: Workload) -> bool:
    """Whether the pools in the paths show a Karpenter that still reads the old annotations."""
    versions = workload.surroundings.pools.api_versions
    return bool(versions) and versions <= BEFORE_1_0


def karpenter_annotation(workload: Workload) -> str:
    """The annotation that keeps Karpenter off pods, by the API version of the pools in the paths."""
    old = workload.surroundings.pools.api_versions == {"karpenter.sh/v1alpha5"}
    return DO_NOT_EVICT if old else DO_NOT_DISRUPT


def _spared(pod: Pod, key: str) -> bool | None:
    """Whether an annotation keeps an autoscaler off a pod; None where it may.

    A boolean without quotes counts: it is wrong in a way of its own. Karpenter also takes a duration, and ignores
    anything else.
    """
    value = pod.annotations.get(key)
    if isinstance(value, Set):
        if key == SAFE_TO_EVICT:
            return value.value == "false"
        return value.value == "true" or duration_seconds(value.value) is not None
    return None if isinstance(value, Unknown) or pod.overrides_unknown else False


class Unspared(Struct, frozen=True):
    """A pod that an autoscaler may take: where its annotation says so, or where it is missing."""

    origin: Origin
    value: str
    """The value of the annotation that does not protect; empty where there is none."""
    pod: Pod


def unspared(workload: Workload, key: str) -> list[Unspared]:
    """The pods of a gang that surely lack an annotation against an autoscaler.

    Empty where the annotation stands on the workload itself, or an old one on the pods: that is a gap of its own.
    """
    own = workload.annotations.get(key)
    if workload.subject.kind != "Pod" and own is not None and not isinstance(own, Absent):
        return []
    found = []
    for role in gang(workload):
        pod = role.pod
        if any(name in pod.annotations for name in REMOVED) and key == DO_NOT_DISRUPT:
            continue
        if _spared(pod, key) is False:
            value = pod.annotations.get(key)
            written = value if isinstance(value, Set) and is_text(value) else None
            origin = written.origin if written is not None else pod.template or pod.origin
            found.append(Unspared(origin, written.value if written is not None else "", pod))
    return found


def refuses_drain(workload: Workload, pod: Pod) -> str | None:
    """Why the cluster autoscaler does not drain a pod anyway; empty where it does, None where that is not known."""
    if workload.subject.kind == "Pod":
        return "a bare pod"
    if any(one.vendor == "tpu" for container in pod.containers for one in container.accelerators):
        return "TPU slices, which GKE scales as a whole"
    asked = pod.annotations.get(SAFE_TO_EVICT)
    if isinstance(asked, Set) and asked.value == "true":
        return ""
    if (workload.subject.api_version.rpartition("/")[0], workload.subject.kind) not in DRAINED:
        return f"a pod of a custom controller ({workload.subject.kind})"
    if "volumes" in open_parts(pod) or pod.overrides_unknown:
        return None
    let_go = pod.annotations.get(LOCAL_VOLUMES)
    for volume in pod.volumes:
        if volume.kind in ("host-path", "empty-dir") and not isinstance(let_go, Set):
            return f"local storage ({volume.name})" if let_go is None or isinstance(let_go, Absent) else None
        if volume.kind == "unknown":
            return None
    return ""


def forbids_evictions(budget: DisruptionBudget, workload: Workload) -> bool:
    """Whether a PodDisruptionBudget surely lets no pod go."""
    most, least = budget.max_unavailable, budget.min_available
    if isinstance(most, Set):
        return most.value.strip() in ("0", "0%")
    if not isinstance(least, Set):
        return False
    # A driver that is started in another role's pod (a RayJob's entrypoint) is no pod of its own.
    selected = {id(role.pod.origin): role for role in reversed(workload.roles) if role.name in budget.roles}
    counts = [role.replicas for role in selected.values()]
    total = sum(count.value for count in counts if isinstance(count, Set)) if counts else None
    known = all(isinstance(count, Set) for count in counts)
    return (share(least.value, total if known else None) or 0.0) >= 1.0


def holding_budgets(workload: Workload) -> list[DisruptionBudget]:
    """PodDisruptionBudgets that let no pod go and select those of the workload, or may do so."""
    return [budget for budget in workload.surroundings.budgets if forbids_evictions(budget, workload)]


def in_slurm(workload: Workload) -> bool:
    """Its pods are nodes of a Slurm cluster, or are placed by one."""
    keys = [*workload.labels, *workload.annotations]
    for role in workload.roles:
        keys += [*role.pod.labels, *role.pod.annotations, *role.pod.node_selector]
    return any(key.startswith(SLURM_MARKS) for key in keys)


_LOW: Final = lazy_re.compile(
    r"(?:^|[-_.])(?:preemptible|preemptable|scavenger|best-?effort|opportunistic|backfill|lowest|low-?prio(?:rity)?"
    r"|prio(?:rity)?-low)(?:$|[-_.\d])|^low$",
    re.IGNORECASE,
)


def is_low_priority(name: str) -> bool:
    """Whether the name of a PriorityClass says that its pods give way."""
    return _LOW.search(name) is not None
