"""Fields in three states, and fields by path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_samples import ABSENT, UNKNOWN, plain

from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.paths import fields_of, steps
from kube_gaplint.model.setting import Set, Unknown
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
    written = [*fields.written()]
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 7.0", 7), ("a: '7.0'", UNKNOWN), ("a: -3", -3), ("a: '-3'", -3), ("a: ' 3 '", 3), ("a: '²'", UNKNOWN),
        (f"a: '{'1' * 19}'", int("1" * 19)), (f"a: '{'1' * 20}'", UNKNOWN), ("a: .inf", UNKNOWN), ("a: false", UNKNOWN),
    ],
)  # fmt: skip
def test_whole_numbers(text: str, expected: int | str) -> None:
    assert plain(part(text).integer("a")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: true", True), ("a: false", False), ("a: 'false'", False), ("a: 'off'", UNKNOWN), ("a: 'True'", True),
        ("a: 'maybe'", UNKNOWN), ("a: 0", UNKNOWN), ("a: ''", UNKNOWN), ("b: true", ABSENT),
    ],
)  # fmt: skip
def test_booleans(text: str, expected: bool | str) -> None:
    assert plain(part(text).boolean("a")) == expected
    assert part(text).is_true("a") is (expected is True)


@pytest.mark.parametrize(
    ("text", "number", "seconds", "count"),
    [
        ("a: 3", 3.0, 3.0, 3), ("a: 1.5", 1.5, 1.5, UNKNOWN), ("a: true", UNKNOWN, UNKNOWN, UNKNOWN),
        ("a: 2m", 0.002, 120.0, UNKNOWN), ("a: 1Ki", 1024.0, UNKNOWN, 1024),
        ("a: 999999999", 999_999_999.0, 999_999_999.0, 999_999_999),
        ("a: 1G", 1e9, UNKNOWN, UNKNOWN), ("a: -1G", -1e9, UNKNOWN, UNKNOWN), ("a: '3'", 3.0, 3.0, 3),
        ("a: 0x10", 16.0, 16.0, UNKNOWN),
    ],
)  # fmt: skip
def test_numbers(text: str, number: float | str, seconds: float | str, count: int | str) -> None:
    assert plain(part(text).number("a")) == number
    assert plain(part(text).seconds("a")) == seconds
    assert plain(part(text).count("a")) == count


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("a: [x, y]", ("x", "y"), ""),
        ("a: []", (), ""),
        ("b: 1", ABSENT, ""),
        ("a: text", UNKNOWN, "what stands there is no list"),
        ("a: ${LIST}", UNKNOWN, "${LIST}"),
        ("a: [x, null]", UNKNOWN, "an element is empty"),
        ("a: [x, $(Y)]", UNKNOWN, "$(Y)"),
        ("a: [x, [y]]", UNKNOWN, "no single value"),
    ],
)
def test_lists_of_texts(text: str, expected: object, reason: str) -> None:
    found = part(text).strings("a")
    assert plain(found) == expected
    assert isinstance(found, Unknown) is bool(reason)
    assert not isinstance(found, Unknown) or reason in found.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [x]", ""), ("b: 1", ""), ("a: text", "what stands there is no list"), ("a: ${LIST}", "${LIST}"),
        ("a: {b: c}", "what stands there is no list"), ("a: [x, '{{ y }}']", "template expression"),
    ],
)  # fmt: skip
def test_lists_that_may_have_more_elements(text: str, reason: str) -> None:
    found = part(text).at("a").open_list
    assert reason in found
    assert bool(found) is bool(reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a: $X {{ y }}", "$X {{ y }}"), ("a: 3", "3"), ("b: 1", ABSENT), ("a: [x]", UNKNOWN), ("a: null", ABSENT)],
)
def test_texts_as_they_stand(text: str, expected: str) -> None:
    assert plain(part(text).verbatim("a")) == expected


@pytest.mark.parametrize(
    ("text", "state"), [("a: 1", True), ("a: {}", True), ("b: 1", False), ("a: ~", False), ("a: $X", None)]
)
def test_states(text: str, state: bool | None) -> None:
    assert part(text).at("a").state is state


@pytest.mark.parametrize(
    ("text", "present"), [("a: ~", False), ("a: ''", True), ("a: 'null'", True), ("a: !!null ''", True)]
)
def test_only_a_plain_null_is_nothing(text: str, present: bool) -> None:
    assert part(text).at("a").present is present


def test_values_of_another_type_say_what_stands_there() -> None:
    found = part("a: many").integer("a")
    assert isinstance(found, Unknown)
    assert found.reason == "'many' is not of the type that belongs there"
    below = part("a: text").string("a", "b")
    assert isinstance(below, Unknown)
    assert below.reason == "what stands there is no mapping"


def test_what_is_known_of_the_beginning_of_a_placeholder() -> None:
    found = part("a: s3://bucket/${RUN}/x").string("a")
    assert isinstance(found, Unknown)
    assert found.prefix == "s3://bucket/"


def test_aliases_below_lists_are_remembered() -> None:
    found = part("x: &n {name: a}\ny: [*n, {name: b}]\n").at("y")
    first, second = found.items()
    assert [link.place.start.line for link in first.chain] == [2]
    assert second.chain == ()
    assert found.named("b") is not None
    assert found.named("c") is None


def test_values_without_an_alias_have_no_chain() -> None:
    found = part("x: &n 8\ny: *n\nz: 8\n")
    assert [len(part.chain) for _, part in found.entries()] == [0, 1, 0]


def test_the_place_of_a_value_is_without_its_key() -> None:
    whole = part("spec:\n  limit: 20\n").at("spec", "limit")
    assert whole.scalar_origin.place.text == "20"
    assert whole.origin.place.text == "limit: 20"
    missing = part("spec:\n  limit: 20\n").at("spec", "other")
    assert missing.scalar_origin == missing.origin
    default = missing.default(3, "the API's default")
    assert default.origin.node is missing.home
    assert whole.default(3, "").origin.node is whole.node
