"""`--diff-base`, with git itself: what counts as changed, shallow clones, and that nothing else is run."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kube_gaplint import revision
from kube_gaplint.cli.app import run
from kube_gaplint.revision import RevisionProblem, since

Captured = pytest.CaptureFixture[str]

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: {backoff}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
        command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
        resources:
          limits:
            nvidia.com/gpu: 8
"""


_WHO = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")


def job(name: str, backoff: int = 0) -> str:
    return JOB.format(name=name, backoff=backoff)


def git(*arguments: str, where: Path | None = None) -> str:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **{
            f"GIT_{who}_{what}": f"{what.lower()}@x.invalid"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    return subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=where,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two commits' worth of jobs on main, and the branch `topic` checked out."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "-q", "-b", "main")
    (folder / "jobs").mkdir()
    (folder / "jobs" / "two.yaml").write_text(job("one") + "---\n" + job("two"))
    (folder / "jobs" / "other.yaml").write_text(job("other"))
    commit("start")
    git("checkout", "-q", "-b", "topic")
    return folder


def commit(message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


def report(capsys: Captured, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    run([*arguments, "--select", "RETRY001", "--format", "json"])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def names(capsys: Captured, *arguments: str) -> list[str]:
    return [finding["object"]["name"] for finding in report(capsys, *arguments)["findings"]]


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def test_nothing_has_changed(repository: Path, capsys: Captured) -> None:
    data = report(capsys, "--diff-base", "main")
    assert data["findings"] == []
    assert data["summary"]["elsewhere"] == 3
    assert run(["--select", "RETRY001", "--diff-base", "main"]) == 0
    assert "3 findings where nothing has changed." in capsys.readouterr().out
    assert repository.exists()


def test_an_object_counts_with_any_of_its_lines(repository: Path, capsys: Captured) -> None:
    path = repository / "jobs" / "two.yaml"
    edit(path, "name: two", "name: second")
    assert names(capsys, "--diff-base", "main") == ["second"]
    commit("rename")
    assert names(capsys, "--diff-base", "main") == ["second"]
    edit(path, "  completionMode: Indexed\n", "")  # a line less, in the first object
    assert names(capsys, "--diff-base", "main") == ["one", "second"]
    assert names(capsys, "--diff-base", "HEAD") == ["one"]


@pytest.mark.parametrize(
    ("line", "changed"),
    [("  parallelism: 4\n", ["one"]), ("            nvidia.com/gpu: 8\n", ["one"]), ("---\n", [])],
)
def test_lines_around_an_object(repository: Path, capsys: Captured, line: str, changed: list[str]) -> None:
    edit(repository / "jobs" / "two.yaml", line, f"# a remark\n{line}")
    assert names(capsys, "--diff-base", "main") == changed  # a remark between two objects is of neither


def test_new_files_staged_or_not(repository: Path, capsys: Captured) -> None:
    (repository / "jobs" / 'new é "x".yaml').write_text(job("untracked"))
    assert names(capsys, "--diff-base", "main") == ["untracked"]
    git("add", "-A")
    assert names(capsys, "--diff-base", "main") == ["untracked"]
    (repository / ".gitignore").write_text("other.yaml\n")  # it stays tracked
    assert names(capsys, "--diff-base", "main", "jobs") == ["untracked"]


def test_a_renamed_file_is_no_change_until_it_is_edited(repository: Path, capsys: Captured) -> None:
    git("mv", "jobs/two.yaml", "jobs/moved.yaml")
    commit("move")
    assert names(capsys, "--diff-base", "main") == []
    edit(repository / "jobs" / "moved.yaml", "name: two", "name: second")
    assert names(capsys, "--diff-base", "main") == ["second"]


def test_a_deleted_file_and_a_deleted_object(repository: Path, capsys: Captured) -> None:
    (repository / "jobs" / "other.yaml").unlink()
    (repository / "jobs" / "two.yaml").write_text(job("two"))
    assert names(capsys, "--diff-base", "main") == []


def test_what_the_base_has_changed_meanwhile_does_not_count(repository: Path, capsys: Captured) -> None:
    edit(repository / "jobs" / "two.yaml", "name: two", "name: second")
    commit("topic")
    git("checkout", "-q", "main")
    edit(repository / "jobs" / "other.yaml", "name: other", "name: another")
    commit("main")
    git("checkout", "-q", "topic")
    assert names(capsys, "--diff-base", "main") == ["second"]


def test_from_another_folder_and_for_a_part(
    repository: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(repository / "jobs" / "two.yaml", "name: two", "name: second")
    (repository / "jobs" / "new.yaml").write_text(job("new"))
    monkeypatch.chdir(repository / "jobs")
    assert names(capsys, "--diff-base", "main") == ["new", "second"]
    assert names(capsys, "--diff-base", "main", "new.yaml") == ["new"]
    monkeypatch.chdir(repository.parent)
    assert names(capsys, "--diff-base", "main", "repository/jobs") == ["new", "second"]


def test_line_ends_and_odd_bytes(repository: Path, capsys: Captured) -> None:
    path = repository / "jobs" / "other.yaml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert names(capsys, "--diff-base", "main") == ["other"]
    commit("crlf")
    assert names(capsys, "--diff-base", "HEAD") == []
    (repository / "wide.yaml").write_bytes(job("wide").encode("utf-16"))
    commit("wide")
    (repository / "wide.yaml").write_bytes(job("wider").encode("utf-16"))
    assert names(capsys, "--diff-base", "HEAD") == ["wider"]


def test_content_that_looks_like_a_patch(repository: Path, capsys: Captured) -> None:
    path = repository / "jobs" / "two.yaml"
    edit(path, "metadata:\n", "# x\n# +++ b/jobs/other.yaml\nmetadata:\n")
    text = path.read_text().replace("# +++", "++ b/jobs/other.yaml\n#")
    (repository / "jobs" / "trick.txt").write_text("++ b/jobs/other.yaml\n@@ -1 +1,99 @@\n-- a/x\n" + text)
    commit("trick")
    assert names(capsys, "--diff-base", "main") == ["one"]


def test_a_batch_script_is_one_object(repository: Path, capsys: Captured) -> None:
    script = repository / "train.sbatch"
    script.write_text("#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --gpus-per-node=8\n\nexport A=1\nsrun python train.py\n")
    commit("script")
    edit(script, "A=1", "A=2")
    capsys.readouterr()
    run(["--diff-base", "HEAD", "--format", "json", "--min-severity", "info"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["object"]["kind"] for finding in findings} == {"sbatch"}


def test_together_with_a_baseline(repository: Path, capsys: Captured) -> None:
    run(["--write-baseline"])
    edit(repository / "jobs" / "two.yaml", "name: two", "name: second")
    base = ["--baseline", ".gaplint-baseline.json", "--diff-base", "main"]
    data = report(capsys, *base)
    assert [f["object"]["name"] for f in data["findings"] if not f["suppressed"]] == ["second"]


# Where git cannot tell


def test_unknown_revisions(repository: Path, capsys: Captured) -> None:
    clone = repository.parent / "clone"
    git("clone", "-q", "-b", "topic", str(repository), str(clone))
    assert run([str(clone), "--diff-base", "main"]) == 2
    assert "git knows no revision 'main'; did you mean origin/main?" in capsys.readouterr().err
    for strange in ("--output=x", "nope", "-x", "a\nb", "HEAD:jobs"):
        assert run([str(clone), f"--diff-base={strange}"]) == 2
        assert "git knows no revision" in capsys.readouterr().err
    assert not list(repository.glob("x"))
    assert run([str(clone), "--diff-base=a\0b"]) == 2
    assert run([str(clone), "--diff-base", "origin/main", "--select", "RETRY001"]) == 0


def test_a_shallow_clone_says_what_to_fetch(repository: Path, capsys: Captured) -> None:
    edit(repository / "jobs" / "two.yaml", "name: two", "name: second")
    commit("topic")
    git("checkout", "-q", "main")
    edit(repository / "jobs" / "other.yaml", "name: other", "name: another")
    commit("main")
    clone = repository.parent / "clone"
    git("clone", "-q", "--depth=1", "-b", "topic", f"file://{repository}", str(clone))
    assert run([str(clone), "--diff-base", "origin/main"]) == 2
    error = capsys.readouterr().err
    assert "this clone is shallow. Fetch it first (git fetch --depth=1 origin <branch>)" in error
    git("fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main", where=clone)
    run([str(clone), "--diff-base", "origin/main", "--select", "RETRY001", "--format", "json"])
    captured = capsys.readouterr()
    assert "this clone is shallow and does not hold where origin/main and HEAD part" in captured.err
    found = [finding["object"]["name"] for finding in json.loads(captured.out)["findings"]]
    assert found == ["other", "second"]
    git("fetch", "-q", "--unshallow", where=clone)
    assert names(capsys, str(clone), "--diff-base", "origin/main") == ["second"]


def test_without_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["--diff-base", "main"]) == 2
    assert "--diff-base needs git, and . lies in no git repository" in capsys.readouterr().err
    (tmp_path / ".git").mkdir()
    assert run(["--diff-base", "main"]) == 2
    assert "git rev-parse fails" in capsys.readouterr().err


def test_before_the_first_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    assert run(["--diff-base", "HEAD"]) == 2
    assert "git knows no revision 'HEAD'" in capsys.readouterr().err


def test_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert run(["--diff-base", "main"]) == 2
    assert "there is no program git" in capsys.readouterr().err


def test_not_on_standard_input(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setattr(revision, "since", None)
    assert run(["-", "--diff-base", "main"]) == 2
    assert "standard input is in no repository" in capsys.readouterr().err
    assert repository.exists()


# Nothing but git


def test_git_runs_no_program_of_the_repository(repository: Path, capsys: Captured) -> None:
    ran = repository.parent / "ran"
    program = repository.parent / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {ran}\ncat\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "diff.x.command", "diff.x.textconv", "filter.a=b.clean", "filter.x.clean",
                "filter.x.process", "filter.x.smudge", "diff.external", "core.pager", "core.sshCommand"):  # fmt: skip
        git("config", key, str(program))
    git("config", "filter.x.required", "true")
    git("config", "core.hooksPath", str(repository.parent))
    (repository / ".gitattributes").write_text("*.yaml diff=x filter=x\nother.yaml filter=a=b\n")
    edit(repository / "jobs" / "two.yaml", "name: two", "name: second")
    edit(repository / "jobs" / "other.yaml", "name: other", "name: another")
    assert names(capsys, "--diff-base", "main") == ["another", "second"]
    assert not ran.exists()


def test_nothing_runs_without_the_option(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(subprocess, "Popen", never)
    assert run([str(repository), "--select", "RETRY001"]) == 1


def test_patches_that_git_writes() -> None:
    patch = (
        b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n-x\n-y\n+z\n@@ -9 +7,0 @@\n-+++ b/no\n"
        b"diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        b'diff --git "a/q\\303\\251" "b/q\\303\\251"\n--- /dev/null\n+++ "b/q\\303\\251\\"\\t"\n'
        b"@@ -0,0 +1,3 @@\n+@@ -1 +1 @@\n+b\n+c\n"
        b"\\ No newline at end of file\n"
        b"diff --git a/d b/d\nBinary files a/d and b/d differ\n"
    )
    found = dict(revision._changed_lines(patch))
    assert set(found) == {b"a", 'qé"\t'.encode(), b"d"}
    assert [(lines.starts, lines.ends) for lines in found.values()] == [([1, 7], [1, 7]), ([1], [3]), ([], [])]
    assert found[b"d"].meet(5, 5) and found[b"a"].meet(5, 9) and not found[b"a"].meet(2, 6)


def test_several_repositories(repository: Path) -> None:
    other = repository / "inner"
    other.mkdir()
    git("init", "-q", "-b", "main", where=other)
    with pytest.raises(RevisionProblem, match="no revision"):
        since("main", [".", "inner"])
    (other / "a.yaml").write_text(job("inner"))
    git("add", "-A", where=other)
    git("commit", "-q", "-m", "x", where=other)
    (other / "b.yaml").write_text(job("new"))
    (repository / "c.yaml").write_text(job("c"))
    changed = since("main", [".", "inner", "jobs"])
    assert {os.path.relpath(path, repository) for path in changed.files} >= {"inner/b.yaml", "c.yaml"}
