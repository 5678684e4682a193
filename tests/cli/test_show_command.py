"""`gaplint show`: options, streams and exit codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from kube_gaplint.cli.app import run

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=llama
#SBATCH --nodes=8
#SBATCH --gres=gpu:8
srun python train.py
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: eval-suite, namespace: research}
spec:
  template:
    spec:
      containers: [{name: main, image: pytorch/pytorch:2.3.1, resources: {limits: {nvidia.com/gpu: 8}}}]
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.sbatch").write_text(SCRIPT)
    (tmp_path / "eval.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "GAPLINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_current_folder_is_shown(capsys: Captured) -> None:
    assert run(["show"]) == 0
    shown = capsys.readouterr()
    assert "Job research/eval-suite (batch/v1, eval.yaml:1)" in shown.out
    assert "sbatch llama (train.sbatch:2)" in shown.out
    assert shown.out.endswith("2 workloads in 2 files.\n")
    assert shown.err == ""


def test_the_width_of_the_terminal(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    widest = []
    for columns in (80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert run(["show", "train.sbatch"]) == 0
        widest.append(max(map(len, capsys.readouterr().out.splitlines())))
    assert widest[0] <= 80 < widest[1] <= 120


def test_json(capsys: Captured) -> None:
    assert run(["show", "--format", "json", "."]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [job["object"]["kind"] for job in data["workloads"]] == ["Job", "sbatch"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--kind", "job"], ["eval-suite"]),
        (["--kind", "Job,sbatch"], ["eval-suite", "llama"]),
        (["--kind", "Job", "--kind", "SBATCH"], ["eval-suite", "llama"]),
        (["--name", "l*"], ["llama"]),
        (["--name", "research/eval-*"], ["eval-suite"]),
        (["--kind", "Job", "--name", "llama"], []),
        (["--exclude", "*.yaml"], ["llama"]),
    ],
)
def test_what_is_chosen(arguments: list[str], names: list[str], capsys: Captured) -> None:
    assert run(["show", "--format", "json", *arguments]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [job["object"]["name"] for job in data["workloads"]] == names


def test_a_choice_that_nothing_matches_is_told(capsys: Captured) -> None:
    assert run(["show", "--kind", "sbtch"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "0 of 2 workloads in 2 files shown.\n"
    assert "nothing matches --kind sbtch. Did you mean sbatch?" in shown.err
    assert run(["show", "--name", "zzz"]) == 0
    assert "nothing matches --name zzz. There are eval-suite, llama." in capsys.readouterr().err
    assert run(["show", "--name", "zzz", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_standard_input(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    assert run(["show", "-", "--stdin-filename", "rendered.yaml"]) == 0
    assert "(batch/v1, rendered.yaml:1)" in capsys.readouterr().out
    assert run(["show", "--stdin-filename", "x", "."]) == 2
    assert "no path is `-`" in capsys.readouterr().err


def test_colours(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    run(["show", "--color", "always"])
    assert "\x1b[" in capsys.readouterr().out
    run(["show"])
    assert "\x1b[" not in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    run(["show", "--color", "always"])
    assert "\x1b[" in capsys.readouterr().out, "an explicit choice wins"


def test_paths_that_are_not_there(capsys: Captured) -> None:
    assert run(["show", "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err
    assert run(["shw"]) == 2
    assert "Did you mean show?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--kind", ","], ["--format", "yaml"], ["--nonsense"]])
def test_wrong_usage(arguments: list[str], capsys: Captured) -> None:
    assert run(["show", *arguments]) == 2
    assert "gaplint show --help" in capsys.readouterr().err


def test_nothing_is_judged(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    from kube_gaplint import registry

    def refuse(*_: object) -> None:
        raise AssertionError("a rule was asked for")

    monkeypatch.setattr(registry, "for_view", refuse)
    monkeypatch.setattr(registry, "load", refuse)
    assert run(["show"]) == 0
    capsys.readouterr()


def test_the_help(capsys: Captured) -> None:
    assert run(["show", "--help"]) == 0
    shown = capsys.readouterr().out
    for word in ("--kind", "--name", "--format", "tree (default) or json", "Examples"):
        assert word in shown
    assert run(["--help"]) == 0
    assert "Show what gaplint understood of each workload." in capsys.readouterr().out
