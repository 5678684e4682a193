"""Images that the repository builds by itself: the Dockerfile beside the manifest tells what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kube_gaplint.bundle.recipes import is_own, words_of_image
from kube_gaplint.engine import Request, read
from kube_gaplint.model.setting import Set
from kube_gaplint.model.training import TrainingProcess

BATCH = """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
srun --kill-on-bad-exit=1 --wait=60 --container-image {image} python train_model.py --steps 100000
"""
OLD = "FROM nvcr.io/nvidia/pytorch:22.05-py3\n"
NEW = "FROM nvcr.io/nvidia/pytorch:25.03-py3\n"


def torch_of(folder: Path) -> str:
    """The release of torch that the one training process is known to run; empty where it is not known."""
    views = read(Request((str(folder),))).model.views
    (process,) = (view for view in views if isinstance(view, TrainingProcess))
    return ".".join(map(str, process.torch.value)) if isinstance(process.torch, Set) else ""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.mark.parametrize(
    ("image", "files", "expected"),
    [
        ("/shared/trainer.sqsh", {}, ""),
        ("/shared/trainer.sqsh", {"trainer.Dockerfile": NEW}, "2.7"),
        ("/shared/trainer.sqsh", {"trainer.Dockerfile": OLD, "other.Dockerfile": NEW}, "1.12"),
        ("/shared/trainer.sqsh", {"Dockerfile": NEW}, "2.7"),
        ("/shared/trainer.sqsh", {"a.Dockerfile": NEW, "b.Dockerfile": NEW}, ""),
        ("team/model:v3", {"Dockerfile": NEW}, ""),
        ("team/trainer:v3", {"0.trainer.dockerfile": NEW}, "2.7"),
        ("${IMAGE}", {"Dockerfile": NEW}, "2.7"),
        ("/shared/trainer.sqsh", {"Dockerfile": "FROM ubuntu:22.04\nRUN pip install torch==1.13.1\n"}, "1.13.1"),
        (
            "/shared/trainer.sqsh",
            {
                "Dockerfile": "FROM ubuntu:22.04\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n",
                "requirements.txt": "torch==1.13.1\n",
            },
            "1.13.1",
        ),
        ("/shared/trainer.sqsh", {"Dockerfile": "FROM ubuntu:22.04\nRUN pip install -r gone.txt\n"}, ""),
    ],
)
def test_the_release_stands_in_the_recipe(tmp_path: Path, image: str, files: dict[str, str], expected: str) -> None:
    write(tmp_path, {"slurm/run.sbatch": BATCH.format(image=image), **files})
    assert torch_of(tmp_path) == expected


def test_a_recipe_outside_of_the_root_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"job/run.sbatch": BATCH.format(image="/shared/trainer.sqsh"), "Dockerfile": NEW})
    assert torch_of(tmp_path / "job") == ""


def test_a_recipe_that_is_a_link_out_of_the_root_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"job/run.sbatch": BATCH.format(image="/shared/trainer.sqsh"), "secret/Dockerfile": NEW})
    (tmp_path / "job" / "Dockerfile").symlink_to(tmp_path / "secret" / "Dockerfile")
    assert torch_of(tmp_path / "job") == ""


@pytest.mark.parametrize(
    ("image", "own"),
    [
        ("", True),
        ("/shared/x.sqsh", True),
        ("./x.sif", True),
        ("${REGISTRY}x:1", True),
        ("x.sqsh", True),
        ("team/x:1", False),
        ("docker.io/team/x", False),
    ],
)
def test_own_images(image: str, own: bool) -> None:
    assert is_own(image) is own


def test_words_of_an_image() -> None:
    assert words_of_image("registry:5000/team/aws-Megatron_lm:24.05@sha256:0") == {"megatron", "lm"}
    assert words_of_image("/fsx/nvidia+bert+v2.sqsh") == {"bert"}
    assert words_of_image("${}") == frozenset()
