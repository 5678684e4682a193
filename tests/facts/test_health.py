"""Names by which a check of nodes, or a label that tells them apart, gives itself away."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.health import CHECK, LABELS, MANAGED
from kube_gaplint.facts.surroundings import LOG_SHIPPER_IMAGES, LOG_SHIPPER_NAME, matches


@pytest.mark.parametrize(
    "name",
    [
        "gpu-check", "check_gpu.sh", "node-health", "preflight", "dcgm-diag", "nccl-tests", "nvlink-test",
        "wait-for-gpu", "verify-nodes", "burn-in", "network-check", "/opt/gpu_sanity.sh",
    ],
)  # fmt: skip
def test_checks_of_nodes(name: str) -> None:
    assert CHECK.search(name)


@pytest.mark.parametrize(
    "name",
    [
        "wait-for-master", "download-data", "trainer", "pytorch:latest-gpu", "--nnodes=16", "--node_rank=0", "git-sync",
        "init-permissions", "--checkpoint-dir", "train.py", "istio-init",
    ],
)  # fmt: skip
def test_other_names(name: str) -> None:
    assert not CHECK.search(name)


@pytest.mark.parametrize(
    ("key", "tells"),
    [
        ("autopilot.ibm.com/gpuhealth", True),
        ("sagemaker.amazonaws.com/node-health-status", True),
        ("example.com/bad-node", True),
        ("example.com/gpu-ok", True),
        ("nvidia.com/gpu.product", False),
        ("node.kubernetes.io/instance-type", False),
        ("topology.kubernetes.io/zone", False),
        ("example.com/badge", False),
    ],
)
def test_labels_that_tell_good_nodes(key: str, tells: bool) -> None:
    assert bool(LABELS.search(key)) is tells


@pytest.mark.parametrize(
    ("key", "managed"),
    [
        ("cloud.google.com/gke-accelerator", True),
        ("kubernetes.azure.com/agentpool", True),
        ("agentpool", True),
        ("gpu.coreweave.cloud/count", True),
        ("karpenter.sh/capacity-type", False),
        ("eks.amazonaws.com/nodegroup", False),
    ],
)
def test_pools_that_are_repaired(key: str, managed: bool) -> None:
    assert bool(MANAGED.search(key)) is managed


@pytest.mark.parametrize(
    ("image", "ships"),
    [
        ("cr.fluentbit.io/fluent/fluent-bit:3.1", True),
        ("grafana/promtail:3.0.0", True),
        ("timberio/vector:0.39.0-debian", True),
        ("pgvector/pgvector:pg16", False),
        ("nvcr.io/nvidia/pytorch:24.10-py3", False),
    ],
)
def test_collectors_of_logs_by_image(image: str, ships: bool) -> None:
    assert matches(image, LOG_SHIPPER_IMAGES) is ships


@pytest.mark.parametrize(
    ("name", "ships"), [("log-shipper", True), ("logs-upload", True), ("login", False), ("blog", False)]
)
def test_collectors_of_logs_by_name(name: str, ships: bool) -> None:
    assert bool(LOG_SHIPPER_NAME.search(name)) is ships
