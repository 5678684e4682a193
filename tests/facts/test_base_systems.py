"""Which shell `sh` is, by the name of an image."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.base_systems import default_shell

IMAGES = {
    "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime": "dash",
    "nvcr.io/nvidia/pytorch:24.09-py3": "dash",
    "mirror.example/nvidia/cuda:12.4.1-devel-ubuntu22.04": "dash",
    "python:3.12-slim-bookworm": "dash",
    "python:3.12-alpine": "",
    "python:3.12": "",
    "nvidia/cuda:12.4.1-base-ubi9": "bash",
    "quay.io/modh/training:py311-cuda124": "bash",
    "registry.redhat.io/rhelai1/instructlab-nvidia-rhel9:1.4": "bash",
    "ghcr.io/acme/train:1.4": "",
    "": "",
}


@pytest.mark.parametrize("image", IMAGES)
def test_the_shell_of_an_image(image: str) -> None:
    assert default_shell(image) == IMAGES[image]
