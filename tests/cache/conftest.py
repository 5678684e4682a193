"""What the tests of the cache share."""

from __future__ import annotations

from pathlib import Path

import pytest
from caching import Runner

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: pretrain}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime
        command: [torchrun, --nnodes=4, train.py]
        envFrom: [{configMapRef: {name: nccl}}]
        resources: {limits: {nvidia.com/gpu: 8}}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """A folder with a job, and how to lint it."""
    folder = tmp_path / "work" / "repository"
    folder.mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (folder / "job.yaml").write_text(JOB)
    (folder / "notes.md").write_text("nothing")
    return Runner(tmp_path / "home" / "cache", folder, monkeypatch)
