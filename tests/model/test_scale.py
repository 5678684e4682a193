"""The size of a job and durations, for people."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads

from kube_gaplint.model.scale import duration, size


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.52, "0.52 s"),
        (7.51619, "7.5 s"),
        (40, "40 s"),
        (600, "10 min"),
        (1800, "30 min"),
        (9000, "2.5 h"),
        (60000, "16.7 h"),
        (86400 * 3, "3 days"),
    ],
)
def test_duration(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


JOINED = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: pair}
spec:
  replicatedJobs:
  - name: first
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "acme/a:1", \
command: [python, train.py], resources: {limits: {nvidia.com/gpu: 4}}}]}}}}
  - name: second
    template: {spec: {template: {spec: {restartPolicy: Never, affinity: {podAffinity: {%s: \
[%s]}}, containers: [{name: b, image: "acme/a:1", \
command: [python, train.py], resources: {limits: {nvidia.com/gpu: 4}}}]}}}}
"""
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
TERM = "{topologyKey: %s, labelSelector: {matchLabels: {part: first}}}"


@pytest.mark.parametrize(
    ("strength", "term", "shown"),
    [
        (REQUIRED, TERM % "kubernetes.io/hostname", "2 pods with 8 GPUs"),
        (REQUIRED, TERM % "topology.kubernetes.io/zone", "2 nodes with 8 GPUs"),
        (PREFERRED, f"{{weight: 1, podAffinityTerm: {TERM % 'kubernetes.io/hostname'}}}", "2 nodes with 8 GPUs"),
    ],
)
def test_pods_that_must_join_others_are_no_nodes(strength: str, term: str, shown: str, tmp_path: Path) -> None:
    (workload,) = workloads(tmp_path, pair_yaml=JOINED % (strength, term))
    assert size(workload) == shown
