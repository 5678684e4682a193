"""What containers ask for, and whether a pod has its node alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads

from kube_gaplint.facts.instances import devices_of
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.resources import asked, busy_cores, processes_in

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: sample, namespace: nlp}}
spec:
  template:
    spec:
      restartPolicy: Never
      {pod}
      containers:
      - name: trainer
        image: ghcr.io/acme/train:1.4
        command: [torchrun, --nproc-per-node=gpu, train.py]
        resources: {resources}
"""


def missing(folder: Path, resources: str, *, pod: str = "", before: str = "") -> tuple[str, ...]:
    found = workloads(folder, job_yaml=before + JOB.format(pod=pod, resources=resources))
    (one,) = asked(found[0], Profile())
    return one.missing


@pytest.mark.parametrize(
    ("resources", "pod", "found"),
    [
        ("{limits: {nvidia.com/gpu: 2}}", "", ("memory", "cpu", "ephemeral-storage")),
        ("{limits: {nvidia.com/gpu: 2, memory: 8Gi}}", "", ("cpu", "ephemeral-storage")),
        ("{limits: {nvidia.com/gpu: 2}, requests: {cpu: 4, memory: 8Gi, ephemeral-storage: 9Gi}}", "", ()),
        ("{limits: {nvidia.com/gpu: 2}}", "resources: {limits: {memory: 8Gi, cpu: 4}}", ("ephemeral-storage",)),
        ("{limits: {nvidia.com/gpu: 2}, requests: {memory: '${MEMORY}'}}", "", ("cpu", "ephemeral-storage")),
        ("{limits: {nvidia.com/gpu: 2}, requests: '${REQUESTS}'}", "", ()),
        ("{limits: {nvidia.com/gpu: 2}}", "nodeSelector: {cloud.google.com/compute-class: Accelerator}", ()),
    ],
)
def test_missing_requests(resources: str, pod: str, found: tuple[str, ...], tmp_path: Path) -> None:
    assert missing(tmp_path, resources, pod=pod) == found


@pytest.mark.parametrize(
    ("namespace", "found"), [("nlp", ("cpu", "ephemeral-storage")), ("cv", ("memory", "cpu", "ephemeral-storage"))]
)
def test_a_limit_range_of_the_namespace_fills_up(namespace: str, found: tuple[str, ...], tmp_path: Path) -> None:
    limits = f"""\
apiVersion: v1
kind: LimitRange
metadata: {{name: defaults, namespace: {namespace}}}
spec: {{limits: [{{type: Container, default: {{memory: 8Gi}}}}]}}
---
"""
    assert missing(tmp_path, "{limits: {nvidia.com/gpu: 2}}", before=limits) == found


@pytest.mark.parametrize(
    ("devices", "pod", "gpus_per_node", "alone"),
    [
        ("nvidia.com/gpu: 8", "", None, True),
        ("nvidia.com/gpu: 4", "", None, False),
        ("nvidia.com/gpu: 4", "", 4, True),
        ("google.com/tpu: 4", "", None, True),
        ("nvidia.com/gpu: 4", "nodeSelector: {node.kubernetes.io/instance-type: ml.g6e.12xlarge}", None, True),
        ("nvidia.com/gpu: 2", "nodeSelector: {node.kubernetes.io/instance-type: g6e.12xlarge}", None, False),
        ("nvidia.com/gpu: 4", "nodeSelector: {nvidia.com/gpu.product: NVIDIA-GB200}", None, True),
    ],
)
def test_whole_nodes(devices: str, pod: str, gpus_per_node: int | None, alone: bool, tmp_path: Path) -> None:
    text = JOB.format(pod=pod, resources=f"{{limits: {{{devices}}}}}")
    profile = Profile(gpus_per_node=gpus_per_node)
    (workload,) = workloads(tmp_path, profile, job_yaml=text)
    (one,) = asked(workload, profile)
    assert one.alone is alone


def test_a_server_beside_the_training_is_left_out(tmp_path: Path) -> None:
    text = JOB.format(pod="", resources="{limits: {nvidia.com/gpu: 3}}") + (
        "      - name: rollouts\n"
        "        image: vllm/vllm-openai:v0.6.3\n"
        "        command: [vllm, serve, acme/model]\n"
        "        resources: {limits: {nvidia.com/gpu: 1}}\n"
    )
    (workload,) = workloads(tmp_path, job_yaml=text)
    assert [one.container.name for one in asked(workload, Profile())] == ["trainer"]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("p5.48xlarge", 8), ("g5.12xlarge", 4), ("g5.8xlarge", 1), ("g6e.48xlarge", 8), ("p3.8xlarge", 4),
        ("trn1.32xlarge", 16), ("a2-highgpu-2g", 2), ("a3-megagpu-8g", 8), ("BM.GPU.H100.8", 8), ("VM.GPU.A10.2", 2),
        ("Standard_ND96isr_H100_v5", 8), ("Standard_NC48ads_A100_v4", 2), ("gd-8xh100ib-i128", 8),
        ("gpu_8x_h100_sxm5", 8), ("m7i.large", None), ("", None),
    ],
)  # fmt: skip
def test_devices_of_machine_types(name: str, count: int | None) -> None:
    assert devices_of(name) == count


@pytest.mark.parametrize(
    ("processes", "workers", "cores"), [(1, 0, 1), (1, 3, 4), (1, 4, 4), (1, 24, 24), (4, 2, 12), (8, 8, 64)]
)
def test_cores_of_processes_and_their_workers(processes: int, workers: int, cores: int) -> None:
    assert busy_cores(processes, workers) == cores


@pytest.mark.parametrize(("told", "processes"), [("4", 4), ("gpu", 1)])
def test_processes_that_are_surely_started(told: str, processes: int, tmp_path: Path) -> None:
    text = JOB.replace("--nproc-per-node=gpu", f"--nproc-per-node={told}")
    (found,) = workloads(tmp_path, job_yaml=text.format(pod="", resources="{limits: {nvidia.com/gpu: 4}}"))
    ((_, container),) = found.containers()
    assert processes_in(found, container) == processes
