"""`--diff-base`, with git itself: what counts as new, shallow clones, and that nothing else is run."""

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


def report(capsys: Captured, *arguments: str, select: str = "RETRY001") -> dict[str, Any]:
    capsys.readouterr()
    selection = ("--select", select) if select else ()
    run([*arguments, *selection, "--format", "json"])
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
    assert "3 findings that this change does not bring." in capsys.readouterr().out
    assert repository.exists()


def test_older_gaps_of_a_changed_object_are_none_of_the_change(repository: Path, capsys: Captured) -> None:
    path = repository / "jobs" / "two.yaml"
    edit(path, "image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel", "image: pytorch/pytorch:latest")
    assert names(capsys, "--diff-base", "main") == []
    found = report(capsys, "--diff-base", "main", "--min-severity", "info", select="")
    assert {finding["code"] for finding in found["findings"]} == {"IMG001"}
    assert found["summary"]["elsewhere"] > 6
    commit("image")
    assert report(capsys, "--diff-base", "main", "--min-severity", "info", select="") == found


def test_another_name_makes_another_object(repository: Path, capsys: Captured) -> None:
    edit(repository / "jobs" / "two.yaml", "name: two", "name: second")
    assert names(capsys, "--diff-base", "main") == ["second"]
    commit("rename")
    assert names(capsys, "--diff-base", "main") == ["second"]
    assert names(capsys, "--diff-base", "HEAD") == []


def test_a_line_less_brings_a_gap(repository: Path, capsys: Captured) -> None:
    path = repository / "jobs" / "two.yaml"
    path.write_text(job("one", backoff=3) + "---\n" + job("two"))
    commit("restarts")
    edit(path, "  backoffLimit: 3\n", "  backoffLimit: 0\n")
    assert names(capsys, "--diff-base", "HEAD") == ["one"]
    assert names(capsys, "--diff-base", "main") == []  # it was so on main


def test_what_a_change_does_to_other_files_objects(repository: Path, capsys: Captured) -> None:
    uses = "        envFrom:\n        - configMapRef:\n            name: nccl\n"
    (repository / "jobs" / "other.yaml").write_text(
        job("other").replace("        resources:\n", f"{uses}        resources:\n")
    )
    settings = repository / "nccl.yaml"
    settings.write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: nccl\ndata:\n"
        '  TORCH_NCCL_ASYNC_ERROR_HANDLING: "1"\n  NCCL_DEBUG: WARN\n'
    )
    commit("settings")
    edit(settings, 'HANDLING: "1"', 'HANDLING: "0"')
    data = report(capsys, "--diff-base", "HEAD", select="NCCL001")
    assert [finding["object"]["name"] for finding in data["findings"]] == ["other"]
    edit(settings, 'HANDLING: "0"', 'HANDLING: "1"')
    settings.unlink()  # what it held is not known any more
    data = report(capsys, "--diff-base", "HEAD", "--min-severity", "info", select="GAP003")
    assert [finding["code"] for finding in data["findings"]] == ["GAP003"]


def test_a_gap_that_gets_another_value(repository: Path, capsys: Captured) -> None:
    path = repository / "jobs" / "other.yaml"
    path.write_text(job("other", backoff=3).replace("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel", "own:latest"))
    saves = "train.py, --max_steps, 100000, --save_steps, 20000"
    edit(path, "train.py", saves)
    commit("saves")
    edit(path, "  parallelism: 4\n", "  # four of them\n  parallelism: 4\n")
    found = report(capsys, "--diff-base", "HEAD", "--min-severity", "info", select="CKPT003")
    assert found["findings"] == []
    edit(path, "--save_steps, 20000", "--save_steps, 40000")
    found = report(capsys, "--diff-base", "HEAD", "--min-severity", "info", select="CKPT003")
    assert [finding["location"]["line"] for finding in found["findings"]] == [17]


def test_a_suppression_that_goes(repository: Path, capsys: Captured) -> None:
    path = repository / "jobs" / "other.yaml"
    edit(path, "backoffLimit: 0", "backoffLimit: 0  # gaplint: ignore[RETRY001] the scheduler resubmits")
    commit("suppressed")
    assert names(capsys, "--diff-base", "HEAD") == []
    edit(path, "  # gaplint: ignore[RETRY001] the scheduler resubmits", "")
    assert names(capsys, "--diff-base", "HEAD") == ["other"]
    assert names(capsys, "--diff-base", "main") == []


def test_a_second_copy_is_new(repository: Path, capsys: Captured) -> None:
    (repository / "jobs" / "a-copy.yaml").write_text("# a copy\n" + job("other"))
    data = report(capsys, "--diff-base", "main")
    assert [finding["location"]["file"] for finding in data["findings"]] == ["jobs/a-copy.yaml"]


def test_new_files_staged_or_not(repository: Path, capsys: Captured) -> None:
    (repository / "jobs" / 'new é "x".yaml').write_text(job("untracked"))
    assert names(capsys, "--diff-base", "main") == ["untracked"]
    git("add", "-A")
    assert names(capsys, "--diff-base", "main") == ["untracked"]
    (repository / ".gitignore").write_text("other.yaml\n")  # it stays tracked
    assert names(capsys, "--diff-base", "main", "jobs") == ["untracked"]
    assert names(capsys, "--diff-base", "main", 'jobs/new é "x".yaml') == ["untracked"]


def test_a_moved_file_brings_nothing(repository: Path, capsys: Captured) -> None:
    (repository / "deep" / "er").mkdir(parents=True)
    git("mv", "jobs/two.yaml", "deep/er/moved.yaml")
    for paths in ((), ("deep",), ("deep/er/moved.yaml",), ("jobs", "deep/er")):
        assert names(capsys, "--diff-base", "main", *paths) == []
    commit("move")
    assert names(capsys, "--diff-base", "main") == []
    edit(repository / "deep" / "er" / "moved.yaml", "name: two", "name: second")
    assert names(capsys, "--diff-base", "main", "deep") == ["second"]


def test_a_moved_script_that_is_called_as_its_file(repository: Path, capsys: Captured) -> None:
    script = repository / "train.sbatch"
    script.write_text("#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --gpus-per-node=8\n\nexport A=1\nsrun python train.py\n")
    commit("script")
    git("mv", "train.sbatch", "jobs/pretrain.sbatch")
    commit("move")
    edit(repository / "jobs" / "pretrain.sbatch", "A=1", "A=2")
    data = report(capsys, "--diff-base", "HEAD~1", "--min-severity", "info", select="")
    assert data["findings"] == []
    assert data["summary"]["elsewhere"] > 6
    edit(repository / "jobs" / "pretrain.sbatch", "export A=2", "export NCCL_TIMEOUT=5")
    data = report(capsys, "--diff-base", "HEAD~1", "--min-severity", "info", select="")
    assert {finding["code"] for finding in data["findings"]} == {"NCCL007"}


def test_a_moved_kustomization_is_read_as_it_was(repository: Path, capsys: Captured) -> None:
    base, over = repository / "base", repository / "over"
    base.mkdir()
    over.mkdir()
    (base / "job.yaml").write_text(job("based", backoff=3))
    (base / "kustomization.yaml").write_text("resources:\n- job.yaml\n")
    (over / "kustomization.yaml").write_text("namePrefix: my-\nresources:\n- ../base\n")
    commit("kustomize")
    git("mv", "base/job.yaml", "base/train.yaml")
    edit(base / "kustomization.yaml", "job.yaml", "train.yaml")
    assert names(capsys, "--diff-base", "HEAD") == []
    edit(base / "train.yaml", "backoffLimit: 3", "backoffLimit: 0")
    assert names(capsys, "--diff-base", "HEAD") == ["my-based"]


def test_a_deleted_file_and_a_deleted_object(repository: Path, capsys: Captured) -> None:
    (repository / "jobs" / "other.yaml").unlink()
    (repository / "jobs" / "two.yaml").write_text(job("two"))
    assert names(capsys, "--diff-base", "main") == []
    git("rm", "-q", "--cached", "jobs/two.yaml")
    assert names(capsys, "--diff-base", "main") == []


def test_files_folders_and_links_in_one_anothers_place(repository: Path, capsys: Captured) -> None:
    jobs = repository / "jobs"
    (jobs / "link.yaml").symlink_to("two.yaml")
    commit("link")
    (jobs / "other.yaml").unlink()
    (jobs / "other.yaml").mkdir()
    (jobs / "other.yaml" / "inner.yaml").write_text(job("other"))
    (jobs / "link.yaml").unlink()
    (jobs / "link.yaml").write_text(job("linked"))
    assert names(capsys, "--diff-base", "main") == ["linked"]
    commit("turned")
    (jobs / "link.yaml").unlink()
    (jobs / "link.yaml").symlink_to("two.yaml")
    assert names(capsys, "--diff-base", "main") == []


def test_in_the_middle_of_a_merge(repository: Path, capsys: Captured) -> None:
    path = repository / "jobs" / "other.yaml"
    edit(path, "backoffLimit: 0", "backoffLimit: 1")
    commit("topic")
    git("checkout", "-q", "main")
    edit(path, "backoffLimit: 0", "backoffLimit: 2")
    commit("main")
    git("checkout", "-q", "topic")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "-q", "main")
    data = report(capsys, "--diff-base", "main", select="")
    assert [finding["code"] for finding in data["findings"]] == ["GAP001"]


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
    assert names(capsys, "--diff-base", "main") == []
    (repository / "wide.yaml").write_bytes(job("wide").encode("utf-16"))
    commit("wide")
    (repository / "wide.yaml").write_bytes(job("wider").encode("utf-16"))
    assert names(capsys, "--diff-base", "HEAD") == ["wider"]
    (repository / "big.yaml").write_bytes(b"#" * (revision.MAX_BYTES + 1))
    commit("big")
    (repository / "big.yaml").write_text(job("big"))
    assert names(capsys, "--diff-base", "HEAD") == ["big"]


def test_names_that_git_would_quote(repository: Path, capsys: Captured) -> None:
    for number, name in enumerate(('q"u\\o.yaml', "new\nline.yaml", "t\tab.yaml", os.fsdecode(b"\xff.yaml"))):
        (repository / name).write_text(job(f"odd-{number}"))
    commit("odd")
    for path in repository.glob("*.yaml"):
        edit(path, "  parallelism: 4\n", "  parallelism: 4\n  ttlSecondsAfterFinished: 864000\n")
    assert names(capsys, "--diff-base", "HEAD") == []
    assert len(names(capsys, "--diff-base", "main")) == 4


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
    assert f"git knows no revision 'main' in {clone}; did you mean origin/main?" in capsys.readouterr().err
    assert run([str(clone), "--diff-base", "topik"]) == 2
    assert "did you mean topic?" in capsys.readouterr().err
    assert run([str(clone), "--diff-base", "release-7"]) == 2
    assert (
        "a branch, a tag or a commit that this clone has: `git branch --all` and `git tag` list them, `git fetch "
        in (capsys.readouterr().err)
    )
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


def test_several_repositories(repository: Path, capsys: Captured) -> None:
    other = repository / "inner"
    other.mkdir()
    git("init", "-q", "-b", "main", where=other)
    with pytest.raises(RevisionProblem, match="no revision"):
        since("main", [".", "inner"])
    (other / "a.yaml").write_text(job("inner"))
    git("add", "-A", where=other)
    git("commit", "-q", "-m", "x", where=other)
    edit(other / "a.yaml", "  parallelism: 4\n", "  # four\n  parallelism: 4\n")
    (other / "b.yaml").write_text(job("new"))
    (repository / "c.yaml").write_text(job("c"))
    edit(repository / "jobs" / "other.yaml", "  parallelism: 4\n", "  # four\n  parallelism: 4\n")
    assert names(capsys, "--diff-base", "main", ".", "inner", "jobs") == ["c", "new"]


def test_a_partial_clone(repository: Path, capsys: Captured) -> None:
    edit(repository / "jobs" / "two.yaml", "name: two", "name: second")
    commit("topic")
    git("config", "uploadpack.allowFilter", "true")
    clone = repository.parent / "clone"
    git("clone", "-q", "--filter=blob:none", "-b", "topic", f"file://{repository}", str(clone))
    assert run([str(clone), "--diff-base", "origin/main"]) == 2
    assert "this clone is partial (git clone --filter) and lacks what the files held" in capsys.readouterr().err


def test_contents_that_are_lost(repository: Path, capsys: Captured) -> None:
    edit(repository / "jobs" / "two.yaml", "name: two", "name: second")
    blob = git("rev-parse", "main:jobs/two.yaml")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert run(["--diff-base", "main"]) == 2
    error = capsys.readouterr().err
    assert "git" in error and "itself failed" not in error
