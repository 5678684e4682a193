"""Fields in three states, and fields by path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_samples import ABSENT, UNKNOWN, plain

from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.paths import fields_of, steps
from kube_gaplint.model.setting import Set
from kube_gaplint.text.compose import compose
from kube_gaplint.text.source import Source


def part(text: str) -> Part:
    root = compose(Source("a.yaml", text)).documents[0].root
    assert root is not None
    return Part.of(root)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 4", 4),
        ('a: "4"', 4),
        ("a: 4.0", 4),
        ("a: 010", 8),  # sigs.k8s.io/yaml
        ("a: 4.5", UNKNOWN),
        ("a: true", UNKNOWN),
        ("a: many", UNKNOWN),
        ("a: ${N}", UNKNOWN),
        ('a: "{{ .Values.n }}"', UNKNOWN),
        ("a: [1]", UNKNOWN),
        ("a: null", ABSENT),
        ("a:", ABSENT),
        ("b: 4", ABSENT),
    ],
)
def test_integer(text: str, expected: int | str) -> None:
    assert plain(part(text).integer("a")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a: yes", True), ("a: 'true'", True), ("a: off", False), ("a: 1", UNKNOWN), ("a: $(FLAG)", UNKNOWN)],
)
def test_boolean(text: str, expected: bool | str) -> None:
    assert plain(part(text).boolean("a")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a: 90", 90.0), ("a: 1h30m", 5400.0), ("a: 500ms", 0.5), ("a: soon", UNKNOWN), ("a: 2d", 172800.0)],
)
def test_seconds(text: str, expected: float | str) -> None:
    assert plain(part(text).seconds("a")) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [('a: "8"', 8), ("a: 8000m", 8), ("a: 500m", UNKNOWN), ("a: 1k", 1000), ("a: $GPUS", UNKNOWN)]
)
def test_count(text: str, expected: int | str) -> None:
    assert plain(part(text).count("a")) == expected


def test_below_something_missing_everything_is_absent_and_below_a_placeholder_unknown() -> None:
    assert plain(part("b: 1").string("a", "x", "y")) == ABSENT
    assert plain(part("a: ${WHOLE}").string("a", "x", "y")) == UNKNOWN
    assert plain(part("a: text").string("a", "x")) == UNKNOWN


def test_an_absent_value_stands_where_it_would_be_written() -> None:
    found = part("spec:\n  template:\n    x: 1\n").string("spec", "template", "y")
    assert found.origin is not None
    assert found.origin.place.start.line == 2


def test_a_default_says_whose_it_is() -> None:
    found = part("a: 1").integer("b", default=6, note="the Job API's default")
    assert isinstance(found, Set)
    assert (found.value, found.origin.via, found.origin.note) == (6, "default", "the Job API's default")


def test_an_alias_points_at_the_anchored_value_and_remembers_the_alias() -> None:
    found = part("x: &n 8\ny: *n\n").integer("y")
    assert isinstance(found, Set)
    assert found.origin.place.start.line == 1
    assert [link.place.start.line for link in found.origin.chain] == [2]


PATHS = """
spec:
  tasks:
  - name: worker
    replicas: 3
  - replicas: 1
metadata:
  annotations:
    karpenter.sh/do-not-disrupt: "true"
"""


def test_fields_by_path() -> None:
    fields = fields_of(part(PATHS))
    assert plain(fields["spec.tasks[worker].replicas"]) == "3"
    assert plain(fields["spec.tasks[1].replicas"]) == "1"
    assert plain(fields["spec.tasks[7].replicas"]) == ABSENT
    assert plain(fields['metadata.annotations["karpenter.sh/do-not-disrupt"]']) == "true"
    assert "spec.tasks[worker].replicas" in fields
    assert "spec.maxRetry" not in fields
    assert plain(fields["spec.tasks"]) == ABSENT


def test_written_paths_name_every_key_where_it_stands() -> None:
    fields = fields_of(part(PATHS))
    written = dict(fields.written())
    assert "spec.tasks[worker].replicas" in written
    assert 'metadata.annotations["karpenter.sh/do-not-disrupt"]' in written
    key = fields.key("spec.tasks[1].replicas")
    assert key is not None
    assert key.place.text == "replicas"


def test_every_written_path_leads_back_to_its_value() -> None:
    fields = fields_of(part(PATHS))
    scalars = [path for path in fields if path in fields]
    assert len(scalars) == 4
    assert all(isinstance(fields[path], Set) for path in scalars)


@given(st.text(max_size=40))
def test_any_path_is_read(path: str) -> None:
    steps(path)
    fields_of(part(PATHS))[path]


def test_the_place_of_a_part_and_its_plain_value() -> None:
    from kube_gaplint.model.fields import plain_value

    fields = fields_of(part('{spec: {limit: 20, name: "20", jobs: [{name: a, x: 1}]}}'))
    assert plain_value(fields["spec.limit"]) == 20
    assert plain_value(fields["spec.name"]) == "20"
    assert plain_value(fields["spec.nothing"]) is None
    node = fields.place("spec.jobs[a]").node
    assert node is not None
    assert node.place.text == "{name: a, x: 1}"
