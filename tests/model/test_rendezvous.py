"""Whether pods need one another, may be fewer, and hold all ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads

from kube_gaplint.model.rendezvous import computes_together, holds_all_ranks, may_shrink, spans_pods
from kube_gaplint.model.workload import Workload


def job(folder: Path, command: str, *, env: str = "[]", pod: str = "", pods: int = 4) -> Workload:
    (found,) = workloads(
        folder,
        job_yaml=f"""\
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: j}}
        spec:
          completionMode: Indexed
          parallelism: {pods}
          completions: {pods}
          template:
            spec:
              {pod}
              containers:
              - {{name: c, image: i, command: {command}, env: {env}, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}
        """,
    )
    return found


MASTER = '[{name: MASTER_ADDR, value: j-0.j}, {name: WORLD_SIZE, value: "%s"}]'


@pytest.mark.parametrize(
    ("command", "env", "pod", "expected"),
    [
        ("[torchrun, --nnodes=4, train.py]", "[]", "", True),
        ("[torchrun, '--nnodes=2:4', --rdzv-backend=c10d, train.py]", "[]", "", True),
        ("[torchrun, --standalone, --nproc-per-node=8, train.py]", "[]", "", False),
        ("[torchrun, --nproc-per-node=8, train.py]", "[]", "subdomain: j", False),
        ("[python, train.py]", MASTER % 4, "", True),
        ("[python, train.py]", "[]", "subdomain: j", True),
        ("[python, train.py]", "[]", "", None),
    ],
)
def test_pods_that_need_one_another(tmp_path: Path, command: str, env: str, pod: str, expected: bool | None) -> None:
    assert computes_together(job(tmp_path, command, env=env, pod=pod)) is expected


@pytest.mark.parametrize(
    ("command", "shrinks", "spans"),
    [
        ("[torchrun, --nnodes=4, train.py]", False, True),
        ("[torchrun, '--nnodes=2:4', --rdzv-backend=c10d, train.py]", True, True),
        ("[torchrun, --standalone, train.py]", False, True),
    ],
)
def test_size(tmp_path: Path, command: str, shrinks: bool, spans: bool) -> None:
    found = job(tmp_path, command)
    assert (may_shrink(found), spans_pods(found)) == (shrinks, spans)


def test_a_launcher_for_several_nodes_spans_pods(tmp_path: Path) -> None:
    assert spans_pods(job(tmp_path, "[torchrun, --nnodes=4, train.py]", pods=1))
    assert not spans_pods(job(tmp_path, "[torchrun, --standalone, train.py]", pods=1))


@pytest.mark.parametrize(
    ("command", "env", "expected"),
    [
        ("[torchrun, --nnodes=4, train.py]", "[]", True),
        ("[torchrun, --nnodes=5, train.py]", "[]", False),
        ("[python, train.py]", MASTER % 4, True),
        ("[python, train.py]", MASTER % 32, True),
        ("[python, train.py]", MASTER % 5, False),
        ("[python, train.py]", "[]", False),
    ],
)
def test_all_ranks(tmp_path: Path, command: str, env: str, expected: bool) -> None:
    assert holds_all_ranks(job(tmp_path, command, env=env)) is expected
