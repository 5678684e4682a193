"""How files around a batch script submit it, and what that leaves unknown of the script."""

from __future__ import annotations

from pathlib import Path

import pytest

from kube_gaplint import discover
from kube_gaplint.bundle import bundle
from kube_gaplint.kinds import build
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.model.slurm import Batch

SCRIPT = "#!/bin/bash\n#SBATCH --gpus-per-node=8\nsrun python train.py\n"


def batch_of(folder: Path, files: dict[str, str], script: str = SCRIPT) -> Batch:
    for name, text in {**files, "jobs/big/train.slurm": script}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    loaded = bundle.load(discover.discover([str(folder)]))
    (found,) = (view for view in build(loaded.bundle, Profile()).views if isinstance(view, Batch))
    return found


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("jobs/big/README.md", "    sbatch --array=1-10%1 train.slurm"),
        ("jobs/big/README.md", "Start it with `sbatch --array=1-10%1 train.slurm`."),
        ("jobs/big/submit.sh", 'sbatch \\\n  --array=1-10%1 \\\n  "$WORK/jobs/big/train.slurm"'),
        ("jobs/big/notes.txt", "sbatch -a 1-10%1 ./train.slurm && squeue --me"),
        ("jobs/submit.sh", "sbatch --array=1-10%1 big/train.slurm"),
        ("README.md", "$ sbatch --array=1-10%1 jobs/big/train.slurm"),
        ("jobs/big/README.md", "sbatch --dependency=singleton train.slurm"),
        ("jobs/big/README.md", "sbatch --requeue train.slurm"),
    ],
)
def test_a_submission_beside_the_script_may_start_it_again(tmp_path: Path, name: str, line: str) -> None:
    found = batch_of(tmp_path, {name: f"# How to\n\n{line}\n"})
    unknown = found.requeue if "requeue" in line else found.continuation
    assert isinstance(unknown, Unknown)
    assert unknown.reason.startswith(f"{tmp_path / name} submits the script with -")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("jobs/big/README.md", "sbatch train.slurm"),
        ("jobs/big/README.md", "sbatch --array=1-10%1 retrain.slurm"),
        ("jobs/big/README.md", "sbatch --array=1-10%1 ../small/train.slurm"),
        ("jobs/big/README.md", "sbatch --wrap='python train.slurm' --array=1-10%1"),
        ("jobs/big/README.md", "sbatch evaluate.slurm --array=1-10%1 train.slurm"),
        ("jobs/big/README.md", "sbatch -d afterok:$BUILD train.slurm"),
        ("jobs/big/README.md", "xsbatch --array=1-10%1 train.slurm"),
        ("jobs/submit.sh", "sbatch --array=1-10%1 train.slurm"),
        ("jobs/other/README.md", "sbatch --array=1-10%1 train.slurm"),
        ("jobs/big/train.py", "sbatch --array=1-10%1 train.slurm"),
    ],
)
def test_other_commands_say_nothing_of_it(tmp_path: Path, name: str, line: str) -> None:
    assert isinstance(batch_of(tmp_path, {name: f"{line}\n"}).continuation, Absent)


@pytest.mark.parametrize(
    "files",
    [
        {"jobs/submit.sh": "export SBATCH_OPEN_MODE=append\nsbatch big/train.slurm\n"},
        {"jobs/submit.sh": "SBATCH_OPEN_MODE=append sbatch big/train.slurm\n"},
        {"jobs/big/Makefile": "export SBATCH_OPEN_MODE := append\nrun:\n\tsbatch train.slurm\n"},
        {"jobs/submit.sh": "source site.env\nsbatch big/train.slurm\n", "site.env": "export SBATCH_OPEN_MODE=append\n"},
        {"jobs/big/README.md": "# SBATCH_OPEN_MODE=append sbatch train.slurm\n"},
    ],
)
def test_variables_of_the_submitting_shell_count(tmp_path: Path, files: dict[str, str]) -> None:
    unknown = batch_of(tmp_path, files).open_mode
    assert isinstance(unknown, Unknown)
    assert "submits the script with SBATCH_OPEN_MODE" in unknown.reason


@pytest.mark.parametrize(
    "files",
    [
        {"jobs/submit.sh": "# export SBATCH_OPEN_MODE=append\nsbatch big/train.slurm\n"},
        {"jobs/submit.sh": "sbatch big/train.slurm\n", "site.env": "export SBATCH_OPEN_MODE=append\n"},
        {"jobs/submit.sh": "export SBATCH_OPEN_MODE=append\nsbatch other.slurm\n"},
        {"jobs/submit.sh": "export MY_SBATCH_OPEN_MODE=append\nsbatch big/train.slurm\n"},
    ],
)
def test_variables_that_no_submission_has(tmp_path: Path, files: dict[str, str]) -> None:
    assert batch_of(tmp_path, files).open_mode.value == "truncate"  # type: ignore[union-attr]


def test_the_other_variables_of_sbatch(tmp_path: Path) -> None:
    text = "export SBATCH_REQUEUE=1 SBATCH_TIMELIMIT=2:00:00 SBATCH_SIGNAL=B:USR1@120\nsbatch big/train.slurm\n"
    found = batch_of(tmp_path, {"jobs/submit.sh": text})
    assert isinstance(found.requeue, Unknown)
    assert found.workload is not None
    assert isinstance(found.workload.deadline_seconds, Unknown)
    assert isinstance(found.get("signal"), Unknown) or "signal" in found.submitted_with


def test_a_comment_in_the_script_itself_counts(tmp_path: Path) -> None:
    script = SCRIPT.replace("srun", "# submit: sbatch --array=1-10%1 train.slurm\nsrun")
    assert isinstance(batch_of(tmp_path, {}, script).continuation, Unknown)


def test_the_script_itself_says_what_a_submission_may_not_take_back(tmp_path: Path) -> None:
    script = SCRIPT.replace("#SBATCH", "#SBATCH --nodes=4\n#SBATCH", 1)
    files = {"jobs/big/README.md": "sbatch --nodes=8 --time=20:00 train.slurm\n"}
    workload = batch_of(tmp_path, files, script).workload
    assert workload is not None
    assert isinstance(workload.nodes, Set)
    assert workload.nodes.value == 4
    assert isinstance(workload.deadline_seconds, Unknown)


def test_what_a_submission_adds_is_no_line_of_the_script(tmp_path: Path) -> None:
    found = batch_of(tmp_path, {"jobs/big/README.md": "sbatch --array=1-10%1 train.slurm\n"})
    assert [directive.name for directive in found.directives] == ["gpus-per-node"]
