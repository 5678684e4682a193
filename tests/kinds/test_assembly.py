"""What a workload is made of: sizes that add up, accelerators of a pod, budgets through layers, declared numbers."""

from __future__ import annotations

import pytest
from job_samples import ABSENT, UNKNOWN, plain, workload

from kube_gaplint.kinds.assembly import collective_nodes, over, product, text_setting, total, whole_budget
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown, Via
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer
from kube_gaplint.text.source import Place, Source, Span

SOURCE = Source("a", "0123456789")


def at(offset: int, via: Via = "written") -> Origin:
    return Origin(Place(SOURCE, Span(offset, offset + 1)), via)


HERE = at(0)


def count(value: int | str, offset: int = 1, via: Via = "written") -> Setting[int]:
    if isinstance(value, int):
        return Set(value, at(offset, via))
    return Absent(at(offset)) if value == ABSENT else Unknown(f"$N{offset}", at(offset))


def layer(budget: int | str, offset: int = 2, on: str = "failure", *, counted_above: bool = False) -> RestartLayer:
    value = count(budget, offset)
    return RestartLayer("Job", "pod", value, at(offset), frozenset(on.split()), counted_above=counted_above)


# Sizes


@pytest.mark.parametrize(
    ("counts", "expected", "offset"),
    [
        ([], ABSENT, 0),
        ([ABSENT, ABSENT], ABSENT, 0),
        ([4], 4, 1),
        ([ABSENT, 4], 4, 2),
        ([4, 3], 7, 0),
        ([4, UNKNOWN, 3], UNKNOWN, 2),
        ([UNKNOWN], UNKNOWN, 1),
    ],
)
def test_totals(counts: list[int | str], expected: int | str, offset: int) -> None:
    found = total([count(one, index) for index, one in enumerate(counts, 1)], HERE)
    assert plain(found) == expected
    assert isinstance(found, Unknown) is (expected == UNKNOWN)
    assert found.origin is not None
    assert found.origin.place.span.start == offset


@pytest.mark.parametrize(
    ("first", "second", "expected", "offset", "via"),
    [
        (count(3, 1), count(4, 2), 12, 1, "derived"),
        (count(3, 1, "default"), count(4, 2), 12, 2, "derived"),
        (count(3, 1, "default"), count(4, 2, "default"), 12, 2, "default"),
        (count(UNKNOWN, 1), count(4, 2), UNKNOWN, 1, "written"),
        (count(4, 1), count(UNKNOWN, 2), UNKNOWN, 2, "written"),
        (count(UNKNOWN, 1), count(UNKNOWN, 2), UNKNOWN, 1, "written"),
        (count(4, 1), count(ABSENT, 2), ABSENT, 2, "written"),
    ],
)
def test_products(first: Setting[int], second: Setting[int], expected: int | str, offset: int, via: str) -> None:
    found = product(first, second)
    assert plain(found) == expected
    assert isinstance(found, Unknown) is (expected == UNKNOWN)
    assert found.origin is not None
    assert (found.origin.place.span.start, found.origin.via) == (offset, via)


JOBS = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: a, annotations: {annotations}}}
spec:
  replicatedJobs:
  - name: one
    replicas: {first}
    template:
      spec:
        template:
          metadata: {{annotations: {inner}}}
          spec: {{containers: [{{name: t, image: x, command: [torchrun, t.py], resources: {{limits: {{{gpus}}}}}}}]}}
  - name: two
    replicas: {second}
    template:
      spec:
        template:
          spec: {{containers: [{{name: t, image: x, command: [torchrun, t.py], resources: {{limits: {{{others}}}}}}}]}}
"""


def jobs(
    first: object = 1,
    second: object = 1,
    gpus: str = "nvidia.com/gpu: 8",
    others: str = "nvidia.com/gpu: 4",
    annotations: str = "{}",
    inner: str = "{}",
) -> str:
    return JOBS.format(first=first, second=second, gpus=gpus, others=others, annotations=annotations, inner=inner)


@pytest.mark.parametrize(
    ("first", "second", "gpus", "others", "each"),
    [
        (1, 2, "nvidia.com/gpu: 8", "nvidia.com/gpu: 4", 4),
        (2, 1, "nvidia.com/gpu: 8", "nvidia.com/gpu: 4", 8),
        (2, 2, "nvidia.com/gpu: 8", "nvidia.com/gpu: 4", 8),
        ("$N", 1, "nvidia.com/gpu: 8", "nvidia.com/gpu: 4", 8),
        ("$N", 2, "nvidia.com/gpu: 8", "nvidia.com/gpu: 4", 4),
        (1, 2, "nvidia.com/gpu: 8", "memory: 1Gi", 8),
        (0, 0, "nvidia.com/gpu: 8", "memory: 1Gi", 8),
        (1, 1, "memory: 1Gi", "memory: 1Gi", ABSENT),
    ],
)
def test_accelerators_of_the_largest_role(
    first: object, second: object, gpus: str, others: str, each: int | str
) -> None:
    assert plain(workload(jobs(first, second, gpus, others)).accelerators_per_node) == each


@pytest.mark.parametrize(("master", "total"), [("memory: 1Gi", 16), ("nvidia.com/gpu: 8", 24)])
def test_a_master_without_accelerators_adds_none(master: str, total: int) -> None:
    found = workload(PYTORCH.format(master=master))
    assert (plain(found.nodes), plain(found.accelerators)) == (3, total)


def test_where_no_role_has_accelerators_all_may_train() -> None:
    found = workload(jobs(gpus="memory: 1Gi", others="memory: 1Gi"))
    assert [(one.name, one.trains) for one in found.roles] == [("one", True), ("two", True)]
    beside = workload(jobs(others="memory: 1Gi"))
    assert [(one.name, one.trains) for one in beside.roles] == [("one", True), ("two", False)]


@pytest.mark.parametrize(
    ("gpus", "declared", "each"),
    [
        ("nvidia.com/gpu: $N", 4, 4),
        ("nvidia.com/gpu: $N", None, UNKNOWN),
        ("nvidia.com/gpu: 8", 4, 8),
        ("memory: 1Gi", 4, ABSENT),
    ],
)
def test_the_profile_tells_only_a_number_that_is_not_known(gpus: str, declared: int | None, each: int | str) -> None:
    found = workload(jobs(gpus=gpus, others=gpus), Profile(gpus_per_node=declared))
    assert plain(found.accelerators_per_node) == each


def test_nodes_are_the_pods_of_roles_that_train() -> None:
    found = workload(jobs(2, 3))
    assert plain(collective_nodes(found.roles, HERE)) == 5
    found.roles[1].trains = False
    assert plain(collective_nodes(found.roles, HERE)) == 2


PYTORCH = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: t}}
spec:
  pytorchReplicaSpecs:
    Master:
      template: {{spec: {{containers: [{{name: pytorch, image: a, resources: {{limits: {{{master}}}}}}}]}}}}
    Worker:
      replicas: 2
      template: {{spec: {{containers: [{{name: pytorch, image: a, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}]}}}}
"""

# Budgets


@pytest.mark.parametrize(
    ("layers", "budget", "offset"),
    [
        ([], 0, 0),
        ([layer(0)], 0, 2),
        ([layer(3)], 3, 2),
        ([layer(1)], 1, 2),
        ([layer(1, 2), layer(1, 3)], 3, 3),
        ([layer(3, 2), layer(6, 3)], 27, 3),
        ([layer(3, 2), layer(0, 3)], 3, 2),
        ([layer(0, 2), layer(0, 3)], 0, 3),
        ([layer(3, 2), layer(6, 3, counted_above=True)], 3, 2),
        ([layer(3, 2, on="eviction"), layer(6, 3)], 6, 3),
        ([layer(3, 2, on="eviction")], 0, 0),
        ([layer(0, 2), layer(0, 3, on="eviction")], 0, 2),
        ([layer(ABSENT)], 0, 2),
        ([layer(UNKNOWN)], UNKNOWN, 2),
        ([layer(UNKNOWN, 2), layer(3, 3)], UNKNOWN, 2),
        ([layer(UNKNOWN, 2), layer(UNKNOWN, 3)], UNKNOWN, 3),
        ([layer(UNBOUNDED - 1)], UNBOUNDED - 1, 2),
        ([layer(UNBOUNDED)], UNBOUNDED, 2),
        ([layer(UNBOUNDED, 2), layer(UNKNOWN, 3)], UNBOUNDED, 2),
        ([layer(UNBOUNDED, 2), layer(UNBOUNDED, 3)], UNBOUNDED, 3),
        ([layer(2**16, 2), layer(2**16, 3)], UNBOUNDED, 3),
    ],
)
def test_budgets_multiply(layers: list[RestartLayer], budget: int | str, offset: int) -> None:
    found = whole_budget(layers, HERE)
    assert plain(found) == budget
    assert isinstance(found, Unknown) is (budget == UNKNOWN)
    assert found.origin is not None
    assert found.origin.place.span.start == offset


@pytest.mark.parametrize(
    ("layers", "inner", "budget", "offset"),
    [
        ([layer(3, 2)], 1, 7, 5),
        ([layer(3, 2)], 0, 3, 2),
        ([layer(0, 2)], 0, 0, 2),
        ([], 0, 0, 5),
        ([], 4, 4, 5),
        ([layer(0, 2, on="eviction")], 0, 0, 5),
        ([layer(3, 2)], UNKNOWN, UNKNOWN, 5),
        ([layer(UNBOUNDED, 2)], UNKNOWN, UNBOUNDED, 2),
        ([layer(2**30, 2)], UNKNOWN, UNKNOWN, 5),
        ([layer(UNKNOWN, 2)], UNKNOWN, UNKNOWN, 5),
        ([], UNBOUNDED, UNBOUNDED, 5),
    ],
)
def test_layers_around_a_budget(layers: list[RestartLayer], inner: int | str, budget: int | str, offset: int) -> None:
    found = over(layers, count(inner, 5))
    assert plain(found) == budget
    assert isinstance(found, Unknown) is (budget == UNKNOWN)
    assert found.origin is not None
    assert found.origin.place.span.start == offset


# Declared numbers


@pytest.mark.parametrize(
    ("annotations", "inner", "days"),
    [
        ("{}", "{}", ABSENT),
        ('{gaplint.dev/run-days: "30"}', "{}", 30.0),
        ("{}", '{gaplint.dev/run-days: "20"}', 20.0),
        ('{gaplint.dev/run-days: "30"}', '{gaplint.dev/run-days: "20"}', 30.0),
        ("{gaplint.dev/run-days: soon}", "{}", UNKNOWN),
        ("{gaplint.dev/run-days: null}", '{gaplint.dev/run-days: "20"}', 20.0),
    ],
)
def test_days_that_are_declared(annotations: str, inner: str, days: float | str) -> None:
    found = workload(jobs(annotations=annotations, inner=inner)).run_days
    assert plain(found) == days
    assert isinstance(found, Unknown) is (days == UNKNOWN)
    assert isinstance(found, Absent) is (days == ABSENT)


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: a, annotations: {annotations}}}
spec:
  activeDeadlineSeconds: {deadline}
  template: {{spec: {{containers: [
    {{name: t, image: x, command: [torchrun, train.py], resources: {{limits: {{nvidia.com/gpu: 8}}}}}}]}}}}
"""


@pytest.mark.parametrize(
    ("deadline", "annotations", "days"),
    [
        (86_400, "{}", 1.0), (86_399, "{}", ABSENT), (172_800, "{}", 2.0), ("$X", "{}", ABSENT),
        (172_800, '{gaplint.dev/run-days: "30"}', 30.0),
    ],
)  # fmt: skip
def test_a_deadline_of_days_is_the_length_of_the_run(deadline: object, annotations: str, days: float | str) -> None:
    assert plain(workload(JOB.format(deadline=deadline, annotations=annotations)).run_days) == days


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (3, "3"), (2.0, "2"), (0.5, "0.5"), (1e-7, "1e-07"), (10_000_000, "10000000")],
)
def test_typed_settings_as_text(value: float, text: str) -> None:
    assert text_setting(Set(value, HERE)) == Set(text, HERE)


def test_settings_without_a_value_stay_what_they_are() -> None:
    absent: Setting[int] = count(ABSENT)
    unknown: Setting[int] = count(UNKNOWN)
    assert text_setting(absent) is absent
    assert text_setting(unknown) is unknown
