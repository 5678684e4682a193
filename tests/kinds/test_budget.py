"""Budgets of restarts against the failures to expect, and nodes that may be taken away."""

from __future__ import annotations

import pytest
from job_samples import workload
from msgspec.structs import replace

from kube_gaplint.facts.placement import is_spot
from kube_gaplint.model.budget import (
    deciding_layer,
    declared_short,
    endless_layer,
    failures_over_the_run,
    large,
    loses_nodes,
    proposed_budget,
    runs_once,
    several_pods,
    time_between_failures,
    whole_set,
)
from kube_gaplint.model.placement import any_spot
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Unknown
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Scope, Workload
from kube_gaplint.text.source import Place, Source, Span

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


# Layers of restarts

HERE = Origin(Place(Source("a", "a"), Span(0, 1)))


def layer(owner: str, budget: int | None = 0, scope: Scope = "workload", on: str = "failure eviction") -> RestartLayer:
    """A layer of restarts; `budget` None is one that is not known."""
    known = Unknown("by whom", HERE) if budget is None else Set(budget, HERE)
    return RestartLayer(owner, scope, known, HERE, frozenset(on.split()))


def restarted(*layers: RestartLayer, nodes: int = 4, days: float | None = None) -> Workload:
    annotations = "{}" if days is None else f'{{gaplint.dev/run-days: "{days}"}}'
    return replace(workload(jobset(nodes, annotations)), restarts=layers)


@pytest.mark.parametrize(
    ("layers", "decides"),
    [
        ([layer("JobSet"), layer("Job", scope="pod")], "JobSet"),
        ([layer("Argo Workflow"), layer("Job", scope="pod")], "Job"),
        ([layer("Argo Workflow"), layer("AppWrapper")], "Argo Workflow"),
        ([layer("Argo Workflow"), layer("Job", scope="pod"), layer("JobSet")], "JobSet"),
        ([layer("Job", on="eviction"), layer("kubelet", scope="container")], "kubelet"),
        ([layer("torchrun", scope="process")], None),
        ([layer("torchrun", scope="process"), layer("Job", scope="pod")], "Job"),
        ([layer("Job", on="node-loss")], None),
        ([], None),
    ],
)
def test_which_layer_decides(layers: list[RestartLayer], decides: str | None) -> None:
    found = deciding_layer(restarted(*layers))
    assert (found and found.owner) == decides


@pytest.mark.parametrize(
    ("one", "endless"),
    [
        (layer("Job", 100), False),
        (layer("Job", 101), True),
        (layer("Job", None), False),
        (layer("Job", 101, on="eviction"), False),
        (layer("torchrun", 101, scope="process"), True),
        *((layer(owner, 1_000), False) for owner in (
            "Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet", "RayCluster", "RayService", "kubelet",
            "Kueue", "Slurm", "Argo Workflow", "AppWrapper",
        )),
    ],
)  # fmt: skip
def test_layers_without_bound(one: RestartLayer, endless: bool) -> None:
    assert (endless_layer(restarted(one), Profile()) is one) is endless


@pytest.mark.parametrize(("budget", "endless"), [(299, False), (300, False), (301, True), (UNBOUNDED, True)])
def test_a_bound_of_three_times_the_failures_to_expect(budget: int, endless: bool) -> None:
    """1,000 nodes over 20 days: 100 failures."""
    found = restarted(layer("Job", budget), nodes=1_000, days=20)
    assert failures_over_the_run(found, Profile()) == pytest.approx(100)
    assert (endless_layer(found, Profile()) is not None) is endless


def test_no_bound_at_all_is_endless_whatever_is_expected() -> None:
    found = restarted(layer("Job", UNBOUNDED), nodes=1_000_000_000, days=1_000)
    expected = failures_over_the_run(found, Profile())
    assert expected is not None
    assert expected > UNBOUNDED
    assert endless_layer(found, Profile()) is not None


@pytest.mark.parametrize(
    ("layers", "whole"),
    [
        ([layer("JobSet", 1)], True),
        ([layer("JobSet", 0)], False),
        ([layer("JobSet", None)], False),
        ([layer("Job", 3), layer("JobSet", 3)], True),
        ([layer("Job", 3)], False),
        ([layer("JobSet", 3, on="eviction")], False),
    ],
)
def test_sets_that_restart_whole(layers: list[RestartLayer], whole: bool) -> None:
    assert (whole_set(restarted(*layers)) is not None) is whole


@pytest.mark.parametrize(
    ("layers", "loses"),
    [
        ([layer("Volcano", 0), layer("kubelet", 9)], True),
        ([layer("Volcano", 1)], False),
        ([layer("Volcano", 0), layer("Volcano", 1)], False),
        ([layer("Volcano", None)], False),
        ([layer("Job", 0)], False),
        ([], False),
    ],
)
def test_volcano_jobs_that_lose_nodes(layers: list[RestartLayer], loses: bool) -> None:
    assert loses_nodes(restarted(*layers)) is loses


@pytest.mark.parametrize(
    ("layers", "profile", "once"),
    [
        ([layer("Job", 0)], Profile(), True),
        ([layer("Job", 1)], Profile(), False),
        ([layer("Job", None)], Profile(), False),
        ([layer("RayJob", 0)], Profile(), False),
        ([layer("Job", 0)], Profile(supervisor=True), False),
        ([], Profile(), False),
    ],
)
def test_runs_that_nothing_makes_anew(layers: list[RestartLayer], profile: Profile, once: bool) -> None:
    found = restarted(*layers)
    found = replace(found, restart_budget=layers[0].budget if layers else Set(0, HERE))
    assert (runs_once(found, profile) is not None) is once


@pytest.mark.parametrize(
    ("pods", "several"), [([1, 1], True), ([2], True), ([1], False), ([0, 1], False), ([], False), ([None, 1], False)]
)
def test_several_pods_where_their_whole_number_is_not_known(pods: list[int | None], several: bool) -> None:
    found = workload(jobset(1))
    (role,) = found.roles
    assert role.trains
    known = [Unknown("$N", HERE) if count is None else Set(count, HERE) for count in pods]
    roles = tuple(replace(role, replicas=count) for count in known)
    assert several_pods(replace(found, nodes=Unknown("$N", HERE), roles=roles)) is several


# Lengths and numbers


@pytest.mark.parametrize(
    ("days", "deadline", "short"),
    [
        (None, None, False), (1, None, False), (0.01, None, True), (1 / 24, None, False), (0.0416, None, True),
        (None, 3_599, True), (None, 3_600, False), (1, 60, True), (0.01, 90_000, True),
    ],
)  # fmt: skip
def test_runs_that_are_declared_short(days: float | None, deadline: int | None, short: bool) -> None:
    found = workload(jobset(2))
    found = replace(
        found,
        run_days=Absent(HERE) if days is None else Set(days, HERE),
        deadline_seconds=Absent(HERE) if deadline is None else Set(deadline, HERE),
    )
    assert declared_short(found) is short


@pytest.mark.parametrize(
    ("nodes", "days", "budget"),
    [(1, None, 10), (2_000 // 15, None, 40), (4_000, None, 100), (1, 1, 10), (128, 30, 39), (1_000, 200, 2_000)],
)
def test_budgets_that_are_proposed(nodes: int, days: int | None, budget: int) -> None:
    """Twice what is to be expected; over a month, and at most 100, where the length is not known."""
    annotations = "{}" if days is None else f'{{gaplint.dev/run-days: "{days}"}}'
    assert proposed_budget(workload(jobset(nodes, annotations)), Profile()) == budget


def test_a_budget_is_proposed_for_one_node_where_their_number_is_not_known() -> None:
    often = Profile(failures_per_1000_node_days=1_000.0)
    assert proposed_budget(workload(jobset("$N")), often) == 60
    assert proposed_budget(workload(jobset(1)), often) == 60


@pytest.mark.parametrize(
    ("nodes", "rate", "shown"),
    [
        (1, 5.0, "at 5 failures per 1,000 node-days 1 node with 8 GPUs sees one about every 200 days"),
        (2, 5.0, "at 5 failures per 1,000 node-days 2 nodes with 16 GPUs see one about every 100 days"),
        (1, 1.0, "at 1 failure per 1,000 node-days 1 node with 8 GPUs sees one about every 1000 days"),
        (1, 0.9995, ""),
        (0, 5.0, ""),
        (8, 0.5, "at 0.5 failures per 1,000 node-days 8 nodes with 64 GPUs see one about every 250 days"),
    ],
)
def test_time_between_failures_at_its_bounds(nodes: int, rate: float, shown: str) -> None:
    found = replace(workload(jobset(nodes or 1)), nodes=Set(nodes, HERE))
    assert time_between_failures(found, Profile(failures_per_1000_node_days=rate)) == shown


@pytest.mark.parametrize(
    ("nodes", "gpus", "expected"), [(1, 1, True), (2, 1, False), (2, 3, False), (2, 4, True), (3, 2, False)]
)
def test_failures_of_pods_that_may_share_machines(nodes: int, gpus: int, expected: bool) -> None:
    text = jobset(nodes, '{gaplint.dev/run-days: "30"}').replace("nvidia.com/gpu: 8", f"nvidia.com/gpu: {gpus}")
    assert (failures_over_the_run(workload(text), Profile()) is not None) is expected
