"""What rules say of times that depend on something unknown: the bounds, not one guess."""

from __future__ import annotations

import pytest

from kube_gaplint.engine import Request, lint

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --time=1:00:00
{exports}
srun {image} {command}
"""
OLD_TORCH = "--container-image=pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime"
TRAIN = "python pretrain_gpt.py --tensor-model-parallel-size 2 --train-iters 90000 --save /s --save-interval 500"
RDMA_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: vlm}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template:
        spec:
          containers:
          - name: pytorch
            image: {image}
            command: [torchrun, train.py]
            resources: {{limits: {{nvidia.com/gpu: 8, rdma/ib: 1}}}}
"""


def consequence(code: str, text: str, name: str) -> str:
    (one,) = lint(Request(paths=("-",), stdin=text.encode(), stdin_filename=name, select=(code,))).findings
    return one.consequence


@pytest.mark.parametrize(
    ("exports", "image", "command", "wait"),
    [
        (
            "", "", "composer train.py $@",
            "until the collective or the job's limit of 60 min ends it: up to 8.0 GPU-hours",
        ),
        ("", OLD_TORCH, TRAIN, "until the job's limit of 60 min ends it: 8.0 GPU-hours"),
        (
            "export NCCL_ASYNC_ERROR_HANDLING=1", OLD_TORCH, TRAIN,
            "until the collective or the job's limit of 60 min ends it: up to 8.0 GPU-hours",
        ),
    ],
)  # fmt: skip
def test_a_dead_rank_holds_the_others_at_most(exports: str, image: str, command: str, wait: str) -> None:
    text = SCRIPT.format(exports=exports, image=image, command=command)
    assert consequence("SLURM001", text, "run.sbatch") == f"a dead rank leaves 4 nodes with 8 GPUs waiting {wait}"


@pytest.mark.parametrize(
    ("image", "away"),
    [
        ("registry.example/train:7", "about 7.5 s, with NCCL 2.23 or later 30 s,"),
        ("pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", "about 7.5 s"),
        ("pytorch/pytorch:2.7.0-cuda12.8-cudnn9-devel", "about 30 s"),
    ],
)
def test_a_link_is_waited_for_by_the_release(image: str, away: str) -> None:
    text = RDMA_JOB.format(image=image)
    expected = f"a link that is away for {away} ends the run of 4 nodes with 32 GPUs"
    assert consequence("NCCL005", text, "job.yaml") == expected
