"""What the pools under a workload are told of it."""

from __future__ import annotations

from kube_gaplint.model.pod import tolerances, wanted_labels
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.model.tenants import NAMING_LABELS, SPARED, Tenant
from kube_gaplint.model.workload import Pod, Workload


def tenant_of(workload: Workload) -> Tenant | None:
    """What pools are told of a workload; None where it has no pods that ask for accelerators, or may."""
    pods = [role.pod for role in workload.roles]
    with_gpus = [pod for pod in pods if not isinstance(pod.accelerator_count, Absent)]
    if workload.batch is not None or not with_gpus:
        return None
    chosen = {
        f"{label}={value}" for pod in pods for label, value in wanted_labels(pod).items() if label in NAMING_LABELS
    }
    return Tenant(
        subject=workload.subject,
        origin=workload.origin,
        purpose=workload.purpose,
        pool=None if len(chosen) > 1 else next(iter(chosen), ""),
        spared=all(map(_is_spared, with_gpus)),
        deadline_seconds=workload.deadline_seconds,
        wants={key: value for pod in with_gpus for key, value in wanted_labels(pod).items()},
        tolerances=tuple(map(tolerances, with_gpus)),
    )


def _is_spared(pod: Pod) -> bool:
    """Whether a pod carries the annotation that keeps Karpenter away, or may carry it."""
    values = [pod.annotations.get(name) for name in SPARED]
    return any(isinstance(one, Unknown) or (isinstance(one, Set) and one.value == "true") for one in values)
