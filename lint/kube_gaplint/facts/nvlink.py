"""Which GPU products and machine types join the GPUs of a node by NVLink.

Products as GPU feature discovery labels them (`NVIDIA-A100-SXM4-40GB`), as clouds do (`nvidia-h100-80gb`), and machine
types. PCIe cards of the same chips (`NVIDIA-A100-PCIE-40GB`, `NVIDIA-H100-NVL`) and names that leave it open (`a100`)
are no evidence. Sources: NVIDIA's data sheets of the products, GKE's list of accelerator labels, and the vendors' pages
of machine types.
"""

from __future__ import annotations

from functools import lru_cache

from kube_gaplint import lazy_re

PRODUCTS: tuple[str, ...] = (
    r".*sxm\d?\b.*",  # Tesla-V100-SXM2-16GB, NVIDIA-A100-SXM4-80GB, gpu-h100-sxm
    r".*-hbm3e?\b.*",  # NVIDIA-H100-80GB-HBM3
    r"(nvidia-)?h200(-141gb)?",  # the PCIe card is called H200-NVL
    r"(nvidia-)?(hgx-)?b[23]00(-\w+)?",
    r"(nvidia-)?gb[23]00(-\w+)*",
    r"nvidia-(tesla-a100|a100-80gb|h100-80gb|h100-mega-80gb|tesla-v100)",  # GKE
    r"(nvidia[-_])?(dgx|hgx)(?![-_]?(spark|station))[\w-]*",
)

MACHINES: tuple[str, ...] = (
    r"p3\.(8|16)xlarge|p3dn\.24xlarge|(p4de?|p5(e|en)?|p6(e)?-[a-z]+\d+)\.(24|48|36)xlarge|u-p6e-gb\d+x\d+",
    r"a2-(highgpu|megagpu|ultragpu)-\w+|a3-(highgpu|megagpu|ultragpu|edgegpu)-8g|a4x?-\w+-\w+",
    r"standard_nd\d+\w*",
    r"bm\.gpu(\.(a100-v2|h100|h200|b200|b4|gb200|b300|gb300|4|8))[\w.-]*|bm\.gpu[48]\.8",
    r"gd-8x[abh]\d00\w*-\w+",
    r"gpu_8x_[abh]\d00_sxm\d(_\w+)?",
)

_KNOWN = lazy_re.compile("|".join(f"(?:{pattern})" for pattern in (*PRODUCTS, *MACHINES)))


_CHIPS = lazy_re.compile(r"(nvidia[-_.]|gpu[-_.:])?(v100|a100|a800|h100|h200|h800|h20|b200|b300)([-_.]?\d+gb)?")
WHOLE_BOARD = 8
"""GPUs in one pod: a node with so many of these chips is an HGX board, or close to one."""


@lru_cache(maxsize=1024)
def has_nvlink(name: str, gpus: int = 0) -> bool:
    """Whether a product or machine type surely joins its GPUs by NVLink. A bare chip does where a pod takes a board of
    eight."""
    text = name.strip().lower()
    if len(text) > 100:
        return False
    return _KNOWN.fullmatch(text) is not None or (gpus >= WHOLE_BOARD and _CHIPS.fullmatch(text) is not None)
