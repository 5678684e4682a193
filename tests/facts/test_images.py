"""Releases told from image references."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.facts.images import (
    NGC_NCCL,
    NGC_PYTORCH,
    REPOSITORIES,
    Reference,
    contents,
    is_moving_tag,
    nccl_of_month,
    parse_reference,
    python_in,
    release,
    surely_differ,
)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime", ("", "pytorch/pytorch", "2.3.1-cuda12.1-cudnn8-runtime", "")),
        ("nvcr.io/nvidia/pytorch:24.05-py3", ("nvcr.io", "nvidia/pytorch", "24.05-py3", "")),
        ("nvcr.io#nvidia/pytorch:22.02-py3", ("nvcr.io", "nvidia/pytorch", "22.02-py3", "")),
        ("docker://nvcr.io#nvidia/pytorch:22.02-py3", ("nvcr.io", "nvidia/pytorch", "22.02-py3", "")),
        ("docker://user@nvcr.io#nvidia/pytorch:22.02-py3", ("nvcr.io", "nvidia/pytorch", "22.02-py3", "")),
        ("localhost:5000/a/b", ("localhost:5000", "a/b", "", "")),
        ("ubuntu", ("", "ubuntu", "", "")),
        ("/fsx/nvidia+pytorch+24.03-py3.sqsh", ("", "nvidia/pytorch", "24.03-py3", "")),
        ("nvcr.io+nvidia+pytorch+24.03-py3.sqsh", ("nvcr.io", "nvidia/pytorch", "24.03-py3", "")),
        ("/scratch/pytorch_24.03-py3.sif", ("", "pytorch", "24.03-py3", "")),
        ("images/training.sqsh", ("", "training", "", "")),
        ("a/b:1@sha256:00", ("", "a/b", "1", "sha256:00")),
        ("", ("", "", "", "")),
    ],
)
def test_references(text: str, reference: tuple[str, str, str, str]) -> None:
    assert parse_reference(text) == Reference(*reference)


KNOWN = [
    # image, torch, NCCL
    ("pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime", (2, 3, 1), (2, 20, 5)),
    ("pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime", (1, 13, 1), None),
    ("pytorch/pytorch:2.7.0-cuda11.8-cudnn9-devel", (2, 7, 0), None),
    ("docker.io/pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel@sha256:ab", (2, 1, 0), (2, 18, 1)),
    ("mirror.example.com/dockerhub/pytorch/pytorch:2.6.0", (2, 6, 0), (2, 21, 5)),
    ("pytorch/pytorch:latest", None, None),
    ("pytorch/pytorch", None, None),
    ("nvcr.io/nvidia/pytorch:24.05-py3", (2, 4), (2, 21, 5)),
    ("nvcr.io#nvidia/pytorch:22.02-py3", (1, 11), (2, 11, 4)),
    ("docker://nvcr.io/nvidia/pytorch:23.05-py3", (2, 0, 0), None),
    ("nersc/pytorch:ngc-22.02-v0", (1, 11), (2, 11, 4)),
    ("nersc/pytorch:24.05.02", (2, 4), (2, 21, 5)),
    ("nvidia+pytorch+24.03-py3.sqsh", (2, 3), (2, 19, 3)),
    ("/fsx/containers/pytorch+24.11-py3.sqsh", (2, 6), None),
    ("/images/lumi-pytorch-rocm-6.2.4-python-3.12-pytorch-v2.6.0.sif", (2, 6, 0), None),
    ("train_torch2.3.1_cu121.sqsh", (2, 3, 1), None),
    ("nvcr.io/nvidia/pytorch:25.03-py3", (2, 7), (2, 25, 1)),
    ("nvcr.io/nvidia/pytorch:19.02-py3", None, None),
    ("nvcr.io/nvidia/nemo:24.07", (2, 3), None),
    ("nvcr.io/nvidia/nemo:dev", None, None),
    (
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.3.0-gpu-py311-cu121-ubuntu20.04-ec2",
        (2, 3, 0),
        (2, 20, 5),
    ),
    ("us-docker.pkg.dev/deeplearning-platform-release/gcr.io/pytorch-gpu.2-3.py310:latest", (2, 3), (2, 20, 5)),
    ("gcr.io/deeplearning-platform-release/pytorch-gpu.1-13", (1, 13), None),
    ("mcr.microsoft.com/aifx/acpt/stable-ubuntu2204-cu124-py310-torch260", (2, 6, 0), (2, 21, 5)),
    ("mcr.microsoft.com/aifx/acpt/stable-ubuntu2004-cu117-py38-torch1131:biweekly.202401.1", (1, 13, 1), None),
    ("mcr.microsoft.com/azureml/curated/acpt-pytorch-2.8-cuda12.6:13", (2, 8), (2, 27, 3)),
    ("rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0", (2, 3, 0), None),
    ("/appl/lumi-multitorch-full-u24r70f21m50t210-20260415_130625.sif", (2, 10), None),
    ("/appl/lumi-multitorch-full-u24r64f21m43t29-20260124_092648.sif", (2, 9), None),
    ("quay.io/modh/training:py311-cuda121-torch241", (2, 4, 1), (2, 20, 5)),
    ("quay.io/modh/training:py312-cuda128-torch2100", (2, 10, 0), (2, 27, 5)),
    ("quay.io/modh/training:latest", None, None),
    ("mosaicml/pytorch:2.3.1_cu121-python3.11-ubuntu20.04", (2, 3, 1), (2, 20, 5)),
    ("mosaicml/llm-foundry:2.3.1_cu121-latest", (2, 3, 1), (2, 20, 5)),
    ("mosaicml/composer:0.17.2", None, None),
    ("pytorchlightning/pytorch_lightning:2.2.0-py3.10-torch2.1-cuda12.1.0", (2, 1), None),
    ("huggingface/transformers-pytorch-gpu:4.41.2", None, None),
]


@pytest.mark.parametrize(("image", "torch", "nccl"), KNOWN)
def test_images_with_torch(image: str, torch: tuple[int, ...] | None, nccl: tuple[int, ...] | None) -> None:
    found = contents(image)
    assert (found.torch, found.nccl) == (torch, nccl)
    assert found.uses_torch is True
    assert found.note


@pytest.mark.parametrize(
    "image",
    [
        "registry.example/pytorch:2.3.1",
        "123456789012.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:2.6.0",
        "123456789012.dkr.ecr.us-west-2.amazonaws.com/fsdp:2.6.0",
        "quay.io/acme/train:2.4.1",
        "rayproject/ray:2.38.0-py310-gpu",
        "",
        "a" * 4000,
        "/images/pytorch-2.6.sif",
        "/images/pytorch-24.05.1.sif",
        "/images/mytorch-2.3.1.sif",
        "registry.example/team/train:pytorch-v2.6.0",
    ],
)
def test_images_of_which_nothing_is_known(image: str) -> None:
    found = contents(image)
    assert (found.torch, found.nccl, found.uses_torch) == (None, None, None)


def test_images_without_torch() -> None:
    assert contents("tensorflow/tensorflow:2.15.0-gpu").uses_torch is False


def test_pre_releases_are_told() -> None:
    assert contents("nvcr.io/nvidia/pytorch:24.05-py3").pre_release
    assert "pre-release" in contents("nvcr.io/nvidia/pytorch:24.05-py3").note
    assert not contents("nvcr.io/nvidia/pytorch:23.05-py3").pre_release


def test_nccl_between_two_months_that_were_read() -> None:
    assert nccl_of_month((23, 8)) == ((2, 18, 3), "NCCL 2.18.3 to 2.18.5")
    assert nccl_of_month((23, 9)) == ((2, 18, 5), "NCCL 2.18.5")
    assert nccl_of_month((24, 12)) is None, "the default IB timeout changed in between"
    assert nccl_of_month((20, 1)) is None
    assert nccl_of_month((27, 1)) is None


def test_tables_are_sound() -> None:
    months = [row.month for row in NGC_PYTORCH]
    assert len(months) == len(set(months))
    in_order = sorted(NGC_PYTORCH, key=lambda row: row.month)
    stable = [release(row.torch) for row in in_order if row.month not in {(23, 4), (23, 5)}]
    assert stable == sorted(stable)  # type: ignore[type-var]
    assert [row.nccl for row in NGC_NCCL] == sorted(row.nccl for row in NGC_NCCL)
    assert all(row.source for row in (*NGC_PYTORCH, *NGC_NCCL, *REPOSITORIES))


@given(st.text(max_size=200))
def test_any_reference_is_read(text: str) -> None:
    contents(text)
    parse_reference(text)


@given(st.from_regex(r"[a-z./+#:@-]{0,60}(24\.05|2\.3\.1|pytorch)[a-z0-9./+#:@-]{0,60}", fullmatch=True))
def test_any_reference_like_text_is_read(text: str) -> None:
    found = contents(text)
    assert found.torch is None or all(part >= 0 for part in found.torch)


DIGEST = "@sha256:" + "a" * 63


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("a:1", "a:2", True),
        ("a:1", "b:1", True),
        ("a", "a:latest", False),
        ("a:1", "docker.io/library/a:1", False),
        ("b/a:1", "registry-1.docker.io/b/a:1", False),
        ("b/a:1", "ghcr.io/b/a:1", True),
        (f"a:1{DIGEST}1", f"mirror.io/a{DIGEST}1", False),
        (f"a:1{DIGEST}1", f"a:1{DIGEST}2", True),
        (f"a{DIGEST}1", "a:2", False),
        (f"a:1{DIGEST}1", "a:2", True),
        (f"a{DIGEST}1", "b:2", True),
    ],
)
def test_whether_two_references_differ(one: str, other: str, differ: bool) -> None:
    assert surely_differ(one, other) is differ
    assert surely_differ(other, one) is differ


@pytest.mark.parametrize(
    ("tag", "moves"),
    [
        ("latest", True),
        ("nightly-py311-gpu", True),
        ("pytorch-main", True),
        ("cu124-nightly", True),
        ("nightly-20250117", False),
        ("nightly-2025-01-17-cuda12", False),
        ("nightly-4f5e6d7c8b", False),
        ("sha-4f5e6d7-main", False),
        ("2.5.1-cuda12.4-cudnn9-runtime", False),
        ("domain", False),
    ],
)
def test_tags_that_move(tag: str, moves: bool) -> None:
    assert is_moving_tag(tag) is moves


@pytest.mark.parametrize(
    ("image", "python"),
    [
        ("/images/rocm-6.2.4-python-3.12.sif", (3, 12)),
        ("registry.example/base:py312-cu124", (3, 12)),
        ("registry.example/base:cp313", (3, 13)),
        ("registry.example/python3.12/base:1", None),
        ("nvcr.io/nvidia/pytorch:24.05-py3", None),
        ("registry.example/base:py39-and-py3.12", None),
        ("registry.example/happy312:1", None),
        ("python:3.12-slim", None),
    ],
)
def test_pythons_that_names_spell(image: str, python: tuple[int, int] | None) -> None:
    assert python_in(image) == python
