"""Placeholders are recognised, literals are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.text.templates import placeholder


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ .Values.image }}", "a Helm expression"),
        ('{{- include "chart.name" . }}', "a Helm expression"),
        ("job-{{workflow.parameters.name}}", "an Argo Workflows parameter"),
        ("{{inputs.parameters.nodes}}", "an Argo Workflows parameter"),
        ("{{ image }}", "a {{ }} template expression"),
        ("${{ github.sha }}", "a ${{ }} expression"),
        ("{% if gpu %}8{% endif %}", "a Jinja statement"),
        ("${IMAGE}", "a ${IMAGE} placeholder"),
        ("repo/${IMAGE:-train}:latest", "a ${IMAGE} placeholder"),
        ("$(NODES)", "a $(NODES) reference"),
        ("--nnodes=$(NODES)", "a $(NODES) reference"),
        ("$$$(NODES)", "a $(NODES) reference"),
        ("$IMAGE", "a $IMAGE placeholder"),
        ("<IMAGE>", "a <IMAGE> placeholder"),
        ("<your image>", "a <your image> placeholder"),
        ("gcr.io/<project-id>/train", "a <project-id> placeholder"),
        ("%%IMAGE%%", "a %%IMAGE%% placeholder"),
        ("registry/__IMAGE__:1", "a __IMAGE__ placeholder"),
        ("#{Image}", "a #{Image} placeholder"),
        ("REPLACE_ME", "a REPLACE_ME placeholder"),
        ("YOUR_BUCKET", "a YOUR_BUCKET placeholder"),
    ],
)
def test_placeholders(text: str, reason: str) -> None:
    assert placeholder(text) == reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pytorch/pytorch:2.3.1",
        "$$(NODES)",
        "$(date +%s)",
        "cost is 5$",
        "echo $HOME and more",
        "a < b > c",
        "cat <file>out",
        "__main__",
        "__init__.py",
        "100%",
        "{a}",
        "{{ never closed",
        "your-bucket",
        "change me",
        "#1",
        "user@@host",
    ],
)
def test_literals(text: str) -> None:
    assert placeholder(text) == ""


@given(st.text(alphabet="{}%$()<>_#@ aA-", max_size=30))
def test_any_text_gives_a_reason_or_none(text: str) -> None:
    assert isinstance(placeholder(text), str)
