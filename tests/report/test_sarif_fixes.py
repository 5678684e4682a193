"""Fixes in SARIF reports: they follow the schema, and making them mends the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog

from kube_gaplint.cli.app import run
from kube_gaplint.report import sarif
from kube_gaplint.text.edit import apply, difference
from kube_gaplint.text.source import Source

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: pretrain}  # ü𝄞
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: 40
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
        command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
        env:
        - {name: TORCH_NCCL_ASYNC_ERROR_HANDLING, value: "0"}
        resources: {limits: {nvidia.com/gpu: 8}}
"""
SUPPRESSED = JOB.replace("env:", "env:\n        # gaplint: ignore[NCCL001] it is looked after elsewhere")


def results(folder: Path, *texts: str) -> list[dict[str, Any]]:
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_text(text)
    run(["--select", "NCCL001", "--output", "sarif=out.sarif", "--quiet"])
    log = json.loads((folder / "out.sarif").read_text())
    SarifLog.model_validate(log)
    found: list[dict[str, Any]] = log["runs"][0]["results"]
    return found


def mended(text: str, replacement: dict[str, Any]) -> str:
    region, source = replacement["deletedRegion"], Source("", text)
    start, end = (
        source.line_span(region[f"{which}Line"]).start + region[f"{which}Column"] - 1 for which in ("start", "end")
    )
    return text[:start] + replacement["insertedContent"]["text"] + text[end:]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_fix_is_what_fix_would_make(folder: Path) -> None:
    (result,) = results(folder, JOB)
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"] == result["locations"][0]["physicalLocation"]["artifactLocation"]
    (replacement,) = change["replacements"]
    run(["--select", "NCCL001", "--fix", "--unsafe-fixes", "--quiet"])
    assert mended(JOB, replacement) == (folder / "0.yaml").read_text() != JOB


def test_what_is_suppressed_has_none(folder: Path) -> None:
    (result,) = results(folder, SUPPRESSED)
    assert result["suppressions"]
    assert "fixes" not in result


def test_a_long_report_has_the_first_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_FIXES", 2)
    assert ["fixes" in result for result in results(folder, JOB, JOB, JOB)] == [True, True, False]


@given(old=st.text("ab\n"), new=st.text("ab\n"))
def test_the_difference_of_two_texts(old: str, new: str) -> None:
    edit = difference(old, new)
    assert apply(old, [edit]) == new
    assert old != new or (edit.span.start == edit.span.end and not edit.text)
