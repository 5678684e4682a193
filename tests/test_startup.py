"""What a short run imports: modules are counted, not milliseconds.

A start costs what it imports. Numbers are those of today with some room; who needs more asks first whether a run on
one manifest does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixture_files import ROOT

PROGRAM = """
import sys
before = set(sys.modules)
sys.argv = ["gaplint", *sys.argv[1:]]
from kube_gaplint.__main__ import run
code = run()
print("\\n".join(sorted(set(sys.modules) - before)), file=sys.stderr)
sys.exit(0 if code in (0, 1) else code)
"""

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: nvcr.io/nvidia/pytorch:24.05-py3
          command: %s
          resources: {limits: {nvidia.com/gpu: 8}}
"""
PROGRAM_ALONE = JOB % "[torchrun, --nproc-per-node=8, --max-restarts=3, train.py]"
IN_A_SHELL = JOB % '[bash, -c, "set -e; torchrun --nproc-per-node=8 --max-restarts=3 train.py"]'

HEAVY = {
    "click", "jsonschema", "tree_sitter", "pathspec", "pygls", "inspect", "typing_extensions", "pathlib", "hashlib",
    "json", "pickle", "difflib", "urllib.parse", "tempfile", "subprocess", "multiprocessing", "importlib.metadata",
    "dataclasses", "zipfile", "tomllib", "platform", "signal", "ruamel.yaml.main", "ruamel.yaml.constructor",
    "ruamel.yaml.representer",
    "msgspec.json", "msgspec.inspect", "kube_gaplint.suppress", "kube_gaplint.pool", "kube_gaplint.incidents",
    "kube_gaplint.baseline", "kube_gaplint.revision", "kube_gaplint.fix", "kube_gaplint.config.parse",
    "kube_gaplint.config.schema", "kube_gaplint.cli.check", "kube_gaplint.cli.clicked", "kube_gaplint.kinds.batch",
    "kube_gaplint.kinds.daemonsets", "kube_gaplint.kinds.cloudinit", "kube_gaplint.model.nodes",
    "kube_gaplint.model.slurm", "kube_gaplint.cache.replay", "kube_gaplint_rules.former",
    "kube_gaplint_rules.stop.liveness_probe_kills_training", "kube_gaplint_rules.nccl.debug_left_on",
    "kube_gaplint.report.json", "kube_gaplint.report.html", "kube_gaplint.report.sarif",
}  # fmt: skip
"""What a run on one manifest with the report `concise` does without."""
SHELL = {"kube_gaplint.launch.shell_emit", "kube_gaplint.launch.shell_parser", "kube_gaplint.launch.shell_status"}


def imported(folder: Path, *arguments: str) -> set[str]:
    """The modules that a run imports beyond those of the bare interpreter."""
    environment = {
        **os.environ,
        "GAPLINT_NO_CACHE": "1",
        "PYTHONPATH": f"{ROOT.parent / 'lint'}{os.pathsep}{ROOT.parent / 'rules'}",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.yaml").write_text(PROGRAM_ALONE)
    (tmp_path / "shell.yaml").write_text(IN_A_SHELL)
    for number in range(5):
        (tmp_path / f"job{number}.yaml").write_text(PROGRAM_ALONE.replace("name: train}", f"name: train{number}}}"))
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "compose.yaml").write_text("services: {web: {image: nginx}}\n")
    return tmp_path


CONCISE = ("--isolated", "--format", "concise", "-q")


def test_the_version_imports_next_to_nothing(folder: Path) -> None:
    assert len(imported(folder, "--version")) <= 10


def test_nothing_to_judge_imports_no_parser(folder: Path) -> None:
    modules = imported(folder, *CONCISE, "web")
    assert not modules & HEAVY
    assert not {name for name in modules if name.startswith(("kube_gaplint.kinds", "kube_gaplint_rules.nccl"))}
    assert len(modules) <= 125


@pytest.mark.parametrize(("files", "most"), [(["program.yaml"], 310), ([f"job{n}.yaml" for n in range(5)], 310)])
def test_manifests_that_start_programs(folder: Path, files: list[str], most: int) -> None:
    modules = imported(folder, *CONCISE, *files)
    assert not modules & HEAVY
    assert not modules & SHELL
    assert {name for name in modules if name.startswith("kube_gaplint_rules.retry.")}
    assert len(modules) <= most


def test_a_manifest_with_a_script(folder: Path) -> None:
    modules = imported(folder, *CONCISE, "shell.yaml")
    assert modules >= SHELL
    assert not modules & HEAVY
    assert len(modules) <= 340


IGNORED = """\
# Python
*.py[cod]
__pycache__/
/build/
docs/_build
**/*.log
.env*
!.env.example
wandb*/
"""


def test_a_git_ignore_file_that_nothing_matches_is_read_without_pathspec(folder: Path) -> None:
    (folder / ".gitignore").write_text(IGNORED)
    assert "pathspec" not in imported(folder, *CONCISE, "--fail-on", "never", ".")
    (folder / "train.log").touch()
    assert "pathspec" in imported(folder, *CONCISE, "--fail-on", "never", ".")


def test_what_is_asked_for_is_imported(folder: Path) -> None:
    """The names above exist: a module that moved would pass every test."""
    asked = imported(folder, "--isolated", "--format", "json", "--jobs", "2", "program.yaml")
    assert {"click", "json", "kube_gaplint.cli.check", "kube_gaplint.cli.clicked", "kube_gaplint.report.json"} <= asked
    assert "kube_gaplint.report.github" in imported(folder, "--isolated", "--format", "github", "program.yaml")
