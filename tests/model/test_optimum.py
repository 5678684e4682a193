"""The best time between saves, bounded by the time that the job has."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads

from kube_gaplint.model.optimum import optimum, seconds_of_run
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.training import TrainingProcess


def job(folder: Path, limit: str, declared: str, options: str = "") -> TrainingProcess:
    (workload,) = workloads(
        folder,
        job_sbatch=f"""\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --gpus-per-node=8
        {limit}
        # gaplint: {declared}
        srun python pretrain_gpt.py --tensor-model-parallel-size 2 --save /ckpt {options}
        """,
    )
    (found,) = workload.processes
    return found


@pytest.mark.parametrize(
    ("limit", "declared", "options", "seconds", "reason"),
    [
        # the time between failures of 4 nodes is 50 days: √(2 · 60 · 50 days), and Daly's correction
        ("", "save-seconds=60", "", 22_708, "the optimum for 4 nodes is about 6.3 h"),
        ("#SBATCH --time=30-0", "save-seconds=60", "", 22_708, "the optimum for 4 nodes is about 6.3 h"),
        ("#SBATCH --time=10:00:00", "save-seconds=60", "", 3_600, "a tenth of the 10 h that the job has is 60 min"),
        ("", "save-seconds=60 run-days=1", "", 8_640, "a tenth of the 24 h that the job has is 2.4 h"),
        (
            "", "save-seconds=60 step-seconds=2", "--train-iters 9000", 1_800,
            "a tenth of the 5 h that the job has is 30 min",
        ),
        (
            "#SBATCH --time=10:00:00", "save-seconds=60 step-seconds=2", "--train-iters 9000", 1_800,
            "a tenth of the 5 h that the job has is 30 min",
        ),
    ],
)  # fmt: skip
def test_optimum(limit: str, declared: str, options: str, seconds: float, reason: str, tmp_path: Path) -> None:
    found = optimum(job(tmp_path, limit, declared, options), Profile())
    assert found is not None
    assert found.seconds == pytest.approx(seconds, rel=0.01)
    assert found.reason == reason


def test_without_the_time_of_a_save_there_is_none(tmp_path: Path) -> None:
    found = job(tmp_path, "#SBATCH --time=10:00:00", "step-seconds=2")
    assert optimum(found, Profile()) is None
    assert seconds_of_run(found, Profile()) == 36_000
