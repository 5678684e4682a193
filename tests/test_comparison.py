"""docs/comparison-rules.md: its codes exist, and each counterpart speaks where the other linter's check does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kube_gaplint import registry
from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Severity

PAGE = (Path(__file__).parent.parent / "docs" / "comparison-rules.md").read_text(encoding="utf-8")
ROWS = {
    name.strip(): counterpart
    for names, counterpart in re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \| [^|]+ \|$", PAGE, re.M)
    for name in names.split(",")
}
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: train}}
spec:
  runPolicy: {{backoffLimit: 3}}
  pytorchReplicaSpecs:
    Worker:
      replicas: {nodes}
      template:
        spec:
          containers:
          - name: pytorch
            image: nvcr.io/nvidia/pytorch:24.01-py3
            command: [torchrun, --nnodes={nodes}, --nproc-per-node=8, pretrain_gpt.py, {options}]
            env: [{env}]
            resources: {{limits: {{nvidia.com/gpu: 8, {resources}}}}}
"""
VOLCANO = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 2
  schedulerName: volcano
  plugins: {pytorch: []}
  tasks:
  - name: worker
    replicas: 4
    template:
      spec:
        containers:
        - name: worker
          image: nvcr.io/nvidia/pytorch:24.01-py3
          command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
          resources: {limits: {nvidia.com/gpu: 8}}
"""


def job(options: str = "--train-iters=100000", env: str = "", resources: str = "cpu: 96", nodes: int = 4) -> str:
    return JOB.format(options=options, env=env, resources=resources, nodes=nodes)


PARALLEL = job("--tensor-model-parallel-size=3, --pipeline-model-parallel-size=4")


@pytest.mark.parametrize(
    ("check", "manifest"),
    [
        ("NCCL-IB-001", job(env='{name: NCCL_IB_DISABLE, value: "1"}', resources="rdma/ib: 8")),
        ("PARALLEL-001", PARALLEL),
        ("PARALLEL-002", PARALLEL),
        ("DATALOADER-001", job("--num-workers=8", resources="cpu: 16")),
        ("CHECKPOINT-001", job("--train-iters=100000, --save=/ckpt, --save-interval=20000", nodes=64)),
        ("GANG-001", VOLCANO),
        ("distributed-training-no-gang-scheduling", job()),
        ("shm-too-small", job()),
        ("job-no-deadline", job()),
    ],
)
def test_the_counterpart_speaks(check: str, manifest: str, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(manifest, encoding="utf-8")
    found = {finding.code for finding in lint(Request((str(file),), min_severity=Severity.INFO)).findings}
    assert found & set(re.findall(r"[A-Z]+\d{3}", ROWS[check]))


def test_codes_exist() -> None:
    known = {row.code for row in registry.rules()}
    named = re.findall(r"(?<![\w-])[A-Z]{3,}\d{3}\b", PAGE)
    assert len(named) > 10
    assert [code for code in named if code not in known] == []


def test_every_check_has_a_counterpart_or_a_reason() -> None:
    table = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| Check"))]
    assert len(table) >= 20
    for line in table:
        _, _, counterpart, reason = (cell.strip() for cell in line.strip("|").split("|"))
        assert counterpart == "none" or re.fullmatch(r"[A-Z]+\d{3}(, [A-Z]+\d{3})*", counterpart), line
        assert len(reason.split()) >= 2, line
