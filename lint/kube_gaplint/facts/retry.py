"""What controllers understand of retries: rules for disruptions, in the shape of the API.

Sources: kubernetes/api batch/v1 types.go (podFailurePolicy), kubernetes/website job.md; kubernetes-sigs/jobset
api/jobset/v1alpha2/jobset_types.go (failurePolicy.rules) and its example host-maintenance-event-model.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DISRUPTION = "DisruptionTarget"
"""The condition of pods that are evicted, preempted, drained, or deleted with their node."""

FEW = 3
"""Up to this many retries nothing is lost by trying an error of the program again."""

MANY = 100
"""Budgets above this one are taken for no bound at all."""

PLENTY = 1000
"""From this budget on, retries do not run out by disruptions."""

POLICY_NEEDS_NEVER_UNTIL = (1, 37)
"""The newest release of Kubernetes whose validation was read: all up to it reject a podFailurePolicy beside a pod
restartPolicy other than Never. (kubernetes/kubernetes, issue 125677, asks for a change.)"""

REPLACEMENT_POLICY_SINCE = (1, 29)
"""From this release on podReplacementPolicy is there without a feature gate."""

_DISRUPTED = {"type": DISRUPTION, "status": "True"}
"""`status` is True by default, but Kubernetes' published schemas want it written."""

IGNORE_RULES: Mapping[str, list[dict[str, Any]]] = {
    "Job": [{"action": "Ignore", "onPodConditions": [_DISRUPTED]}],
    "JobSet": [{"action": "FailJob", "onPodConditions": [_DISRUPTED]}],
}
"""Rules of a podFailurePolicy that keep disruptions from spending retries: of a Job by itself, and of a child Job whose
JobSet has `RESTART_RULES`."""

RESTART_RULES: list[dict[str, Any]] = [
    {"action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]}
]
"""Rules of a JobSet's failurePolicy: a child Job that failed by its podFailurePolicy restarts the set uncounted."""

SUBMITS_ITSELF = ('"sbatch', "'sbatch", "scontrol requeue", '"requeue"', "'requeue'")
"""Parts of a program's text of which one stands where it puts a job, likely its own, into Slurm's queue again."""
