"""Fields that do nothing where they stand: every row is found where it stands astray, and no right field is."""

from __future__ import annotations

import re

import pytest

from kube_gaplint.facts.misplaced import FIELDS, LEVELS, STRAYS, is_known, nearest, strays

ROWS = [
    (group, version or "v1", kind, f"{location}.{stray.path}", stray)
    for (group, version, kind), levels in LEVELS.items()
    for level, location in levels
    for stray in STRAYS.get(level, [])
]


def concrete(path: str) -> str:
    """A pattern as somebody would write it."""
    return path.replace("*ReplicaSpecs", "pytorchReplicaSpecs").replace("*", "Worker").replace("[]", "[a-1]")


def plain(path: str) -> str:
    """A path without the names of elements."""
    return re.sub(r"\[[^\]]*\]", "[]", path)


@pytest.mark.parametrize(("group", "version", "kind", "path"), [row[:4] for row in ROWS])
def test_every_row_is_found_where_it_stands(group: str, version: str, kind: str, path: str) -> None:
    found = list(strays(group, version, kind, [concrete(path)]))
    assert len(found) == 1
    assert not found[0].misspelt
    assert found[0].right or found[0].note
    assert "*" not in found[0].right
    assert "[]" not in found[0].right


RIGHT = [
    (group, version or "v1", kind, f"{location}.{place}.{name}" if place else f"{location}.{name}")
    for (group, version, kind), levels in LEVELS.items()
    for level, location in levels
    for place, (fields, _) in FIELDS.get(level, {}).items()
    for name in fields.split()
]


def test_no_field_of_a_place_is_astray_there() -> None:
    for group, version, kind, path in RIGHT:
        for found in strays(group, version, kind, [concrete(path)]):
            # the common list of Kubeflow's kinds: MPIJob v1 alone has the one, PyTorchJob and PaddleJob the other
            assert found.path in ("spec.cleanPodPolicy", "spec.elasticPolicy"), path


def test_where_a_row_leads_is_a_field_there() -> None:
    for group, version, kind, path, _ in ROWS:
        known = {plain(concrete(one[3])) for one in RIGHT if one[:3] == (group, version, kind)}
        for found in strays(group, version, kind, [concrete(path)]):
            right = plain(found.right)
            holder = right.rpartition(".")[0]
            if right and any(one.rpartition(".")[0] == holder for one in known):
                assert right in known, f"{path} -> {right}"


def test_versions_differ() -> None:
    assert not list(strays("kubeflow.org", "v1", "MPIJob", ["spec.cleanPodPolicy"]))
    assert [one.right for one in strays("kubeflow.org", "v2beta1", "MPIJob", ["spec.cleanPodPolicy"])] == [
        "spec.runPolicy.cleanPodPolicy"
    ]
    assert not list(strays("kubeflow.org", "v1", "PyTorchJob", ["spec.elasticPolicy"]))
    assert list(strays("kubeflow.org", "v1", "TFJob", ["spec.elasticPolicy"]))
    assert not is_known("kubeflow.org", "v1alpha2", "MPIJob")
    assert not is_known("example.com", "v1", "Job")


def test_elements_keep_their_names() -> None:
    path = "spec.replicatedJobs[node].template.spec.template.spec.containers[t.1].terminationGracePeriodSeconds"
    found = list(strays("jobset.x-k8s.io", "v1alpha2", "JobSet", [path]))
    assert [one.right for one in found] == [
        "spec.replicatedJobs[node].template.spec.template.spec.terminationGracePeriodSeconds"
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("backOffLimit", "backoffLimit"),
        ("backoff_limit", "backoffLimit"),
        ("backofLimit", "backoffLimit"),
        ("ttlSecondAfterFinished", "ttlSecondsAfterFinished"),
        ("limit", ""),
        ("backoff", ""),
        ("template", ""),
        ("rule", "rules"),
    ],
)
def test_misspelt_names(name: str, meant: str) -> None:
    assert nearest(name, ("backoffLimit", "ttlSecondsAfterFinished", "rules")) == meant


def test_unknown_keys_say_nothing() -> None:
    paths = [
        "spec.x-retries",
        "spec.template.spec.containers[a].foo",
        "metadata.annotations.backOffLimit",
        "backOffLimit",
    ]
    assert not list(strays("batch", "v1", "Job", paths))
