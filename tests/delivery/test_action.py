"""The GitHub Action: its steps, run as a runner runs them, on the pull request of a sample repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from action_runner import PROJECT, Outcome, Runner, read_action

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: {retries}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
        command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
        resources:
          limits: {{nvidia.com/gpu: 8}}
"""
CONFIG = "select: [RETRY001]\n"


def git(where: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=where,
        env={
            **os.environ,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            **{f"GIT_{who}_{what}": "x@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def commit(where: Path, message: str, **files: str) -> str:
    for name, text in files.items():
        (where / f"{name}.yaml").write_text(text)
    git(where, "add", "-A")
    git(where, "commit", "-q", "-m", message)
    return git(where, "rev-parse", "HEAD")


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """A runner on which gaplint is installed: the one of this tree."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    temporary, workspace = tmp_path / "temp", tmp_path / "workspace"
    temporary.mkdir()
    workspace.mkdir()
    command = temporary / "gaplint"
    paths = os.pathsep.join(str(PROJECT / name) for name in ("lint", "rules"))
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{paths}" exec "{sys.executable}" -m kube_gaplint "$@"\n')
    command.chmod(0o755)
    return Runner(
        workspace, temporary, steps={"python": {"python-path": sys.executable}, "install": {"gaplint": str(command)}}
    )


def pull_request(runner: Runner, origin: Path, *, merged: bool = True) -> None:
    """A pull request with one commit, checked out as actions/checkout does it: nothing but its merge commit."""
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")  # as GitHub's server does
    (origin / ".gaplint.yaml").write_text(CONFIG)
    first, second = JOB.format(name="first", retries=0), JOB.format(name="second", retries=3)
    old = commit(origin, "Jobs", two=f"{first}---\n{second}")
    git(origin, "checkout", "-q", "-b", "change")
    branch = commit(origin, "Let it fail", two=f"{first}---\n{JOB.format(name='second', retries=0)}")
    git(origin, "checkout", "-q", "main")
    base = commit(origin, "Another job meanwhile", other=JOB.format(name="other", retries=0))
    git(origin, "checkout", "-q", "--detach")
    git(origin, "merge", "-q", "--no-ff", "-m", "Merge", branch)
    merge = git(origin, "rev-parse", "HEAD")
    git(origin, "checkout", "-q", "main")
    runner.sha = merge
    # The event names the base as it was when the branch was pushed; the merge is with what main is now.
    runner.event = {"pull_request": {"base": {"sha": base if not merged else old}}}
    git(runner.workspace, "init", "-q")
    git(runner.workspace, "remote", "add", "origin", origin.as_uri())
    git(runner.workspace, "fetch", "-q", "--no-tags", "--depth=1", "origin", merge if merged else branch)
    git(runner.workspace, "checkout", "-q", "--detach", "FETCH_HEAD")


def annotated(outcome: Outcome) -> list[tuple[str, str]]:
    """File and object of each annotation."""
    found = []
    for line in outcome.annotations:
        file, job = re.search(r"file=([^,]+)", line), re.search(r"In Job (\w+)", line)
        assert file, line
        assert job, line
        found.append((file[1], job[1]))
    return found


def test_a_pull_request_gets_the_annotations_of_what_it_brings(runner: Runner, tmp_path: Path) -> None:
    pull_request(runner, tmp_path / "origin")
    outcome = runner.run()
    assert annotated(outcome) == [("two.yaml", "second")], outcome.log
    assert outcome.code == 1
    assert "this clone is shallow" not in outcome.log
    assert {name: outcome.outputs[name] for name in ("findings", "errors", "warnings", "notes")} == {
        "findings": "1",
        "errors": outcome.outputs["errors"],
        "warnings": str(1 - int(outcome.outputs["errors"])),
        "notes": "0",
    }
    assert "RETRY001" in outcome.summary
    sarif = json.loads(Path(outcome.outputs["sarif-file"]).read_text())
    (result,) = sarif["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "two.yaml"


def test_a_checkout_of_the_branch_itself(runner: Runner, tmp_path: Path) -> None:
    pull_request(runner, tmp_path / "origin", merged=False)
    assert annotated(runner.run()) == [("two.yaml", "second")]


def test_a_merge_queue(runner: Runner, tmp_path: Path) -> None:
    pull_request(runner, tmp_path / "origin")
    runner.event = {"merge_group": {"base_sha": runner.event["pull_request"]["base"]["sha"]}}
    assert annotated(runner.run()) == [("two.yaml", "second")]


def test_everything_where_it_is_asked_for(runner: Runner, tmp_path: Path) -> None:
    pull_request(runner, tmp_path / "origin")
    outcome = runner.run(diff_base="none", fail_on="never")
    assert annotated(outcome) == [("other.yaml", "other"), ("two.yaml", "first"), ("two.yaml", "second")]
    assert outcome.code == 0


def test_a_push_reports_everything(runner: Runner, tmp_path: Path) -> None:
    pull_request(runner, tmp_path / "origin")
    runner.event = {"before": "0" * 40}
    assert len(runner.run().annotations) == 3


def test_a_base_out_of_reach_is_an_error_that_says_what_to_do(runner: Runner, tmp_path: Path) -> None:
    pull_request(runner, tmp_path / "origin")
    (tmp_path / "origin").rename(tmp_path / "gone")
    outcome = runner.run()
    assert outcome.code == 2
    assert "fetch-depth: 0" in outcome.log
    assert outcome.annotations[0].startswith("::error title=gaplint::the base of the pull request")


def test_inputs_are_words_and_never_scripts(runner: Runner, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    folder = runner.workspace / "$(touch marker) `x`"
    folder.mkdir()
    (folder / "job.yaml").write_text(JOB.format(name="first", retries=0))
    (runner.workspace / "subprocess.py").write_text(f"open({str(marker)!r}, 'w')\n")  # on no path of a step
    outcome = runner.run(
        paths=f'"{folder.name}"',
        args=f"--select RETRY001 --exclude '$(touch {marker})' --isolated",
        fail_on="never",
        sarif_file="reports/gaplint.sarif",
    )
    assert outcome.code == 0, outcome.log
    assert len(outcome.annotations) == 1
    assert not list(tmp_path.rglob("marker"))
    assert Path(outcome.outputs["sarif-file"]) == runner.workspace / "reports" / "gaplint.sarif"
    assert (runner.workspace / "reports" / "gaplint.sarif").exists()


def test_options_have_inputs(runner: Runner) -> None:
    (runner.workspace / "job.yaml").write_text(JOB.format(name="first", retries=0))
    (runner.workspace / "lint.yaml").write_text(CONFIG)
    subprocess.run(
        [runner.steps["install"]["gaplint"], "--config", "lint.yaml", "--write-baseline", "."],
        cwd=runner.workspace,
        check=True,
    )
    accepted = runner.run(config="lint.yaml", baseline=".gaplint-baseline.json")
    assert (accepted.code, accepted.outputs["findings"]) == (0, "0"), accepted.log
    again = runner.run(config="lint.yaml", format="concise")
    assert (again.code, again.annotations) == (1, [])
    assert "job.yaml:9:" in again.log


@pytest.mark.parametrize(
    ("inputs", "answer"),
    [
        ({"paths": "missing"}, "missing: no such file or folder"),
        ({"paths": "'open"}, "the input paths cannot be split into words"),
        ({"fail_on": "sometimes"}, "'sometimes' is not one of"),
        ({"args": "--output=json=x --output=sarif=x"}, "two reports go to"),
        ({"sarif_file": "."}, "no report can be written to"),
        ({"sarif_file": "file/x.sarif"}, "no report can be written to"),
    ],
)
def test_wrong_inputs_are_told(runner: Runner, inputs: dict[str, str], answer: str) -> None:
    (runner.workspace / "file").write_text("")
    outcome = runner.run(**inputs)
    assert outcome.code == 2
    assert answer in outcome.log
    assert "::error title=gaplint::" in outcome.log
    assert outcome.outputs["findings"] == ""


def test_a_long_summary_is_cut(runner: Runner) -> None:
    """The runner takes no summary of more than 1 MiB."""
    jobs = "---\n".join(JOB.format(name=f"{'long-name-' * 20}{number}", retries=0) for number in range(2500))
    (runner.workspace / "jobs.yaml").write_text(jobs)
    outcome = runner.run(args="--select RETRY001 --isolated", fail_on="never")
    assert outcome.outputs["findings"] == "2500"
    assert len(outcome.summary.encode()) < 2**20
    assert outcome.summary.endswith("the SARIF file holds all of it.\n")


def test_no_release_but_a_release(runner: Runner) -> None:
    del runner.steps["install"]
    outcome = runner.run(version="1.0 --index-url=http://x.invalid")
    assert outcome.code == 2
    assert "is no release" in outcome.log


@pytest.mark.slow
def test_it_installs_what_it_comes_with(runner: Runner) -> None:
    Path(runner.steps.pop("install")["gaplint"]).unlink()
    (runner.workspace / "job.yaml").write_text(JOB.format(name="first", retries=0))
    outcome = runner.run(args="--select RETRY001 --isolated")
    if "No matching distribution" in outcome.log or "Could not find a version" in outcome.log:
        pytest.skip("pip cannot install gaplint: no package index in reach")
    assert outcome.code == 1, outcome.log
    assert len(outcome.annotations) == 1


# The action as a file


def _tool(name: str, *arguments: str) -> None:
    command = Path(sys.executable).with_name(name)
    if not command.exists():
        pytest.skip(f"{name} is not installed")
    done = subprocess.run([command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()


def test_the_file_follows_the_schema_of_actions() -> None:
    _tool("check-jsonschema", "--builtin-schema", "vendor.github-actions", str(PROJECT / "action.yml"))


def test_it_is_safe_by_the_rules_of_zizmor() -> None:
    _tool("zizmor", "--offline", "--persona=pedantic", "--no-progress", str(PROJECT / "action.yml"))


def test_actions_are_pinned_and_inputs_stay_out_of_scripts() -> None:
    steps = read_action()["runs"]["steps"]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step)
    assert not [step["run"] for step in steps if "${{" in step.get("run", "")]
