"""The typed settings of a configuration, and what a run makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kube_gaplint.cli.app import run
from kube_gaplint.config import settings
from kube_gaplint.config.find import ConfigFile
from kube_gaplint.config.parse import parse
from kube_gaplint.findings import Severity
from kube_gaplint.kinds.generic import UserKind

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: pretrain
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
        command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
        env:
        - name: NCCL_IB_TIMEOUT
          value: "5"
        resources:
          limits:
            nvidia.com/gpu: 8
"""


def parsed(text: str, name: str = ".gaplint.yaml") -> settings.Config:
    return parse(ConfigFile(name, "/repo", text.encode()))


def test_values() -> None:
    config = parsed(
        """
select: [NCCL, CKPT003]
ignore: [no-restart-budget]
severity: {NCCL: info, NCCL001: error}
per-file-ignores:
  tests/**: [NCCL]
fail-on: error
exclude: [vendor/]
baseline: .gaplint-baseline.json
kinds:
- {group: train.example.com, kind: LLMJob, pod-templates: [spec.workers.*.template], replicas: count}
profile: {torch: 2.10, kubernetes: v1.30.2, nccl: '2.21', rdma: true, gpus_per_node: 8, run_days: 30}
"""
    )
    assert config.select == ("NCCL", "CKPT003")
    assert config.kinds == (UserKind("train.example.com", "LLMJob", ("spec.workers.*.template",), "count"),)
    profile = config.profile
    assert (profile.torch, profile.kubernetes, profile.nccl) == ((2, 10), (1, 30, 2), (2, 21))
    assert (profile.rdma, profile.gpus_per_node, profile.run_days, profile.supervisor) == (True, 8, 30.0, None)
    assert config.severities()["NCCL001"] is Severity.ERROR
    assert config.severities()["NCCL006"] is Severity.INFO
    assert config.places["profile.torch"] == ".gaplint.yaml:12"
    assert config.places["severity"] == ".gaplint.yaml:4"


def test_toml_says_the_same() -> None:
    config = parsed(
        """
[tool.gaplint]
select = ["NCCL"]
"fail-on" = "error"
[tool.gaplint.per-file-ignores]
"tests/**" = ["NCCL"]
[tool.gaplint.profile]
torch = 2.10
[[tool.gaplint.kinds]]
group = ""
kind = "X"
pod-templates = ["spec.template"]
""",
        "pyproject.toml",
    )
    assert config.profile.torch == (2, 10)
    assert config.per_file_ignores == (("tests/**", ("NCCL",)),)
    assert config.places["per-file-ignores.tests/**"] == "pyproject.toml:6"
    assert config.kinds[0].group == ""


# What a run makes of it


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "job.yaml").write_text(JOB)
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    run([*arguments, "--format", "json", "--quiet"])
    captured = capsys.readouterr()
    assert captured.err == ""
    data: dict[str, Any] = json.loads(captured.out)
    return data


def codes(data: dict[str, Any]) -> list[str]:
    return sorted(finding["code"] for finding in data["findings"] if finding["suppressed"] is None)


def test_selection_and_the_command_line_before_it(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    all_codes = codes(report(capsys))
    assert len(set(all_codes)) > 1
    (repository / ".gaplint.yaml").write_text(f"ignore: [{all_codes[0]}]\n")
    assert codes(report(capsys)) == [code for code in all_codes if code != all_codes[0]]
    assert codes(report(capsys, "--select", all_codes[0])) == [all_codes[0]]
    assert codes(report(capsys, "--ignore", all_codes[-1])) == [
        code for code in all_codes if code not in (all_codes[0], all_codes[-1])
    ]
    assert codes(report(capsys, "--isolated")) == all_codes


def test_severity_and_fail_on(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = codes(report(capsys))[0]
    (repository / ".gaplint.yaml").write_text(f"select: [{first}]\nseverity: {{{first}: info}}\n")
    assert run(["--quiet"]) == 0
    capsys.readouterr()
    (finding,) = report(capsys, "--min-severity", "info")["findings"]
    assert finding["severity"] == "info"
    (repository / ".gaplint.yaml").write_text(f"select: [{first}]\nfail-on: never\n")
    assert run(["--quiet"]) == 0
    assert run(["--quiet", "--fail-on", "info"]) == 1


def test_per_file_ignores_are_told_as_suppressed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = codes(report(capsys))[0]
    (repository / ".gaplint.yaml").write_text(f"per-file-ignores:\n  jobs/*.yaml: [{first}]\n  other/: [NCCL]\n")
    data = report(capsys)
    assert first not in codes(data)
    (ignored,) = [finding for finding in data["findings"] if finding["code"] == first]
    assert ignored["suppressed"]["reason"] == "per-file-ignores 'jobs/*.yaml' (.gaplint.yaml:2)"
    assert ignored["suppressed"]["by"] == "configuration"


def test_patterns_start_from_the_folder_of_the_file(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / ".git").mkdir()
    (repository / ".gaplint.yaml").write_text("exclude: [/jobs/]\n")
    assert report(capsys)["summary"]["files"] == 0
    assert report(capsys, "jobs/job.yaml")["findings"]  # what is named is judged
    (repository / "jobs" / ".gaplint.yaml").write_text("exclude: [/jobs/]\n")
    assert report(capsys, "jobs")["findings"]
    assert not report(capsys, "jobs", "--exclude", "job.yaml")["findings"]


def test_a_kind_of_ones_own(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "jobs" / "own.yaml").write_text(
        """\
apiVersion: example.com/v1
kind: Fleet
metadata:
  name: mine
spec:
  groups:
  - count: 4
    pod:
      spec:
        containers:
        - name: main
          image: example.com/main:1
          command: [torchrun, --nnodes=4, --nproc-per-node=8, go.py]
          env:
          - {name: NCCL_IB_TIMEOUT, value: "5"}
"""
    )
    assert report(capsys, "--statistics", "jobs")["summary"]["byKind"] == {"Job": 1}
    (repository / ".gaplint.yaml").write_text(
        "kinds:\n- {group: example.com, kind: Fleet, pod-templates: [spec.groups.*.pod], replicas: count}\n"
    )
    assert report(capsys, "jobs")["summary"]["byKind"] == {"Fleet": 1, "Job": 1}


def test_the_profile_is_declared(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["show", "jobs", "--format", "json"])
    assert "the profile's step_seconds" not in capsys.readouterr().out
    (repository / ".gaplint.yaml").write_text("profile: {step_seconds: 20}\n")
    run(["show", "jobs", "--format", "json"])
    assert "the profile's step_seconds" in capsys.readouterr().out


def test_a_wrong_one_ends_the_run(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / ".gaplint.yaml").write_text("selct: [NCCL]\n")
    for arguments in (["."], ["show"], ["--config", "nope.yaml"], ["--isolated", "--config", "x"]):
        assert run(arguments) == 2
    error = capsys.readouterr().err
    assert ".gaplint.yaml:1: the configuration has no key 'selct'; did you mean select?" in error
    assert "nope.yaml: no such file" in error
    assert run(["--isolated", "--fail-on", "never"]) == 0
