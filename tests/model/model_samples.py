"""Workloads read from manifests and scripts, for tests of what the model derives from them."""

from __future__ import annotations

import textwrap
from pathlib import Path

from kube_gaplint import discover
from kube_gaplint.bundle import bundle
from kube_gaplint.kinds import build
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Workload


def workloads(folder: Path, profile: Profile | None = None, **files: str) -> list[Workload]:
    """The workloads of some files; `job_yaml="…"` is a file called job.yaml."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(textwrap.dedent(text), encoding="utf-8")
    model = build(bundle.load(discover.discover((str(folder),))).bundle, profile or Profile())
    return model.workloads


def process(
    folder: Path,
    *,
    image: str = "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
    command: str = "[torchrun, train.py]",
    env: str = "[]",
    more: str = "",
    pod: str = "",
) -> TrainingProcess:
    """The training process of a PyTorchJob with four workers of eight GPUs."""
    (workload,) = workloads(
        folder,
        job_yaml=f"""\
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata: {{name: sample}}
        spec:
          pytorchReplicaSpecs:
            Worker:
              replicas: 4
              template:
                spec:
                  containers:
                  - name: pytorch
                    image: {image}
                    command: {command}
                    env: {env}
                    resources: {{limits: {{nvidia.com/gpu: 8}}}}
                    {more}
                  {pod}
        """,
    )
    (found,) = workload.processes
    return found
