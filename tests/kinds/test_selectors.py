"""Which labels a selector selects, and under which it is looked up."""

from __future__ import annotations

import pytest

from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.selectors import demands, pairs, select
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.compose import compose
from kube_gaplint.text.source import Source


def selector(text: str) -> Part:
    (document,) = compose(Source("a.yaml", f"selector: {text}\n")).documents
    assert document.root is not None
    return Part.of(document.root).at("selector")


def labels(part: Part) -> dict[str, Setting[str]]:
    origin = Origin(part.place)
    return {"app": Set("tune", origin), "tier": Set("gpu", origin), "run": Unknown("a template", origin)}


@pytest.mark.parametrize(
    ("text", "selected", "looked_up"),
    [
        ("{}", True, []),
        ("{matchLabels: {app: tune}}", True, [("app", "tune")]),
        ("{matchLabels: {app: serve}}", False, [("app", "serve")]),
        ("{matchLabels: {run: a}}", None, [("run", "a")]),
        ("{matchLabels: {app: '{{ name }}'}}", None, [("app", "")]),
        (
            "{matchExpressions: [{key: app, operator: In, values: [serve, tune]}]}", True,
            [("app", "serve"), ("app", "tune")],
        ),
        ("{matchExpressions: [{key: app, operator: In, values: [serve]}]}", False, [("app", "serve")]),
        ("{matchExpressions: [{key: app, operator: Exists}]}", True, [("app", "")]),
        ("{matchExpressions: [{key: other, operator: Exists}]}", False, [("other", "")]),
        ("{matchExpressions: [{key: other, operator: DoesNotExist}]}", True, []),
        ("{matchExpressions: [{key: run, operator: DoesNotExist}]}", False, []),
        ("{matchExpressions: [{key: app, operator: NotIn, values: [tune]}]}", False, []),
        ("{matchExpressions: [{key: other, operator: NotIn, values: [tune]}]}", True, []),
        ("{matchExpressions: [{key: run, operator: NotIn, values: [tune]}]}", None, []),
        ("{matchExpressions: [{key: app, operator: Like, values: [tune]}]}", None, []),
        (
            "{matchLabels: {app: tune}, matchExpressions: [{key: tier, operator: NotIn, values: [gpu]}]}", False,
            [("app", "tune")],
        ),
        ("{matchLabels: {run: a}, matchExpressions: [{key: tier, operator: DoesNotExist}]}", False, [("run", "a")]),
    ],
)  # fmt: skip
def test_selectors(text: str, selected: bool | None, looked_up: list[tuple[str, str]]) -> None:
    part = selector(text)
    asked = demands(part)
    assert asked is not None
    assert select(asked, labels(part)) is selected
    assert list(pairs(asked)) == looked_up


def test_no_selector_selects_nothing() -> None:
    assert demands(selector("")) is None
