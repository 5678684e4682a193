"""Rules that have moved: whoever still says the old code or name means the new one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kube_gaplint import registry
from kube_gaplint.cli.app import run
from kube_gaplint_rules import former

Captured = pytest.CaptureFixture[str]
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: pretrain}}
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: 0{comment}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
        command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
        resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(former, "FORMER", {"OLD007": "RETRY001", "once-called-so": "RETRY001"})
    monkeypatch.setattr(former, "GONE", {"OLD008": "gone since 0.2, Kubernetes refuses it now"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_listed_is_a_rule_and_what_was_is_none() -> None:
    rules = registry.rules()
    present = {row.code for row in rules} | {row.name for row in rules}
    assert set(former.FORMER.values()) <= {row.code for row in rules}
    assert present.isdisjoint(former.FORMER)
    assert present.isdisjoint(former.GONE)


@pytest.mark.parametrize("said", ["OLD007", "old007", "once-called-so"])
def test_options_and_pages(moved: Path, capsys: Captured, said: str) -> None:
    (moved / "job.yaml").write_text(JOB.format(comment=""))
    assert registry.resolve(said) == ("RETRY001",)
    assert run(["--select", said, "--format", "json"]) == 1
    assert [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]] == ["RETRY001"]
    (moved / ".gaplint.yaml").write_text(f"ignore: [{said}]\n")
    assert run(["--select", "RETRY001", "--fail-on", "error"]) in (0, 1)
    assert run(["explain", said]) == 0
    assert "RETRY001" in capsys.readouterr().out


@pytest.mark.parametrize("said", ["OLD007", "once-called-so"])
def test_suppressions(moved: Path, capsys: Captured, said: str) -> None:
    (moved / "job.yaml").write_text(JOB.format(comment=f"  # gaplint: ignore[{said}] the scheduler resubmits it"))
    assert run(["--select", "RETRY001,GAP010,GAP012", "--format", "json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["suppressed"]["reason"] == "the scheduler resubmits it"


def test_who_says_an_old_name_is_told_the_new_one(moved: Path, capsys: Captured) -> None:
    (moved / "job.yaml").write_text(JOB.format(comment="  # gaplint: ignore[OLD007] the scheduler resubmits it"))
    (moved / ".gaplint.yaml").write_text("ignore: [NCCL]\nseverity:\n  once-called-so: info\n")
    assert run(["--select", "OLD007,GAP012"]) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        "gaplint: hint: OLD007 is called RETRY001 now",
        "gaplint: hint: .gaplint.yaml:3: once-called-so is called RETRY001 now",
    ]
    assert "Hint: job.yaml:8: OLD007 is called RETRY001 now" in shown.out
    run(["--select", "OLD007,GAP012", "--quiet"])
    assert "is called" not in "".join(capsys.readouterr())


def test_a_rule_that_is_gone_stops_nothing(moved: Path, capsys: Captured) -> None:
    (moved / "job.yaml").write_text(JOB.format(comment="  # gaplint: ignore[OLD008] it is meant"))
    (moved / ".gaplint.yaml").write_text("ignore: [OLD008]\n")
    assert run(["--select", "OLD008,GAP012", "--format", "json", "--fail-on", "never"]) == 0
    shown = capsys.readouterr()
    assert "OLD008 is no rule any more: gone since 0.2" in shown.err
    (finding,) = json.loads(shown.out)["findings"]
    assert (finding["code"], "gone since 0.2" in finding["message"]) == ("GAP012", True)
    assert run(["--select", "OLD008", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    assert run(["explain", "OLD008"]) == 2
    assert "gone since 0.2" in capsys.readouterr().err
