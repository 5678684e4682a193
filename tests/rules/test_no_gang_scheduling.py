"""What waiting for the rest of a job costs, where nothing places its pods together."""

from __future__ import annotations

import pytest
from judged import finding

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: wav}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: "acme/wav:3", \
command: [torchrun, train.py]%s}]}}}
    Worker: {replicas: %d, template: {spec: {containers: [{name: pytorch, image: "acme/wav:3", \
command: [torchrun, train.py]%s}]}}}
"""
GPUS = ", resources: {limits: {nvidia.com/gpu: %d}}"


@pytest.mark.parametrize(
    ("master", "workers", "worker", "pods", "lost"),
    [
        (GPUS % 8, 3, GPUS % 8, "its 4 pods with 32 GPUs", "up to 24 GPU-hours"),
        (GPUS % 4, 3, GPUS % 8, "its 4 pods with 28 GPUs", "up to 24 GPU-hours"),
        ("", 2, GPUS % 1, "its 3 pods with 2 GPUs", "up to 2.0 GPU-hours"),
    ],
)
def test_the_pod_that_is_missing_is_one_with_the_fewest_gpus(
    master: str, workers: int, worker: str, pods: str, lost: str
) -> None:
    found = finding("SCHED001", JOB % (master, workers, worker))
    assert found is not None
    assert pods in found.message
    assert lost in found.consequence
