"""Resources, networks and products that show how GPUs talk."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.fabric import OTHER_FABRIC_RESOURCES, OTHER_FABRIC_VARIABLES, RDMA_NETWORKS, is_infiniband
from kube_gaplint.facts.nvlink import has_nvlink


@pytest.mark.parametrize(
    "resource",
    [
        "rdma/ib",
        "rdma/hca_shared_devices_a",
        "nvidia.com/roce_gdr",
        "nvidia.com/hostdev",
        "nvidia.com/mlnxnics",
        "nvidia.com/resibp64s0",
        "mellanox.com/mlnx_sriov_rdma",
        "openshift.io/sriov_a",
        "example.com/ib0",
        "example.com/shared-hca",
    ],
)
def test_devices_for_rdma(resource: str) -> None:
    assert is_infiniband(resource)


@pytest.mark.parametrize(
    "resource",
    [
        "vpc.amazonaws.com/efa",
        "networking.gke.io.networks/rdma-0",
        "nvidia.com/gpu",
        "cpu",
        "memory",
        "example.com/fib",
    ],
)
def test_no_devices_for_rdma(resource: str) -> None:
    assert not is_infiniband(resource)


def test_fabrics_with_plugins_of_their_own() -> None:
    assert OTHER_FABRIC_RESOURCES.match("vpc.amazonaws.com/efa")
    for name in ("FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "NCCL_FASTRAK_NUM_FLOWS", "NCCL_GIB_VERSION"):
        assert OTHER_FABRIC_VARIABLES.match(name)
    for name in ("NCCL_IB_HCA", "NCCL_DEBUG", "PROFILE_FI_PROVIDER"):
        assert not OTHER_FABRIC_VARIABLES.match(name)


@pytest.mark.parametrize(
    ("networks", "carries"),
    [
        ("sriov-rdma-a,sriov-rdma-b", True),
        ("hostdevice-net-ib0", True),
        ('[{"name": "roce-net"}]', True),
        ("default/ib-network", True),
        ("calico-fibre", False),
        ("macvlan", False),
    ],
)
def test_secondary_networks(networks: str, carries: bool) -> None:
    assert bool(RDMA_NETWORKS.search(networks)) is carries


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB", "Tesla-V100-SXM2-16GB", "NVIDIA-H200", "NVIDIA-B200",
        "NVIDIA-GB200", "nvidia-h100-80gb", "nvidia-tesla-a100", "p5.48xlarge", "p4d.24xlarge", "p3dn.24xlarge",
        "a2-highgpu-8g", "a3-megagpu-8g", "Standard_ND96isr_H100_v5", "BM.GPU.H100.8", "gd-8xh100ib-i128", "DGX-H100",
    ],
)  # fmt: skip
def test_products_with_nvlink(name: str) -> None:
    assert has_nvlink(name)


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA-A100-PCIE-40GB", "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL", "NVIDIA-H200-NVL", "NVIDIA-L40S", "a100",
        "h100", "nvidia-l4", "p3.2xlarge", "g5.48xlarge", "Standard_NC24ads_A100_v4", "dgx-spark", "true", "",
        "x" * 500,
    ],
)  # fmt: skip
def test_products_without_or_in_doubt(name: str) -> None:
    assert not has_nvlink(name)


def test_a_bare_chip_shows_it_with_a_whole_board() -> None:
    assert [has_nvlink("h100", gpus) for gpus in (0, 4, 8)] == [False, False, True]
    assert has_nvlink("nvidia-a100", 8)
    assert not has_nvlink("NVIDIA-H100-PCIe", 8)
    assert not has_nvlink("l40s", 8)
