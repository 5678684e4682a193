"""The pre-commit hooks, with pre-commit itself: as a user would try them and in a repository with staged changes.

pre-commit installs gaplint into an environment of its own, so these tests need a package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: pretrain
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
        envFrom:
        - configMapRef: {name: nccl}
        resources:
          limits: {nvidia.com/gpu: 8}
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: nccl}
data:
  TORCH_NCCL_ASYNC_ERROR_HANDLING: "0"
"""
CONFIG = "select: [NCCL001, RETRY001]\n"
HOOKS = """\
repos:
- repo: {address}
  rev: {revision}
  hooks:
  - id: {hook}
"""
_NO_INDEX = ("No matching distribution", "Could not find a version", "Temporary failure in name resolution")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """One home for pre-commit, so that gaplint is installed once; and git without the settings of this machine."""
    identity = {f"GIT_{who}_{what}": "x@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHONPATH"))},
        **identity,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit")),
        "PRE_COMMIT_COLOR": "never",
    }


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> Path:
    """What is committed and changed here, as one commit of a repository of its own."""
    copy = tmp_path_factory.mktemp("gaplint")
    listed = _run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], PROJECT, environment)
    if listed.returncode:
        pytest.skip("this is no git repository, and pre-commit installs from one")
    for name in listed.stdout.split("\0"):
        if name and (PROJECT / name).is_file() and not name.startswith(("fixtures/", "tests/", "bench/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, copy / name)
    _commit_all(copy, environment)
    return copy


@pytest.fixture
def repository(tmp_path: Path, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job in one folder with its settings in another, committed."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("jobs/train.yaml", JOB), ("settings/nccl.yaml", SETTINGS), (".gaplint.yaml", CONFIG)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "notes.txt").write_text("-\n")
    _commit_all(tmp_path, environment)
    return tmp_path


def _run(command: list[str], where: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=where,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _commit_all(where: Path, environment: Mapping[str, str]) -> None:
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        done = _run(["git", *command], where, environment)
        assert done.returncode == 0, done.stdout


def pre_commit(where: Path, environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    done = _run([sys.executable, "-m", "pre_commit", *arguments], where, environment)
    if any(sign in done.stdout for sign in _NO_INDEX):
        pytest.skip("pre-commit cannot install gaplint: no package index in reach")
    return done.returncode, done.stdout


def use(hook: str, repository: Path, released: Path, environment: Mapping[str, str]) -> None:
    revision = _run(["git", "rev-parse", "HEAD"], released, environment).stdout.strip()
    config = HOOKS.format(address=released, revision=revision, hook=hook)
    (repository / ".pre-commit-config.yaml").write_text(config)


def test_as_a_user_tries_it(repository: Path, released: Path, environment: Mapping[str, str]) -> None:
    code, out = pre_commit(repository, environment, "try-repo", str(released), "gaplint", "--all-files")
    assert code == 1, out
    assert "settings/nccl.yaml:5:" in out
    assert "NCCL001" in out


def test_in_a_clean_clone_of_this_repository(tmp_path: Path, environment: Mapping[str, str]) -> None:
    clone = ["git", "clone", "-q", "--no-hardlinks", str(PROJECT), "clone"]
    cloned = _run(clone, tmp_path, environment)
    if cloned.returncode:
        pytest.skip("this is no git repository")
    code, out = pre_commit(tmp_path / "clone", environment, "try-repo", ".", "gaplint", "--all-files")
    assert code == 1, out  # the examples hold gaps on purpose
    assert "fixtures/demo/jobs/vision-pretrain.yaml" in out
    assert "could not be read" not in out
    assert _run(["git", "status", "--short"], tmp_path / "clone", environment).stdout == ""


def test_a_commit_of_settings_is_judged_in_the_job(
    repository: Path, released: Path, environment: Mapping[str, str]
) -> None:
    use("gaplint", repository, released, environment)
    installed, out = pre_commit(repository, environment, "install")
    assert installed == 0, out

    (repository / "notes.txt").write_text("This concerns no job.\n")
    unconcerned = _run(["git", "commit", "-qam", "notes"], repository, environment)
    assert unconcerned.returncode == 0, unconcerned.stdout

    (repository / "settings" / "nccl.yaml").write_text(SETTINGS + "  NCCL_DEBUG: WARN\n")
    (repository / "jobs" / "unstaged.yaml").write_text(JOB.replace("pretrain", "unstaged"))
    refused = _run(["git", "commit", "-qam", "settings"], repository, environment)
    assert refused.returncode == 1
    assert "settings/nccl.yaml:5:" in refused.stdout
    assert "Job pretrain" in refused.stdout

    (repository / "settings" / "nccl.yaml").write_text(SETTINGS.replace('"0"', '"1"'))
    accepted = _run(["git", "commit", "-qam", "settings"], repository, environment)
    assert accepted.returncode == 0, accepted.stdout


def test_fixes_are_made_in_the_files(repository: Path, released: Path, environment: Mapping[str, str]) -> None:
    use("gaplint-fix", repository, released, environment)
    code, out = pre_commit(repository, environment, "run", "--files", "settings/nccl.yaml")
    assert code == 1, out
    assert "files were modified by this hook" in out
    changed = _run(["git", "diff", "--name-only"], repository, environment).stdout.split()
    assert changed, out
    assert set(changed) <= {"settings/nccl.yaml", "jobs/train.yaml"}
    assert pre_commit(repository, environment, "run", "--files", "settings/nccl.yaml")[0] == 0


def test_the_whole_repository(repository: Path, released: Path, environment: Mapping[str, str]) -> None:
    use("gaplint-all", repository, released, environment)
    code, out = pre_commit(repository, environment, "run", "--files", ".gaplint.yaml")
    assert code == 1, out
    assert "settings/nccl.yaml:5:" in out


def test_a_file_that_is_called_like_an_option(repository: Path, released: Path, environment: Mapping[str, str]) -> None:
    (repository / "--output=json=taken.yaml").write_text("a: 1\n")
    use("gaplint", repository, released, environment)
    assert _run(["git", "add", "-A"], repository, environment).returncode == 0
    code, out = pre_commit(repository, environment, "run", "gaplint")
    assert code == 0, out
    assert not (repository / "taken.yaml").exists()
