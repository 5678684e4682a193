"""EVICT001: the pool that it names, and for what that pool's nodes are taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged import finding, finding_in

_POOL = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  template:
    metadata: {labels: {tier: %s}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      expireAfter: Never
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6e, p5]}
  disruption: %s
---
"""
_JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: tune}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {tier: gold}
      containers:
      - name: trainer
        image: ghcr.io/acme/train:1.4
        command: [torchrun, --nproc-per-node=8, train.py]
        resources: {limits: {nvidia.com/gpu: 8}}
"""


@pytest.mark.parametrize(
    ("disruption", "causes"),
    [
        ("{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5m}", "a consolidation or a drifted image"),
        ("{consolidationPolicy: WhenEmpty, consolidateAfter: 5m}", "a drifted image"),
        (
            "{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5m, "
            'budgets: [{nodes: "0", reasons: [Drifted]}]}',
            "a consolidation",
        ),
    ],
)
def test_it_says_for_what_nodes_are_taken(disruption: str, causes: str) -> None:
    found = finding("EVICT001", _POOL % ("gpu", "gold", disruption) + _JOB)
    assert found is not None
    assert found.consequence == f"{causes} takes a node from under 1 node with 8 GPUs"


def test_it_names_the_pool_with_the_labels_that_the_pods_want() -> None:
    pools = "".join(_POOL % (name, tier, "{}") for name, tier in (("one", "silver"), ("two", "gold")))
    found = finding("EVICT001", pools + _JOB)
    assert found is not None
    assert found.message.endswith("(NodePool two)")


def test_it_names_the_pool_nearest_to_the_job(tmp_path: Path) -> None:
    for folder, name in (("docs/examples", "old"), ("live/pools", "new")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "pool.yaml").write_text(_POOL % (name, "gold", "{}"), encoding="utf-8")
    (tmp_path / "live" / "jobs").mkdir()
    (tmp_path / "live" / "jobs" / "tune.yaml").write_text(_JOB, encoding="utf-8")
    found = finding_in("EVICT001", tmp_path)
    assert found is not None
    assert found.message.endswith("(NodePool new)")
