"""DaemonSets that running jobs depend on: recognised by the image of a container, or by the usual name.

Sources: the projects' own manifests and charts (Calico, Cilium, Flannel, Multus, SR-IOV, AWS VPC CNI, NVIDIA device
plugin, GPU Operator, Network Operator, AMD, Habana, EFA, Neuron).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re

Role: TypeAlias = Literal["cni", "gpu-driver", "device-plugin", "network-driver", "storage", "node-agent"]


class Daemon(Struct, frozen=True):
    """One row. `image` is searched in the image without its tag, `name` in the DaemonSet's name."""

    role: Role
    title: str
    image: str
    name: str = ""


_ROWS: tuple[Daemon, ...] = (
    Daemon("cni", "Calico", r"calico/(node|cni)$|calico-node", r"^calico-node$"),
    Daemon("cni", "Cilium", r"cilium/cilium$", r"^cilium$"),
    Daemon("cni", "Flannel", r"flannel/flannel$|coreos/flannel$", r"kube-flannel"),
    Daemon("cni", "Weave Net", r"weaveworks/weave-kube", r"^weave-net$"),
    Daemon("cni", "Antrea", r"antrea/antrea-agent", r"^antrea-agent$"),
    Daemon("cni", "kube-router", r"cloudnativelabs/kube-router", r"^kube-router$"),
    Daemon("cni", "AWS VPC CNI", r"amazon-k8s-cni$", r"^aws-node$"),
    Daemon("cni", "Azure CNI", r"azure-cni", r"^azure-cni"),
    Daemon("cni", "OVN-Kubernetes", r"ovn-kube|ovnkube", r"^ovnkube-node"),
    Daemon("cni", "Kube-OVN", r"kubeovn/kube-ovn", r"^kube-ovn-cni"),
    Daemon("cni", "Multus", r"multus-cni$|multus$", r"multus"),
    Daemon("cni", "kube-proxy", r"kube-proxy$", r"^kube-proxy$"),
    Daemon("network-driver", "SR-IOV network", r"sriov-(cni|network-device-plugin|network-config-daemon)", r"sriov"),
    Daemon("network-driver", "RDMA device plugin", r"k8s-rdma-shared-dev-plugin|rdma-shared", r"rdma-shared"),
    Daemon("network-driver", "NVIDIA network driver", r"mofed|doca-driver", r"^(mofed|doca)"),
    Daemon("network-driver", "EFA device plugin", r"aws-efa-k8s-device-plugin", r"efa-.*device-plugin"),
    Daemon("network-driver", "GKE RDMA installer", r"nccl-plugin-gib|nccl-fastsock-installer|nccl-plugin-gpudirect",
           r"nccl-(rdma|tcpx|tcpxo)-installer"),
    Daemon("device-plugin", "NVIDIA device plugin", r"nvidia/k8s-device-plugin|nvidia-gpu-device-plugin$",
           r"nvidia.*device-plugin"),
    Daemon("device-plugin", "AMD device plugin", r"rocm/k8s-device-plugin", r"amdgpu-.*device-plugin"),
    Daemon("device-plugin", "Neuron device plugin", r"neuron-device-plugin", r"neuron-device-plugin"),
    Daemon("device-plugin", "Gaudi device plugin", r"habana.*device-plugin|docker-k8s-device-plugin",
           r"habana.*device-plugin"),
    Daemon("device-plugin", "Intel GPU plugin", r"intel-gpu-plugin", r"intel-gpu-plugin"),
    Daemon("device-plugin", "NVIDIA DRA driver", r"k8s-dra-driver", r"k8s-dra-driver"),
    Daemon("gpu-driver", "NVIDIA driver", r"nvidia/driver$|nvidia-driver-installer|ubuntu-nvidia-driver-installer|"
           r"cos-nvidia-installer|nvidia-gpu-driver", r"nvidia-driver-(daemonset|installer)"),
    Daemon("gpu-driver", "NVIDIA container toolkit", r"nvidia/(container-toolkit|k8s/container-toolkit)",
           r"nvidia-container-toolkit"),
    Daemon("gpu-driver", "NVIDIA MIG manager", r"k8s-mig-manager", r"mig-manager"),
)  # fmt: skip

_COMPILED = tuple((lazy_re.compile(row.image), lazy_re.compile(row.name) if row.name else None, row) for row in _ROWS)

KURED = lazy_re.compile(r"(^|/)kured$")
"""The image of kured."""

GPU_ROLES = frozenset({"device-plugin", "gpu-driver"})
"""Roles whose DaemonSets run where there are GPUs."""


@lru_cache(maxsize=1024)
def daemon(images: tuple[str, ...], name: str) -> Daemon | None:
    """The row of a DaemonSet by the images of its containers, or else by its name."""
    bare = [image.partition("@")[0] for image in images]
    bare = [image if ":" not in image.rpartition("/")[2] else image.rpartition(":")[0] for image in bare]
    for pattern, _, row in _COMPILED:
        if any(pattern.search(image) for image in bare):
            return row
    for _, named, row in _COMPILED:
        if named is not None and named.search(name):
            return row
    return None
