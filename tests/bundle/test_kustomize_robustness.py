"""No kustomization, however odd, stops the others from being judged."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kube_gaplint.bundle.bundle import load
from kube_gaplint.bundle.editing import Budget, Unbuildable, copied_mapping
from kube_gaplint.bundle.patching import json_patch, strategic_merge
from kube_gaplint.bundle.plain import plain
from kube_gaplint.discover import discover
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Mapping, Node, Sequence
from kube_gaplint.text.source import Source

WORDS = [
    "a", "name", "spec", "metadata", "containers", "env", "image", "$patch", "delete", "replace", "job.yaml", "p.yaml",
    "../x", ".", "Job", "train", "batch/v1", "kind", "apiVersion", "items", "List", "/spec/template", "/spec/0", "-1",
    "spec.template", "[name=a]", "*", "x=y", "add", "copy", "move", "op", "path", "from", "value", "(a+)+", "", "merge",
]  # fmt: skip
KEYS = [
    "resources", "bases", "components", "patches", "patchesStrategicMerge", "patchesJson6902", "configMapGenerator",
    "secretGenerator", "generatorOptions", "images", "replicas", "namePrefix", "nameSuffix", "namespace", "labels",
    "commonLabels", "commonAnnotations", "replacements", "vars", "configurations", "transformers", "generators",
]  # fmt: skip
INNER = [
    "target", "patch", "path", "options", "literals", "files", "envs", "env", "newTag", "newName", "digest", "count",
    "pairs", "fields", "includeSelectors", "source", "targets", "select", "reject", "fieldPaths", "fieldPath", "objref",
    "fieldref", "delimiter", "index", "create", "behavior", "labelSelector", "sourceValue", "type", "name", "kind",
]  # fmt: skip

scalars = st.one_of(st.sampled_from(WORDS), st.integers(-3, 3), st.booleans(), st.none())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS + INNER), inner, max_size=4)
    ),
    max_leaves=12,
)
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "labels": {"a": "b"}},
    "spec": {
        "template": {"spec": {"containers": [{"name": "a", "image": "torch:1", "env": [{"name": "x", "value": "y"}]}]}}
    },
}


def node_of(data: Any) -> Node:
    root = compose(Source("x", json.dumps(data))).documents[0].root
    assert root is not None
    return root


def tree(node: Node | None) -> list[int]:
    """The identities of all collections in a tree."""
    if isinstance(node, Mapping):
        return [id(node), *(one for entry in node for one in tree(entry.value))]
    if isinstance(node, Sequence):
        return [id(node), *(one for item in node for one in tree(item))]
    return []


@given(
    st.dictionaries(
        st.sampled_from(KEYS),
        st.one_of(values, st.lists(st.dictionaries(st.sampled_from(INNER), values, max_size=4), max_size=3)),
    ),
    values,
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_kustomization_is_built_or_noted(kustomization: dict[str, Any], patch: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        kustomization.setdefault("resources", ["job.yaml"])
        (root / "kustomization.yaml").write_text(json.dumps(kustomization) + "\n# gpu\n")
        (root / "job.yaml").write_text(json.dumps(JOB))
        (root / "p.yaml").write_text(json.dumps(patch))
        (root / "alone.yaml").write_text(json.dumps({**JOB, "metadata": {"name": "alone"}}))
        before = Path.cwd()
        os.chdir(root)
        try:
            outcome = load(discover(["."]))
        finally:
            os.chdir(before)
        assert "alone" in [kube.name for kube in outcome.bundle.objects]
        for kube in outcome.bundle.objects:
            plain(kube.node)
            collections = tree(kube.node)
            assert len(collections) == len(set(collections)), "a node stands in two places of one object"


@given(values)
@settings(max_examples=200, deadline=None)
def test_a_strategic_merge_ends_and_spares_the_patch(patch: Any) -> None:
    node = node_of(patch if isinstance(patch, dict) else {"spec": patch})
    assert isinstance(node, Mapping)
    before = plain(node)
    target = node_of(JOB)
    assert isinstance(target, Mapping)
    with suppress(Unbuildable):
        strategic_merge(copied_mapping(target, Budget()), node, Budget())
    assert plain(node) == before
    assert plain(target) == JOB


@given(
    st.lists(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "odd"])},
            optional={
                "path": st.sampled_from(["", "/", "/spec", "/spec/template/spec/containers/0", "/metadata/labels/a",
                                         "/spec/template/spec/containers/-", "/metadata/x/y", "spec", "/spec/~1~0"]),
                "from": st.sampled_from(["", "/spec", "/metadata/labels", "/spec/template/spec/containers/0"]),
                "value": values,
            },
        ),
        max_size=8,
    )
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_a_json_patch_ends_and_spares_the_operations(operations: list[dict[str, Any]]) -> None:
    node = node_of(operations)
    assert isinstance(node, Sequence)
    target = node_of(JOB)
    assert isinstance(target, Mapping)
    try:
        patched = json_patch(copied_mapping(target, Budget()), node, Budget())
    except Unbuildable:
        pass
    else:
        collections = tree(patched)
        assert len(collections) == len(set(collections))
    assert plain(node) == operations
    assert plain(target) == JOB
