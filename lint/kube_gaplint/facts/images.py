"""Which torch and NCCL releases well-known images hold, by their names and tags.

A row of `REPOSITORIES` names image repositories and how their tags tell the release; NVIDIA's monthly images have
tables. An image that only looks like one of these (a mirror under another registry) is recognised by the end of its
path where that end is unmistakable (`nvidia/pytorch`, `pytorch/pytorch`). Everything else is unknown.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts.nccl import same_era
from kube_gaplint.facts.torch import shipped_nccl

Release: TypeAlias = tuple[int, ...]
Month: TypeAlias = tuple[int, int]
"""Year without century, and month, as in the tag `24.05-py3`."""


class Reference(Struct, frozen=True):
    """An image reference in parts. Registry and digest may be empty; the tag of `name` alone is empty, not `latest`."""

    registry: str
    repository: str
    tag: str
    digest: str


class Contents(Struct, frozen=True):
    """What an image is known to hold. None: not known; `uses_torch` None: not known whether it holds torch at all.

    `note` says by what it is known, and that a release is a pre-release where it is one: NVIDIA builds its monthly
    images from a state of torch's development shortly before that release.
    """

    torch: Release | None
    nccl: Release | None
    uses_torch: bool | None
    note: str
    pre_release: bool = False


UNKNOWN = Contents(None, None, None, "")

_TAG = lazy_re.compile(r"[\w][\w.+-]{0,127}\Z", re.ASCII)
_PREFIXES = ("docker://", "docker-daemon://", "dockerd://", "podman://", "oras://", "library://", "shub://")
_SQUASHED = (".sqsh", ".sqfs", ".squashfs", ".sif", ".simg", ".img")


def parse_reference(text: str) -> Reference:
    """Split an image reference as a manifest, enroot (`registry#repository:tag`) or Apptainer (`docker://…`) has it.

    A local image file counts by its name: enroot and its users import `nvidia/pytorch:24.03-py3` to
    `nvidia+pytorch+24.03-py3.sqsh`.
    """
    text = text.strip()
    for prefix in _PREFIXES:
        if text.startswith(prefix):
            text = text[len(prefix) :]
            break
    if text.endswith(_SQUASHED):
        return _from_file(text)
    registry, hash_mark, rest = text.partition("#")
    if hash_mark:
        rest, _, digest = rest.partition("@")
        repository, tag = _split_tag(rest)
        return Reference(registry.rsplit("@", 1)[-1].lower(), repository, tag, digest)
    text, _, digest = text.partition("@")
    first, slash, rest = text.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        repository, tag = _split_tag(rest)
        return Reference(first.lower(), repository, tag, digest)
    repository, tag = _split_tag(text)
    return Reference("", repository, tag, digest)


_DOCKER_HUB = frozenset({"", "docker.io", "index.docker.io", "registry-1.docker.io"})
"""Docker Hub, which a reference without a registry means (distribution/reference, `ParseNormalizedNamed`)."""


def surely_differ(one: str, other: str) -> bool:
    """Whether two references surely name different images: `x`, `x:latest` and `docker.io/library/x` are one. A digest
    and a tag may well be the same image."""
    first, second = parse_reference(one), parse_reference(other)
    if first.digest and second.digest:
        return first.digest != second.digest
    if _full_name(first) != _full_name(second):
        return True
    if first.digest or second.digest:
        return bool(first.tag and second.tag) and first.tag != second.tag
    return (first.tag or "latest") != (second.tag or "latest")


def _full_name(reference: Reference) -> tuple[str, str]:
    if reference.registry not in _DOCKER_HUB:
        return reference.registry, reference.repository
    whole = reference.repository if "/" in reference.repository else f"library/{reference.repository}"
    return "docker.io", whole


def is_image_file(text: str) -> bool:
    """Whether an image is a file on a disk (enroot, Apptainer), not a reference to a registry."""
    return text.endswith(_SQUASHED) or text.startswith(("/", "./", "../", "~"))


def _split_tag(text: str) -> tuple[str, str]:
    head, colon, tag = text.rpartition(":")
    return (head, tag) if colon and _TAG.match(tag) else (text, "")


def _from_file(path: str) -> Reference:
    """A squashed image: the parts of the name that enroot joins by `+` (others use `_` or `-` before the tag)."""
    name = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    if "+" not in name:
        found = re.match(r"(?P<repository>[a-z][a-z-]*[a-z])[-_:](?P<tag>v?\d[\w.-]*)\Z", name)
        if found is None:
            return Reference("", name, "", "")
        return Reference("", found["repository"], found["tag"], "")
    parts = name.split("+")
    if len(parts) > 2 and "." in parts[0]:
        return Reference(parts[0].lower(), "/".join(parts[1:-1]), parts[-1], "")
    return Reference("", "/".join(parts[:-1]), parts[-1], "")


_RELEASE = lazy_re.compile(r"\d+(?:\.\d+)+")


def release(text: str) -> Release | None:
    """The numbers at the start of a version: `2.3.1+cu121` gives (2, 3, 1), `2.4.0a0` (2, 4, 0); None for others."""
    found = _RELEASE.match(text.removeprefix("v"))
    return tuple(int(part) for part in found[0].split(".")) if found and len(found[0]) < 32 else None


_PYTHON = lazy_re.compile(r"(?<![a-z0-9])(?:python|py|cp)[-_]?3\.?(?P<minor>\d{1,2})(?!\d)", re.ASCII | re.IGNORECASE)


def python_in(image: str) -> Release | None:
    """The release of Python that the name or the tag of an image spells (`rocm-6.2.4-python-3.12.sif`,
    `base:py312-cu124`); None where it spells none, or several."""
    found = {int(match["minor"]) for match in _PYTHON.finditer(image.rpartition("/")[2])}
    return (3, found.pop()) if len(found) == 1 else None


# NVIDIA's monthly images

NGC_SOURCE = "https://docs.nvidia.com/deeplearning/frameworks/pytorch-release-notes/"
NGC_MATRIX_SOURCE = (
    "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform-release-notes/ "
    "(compatibility matrix: torch of each NVIDIA framework container)"
)
NEMO_SOURCE = "https://docs.nvidia.com/nemo-framework/user-guide/24.09/softwarecomponentversions.html"


class Monthly(Struct, frozen=True):
    """One monthly image: the torch version as NVIDIA gives it, and where."""

    month: Month
    torch: str
    source: str


def _months(source: str, *rows: tuple[str, str]) -> tuple[Monthly, ...]:
    out = []
    for months, torch in rows:
        for text in months.split():
            year, _, month = text.partition(".")
            out.append(Monthly((int(year), int(month)), torch, source))
    return tuple(out)


NGC_PYTORCH: tuple[Monthly, ...] = (
    *_months(
        NGC_SOURCE,
        ("20.01 20.02", "1.4.0a0"),
        ("20.03", "1.5.0a0"),
        ("20.06", "1.6.0a0"),
        ("20.07 20.08", "1.6.0a0"),
        ("20.09 20.10", "1.7.0a0"),
        ("20.11 20.12 21.02", "1.8.0a0"),
        ("21.03 21.04 21.05 21.06", "1.9.0a0"),
        ("21.07 21.08 21.09 21.10", "1.10.0a0"),
        ("21.11 21.12", "1.11.0a0+b6df043"),
        ("22.02", "1.11.0a0"),
        ("22.08", "1.13.0a0"),
        ("22.12", "1.14.0a0"),
        ("23.06 23.07 23.08", "2.1.0a0"),
        ("23.09 23.10", "2.1.0a0+32f93b1"),
        ("26.07", "2.13.0a0+9186a08"),
    ),
    *_months(
        NGC_MATRIX_SOURCE,
        ("22.01", "1.11.0a0+bfe5ad28"),
        ("22.03", "1.12.0a0+2c916ef"),
        ("22.04", "1.12.0a0+bd13bc66"),
        ("22.05", "1.12.0a0+8a1a93a9"),
        ("22.06", "1.13.0a0+340c412"),
        ("22.07", "1.13.0a0+08820cb"),
        ("22.09 22.10", "1.13.0a0+d0d6b1f"),
        ("22.11", "1.13.0a0+936e930"),
        ("23.01 23.02", "1.14.0a0+44dac51c"),
        ("23.03", "2.0.0a0+8aa34602"),
        ("23.04", "2.1.0a0+fe05266f"),
        ("23.05", "2.0.0"),
        ("23.11", "2.2.0a0+6a974bec"),
        ("23.12 24.01", "2.2.0a0+81ea7a4"),
        ("24.02", "2.3.0a0+ebedce2"),
        ("24.03", "2.3.0a0+40ec155e58"),
        ("24.04", "2.3.0a0+6ddf5cf85e"),
        ("24.05", "2.4.0a0+07cecf4168"),
        ("24.06", "2.4.0a0+f70bd71a48"),
        ("24.07", "2.4.0a0+3bcc3cddb5"),
        ("24.08", "2.5.0a0+872d972e41"),
        ("24.09", "2.5.0a0+b465a5843b"),
        ("24.10", "2.5.0a0+e000cf0ad9"),
        ("24.11 24.12", "2.6.0a0+df5bbc09d1"),
        ("25.01", "2.6.0a0+ecf3bae40a"),
        ("25.02", "2.7.0a0+6c54963f75"),
        ("25.03", "2.7.0a0+7c8ec84dab"),
        ("25.04", "2.7.0a0+79aa17489c"),
        ("25.05 25.06", "2.8.0a0+5228986c39"),
        ("25.08", "2.8.0a0+34c6371d24"),
        ("25.09", "2.9.0a0+50eac811a6"),
        ("25.10", "2.9.0a0+145a3a7bda"),
        ("25.11", "2.10.0a0+b558c986e8"),
        ("25.12", "2.10.0a0+b4e4ee81d3"),
        ("26.01", "2.10.0a0+a36e1d39eb"),
        ("26.02", "2.11.0a0+eb65b36914"),
        ("26.03", "2.11.0a0+a6c236b9fd1"),
    ),
)

NEMO: tuple[Monthly, ...] = _months(NEMO_SOURCE, ("24.05 24.07", "2.3.0a0"), ("24.09", "2.4.0a0"))


class MonthlyNccl(Struct, frozen=True):
    """NCCL in NVIDIA's framework images of one month: those of one month share it."""

    month: Month
    nccl: Release
    source: str


NGC_NCCL: tuple[MonthlyNccl, ...] = tuple(
    MonthlyNccl(month, nccl, source)
    for month, nccl, source in (
        ((21, 5), (2, 9, 8), "tensorflow-release-notes/rel_21-05.html"),
        ((21, 11), (2, 11, 4), "environment of the image"),
        ((22, 5), (2, 12, 10), "paddle-paddle-release-notes/rel_22-05.html"),
        ((23, 7), (2, 18, 3), "dgl-release-notes/rel-23-07.html"),
        ((23, 9), (2, 18, 5), "Megatron-LM tools/retro/README.md, of pytorch:23.09-py3"),
        ((23, 10), (2, 19, 3), "environment of the image"),
        ((23, 11), (2, 19, 3), "paddle-paddle-release-notes, 23.11"),
        ((24, 5), (2, 21, 5), "mxnet-release-notes/rel-24-05.html, paddle-paddle-release-notes/rel-24-05.html"),
        ((25, 2), (2, 25, 1), "environment of tritonserver:25.02"),
        ((25, 10), (2, 27, 7), "layers of pytorch:25.10-py3"),
        ((26, 3), (2, 29, 7), "cuda-dl-release-notes/rel-26-03.html"),
    )
)


def nccl_of_month(month: Month) -> tuple[Release, str] | None:
    """NCCL in NVIDIA's images of a month, and how it is known.

    Between two months that were read the earlier release is given where nothing that matters changes between the
    two, since the image's release lies between them.
    """
    before = [row for row in NGC_NCCL if row.month <= month]
    after = [row for row in NGC_NCCL if row.month >= month]
    if not before or not after:
        return None
    low, high = before[-1], after[0]
    if low.month == month:
        return low.nccl, f"NCCL {_dotted(low.nccl)}"
    if not same_era(low.nccl, high.nccl):
        return None
    return low.nccl, f"NCCL {_dotted(low.nccl)} to {_dotted(high.nccl)}"


def _dotted(numbers: Release) -> str:
    return ".".join(str(number) for number in numbers)


_MONTH = lazy_re.compile(r"(?:ngc-)?(?P<year>\d\d)\.(?P<month>\d\d)(?![\d])")


def _monthly(table: tuple[Monthly, ...], reference: Reference, what: str) -> Contents:
    found = _MONTH.match(reference.tag)
    if found is None:
        return Contents(None, None, True, f"{what} holds torch; the tag does not tell the release")
    month = (int(found["year"]), int(found["month"]))
    row = next((row for row in table if row.month == month), None)
    nccl = nccl_of_month(month) if table is NGC_PYTORCH else None
    notes = []
    torch = None
    if row is not None:
        torch = release(row.torch)
        notes.append(f"torch {row.torch}" + (", a pre-release" if "a0" in row.torch else ""))
        if torch is not None and "a0" in row.torch:
            torch = torch[:2]
    if nccl is not None:
        notes.append(nccl[1])
    note = f"{what} of {found['year']}.{found['month']} holds " + " and ".join(notes or ["torch of an unknown release"])
    return Contents(torch, nccl[0] if nccl else None, True, note, row is not None and "a0" in row.torch)


# Images whose tag spells the release

_TORCH_IN_TAG = lazy_re.compile(r"(?:^|[-_])(?:pytorch|torch|pt)[-_]?v?(?P<release>\d+\.\d+(?:\.\d+)*)", re.ASCII)


def _tag_is_torch(reference: Reference, what: str) -> Contents:
    """`2.3.1-cuda12.1-cudnn8-runtime`, `2.3.1_cu121-python3.11-ubuntu20.04`, `2.3.0-gpu-py311-cu121-…`."""
    torch = release(reference.tag)
    if torch is None:
        return Contents(None, None, True, f"{what} holds torch; the tag does not tell the release")
    return _with_wheel(torch, f"{what}: the tag gives torch {_dotted(torch)}", reference.tag)


_CUDA_11 = lazy_re.compile(r"cu(?:da)?-?11", re.ASCII)


def _with_wheel(torch: Release, note: str, variant: str = "") -> Contents:
    """Torch with the NCCL of its default wheel; wheels of 2.6 and later for CUDA 11 bring an older one."""
    nccl = None if torch >= (2, 6) and _CUDA_11.search(variant) else shipped_nccl(torch)
    if nccl is not None:
        note += f", whose wheel brings NCCL {_dotted(nccl)}"
    return Contents(torch, nccl, True, note)


def _torch_in_tag(reference: Reference, what: str) -> Contents:
    """`rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0`, `base-24.03-py3.10-torch2.3.1`."""
    tag = reference.tag.replace("pytorch_release_", "pytorch_").replace("pytorch_staging_", "pytorch_")
    found = _TORCH_IN_TAG.search(tag)
    torch = release(found["release"]) if found else None
    if torch is None:
        return Contents(None, None, True, f"{what} holds torch; the tag does not tell the release")
    return Contents(torch, None, True, f"{what}: the tag gives torch {_dotted(torch)}")


_TORCH_DIGITS = lazy_re.compile(r"(?:^|-)torch(\d)(\d{1,2})(\d)(?:-|\Z)", re.ASCII)


def _torch_digits(reference: Reference, what: str) -> Contents:
    """`py311-cuda124-torch251`: the release without dots."""
    found = _TORCH_DIGITS.search(reference.tag)
    if found is None:
        return Contents(None, None, True, f"{what} holds torch; the tag does not tell the release")
    torch = (int(found[1]), int(found[2]), int(found[3]))
    return _with_wheel(torch, f"{what}: the tag gives torch {_dotted(torch)}", reference.tag)


def _ngc_pytorch(reference: Reference, what: str) -> Contents:
    return _monthly(NGC_PYTORCH, reference, what)


def _nemo(reference: Reference, what: str) -> Contents:
    return _monthly(NEMO, reference, what)


_GCP_NAME = lazy_re.compile(
    r"(?:huggingface-)?pytorch-(?:training-)?(?:gpu|cu\d+|xla|cpu)\.(\d{1,2})-(\d{1,2})", re.ASCII
)


def _gcp(reference: Reference, what: str) -> Contents:
    """Google's names spell it: `pytorch-gpu.2-3.py310`, `pytorch-cu121.2-3.py310`, `pytorch-gpu.1-13`."""
    last = reference.repository.rsplit("/", 1)[-1]
    found = _GCP_NAME.match(last)
    if found is None:
        return Contents(None, None, True, f"{what} holds torch; the name does not tell the release")
    torch = (int(found[1]), int(found[2]))
    return _with_wheel(torch, f"{what}: the name gives torch {_dotted(torch)}", last)


def _azure(reference: Reference, what: str) -> Contents:
    """`…/acpt/stable-ubuntu2204-cu124-py310-torch260`, `…-torch1121`, `…/curated/acpt-pytorch-2.8-cuda12.6`."""
    last = reference.repository.rsplit("/", 1)[-1]
    joined = re.search(r"torch(\d)(\d{1,2}?)(\d)\b", last, re.ASCII)
    spelt = re.search(r"torch-(\d)\.(\d{1,2})\b", last, re.ASCII)
    found = joined or spelt
    if found is None:
        return Contents(None, None, True, f"{what} holds torch; the name does not tell the release")
    torch = tuple(int(part) for part in found.groups())
    return _with_wheel(torch, f"{what}: the name gives torch {_dotted(torch)}", last)


_LUMI_NAME = lazy_re.compile(r"-u\d+r\d+f\d+m\d+t(?P<major>\d)(?P<minor>\d{1,2})-", re.ASCII)


def _lumi(reference: Reference, what: str) -> Contents:
    """`lumi-multitorch-full-u24r70f21m50t210-20260415_130625`: Ubuntu 24, ROCm 7.0, libfabric 2.1, MPICH 5.0, torch
    2.10."""
    found = _LUMI_NAME.search(reference.repository)
    if found is None:
        return Contents(None, None, None, f"{what}: its name tells no torch")
    torch = (int(found["major"]), int(found["minor"]))
    return Contents(torch, None, True, f"{what}: the name gives torch {_dotted(torch)}")


def _holds_torch(reference: Reference, what: str) -> Contents:
    return Contents(
        None, None, True, f"{what} holds torch of a release that {reference.tag or 'the name'} does not tell"
    )


def _may_hold_torch(reference: Reference, what: str) -> Contents:
    return Contents(None, None, None, f"{what} {reference.tag} does not pin torch".replace("  ", " "))


def _no_torch(reference: Reference, what: str) -> Contents:
    del reference
    return Contents(None, None, False, f"{what} holds no torch")


class Repository(Struct, frozen=True):
    """Images of one kind. `pattern` matches `registry/repository` at its end (from the start of a path part)."""

    pattern: re.Pattern[str]
    title: str
    read: Callable[[Reference, str], Contents]
    source: str


def _repository(pattern: str, title: str, read: Callable[[Reference, str], Contents], source: str) -> Repository:
    return Repository(lazy_re.compile(r"(?:^|/)(?:" + pattern + r")\Z", re.ASCII), title, read, source)


AWS_ACCOUNTS = (
    "763104351884", "626614931356", "871362719292", "975050140332", "772153158452", "907027046896", "457447274322",
    "550225160924", "590183813437", "204538143572", "380420809688", "692866216735", "503227376785", "780543022126",
    "217643126080", "914824155844", "637423239942", "442386744353", "446045086412", "727897471807",
)  # fmt: skip
"""Accounts whose registries hold AWS's own deep-learning containers, by region."""

REPOSITORIES: tuple[Repository, ...] = (
    _repository(r"nvidia/pytorch", "nvidia/pytorch", _ngc_pytorch, NGC_SOURCE),
    _repository(r"nersc/pytorch", "NERSC's nersc/pytorch", _ngc_pytorch, "https://docs.nersc.gov/machinelearning/pytorch/"),
    _repository(r"nvidia/nemo|nvaie/nemo[\w-]*", "nvidia/nemo", _nemo, NEMO_SOURCE),
    _repository(
        rf"(?:{'|'.join(AWS_ACCOUNTS)})\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?/"
        r"(?:huggingface-)?pytorch-training(?:-arm64)?"
        r"|public\.ecr\.aws/deep-learning-containers/pytorch-training",
        "the AWS deep-learning container",
        _tag_is_torch,
        "https://github.com/aws/deep-learning-containers/blob/master/available_images.md",
    ),
    _repository(
        r"(?:[a-z]+-docker\.pkg\.dev|gcr\.io)/(?:deeplearning-platform-release|vertex-ai)/(?:[\w.-]+/)*"
        r"(?:huggingface-)?pytorch-[\w.-]+",
        "Google's deep-learning container",
        _gcp,
        "https://cloud.google.com/deep-learning-containers/docs/choosing-container",
    ),
    _repository(
        r"(?:aifx|azureml)/(?:curated/)?acpt[\w/.-]*",
        "Azure's container for PyTorch",
        _azure,
        "https://learn.microsoft.com/azure/machine-learning/resource-azure-container-for-pytorch",
    ),
    _repository(
        r"lumi-multitorch-[\w-]+",
        "LUMI's container",
        _lumi,
        "https://github.com/Lumi-supercomputer/LUMI-AI-Guide (02-setting-up-environment: what each of its stages adds)",
    ),
    _repository(r"rocm/pytorch(?:-training|-nightly)?", "rocm/pytorch", _torch_in_tag, "https://hub.docker.com/r/rocm/pytorch"),
    _repository(r"mosaicml/pytorch(?:_vision)?", "mosaicml/pytorch", _tag_is_torch, "https://hub.docker.com/r/mosaicml/pytorch"),
    _repository(r"mosaicml/llm-foundry", "mosaicml/llm-foundry", _tag_is_torch, "https://hub.docker.com/r/mosaicml/llm-foundry"),
    _repository(r"mosaicml/composer", "mosaicml/composer", _holds_torch, "https://hub.docker.com/r/mosaicml/composer"),
    _repository(
        r"pytorchlightning/pytorch_lightning",
        "pytorchlightning/pytorch_lightning",
        _torch_in_tag,
        "https://hub.docker.com/r/pytorchlightning/pytorch_lightning",
    ),
    _repository(
        r"huggingface/(?:transformers-pytorch(?:-deepspeed)?(?:-latest)?-gpu|accelerate|trl[\w-]*|peft-gpu)",
        "the Hugging Face image",
        _holds_torch,
        "https://hub.docker.com/u/huggingface",
    ),
    _repository(r"(?:axolotlai|winglian)/axolotl(?:-cloud)?", "axolotl's image", _torch_in_tag, "https://hub.docker.com/r/axolotlai/axolotl"),
    _repository(r"modh/training", "OpenShift AI's training image", _torch_digits, "https://quay.io/repository/modh/training"),
    _repository(r"deepspeed/deepspeed", "deepspeed/deepspeed", _holds_torch, "https://hub.docker.com/r/deepspeed/deepspeed"),
    _repository(r"hiyouga/(?:llamafactory|verl)", "hiyouga's image", _torch_in_tag, "https://hub.docker.com/u/hiyouga"),
    _repository(r"verlai/verl", "verlai/verl", _torch_in_tag, "https://hub.docker.com/r/verlai/verl"),
    _repository(r"rayproject/ray(?:-ml|-llm)?", "rayproject's image", _may_hold_torch, "https://hub.docker.com/u/rayproject"),
    _repository(r"horovod/horovod", "horovod/horovod", _may_hold_torch, "https://hub.docker.com/r/horovod/horovod"),
    _repository(
        r"tensorflow/tensorflow|nvidia/tensorflow|mxnet/python|nvidia/mxnet|paddlepaddle/paddle|nvidia/jax",
        "the image",
        _no_torch,
        "the images' own pages",
    ),
    _repository(r"[\w.-]+/tensorpack[\w-]*", "the image", _no_torch, "https://github.com/tensorpack/tensorpack"),
    _repository(r"pytorch/pytorch", "pytorch/pytorch", _tag_is_torch, "https://hub.docker.com/r/pytorch/pytorch/tags"),
)  # fmt: skip


_BASES = lazy_re.compile(
    r"(?:library/)?(?:python|pypy|ubuntu|debian|alpine|busybox|bash|buildpack-deps|centos|fedora|rockylinux|almalinux"
    r"|amazonlinux|golang|node|openjdk|eclipse-temurin|docker|curlimages/curl|alpine/git|nvidia/cuda|nvidia/cudagl"
    r"|rocm/dev-[\w.-]+|continuumio/(?:mini|ana)conda3|condaforge/(?:miniforge3|mambaforge)|mambaorg/micromamba"
    r"|google/cloud-sdk|amazon/aws-cli|bitnami/[\w.-]+)\Z",
    re.ASCII,
)
_PUBLIC_REGISTRIES = _DOCKER_HUB | {"nvcr.io", "public.ecr.aws", "quay.io", "gcr.io", "ghcr.io", "mirror.gcr.io"}


@functools.lru_cache(maxsize=1024)
def is_published(image: str) -> bool:
    """Whether an image is a release of somebody else's: one that is known to hold something, or a bare base (the
    official images of Docker Hub, https://hub.docker.com/search?badges=official, and the vendors' for CUDA, ROCm and
    conda). No program of a repository is in it."""
    reference = parse_reference(image)
    bare = reference.registry in _PUBLIC_REGISTRIES and _BASES.match(reference.repository) is not None
    return bare or contents(image) is not UNKNOWN


_NGC_TAG = lazy_re.compile(r"\d\d\.\d\d(?:-[\w-]+)?-py3\Z", re.ASCII)


@functools.lru_cache(maxsize=1024)
def contents(image: str) -> Contents:
    """What is known of an image by its reference alone."""
    reference = parse_reference(image)
    if reference.repository.rsplit("/", 1)[-1] in {"pytorch", "ngc-pytorch"} and _NGC_TAG.match(reference.tag):
        return _ngc_pytorch(reference, "nvidia/pytorch")
    name = f"{reference.registry}/{reference.repository}" if reference.registry else reference.repository
    if len(name) > 512:
        return UNKNOWN
    for row in REPOSITORIES:
        if row.pattern.search(name):
            return row.read(reference, row.title)
    return _of_file_name(image) if is_image_file(image) else UNKNOWN


_TORCH_IN_NAME = lazy_re.compile(r"(?<![a-z0-9])(?:py)?torch[-_]?v?(?P<release>[12]\.\d+\.\d+)(?![\d.]*\d)", re.ASCII)


def _of_file_name(image: str) -> Contents:
    """An image file whose own name gives the full release of torch: `rocm-6.2.4-python-3.12-pytorch-v2.6.0.sif`."""
    name = image.rsplit("/", 1)[-1]
    found = _TORCH_IN_NAME.search(name.lower())
    torch = release(found["release"]) if found else None
    return UNKNOWN if torch is None else Contents(torch, None, True, f"the name of {name} gives torch {_dotted(torch)}")


_MOVING_TAGS = frozenset({
    "latest", "nightly", "main", "master", "dev", "devel", "develop", "edge", "stable", "head", "trunk", "canary",
    "test", "testing", "staging", "prod", "production", "release", "snapshot",
})  # fmt: skip
"""Tags that by custom name a branch or a channel, not a release."""


_BUILD = lazy_re.compile(r"\d{6}|\d{4}[-_.]\d\d|(?<![a-z0-9])(?=[a-f]*\d)[0-9a-f]{7,}(?![a-z0-9])")
"""A day or a commit in a tag."""


def is_moving_tag(tag: str) -> bool:
    """Whether a tag by its name stands for whatever is newest: `latest`, `main`, `2.3-latest`, `nightly-py311-gpu`. A
    nightly or a branch with its day or commit is one build."""
    tag = tag.lower()
    if tag in _MOVING_TAGS or tag.endswith(("-latest", "_latest")) or tag.startswith("latest-"):
        return True
    one_of_many = tag.startswith("nightly-") or tag.endswith(("-nightly", "-main", "-master"))
    return one_of_many and _BUILD.search(tag) is None
