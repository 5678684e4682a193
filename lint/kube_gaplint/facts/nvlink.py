"""Which GPU products and machine types join the GPUs of a node by NVLink.

Products as GPU feature discovery labels them (`NVIDIA-A100-SXM4-40GB`), as clouds do (`nvidia-h100-80gb`), and machine
types. PCIe cards of the same chips (`NVIDIA-A100-PCIE-40GB`, `NVIDIA-H100-NVL`) and names that leave it open (`a100`)
are no evidence. Sources: NVIDIA's data sheets of the products, GKE's list of accelerator labels, and the vendors' pages
of machine types.
"""

from __future__ import annotations

from functools import lru_cache

from kube_gaplint import lazy_re

_PRODUCTS = (
    lazy_re.needing(("sxm",), r".*sxm\d?\b.*"),  # Tesla-V100-SXM2-16GB, NVIDIA-A100-SXM4-80GB, gpu-h100-sxm
    lazy_re.needing(("-hbm3",), r".*-hbm3e?\b.*"),  # NVIDIA-H100-80GB-HBM3
    lazy_re.needing(("h200",), r"(nvidia-)?h200(-141gb)?"),  # the PCIe card is called H200-NVL
    lazy_re.needing(("b200", "b300"), r"(nvidia-)?(hgx-)?b[23]00(-\w+)?"),
    lazy_re.needing(("gb200", "gb300"), r"(nvidia-)?gb[23]00(-\w+)*"),
    lazy_re.needing(("nvidia-",), r"nvidia-(tesla-a100|a100-80gb|h100-80gb|h100-mega-80gb|tesla-v100)"),  # GKE
    lazy_re.needing(("dgx", "hgx"), r"(nvidia[-_])?(dgx|hgx)(?![-_]?(spark|station))[\w-]*"),
)
_MACHINES = (
    lazy_re.needing(
        ("xlarge",),
        r"p3\.(8|16)xlarge|p3dn\.24xlarge|(p4de?|p5(e|en)?|p6(e)?-[a-z]+\d+)\.(24|48|36)xlarge",
    ),
    lazy_re.needing(("u-p6e-gb",), r"u-p6e-gb\d+x\d+"),
    lazy_re.needing(("a2-",), r"a2-(highgpu|megagpu|ultragpu)-\w+"),
    lazy_re.needing(("a3-",), r"a3-(highgpu|megagpu|ultragpu|edgegpu)-8g"),
    lazy_re.needing(("a4-", "a4x-"), r"a4x?-\w+-\w+"),
    lazy_re.needing(("standard_nd",), r"standard_nd\d+\w*"),
    lazy_re.needing(
        ("bm.gpu",),
        r"bm\.gpu(\.(a100-v2|h100|h200|b200|b4|gb200|b300|gb300|4|8))[\w.-]*|bm\.gpu[48]\.8",
    ),
    lazy_re.needing(("gd-8x",), r"gd-8x[abh]\d00\w*-\w+"),
    lazy_re.needing(("gpu_8x_",), r"gpu_8x_[abh]\d00_sxm\d(_\w+)?"),
)
_CHIP_NAMES = ("v100", "a100", "a800", "h100", "h200", "h800", "h20", "b200", "b300")
_CHIPS = lazy_re.needing(_CHIP_NAMES, rf"(nvidia[-_.]|gpu[-_.:])?({'|'.join(_CHIP_NAMES)})([-_.]?\d+gb)?")
WHOLE_BOARD = 8
"""GPUs in one pod: a node with so many of these chips is an HGX board, or close to one."""


@lru_cache(maxsize=1024)
def has_nvlink(name: str, gpus: int = 0) -> bool:
    """Whether a product or machine type surely joins its GPUs by NVLink. A bare chip does where a pod takes a board of
    eight."""
    text = name.strip().lower()
    if len(text) > 100:
        return False
    if any(known.fullmatch(text) for known in (*_PRODUCTS, *_MACHINES)):
        return True
    return gpus >= WHOLE_BOARD and _CHIPS.fullmatch(text) is not None
