"""Budgets of restarts against the failures to expect, and nodes that may be taken away."""

from __future__ import annotations

import pytest
from job_samples import workload

from kube_gaplint.facts.placement import is_spot
from kube_gaplint.model.budget import (
    deciding_layer,
    failures_over_the_run,
    large,
    proposed_budget,
    several_pods,
    time_between_failures,
)
from kube_gaplint.model.placement import any_spot
from kube_gaplint.model.profile import Profile

JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: a, annotations: {annotations}}}
spec:
  failurePolicy: {{maxRestarts: 3}}
  replicatedJobs:
  - name: node
    template:
      spec:
        parallelism: {nodes}
        completions: {nodes}
        backoffLimit: 0
        template:
          spec:
            restartPolicy: Never
            {placement}
            containers:
            - {{name: t, image: x, command: [torchrun, train.py], resources: {{limits: {{nvidia.com/gpu: 8}}}}}}
"""


def jobset(nodes: object = 128, annotations: str = "{}", placement: str = "nodeSelector: {}") -> str:
    return JOBSET.format(nodes=nodes, annotations=annotations, placement=placement)


def test_failures_to_expect_follow_from_nodes_and_days() -> None:
    found = workload(jobset(128, '{gaplint.dev/run-days: "30"}'))
    assert failures_over_the_run(found, Profile()) == pytest.approx(19.2)
    assert proposed_budget(found, Profile()) == 39
    assert failures_over_the_run(found, Profile(failures_per_1000_node_days=10)) == pytest.approx(38.4)


def test_nothing_is_expected_of_an_unknown_length_or_size() -> None:
    assert failures_over_the_run(workload(jobset(128)), Profile()) is None
    assert failures_over_the_run(workload(jobset("$N", '{gaplint.dev/run-days: "30"}')), Profile()) is None


def test_a_proposed_budget_stays_within_bounds() -> None:
    assert proposed_budget(workload(jobset(2)), Profile()) == 10
    assert proposed_budget(workload(jobset(4000)), Profile()) == 100


def test_the_deciding_layer_is_the_one_that_restarts_the_whole() -> None:
    layer = deciding_layer(workload(jobset(4)))
    assert layer is not None
    assert layer.owner == "JobSet"


def test_size() -> None:
    assert several_pods(workload(jobset(2)))
    assert not several_pods(workload(jobset(1)))
    assert not several_pods(workload(jobset("$N")))
    assert large(workload(jobset(1)))
    assert not large(workload(jobset(1)), accelerators=16)


def test_time_between_failures_in_words() -> None:
    shown = time_between_failures(workload(jobset(8)), Profile())
    assert shown == "at 5 failures per 1,000 node-days 8 nodes with 64 GPUs see one about every 25 days"
    assert time_between_failures(workload(jobset("$N")), Profile()) == ""
    assert time_between_failures(workload(jobset(8)), Profile(failures_per_1000_node_days=0)) == ""


@pytest.mark.parametrize(
    ("key", "value", "spot"),
    [
        ("karpenter.sh/capacity-type", "spot", True),
        ("karpenter.sh/capacity-type", "on-demand", False),
        ("eks.amazonaws.com/capacityType", "SPOT", True),
        ("cloud.google.com/gke-spot", "true", True),
        ("cloud.google.com/gke-spot", "false", False),
        ("cloud.google.com/gke-preemptible", "true", True),
        ("cloud.google.com/gke-provisioning", "spot", True),
        ("kubernetes.azure.com/scalesetpriority", "spot", True),
        ("oci.oraclecloud.com/oke-is-preemptible", "true", True),
        ("example.com/hotspot", "true", False),
        ("team", "robotics", False),
    ],
)
def test_labels_of_spot_nodes(key: str, value: str, spot: bool) -> None:
    assert is_spot(key, value) is spot


@pytest.mark.parametrize(
    ("placement", "spot"),
    [
        ("nodeSelector: {karpenter.sh/capacity-type: spot}", True),
        ("nodeSelector: {karpenter.sh/capacity-type: on-demand}", False),
        ('tolerations: [{key: cloud.google.com/gke-spot, operator: Equal, value: "true"}]', False),
        ("tolerations: [{operator: Exists}]", False),
        (
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]}]}}}",
            True,
        ),
        (
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}]}]}}}",
            False,
        ),
    ],
)
def test_placement_of_pods(placement: str, spot: bool) -> None:
    assert (any_spot(workload(jobset(2, placement=placement)).roles) is not None) is spot
