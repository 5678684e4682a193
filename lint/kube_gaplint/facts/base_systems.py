"""Which shell `sh` is in well-known images: dash on Debian and Ubuntu, bash on the RHEL family.

Only images whose tags all stand on one family have a row; of others the tag tells, where it names a distribution. The
repositories' own Dockerfiles are the source: NVIDIA's, PyTorch's, Hugging Face's and Ray's images are built on Ubuntu,
Docker's official `python` on Debian except for its Alpine tags, and Red Hat's on RHEL.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from kube_gaplint import lazy_re
from kube_gaplint.facts.images import parse_reference

Shell: TypeAlias = Literal["dash", "bash", ""]

_ON_UBUNTU: Final = frozenset({
    "nvidia/pytorch", "nvidia/nemo", "nvidia/jax", "nvidia/tensorflow", "pytorch/pytorch", "rayproject/ray",
    "rayproject/ray-ml", "rayproject/ray-llm", "mosaicml/pytorch", "mosaicml/llm-foundry", "mosaicml/composer",
    "deepspeed/deepspeed", "tensorflow/tensorflow", "huggingface/accelerate",
})  # fmt: skip
_TRANSFORMERS: Final = lazy_re.needing(("huggingface/",), r"huggingface/transformers-pytorch[a-z-]*\Z")
_NAMES: Final[dict[str, Shell]] = {"ubuntu": "dash", "debian": "dash", "rockylinux": "bash", "almalinux": "bash"}
_RED_HAT: Final = (
    "registry.redhat.com/",
    "registry.redhat.io/",
    "registry.access.redhat.com/",
    "registry.access.redhat.io/",
    "quay.io/modh/",
)
_TAGS: Final[tuple[tuple[re.Pattern[str], Shell], ...]] = (
    (lazy_re.compile(r"ubuntu|bookworm|bullseye|trixie|jammy|noble|focal"), "dash"),
    (lazy_re.compile(r"(?:^|-)(?:ubi[89]|rhel[789]|rockylinux[89])"), "bash"),
)


def default_shell(image: str) -> Shell:
    """What `sh` is in an image; empty where its name does not tell."""
    reference = parse_reference(image)
    name = f"{reference.registry}/{reference.repository}" if reference.registry else reference.repository
    if "alpine" in reference.tag or len(name) > 512:
        return ""
    *_, owner, last = ("", *name.split("/"))
    repository = f"{owner}/{last}"
    if repository in _ON_UBUNTU or _TRANSFORMERS.match(repository):
        return "dash"
    if name.startswith(_RED_HAT):
        return "bash"
    if last in _NAMES:
        return _NAMES[last]
    return next((shell for pattern, shell in _TAGS if pattern.search(reference.tag)), "")
