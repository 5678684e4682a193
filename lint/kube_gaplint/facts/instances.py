"""Which machine types carry accelerators that training runs on: rows of patterns, one a cloud family.

A pattern is matched against the whole name in lower case. The first row that matches decides. A name that no row
knows is unknown, never taken as a machine without GPUs.

Sources: AWS families from karpenter-provider-aws `reference/instance-types.md` (labels `instance-gpu-name` and
`instance-accelerator-name`, v1.14); the EC2 families that it no longer lists (g2, g3, p2, p3, dl1) from the EC2
instance type pages. Google `a2`, `a3`, `a4`, `g2`, `g4`, `ct*` machine series, Azure `N` series (NP is FPGA), Oracle
`GPU` shapes and CoreWeave instance names from the vendors' documentation.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from kube_gaplint import lazy_re


class Machine(Struct, frozen=True):
    """What a machine type carries. `accelerator` is empty for a machine that surely has none."""

    cloud: str
    accelerator: str


class _Row(Struct, frozen=True):
    pattern: str
    cloud: str
    accelerator: str


NONE = ""

_ROWS: tuple[_Row, ...] = (
    # AWS: `family.size`
    _Row(r"p[2-6](dn|de|d|en|e)?(-[a-z]*\d+)?(-metal)?\.[\w-]+", "aws", "NVIDIA data-centre GPU"),
    _Row(r"p6e-gb\d+\.[\w-]+", "aws", "NVIDIA data-centre GPU"),
    _Row(r"u-p6e-gb\d+x\d+", "aws", "NVIDIA data-centre GPU"),
    _Row(r"g4ad\.[\w-]+", "aws", "AMD Radeon GPU"),
    _Row(r"gr?[2-7](dn|s|g|e|f)?\.[\w-]+", "aws", "NVIDIA GPU"),
    _Row(r"trn\d+[a-z]*\.[\w-]+", "aws", "AWS Trainium"),
    _Row(r"dl1\.[\w-]+", "aws", "Intel Gaudi"),
    _Row(r"dl2q\.[\w-]+", "aws", NONE),  # Qualcomm AI 100: inference only
    _Row(r"(inf\d|vt1|f[12])\.[\w-]+", "aws", NONE),  # inference, video and FPGA cards
    _Row(r"(a1|[cmrt]\d+[a-z]*(-flex)?|hpc\d+[a-z]*|[dhiz]\d+[a-z]*|im4gn|is4gen|x\d+[a-z]*|u[\w-]*|mac[\w-]*)\.[\w-]+",
         "aws", NONE),
    # Azure: `Standard_…`
    _Row(r"(standard_)?n[cdgv]\d\w*", "azure", "GPU (N series)"),
    _Row(r"standard_np\w+", "azure", NONE),  # FPGA
    _Row(r"(standard|basic)_[abdefghlm][\w-]*", "azure", NONE),
    # Google Cloud
    _Row(r"a[2-9]x?-[\w-]+", "gcp", "NVIDIA data-centre GPU"),
    _Row(r"g[24]-(standard|custom)-[\w-]+", "gcp", "NVIDIA GPU"),
    _Row(r"(ct[4-9]\w*|tpu[\w]*)-[\w-]+", "gcp", "Google TPU"),
    _Row(r"(c2d?|c3d?|c4[ad]?|e2|h[34]d?|m[1-4]|n2d?|n4[ad]?|t2[ad]|x4|z3)-[\w-]+", "gcp", NONE),
    # Oracle Cloud
    _Row(r"(vm|bm)\.gpu[\w.-]*", "oci", "GPU shape"),
    _Row(r"(vm|bm)\.(standard|denseio|optimized|hpc)[\w.-]*", "oci", NONE),
    # CoreWeave
    _Row(r"gd-\d+x[\w-]+", "coreweave", "NVIDIA data-centre GPU"),
    _Row(r"(gb?[23]00|b[23]00|h[12]00|a100|l40s?|rtxp6000|gh200)\w*-\d+x[\w-]*", "coreweave", "NVIDIA data-centre GPU"),
    _Row(r"(cd-[\w-]+|turin-[\w-]+|genoa-[\w-]+)", "coreweave", NONE),
    # Nebius, Lambda, Alibaba Cloud
    _Row(r"gpu-[abghl]+\d+\w*(-[\w-]+)?", "nebius", "NVIDIA data-centre GPU"),
    _Row(r"cpu-[de]\d[\w-]*", "nebius", NONE),
    _Row(r"gpu_\d+x_\w+", "lambda", "NVIDIA GPU"),
    _Row(r"cpu_\d+x_\w+", "lambda", NONE),
    _Row(r"ecs\.(ebm)?(s?gn|vgn|gn)[\w.-]+", "alibaba", "NVIDIA GPU"),
    _Row(r"ecs\.(ebm|s)?[cghrt]\d[\w-]*\.[\w.-]+", "alibaba", NONE),
)  # fmt: skip

_COMPILED = tuple((lazy_re.compile(row.pattern), row) for row in _ROWS)


@lru_cache(maxsize=1024)
def machine(name: str) -> Machine | None:
    """What a machine type carries by its name; None for a name that is not known."""
    text = name.strip().lower()
    if len(text) > 100:
        return None
    for pattern, row in _COMPILED:
        if pattern.fullmatch(text):
            return Machine(row.cloud, row.accelerator)
    return None


def family(name: str) -> Machine | None:
    """What an AWS instance family carries: `p5`, `g6e`, `m7i` (Karpenter's `instance-family`)."""
    return machine(f"{name.strip()}.large")


def azure_family(name: str) -> Machine | None:
    """What an Azure size family carries: `N`, `NC`, `D` (Karpenter for Azure's `sku-family`)."""
    letters = name.strip().upper()
    if not letters.isalpha() or len(letters) > 4:
        return None
    carries = letters.startswith("N") and not letters.startswith("NP")
    return Machine("azure", "GPU (N series)" if carries else NONE)


_CATEGORIES = {
    "p": "NVIDIA data-centre GPU",
    "g": "GPU",
    "gr": "NVIDIA GPU",
    "trn": "AWS Trainium",
    **dict.fromkeys(
        ("a", "c", "d", "dl", "f", "h", "hpc", "i", "im", "inf", "is", "m", "mac", "r", "t", "u", "vt", "x", "z"), NONE
    ),
}


def category(name: str) -> Machine | None:
    """What a Karpenter `instance-category` carries: the letters before the generation (`p`, `g`, `m`)."""
    found = _CATEGORIES.get(name.strip().lower())
    return None if found is None else Machine("aws", found)


GPUS_OF_A_BOARD = 8
"""Accelerators of the usual training node: an HGX or OAM board."""

# Accelerators of a machine type: a fixed number, or what a group of the pattern says.
_COUNTS: tuple[tuple[str, int], ...] = (
    (r"(p3\.8xlarge|p5en?\.24xlarge|g(4dn|5|6|6e)\.(12|24)xlarge|g5g\.(16xlarge|metal)|p6e-gb\d+\.\w+)", 4),
    (r"(p2|p3|g3s?|g4dn|g4ad|g5g?|g6e?|gr6|g7e?)\.(2xlarge|4xlarge|xlarge)", 1),
    (r"g(5|6|6e|4ad|r6)\.(8|16)xlarge", 1),
    (r"(p3\.16xlarge|p3dn\.24xlarge|p4de?\.24xlarge|p5(e|en)?\.48xlarge|p6-\w+\.48xlarge|g\w+\.(48xlarge|metal))", 8),
    (r"trn1n?\.32xlarge|trn2u?\.48xlarge", 16),
    (r"trn1\.2xlarge|trn2\.3xlarge", 1),
    (r"dl1\.24xlarge", 8),
    (r"standard_nc24ads_a100_v4|standard_nc40ads_h100_v5|standard_nc6s_v3", 1),
    (r"standard_nc48ads_a100_v4|standard_nc80adis_h100_v5|standard_nc12s_v3", 2),
    (r"standard_nc96ads_a100_v4|standard_nc24r?s_v3|standard_nd128isr_\w+", 4),
    (r"standard_nd(40|96)\w*", 8),
)  # fmt: skip
_COUNTS_BY_NAME: tuple[str, ...] = (
    r"a[2-4]x?-(?:highgpu|megagpu|ultragpu|edgegpu|maxgpu)-(\d+)g(?:-\w+)?",
    r"(?:vm|bm)\.gpu[\w.-]*\.(\d+)",
    r"g[bd]-(\d+)x[\w-]+",
    r"gpu_(\d+)x_\w+",
)
"""Names that tell the number themselves: `a2-highgpu-4g`, `BM.GPU.H100.8`, `gd-8xh100ib-i128`, `gpu_8x_h100_sxm`."""
_FIXED = tuple((lazy_re.compile(pattern), count) for pattern, count in _COUNTS)
_TOLD = tuple(lazy_re.compile(pattern) for pattern in _COUNTS_BY_NAME)

WHOLE_BY_PRODUCT = lazy_re.compile(r"(nvidia-)?gb[23]00(-\w+)*")
"""GPU products that come four to a node, as labels name them (NVIDIA GB200 NVL72: two superchips a compute tray)."""


NAMED_WITH_GPUS = lazy_re.compile(
    r"(?<![\w./-])(?:ml\.)?(?:(?:p[2-6]|g[3-7]|gr6|trn\d|dl1)[a-z0-9-]*\.(?:\d{0,2}xlarge|metal[\w-]*)"
    r"|a[2-9]x?-(?:high|mega|ultra|edge)gpu-\d+g|g[24]-standard-\d+|standard_n[cdv]\w+|(?:vm|bm)\.gpu[\w.]*\d)"
    r"(?![\w-])",
    re.IGNORECASE,
)
"""A machine of these with GPUs, wherever a text names it."""


@lru_cache(maxsize=1024)
def devices_of(name: str) -> int | None:
    """How many accelerators a machine type carries; None for a name that is not known. SageMaker's names are those of
    EC2 behind `ml.`."""
    text = name.strip().lower().removeprefix("ml.")
    if len(text) > 100:
        return None
    for pattern, count in _FIXED:
        if pattern.fullmatch(text):
            return count
    for pattern in _TOLD:
        match = pattern.fullmatch(text)
        if match is not None:
            return int(match[1])
    return None


class NodeKey(Struct, frozen=True):
    """A label, taint or resource key that marks nodes with accelerators.

    `absent_values`: values that say the opposite ("false").
    """

    pattern: str
    what: str


NODE_KEYS: tuple[NodeKey, ...] = (
    # NVIDIA: device plugin, GPU feature discovery and the usual taint
    NodeKey(r"nvidia\.com/(gpu|mig)([.-].*)?", "NVIDIA GPU"),
    NodeKey(r"nvidia\.com/(cuda\..*|gfd\..*|[abghl]\d+\w*)", "NVIDIA GPU"),
    NodeKey(r"feature\.node\.kubernetes\.io/pci-(\w+_)?10de(\.present|\..*)?", "NVIDIA GPU"),
    NodeKey(r"amd\.com/gpu([.-].*)?", "AMD GPU"),
    NodeKey(r"gpu\.intel\.com/.*", "Intel GPU"),
    NodeKey(r"habana\.ai/gaudi", "Intel Gaudi"),
    NodeKey(r"aws\.amazon\.com/neuron(core|device)?", "AWS Trainium"),
    NodeKey(r"cloud\.google\.com/gke-(accelerator|tpu-accelerator|gpu-driver-version)(-.*)?", "accelerator"),
    NodeKey(r"google\.com/tpu", "Google TPU"),
    NodeKey(r"k8s\.amazonaws\.com/accelerator", "accelerator"),
    NodeKey(r"kubernetes\.azure\.com/accelerator", "accelerator"),
    NodeKey(
        r"(karpenter\.k8s\.aws|eks\.amazonaws\.com)/instance-(gpu|accelerator)-(name|manufacturer|count|memory)",
        "accelerator",
    ),
    NodeKey(r"karpenter\.azure\.com/sku-gpu-(name|manufacturer|count)", "GPU"),
    NodeKey(r"gpu\.nvidia\.com/.*", "NVIDIA GPU"),
    NodeKey(r"node-role\.kubernetes\.io/gpu([.-].*)?", "GPU"),
    NodeKey(r"(accelerator|gpu|gpu-type|gpu-node|gpunode)", "GPU"),
)

_NODE_KEYS = tuple((lazy_re.compile(row.pattern), row) for row in NODE_KEYS)

FALSE_VALUES = frozenset({"false", "0", "no", "none", "disabled"})
"""Values of such a label that say that the node has no accelerator."""

INSTANCE_TYPE_KEYS = frozenset(
    {
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "cloud.google.com/machine-type",
        "karpenter.azure.com/sku-name",
    }
)
INSTANCE_FAMILY_KEYS = frozenset({"karpenter.k8s.aws/instance-family", "cloud.google.com/machine-family"})

CONTROL_PLANE_KEYS = frozenset(
    {
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/etcd",
        "node-role.kubernetes.io/controlplane",
    }
)
"""Labels of nodes that run no training."""

SERVICE_MACHINES = frozenset({
    "bastion", "jump", "jumphost", "jumpbox", "maintenance", "management", "mgmt", "admin", "vpn", "wireguard",
    "gateway", "nat", "proxy", "monitoring", "controlplane", "nfs", "headnode",
})  # fmt: skip
"""Words of a file's name by which it sets up a machine beside the nodes."""
_WORD = lazy_re.compile(r"[a-z0-9]+")
_MACHINES_OF_JOBS = frozenset({"gpu", "gpus", "node", "nodes", "worker", "workers", "compute", "agent", "train"})


def sets_up_a_service(name: str) -> str:
    """The word of a file's name by which it sets up a machine that runs no jobs; empty where none says so."""
    words = _WORD.findall(name.lower())
    found = next((word for word in words if word in SERVICE_MACHINES), "")
    return "" if _MACHINES_OF_JOBS.intersection(words) else found


@lru_cache(maxsize=1024)
def node_key(key: str) -> NodeKey | None:
    """The row of a label, taint or resource key that marks nodes with accelerators; else None."""
    text = key.strip().lower()
    if len(text) > 253:
        return None
    for pattern, row in _NODE_KEYS:
        if pattern.fullmatch(text):
            return row
    return None
