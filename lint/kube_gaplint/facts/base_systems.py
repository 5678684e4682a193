"""Which shell `sh` is in well-known images: dash on Debian and Ubuntu, bash on the RHEL family.

Only images whose tags all stand on one family have a row; of others the tag tells, where it names a distribution. The
repositories' own Dockerfiles are the source: NVIDIA's, PyTorch's, Hugging Face's and Ray's images are built on Ubuntu,
Docker's official `python` on Debian except for its Alpine tags, and Red Hat's on RHEL.
"""

from __future__ import annotations

from typing import Final, Literal

from kube_gaplint import lazy_re
from kube_gaplint.facts.images import parse_reference

_REPOSITORIES: Final = (
    (
        lazy_re.compile(
            r"(?:^|/)(?:nvidia/(?:pytorch|nemo|jax|tensorflow)|pytorch/pytorch|rayproject/ray(?:-ml|-llm)?"
            r"|mosaicml/(?:pytorch|llm-foundry|composer)|deepspeed/deepspeed|tensorflow/tensorflow"
            r"|huggingface/(?:transformers-pytorch[a-z-]*|accelerate)|(?:library/)?(?:ubuntu|debian))\Z"
        ),
        "dash",
    ),
    (
        lazy_re.compile(
            r"^(?:registry\.(?:access\.)?redhat\.(?:com|io)|quay\.io/modh)/|(?:^|/)(?:rockylinux|almalinux)\Z"
        ),
        "bash",
    ),
)
_TAGS: Final = (
    (lazy_re.compile(r"ubuntu|bookworm|bullseye|trixie|jammy|noble|focal"), "dash"),
    (lazy_re.compile(r"(?:^|-)(?:ubi[89]|rhel[789]|rockylinux[89])"), "bash"),
)
_ALPINE: Final = lazy_re.compile(r"alpine")


def default_shell(image: str) -> Literal["dash", "bash", ""]:
    """What `sh` is in an image; empty where its name does not tell."""
    reference = parse_reference(image)
    name = f"{reference.registry}/{reference.repository}" if reference.registry else reference.repository
    if _ALPINE.search(reference.tag) or len(name) > 512:
        return ""
    for table, text in ((_REPOSITORIES, name), (_TAGS, reference.tag)):
        for pattern, shell in table:
            if pattern.search(text):
                return "dash" if shell == "dash" else "bash"
    return ""
