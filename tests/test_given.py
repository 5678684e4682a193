"""`--changed`: a change of one file is judged in whatever refers to it, and nothing else is shown."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kube_gaplint.cli.app import run
from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Severity
from kube_gaplint.given import Given, around

Captured = pytest.CaptureFixture[str]

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: {name}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
            command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
            envFrom:
            - configMapRef: {{name: {settings}}}
            resources:
              limits: {{nvidia.com/gpu: 8}}
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{NCCL_TIMEOUT: "{seconds}", TORCH_NCCL_ASYNC_ERROR_HANDLING: "{handling}"}}
"""
RULE = "NCCL001"
"""Asynchronous error handling is switched off: the ConfigMap says so, the job suffers from it."""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two jobs in one folder, each with its settings in another."""
    (tmp_path / ".git").mkdir()
    for name in ("one", "two"):
        folder = tmp_path / "teams" / name
        folder.mkdir(parents=True)
        (folder / "job.yaml").write_text(JOB.format(name=name, settings=f"{name}-nccl"))
        (folder / "nccl.yaml").write_text(SETTINGS.format(name=f"{name}-nccl", seconds=1800, handling=0))
    (tmp_path / "README.md").write_text("Jobs.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(capsys: Captured, *arguments: str) -> Any:
    capsys.readouterr()
    assert run(["--format", "json", "--select", RULE, "--changed", *arguments]) in (0, 1)
    return json.loads(capsys.readouterr().out)


def found(capsys: Captured, *arguments: str) -> list[tuple[str, str]]:
    return [(one["object"]["name"], one["location"]["file"]) for one in report(capsys, *arguments)["findings"]]


def test_settings_are_judged_in_the_workload_that_refers_to_them(repository: Path, capsys: Captured) -> None:
    assert found(capsys, "teams/one/nccl.yaml") == [("one", "teams/one/nccl.yaml")]
    assert repository.exists()


def test_a_workload_counts_with_what_it_refers_to(repository: Path, capsys: Captured) -> None:
    assert found(capsys, "teams/two/job.yaml") == [("two", "teams/two/nccl.yaml")]
    assert repository.exists()


def test_other_files_are_left_out_and_counted(repository: Path, capsys: Captured) -> None:
    data = report(capsys, "README.md")
    assert data["findings"] == []
    assert data["summary"]["elsewhere"] == 2
    assert run(["--select", RULE, "--changed", "README.md"]) == 0
    assert "2 findings that this change does not bring." in capsys.readouterr().out
    assert repository.exists()


def test_folders_and_several_files(repository: Path, capsys: Captured) -> None:
    assert len(found(capsys, "teams")) == 2
    assert len(found(capsys, "teams/one/nccl.yaml", "teams/two/nccl.yaml")) == 2
    assert repository.exists()


def test_a_base_is_judged_in_its_overlay(repository: Path, capsys: Captured) -> None:
    base, overlay = repository / "base", repository / "overlays" / "large"
    base.mkdir()
    overlay.mkdir(parents=True)
    (base / "job.yaml").write_text(JOB.format(name="based", settings="based-nccl"))
    (base / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    patch = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: based}\nspec: {nprocPerNode: '8'}\n"
    (overlay / "patch.yaml").write_text(patch)
    (overlay / "kustomization.yaml").write_text(
        "resources: [../../base]\npatches: [{path: patch.yaml}]\nconfigMapGenerator:\n"
        "- name: based-nccl\n  envs: [nccl.env]\n  options: {disableNameSuffixHash: true}\n"
    )
    (overlay / "nccl.env").write_text("TORCH_NCCL_ASYNC_ERROR_HANDLING=0\n")
    changes = ("base/job.yaml", "overlays/large/nccl.env")
    assert [[name for name, _ in found(capsys, change)] for change in changes] == [["based"], ["based"]]


def test_a_script_is_judged_in_the_job_that_runs_it(repository: Path, capsys: Captured) -> None:
    (repository / "env.sh").write_text("export TORCH_NCCL_ASYNC_ERROR_HANDLING=0\n")
    (repository / "train.sbatch").write_text(
        "#!/bin/bash\n#SBATCH --job-name=llm\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n"
        "source env.sh\nsrun torchrun --nnodes=4 --nproc-per-node=8 train.py\n"
    )
    assert [file for _, file in found(capsys, "env.sh")] == ["env.sh"]
    assert len(found(capsys, "train.sbatch")) == 1


def test_from_a_folder_below(repository: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "teams" / "one")
    assert found(capsys, "nccl.yaml") == [("one", "../../teams/one/nccl.yaml")]


def test_a_broken_file_of_another_trade_is_no_finding(repository: Path, capsys: Captured) -> None:
    (repository / "mkdocs.yml").write_text("nav: [a\n")
    assert run(["--changed", "--", "mkdocs.yml"]) == 0
    assert "GAP001" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["gone.yaml"], "gone.yaml: no such file or folder"),
        (["-"], "standard input is in none"),
        (["--diff-base", "main", "teams"], "give one of them"),
        (["--write-baseline", "teams"], "--changed shows a part of it"),
    ],
)
def test_wrong_uses(repository: Path, capsys: Captured, arguments: list[str], answer: str) -> None:
    assert run(["--changed", *arguments]) == 2
    assert answer in capsys.readouterr().err
    assert repository.exists()


DEMO = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize("folder", ["demo", "incidents"])
def test_what_is_not_understood_would_not_have_been_shown(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that no changed file concerns are passed over, and nothing is missed by it."""
    shutil.copytree(DEMO / folder, tmp_path / "copy")
    for path in list(tmp_path.rglob("*.yaml")):
        if re.search("kind: (NodePool|Provisioner)", path.read_text()):  # pools have all jobs understood
            path.unlink()
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    whole = lint(Request(min_severity=Severity.INFO)).findings
    files = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "copy").rglob("*.yaml"))
    passed_over = 0
    for file in files[:: max(1, len(files) // 12)]:
        given = Given.of([file])
        expected = [(one.code, one.place.source.path, one.place.span) for one in whole if given.touches(one)]
        report = lint(Request(min_severity=Severity.INFO, changed=given))
        assert [(one.code, one.place.source.path, one.place.span) for one in report.findings] == expected, file
        passed_over += given.concerns() is not None
    assert passed_over or folder == "demo"


@pytest.mark.parametrize(
    ("file", "text", "narrow"),
    [
        ("job.yaml", JOB.format(name="a", settings="b"), True),
        ("settings.yml", SETTINGS.format(name="b", seconds=1, handling=0), True),
        ("pool.yaml", "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\n", False),
        ("values.yaml", "a: 1\n", False),
        ("train.sh", "torchrun train.py\n", False),
    ],
)
def test_what_may_be_evidence_concerns_every_job(tmp_path: Path, file: str, text: str, narrow: bool) -> None:
    (tmp_path / file).write_text(text)
    assert (Given.of([str(tmp_path / file)]).concerns() is not None) is narrow
    assert Given.of([str(tmp_path)]).concerns() is None


def test_what_is_read_around_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    for folder in (here / "below", other / "below", other / ".git"):
        folder.mkdir(parents=True)
    monkeypatch.chdir(here)
    assert around(["below/a.yaml", "below"]) == ["."]
    assert around(["../other/below/a.yaml"]) == ["../other"]
    assert around([os.path.join("..", "a.yaml")]) == [".."]  # noqa: PTH118
