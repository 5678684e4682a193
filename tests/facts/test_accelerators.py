"""Which resources are accelerators (k8s.md C, row "accelerators")."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.accelerators import device, device_class, is_rdma, selects


@pytest.mark.parametrize(
    ("resource", "vendor", "partial"),
    [
        ("nvidia.com/gpu", "nvidia", False),
        ("nvidia.com/gpu.shared", "nvidia", True),
        ("nvidia.com/mig-1g.10gb", "nvidia", True),
        ("nvidia.com/pgpu", "nvidia", False),
        ("nvidia.com/a100", "nvidia", False),
        ("nvidia.com/a100-80gb", "nvidia", False),
        ("nvidia.com/GH200-96gb", "nvidia", False),
        ("alpha.kubernetes.io/nvidia-gpu", "nvidia", False),
        ("amd.com/gpu", "amd", False),
        ("gpu.intel.com/i915", "intel", False),
        ("gpu.intel.com/xe", "intel", False),
        ("habana.ai/gaudi", "habana", False),
        ("aws.amazon.com/neuron", "neuron", False),
        ("aws.amazon.com/neuroncore", "neuron", False),
        ("google.com/tpu", "tpu", False),
        ("huawei.com/Ascend910", "ascend", False),
        ("example.com/gpu", "", False),
    ],
)
def test_devices(resource: str, vendor: str, partial: bool) -> None:
    found = device(resource)
    assert found is not None
    assert (found.vendor, found.partial) == (vendor, partial)


@pytest.mark.parametrize(
    "resource",
    [
        "cpu",
        "memory",
        "ephemeral-storage",
        "vpc.amazonaws.com/efa",
        "rdma/ib",
        "nvidia.com/gpumem",
        "nvidia.com/hostdev",
        "requests.nvidia.com/gpu",
        "hugepages-2Mi",
        "nvidia.com/mlx5_0",
        "volcano.sh/vgpu-memory",
    ],
)
def test_no_devices(resource: str) -> None:
    assert device(resource) is None


@pytest.mark.parametrize(
    ("resource", "expected"),
    [("rdma/hca_shared_devices_a", True), ("vpc.amazonaws.com/efa", True), ("nvidia.com/hostdev", True),
     ("mellanox.com/sriov_rdma", True), ("nvidia.com/gpu", False), ("cpu", False)],
)  # fmt: skip
def test_rdma(resource: str, expected: bool) -> None:
    assert is_rdma(resource) is expected


def test_device_classes_and_selectors() -> None:
    found = device_class("gpu.nvidia.com")
    assert found is not None
    assert found.vendor == "nvidia"
    assert device_class("compute-domain-default-channel.nvidia.com") is None
    assert selects("cloud.google.com/gke-tpu-topology") == "tpu"
    assert selects("nvidia.com/gpu.product") == "nvidia"
    assert selects("kubernetes.io/arch") == ""
