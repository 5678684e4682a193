"""Programs of a repository that lies on a volume of the pod, or in its image."""

from __future__ import annotations

from pathlib import Path

import pytest

from kube_gaplint import discover
from kube_gaplint.bundle import bundle
from kube_gaplint.kinds import build
from kube_gaplint.model.profile import Profile

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
      volumes: [{{name: home, {volume}}}]
"""


@pytest.mark.parametrize(
    ("folder", "volume", "seen"),
    [
        ("/home/me/speech", "persistentVolumeClaim: {claimName: home}", True),
        ("/work/speech", "persistentVolumeClaim: {claimName: home}", True),
        ("/home/me/other", "persistentVolumeClaim: {claimName: home}", False),
    ],
)
def test_a_checkout_is_told_by_the_name_of_the_repository(folder: str, volume: str, seen: bool, tmp_path: Path) -> None:
    top = tmp_path / "speech"
    top.mkdir()
    (top / "job.yaml").write_text(JOB.format(folder=folder, volume=volume), encoding="utf-8")
    (top / "train.py").write_text("import torch\ntorch.save({}, '/home/x.pt')\n", encoding="utf-8")
    (workload,) = build(bundle.load(discover.discover((str(top),))).bundle, Profile()).workloads
    (process,) = workload.processes
    assert (next(process.text.texts, None) is not None) == seen


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
    top = tmp_path / "speech"
    top.mkdir()
    job = JOB.format(folder="/", volume="persistentVolumeClaim: {claimName: home}")
    job = job.replace("[python, train.py]", f"[bash, -c, {script!r}]")
    (top / "job.yaml").write_text(job, encoding="utf-8")
    (top / "train.py").write_text("import torch\ntorch.save({}, '/home/x.pt')\n", encoding="utf-8")
    if project:
        (top / "setup.py").write_text("from setuptools import setup\n\nsetup()\n", encoding="utf-8")
    (workload,) = build(bundle.load(discover.discover((str(top),))).bundle, Profile()).workloads
    (process,) = workload.processes
    assert (next(process.text.texts, None) is not None) == seen
