"""Accelerators: which extended resources they are, and what else shows that a pod gets one.

Sources: facts of Kubernetes objects, section C (accelerators, time-slicing); resource names in the documentation of
the vendors' device plugins. A row is an exact name or, with `*`, a pattern over the whole name.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.lazy_re import globs


class Device(Struct, frozen=True):
    """A device resource. `partial`: slices or shared devices, between which no collective works.

    `chips`: accelerators behind one unit of the resource (a Neuron device has two cores and still is one device).
    """

    pattern: str
    vendor: str
    partial: bool = False


DEVICES: tuple[Device, ...] = (
    Device("nvidia.com/gpu", "nvidia"),
    Device("nvidia.com/gpu.shared", "nvidia", True),  # time-slicing or MPS, renamed resource
    Device("nvidia.com/mig-*", "nvidia", True),
    Device("nvidia.com/pgpu", "nvidia"),  # pass-through to a virtual machine
    Device("nvidia.com/hostdev", ""),  # network operator: a NIC, not a GPU
    Device("nvidia.com/*vgpu*", "nvidia", True),
    Device("alpha.kubernetes.io/nvidia-gpu", "nvidia"),  # until Kubernetes 1.10
    Device("amd.com/gpu", "amd"),
    Device("amd.com/*x_*", "amd", True),  # MI300 partitions: amd.com/cpx_nps4
    Device("gpu.intel.com/i915", "intel"),
    Device("gpu.intel.com/xe", "intel"),
    Device("intel.com/gpu", "intel"),
    Device("habana.ai/gaudi", "habana"),
    Device("aws.amazon.com/neuron", "neuron"),
    Device("aws.amazon.com/neurondevice", "neuron"),
    Device("aws.amazon.com/neuroncore", "neuron"),
    Device("google.com/tpu", "tpu"),
    Device("cloud-tpus.google.com/*", "tpu"),
    Device("huawei.com/ascend*", "ascend"),
    Device("huawei.com/npu*", "ascend"),
    Device("cambricon.com/*mlu*", "cambricon"),
    Device("hygon.com/dcu*", "hygon"),
    Device("metax-tech.com/gpu", "metax"),
    Device("enflame.com/gcu*", "enflame"),
    Device("iluvatar.com/gpu", "iluvatar"),
    Device("iluvatar.ai/gpu", "iluvatar"),
    Device("kunlunxin.com/xpu", "kunlunxin"),
    Device("baidu.com/xpu", "kunlunxin"),
    Device("mthreads.com/gpu", "mthreads"),
    Device("mthreads.com/vgpu", "mthreads", True),
    Device("aliyun.com/gpu-mem", "nvidia", True),  # shares of one GPU
    Device("aliyun.com/gpu-core.percentage", "nvidia", True),
    Device("tencent.com/vcuda-core", "nvidia", True),
    Device("volcano.sh/vgpu-number", "nvidia", True),
    Device("volcano.sh/gpu-number", "nvidia"),
    Device("volcano.sh/gpu-memory", "nvidia", True),
    Device("run.ai/gpu", "nvidia"),
    Device("qualcomm.com/qaic", "qualcomm"),
    Device("furiosa.ai/*", "furiosa"),
    Device("rebellions.ai/*", "rebellions"),
)

# Products that clusters name their GPUs by: nvidia.com/a100, nvidia.com/gh200-96gb, nvidia.com/a100-80gb.
_PRODUCTS = (
    "a10", "a30", "a40", "a100", "a800", "a6000", "b100", "b200", "b300", "gb200", "gb300", "gh200", "h100", "h200",
    "h20", "h800", "k80", "l4", "l40", "l40s", "m40", "p100", "p4", "p40", "t4", "v100", "gtx", "rtx", "titan", "tesla",
    "quadro",
)  # fmt: skip

# Resources that carry a vendor's name and are no accelerators: shared memory of a slice, cores, RDMA.
_NO_DEVICES = (
    "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "nvidia.com/priority",
    "nvidia.com/hostdev", "nvidia.com/rdma*", "nvidia.com/mlnx*", "nvidia.com/sriov*", "nvidia.com/*resibp*",
    "nvidia.com/*_vf*", "nvidia.com/mlx*", "nvidia.com/imex*", "nvidia.com/nic*", "nvidia.com/ib*",
    "nvidia.com/resibp*", "nvidia.com/cx*", "gpu.intel.com/*monitoring*", "gpu.intel.com/memory*",
    "gpu.intel.com/millicores", "gpu.intel.com/tiles", "volcano.sh/vgpu-memory*", "volcano.sh/vgpu-cores",
    "huawei.com/npu-core-count", "habana.ai/hugepages*",
)  # fmt: skip

# Classes of dynamic resource allocation (DeviceClass), by name.
DEVICE_CLASSES: tuple[Device, ...] = (
    Device("gpu.nvidia.com", "nvidia"),
    Device("mig.nvidia.com", "nvidia", True),
    Device("gpu.amd.com", "amd"),
    Device("gpu.intel.com", "intel"),
    Device("gaudi.intel.com", "habana"),
    Device("tpu.google.com", "tpu"),
    Device("neuron.aws.com", "neuron"),
)

# Node labels whose presence in a selector asks for nodes with accelerators.
SELECTORS: tuple[tuple[str, str], ...] = (
    ("nvidia.com/gpu*", "nvidia"),
    ("nvidia.com/cuda*", "nvidia"),
    ("nvidia.com/mig*", "nvidia"),
    ("cloud.google.com/gke-accelerator", "nvidia"),
    ("cloud.google.com/gke-tpu-*", "tpu"),
    ("gpu.nvidia.com/*", "nvidia"),
    ("karpenter.k8s.aws/instance-gpu-*", "nvidia"),
    ("k8s.amazonaws.com/accelerator", "nvidia"),
    ("amd.com/gpu*", "amd"),
)

# Network devices for collectives: evidence of RDMA, never accelerators.
RDMA_RESOURCES: tuple[str, ...] = (
    "rdma/*", "*/rdma*", "*/hca*", "*/*_hca*", "*/*-hca*", "*/roce*", "*/*_roce*", "*/ib*", "*/*infiniband*",
    "*/sriov*", "*/mlnx*", "*/mellanox*", "*/resibp*",
    "vpc.amazonaws.com/efa", "nvidia.com/hostdev", "nvidia.com/mlx*", "networking.gke.io.networks/rdma*",
    "openshift.io/*rdma*", "openshift.io/*mlx*", "mellanox.com/*", "intel.com/*sriov*",
)  # fmt: skip


# Annotations of a pod that ask its scheduler for part of a GPU: KAI and Run:ai take the share, or the memory, from the
# device of the container that the last one names (the first where it is not there).
SHARES = ("gpu-fraction", "gpu-memory")
SHARED_DEVICES = "gpu-fraction-num-devices"
SHARED_BY = "gpu-fraction-container-name"


@lru_cache(maxsize=1024)
def device(resource: str) -> Device | None:
    """The accelerator behind an extended resource name, or None where it is none.

    Vendors are free in naming (`nvidia.com/a100`, `example.com/gpu`), so a last component `gpu` counts as one.
    """
    name = resource.strip().lower()
    domain, slash, last = name.rpartition("/")
    if not slash or name.startswith("requests."):
        return None
    if any(globs(name, pattern) for pattern in _NO_DEVICES):
        return None
    for row in DEVICES:
        if row.vendor and globs(name, row.pattern):
            return row
    if domain == "nvidia.com" and last.split("-")[0].split(".")[0] in _PRODUCTS:
        return Device(name, "nvidia", ".shared" in last)
    if last in ("gpu", "gpus") or (domain == "nvidia.com" and last.startswith("gpu-")):
        return Device(name, "nvidia" if "nvidia" in domain else "")
    return None


@lru_cache(maxsize=256)
def device_class(name: str) -> Device | None:
    """The accelerator behind a DeviceClass, or None where the name tells nothing."""
    return next((row for row in DEVICE_CLASSES if globs(name.lower(), row.pattern)), None)


@lru_cache(maxsize=1024)
def is_rdma(resource: str) -> bool:
    """Whether an extended resource is a network device for RDMA."""
    name = resource.lower()
    return device(resource) is None and any(globs(name, pattern) for pattern in RDMA_RESOURCES)


@lru_cache(maxsize=1024)
def selects(label: str) -> str:
    """The vendor whose accelerators a node label asks for; empty for other labels."""
    return next((vendor for pattern, vendor in SELECTORS if globs(label, pattern)), "")


GENERATORS = ("vllm", "sglang")
"""Engines that generate on GPUs of their own beside the processes that train (TRL's GRPO, OpenRLHF, verl)."""

SEVERAL_A_PROCESS = lazy_re.compile(
    r"(?i:\blocal_?rank\b)[\])]*\s*\*\s*[2-9]\b|\b[2-9]\s*\*\s*(?:\w+\.)?(?i:local_?rank\b)"
    r"|\bdevice_map\s*=\s*[\"'](?:auto|balanced|balanced_low_0|sequential)[\"']"
    r"|(?<![A-Za-z])DataParallel\s*\("
)
"""In a program's text: one process puts its model on several GPUs, by the number of its own rank (as PyTorch's tutorial
on DDP with model parallelism does), over all that it sees (Hugging Face's `device_map`), or by `nn.DataParallel`."""
