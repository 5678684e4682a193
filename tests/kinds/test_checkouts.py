"""Programs of a repository that lies on a volume of the pod, or in its image."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: a}}
spec:
  template:
    spec:
      containers:
      - name: c
        image: registry.example/train:7
        workingDir: {folder}
        command: [python, train.py]
        resources: {{limits: {{nvidia.com/gpu: 1}}}}
        volumeMounts: [{{name: home, mountPath: /home}}]
      volumes: [{{name: home, persistentVolumeClaim: {{claimName: home}}}}]
"""


def sees_program(top: Path, job: str, **files: str) -> bool:
    """Whether the job's program is read, in a repository of this folder's name."""
    top.mkdir()
    program = "import torch\ntorch.save({}, '/home/x.pt')\n"
    (workload,) = workloads(top, job_yaml=job, train_py=program, **files)
    (process,) = workload.processes
    return next(process.text.texts, None) is not None


@pytest.mark.parametrize(
    ("folder", "seen"), [("/home/me/speech", True), ("/srv/speech", True), ("/home/me/other", False)]
)
def test_a_checkout_is_told_by_the_name_of_the_repository(folder: str, seen: bool, tmp_path: Path) -> None:
    assert sees_program(tmp_path / "speech", JOB.format(folder=folder)) == seen


@pytest.mark.parametrize(
    ("script", "project", "seen"),
    [
        ("cd /app && pip install -e . && python train.py", True, True),
        ("cd /app; python3 -m pip install --no-deps -e .[dev]; python /app/train.py", True, True),
        ("cd /app && pip install -e . && python train.py", False, False),
        ("cd /app && pip install -r needs.txt && python train.py", True, False),
        ("cd /opt/apex && pip install . && cd /app && python train.py", True, False),
    ],
)
def test_a_project_is_told_by_its_installation(script: str, project: bool, seen: bool, tmp_path: Path) -> None:
    job = JOB.format(folder="/").replace("[python, train.py]", f"[bash, -c, {script!r}]")
    files = {"setup_py": "from setuptools import setup\n\nsetup()\n"} if project else {}
    assert sees_program(tmp_path / "speech", job, **files) == seen


@pytest.mark.parametrize(
    ("default", "seen"),
    [("/home/me/speech", True), ("/home/me/other", True), ("/home/me/speech/start.sh", False)],
)
def test_the_default_of_a_variable_leads_to_a_checkout(default: str, seen: bool, tmp_path: Path) -> None:
    """Whoever names another folder than the default has a second checkout there; of a file nobody knows that.

    A script of the same name beside the batch script was copied to a folder of another name.
    """
    top = tmp_path / "speech"
    top.mkdir()
    start = '"$CODE"' if default.endswith(".sh") else '"$CODE/start.sh"'
    script = f'#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8\nCODE="${{MY_CODE:-{default}}}"\nexec bash {start}\n'
    (workload,) = workloads(top, run_sbatch=script, start_sh="srun python train.py\n")
    assert workload.batch is not None
    assert [step.command.name for step in workload.batch.steps if step.trains] == (["srun"] if seen else [])
