"""Objects in documents, and what lists and wrappers carry."""

from __future__ import annotations

import textwrap

import pytest

from kube_gaplint.bundle.objects import KubeObject, objects_in
from kube_gaplint.bundle.plain import plain
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Mapping, Scalar, scalar
from kube_gaplint.text.source import Position, Source


def objects(text: str, path: str = "x.yaml") -> list[KubeObject]:
    out = []
    for document in compose(Source(path, textwrap.dedent(text))).documents:
        out.extend(objects_in(document))
    return out


def described(found: list[KubeObject]) -> list[str]:
    return ["/".join([*(owner.kind for owner in kube.wrapped_by), f"{kube.kind} {kube.name}"]) for kube in found]


def test_what_an_object_tells() -> None:
    (job,) = objects(
        """\
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata:
          name: train
          namespace: ml
          labels: {app: x, "n": 1}
          annotations:
            gaplint.dev/ignore: "CKPT001: why"
        """
    )
    assert (job.group, job.version, job.kind, job.name, job.namespace) == (
        "batch.volcano.sh", "v1alpha1", "Job", "train", "ml",
    )  # fmt: skip
    assert {name: value.text for name, value in job.labels.items()} == {"app": "x", "n": "1"}
    assert job.annotations["gaplint.dev/ignore"].place.start.line == 8
    assert job.is_a("batch.volcano.sh", "Job") and job.is_a(None, "Pod", "Job") and not job.is_a("batch", "Job")
    assert (job.place.start.line, job.wrapped_by, job.build, job.given) == (1, (), "", True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1",
        "[1, 2]",
        "text",
        "kind: Job",
        "apiVersion: v1",
        "apiVersion: [v1]\nkind: Job",
        "apiVersion: v1\nkind: {}",
    ],
)
def test_what_is_no_object(text: str) -> None:
    assert objects(text) == []


@pytest.mark.parametrize(
    "metadata", ["", "metadata:", "metadata: []", "metadata: {name: {a: b}}", "metadata: {name: }"]
)
def test_odd_metadata_gives_no_name(metadata: str) -> None:
    (kube,) = objects(f"apiVersion: v1\nkind: Pod\n{metadata}\n")
    assert (kube.name, kube.labels, kube.annotations) == ("", {}, {})


def test_the_core_group_is_empty() -> None:
    (pod,) = objects("apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}\n")
    assert (pod.group, pod.version, pod.name) == ("", "v1", "")


def test_a_list_is_transparent() -> None:
    found = objects(
        """\
        apiVersion: v1
        kind: List
        items:
        - {apiVersion: v1, kind: Pod, metadata: {name: a}}
        - apiVersion: v1
          kind: List
          items:
          - {apiVersion: v1, kind: Pod, metadata: {name: b}}
        - text
        - {apiVersion: v1, kind: Pod, metadata: {name: c}}
        """
    )
    assert described(found) == ["List/Pod a", "List/List/Pod b", "List/Pod c"]


def test_a_typed_list_gives_its_items_their_kind() -> None:
    found = objects("{apiVersion: batch/v1, kind: JobList, items: [{metadata: {name: a}, spec: {}}]}")
    assert [(kube.api_version, kube.kind, kube.name) for kube in found] == [("batch/v1", "Job", "a")]


def test_a_kind_that_only_ends_in_list_is_an_object() -> None:
    found = objects("apiVersion: x/v1\nkind: AllowList\nmetadata: {name: l}\nitems: [{host: a}]\n")
    assert described(found) == ["AllowList l"]


@pytest.mark.parametrize(
    ("version", "spec"),
    [
        ("v1beta2", "{components: [{template: TEMPLATE}]}"),
        ("v1beta1", "{resources: {GenericItems: [{replicas: 1, generictemplate: TEMPLATE}]}}"),
    ],
)
def test_components_of_an_appwrapper_know_their_owner(version: str, spec: str) -> None:
    inner = "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: t}}"
    found = objects(
        f"apiVersion: workload.codeflare.dev/{version}\nkind: AppWrapper\nmetadata: {{name: w}}\n"
        f"spec: {spec.replace('TEMPLATE', inner)}\n"
    )
    assert described(found) == ["AppWrapper w", "AppWrapper/PyTorchJob t"]
    assert found[1].wrapped_by == (found[0],)


def test_wrapping_has_an_end() -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: p}}"
    for _ in range(30):
        text = f"{{apiVersion: v1, kind: List, items: [{text}]}}"
    assert len(objects(text)) == 1


WORKFLOW = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: w-}
spec:
  templates:
  - name: train
    resource:
      action: create
      manifest: |
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata:
          name: {{workflow.name}}
          labels:
            x: "{{inputs.parameters.x}}"
        spec:
          runPolicy:
            backoffLimit: 3
  - name: gone
    resource:
      action: delete
      manifest: |
        apiVersion: batch/v1
        kind: Job
"""


def test_an_argo_manifest_is_an_object_that_points_into_the_outer_file() -> None:
    found = objects(WORKFLOW)
    assert described(found) == ["Workflow ", "Workflow/PyTorchJob {{workflow.name}}"]
    inner = found[1]
    assert inner.source is found[0].source
    assert inner.place.start == Position(10, 9)
    limit = scalar(inner.node, "spec", "runPolicy", "backoffLimit")
    assert limit is not None
    assert (limit.value, limit.place.start, limit.place.text) == (3, Position(18, 27), "3")
    name = inner.name_node
    assert name is not None and name.place.text == "{{workflow.name}}"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("style", [">", '"', "'"])
def test_an_argo_manifest_in_any_style(style: str, newline: str) -> None:
    inner = "{apiVersion: batch/v1, kind: Job, metadata: {name: j}}"
    value = f">-\n          {inner}" if style == ">" else f"{style}{inner}{style}"
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata: {name: c}\nspec:\n  workflowSpec:\n"
        f"    templates:\n    - resource:\n        action: apply\n        manifest: {value}\n"
    ).replace("\n", newline)
    found = objects(text)
    assert described(found) == ["CronWorkflow c", "CronWorkflow/Job j"]
    name = found[1].name_node
    assert name is not None and name.place.text == "j"


def test_several_documents_in_one_manifest() -> None:
    text = WORKFLOW.replace(
        "    backoffLimit: 3\n", "    backoffLimit: 3\n        ---\n        {apiVersion: v1, kind: Pod}\n"
    )
    assert described(objects(text)) == ["Workflow ", "Workflow/PyTorchJob {{workflow.name}}", "Workflow/Pod "]


def test_a_broken_manifest_is_a_problem_at_its_place() -> None:
    text = WORKFLOW.replace("{{workflow.name}}", "a: b").replace('"{{inputs.parameters.x}}"', "x")
    (workflow,) = objects(text)
    (problem,) = workflow.problems
    assert problem.kind == "syntax"
    assert 10 <= problem.place.start.line <= 18


def test_a_broken_manifest_with_expressions_is_a_template() -> None:
    text = WORKFLOW.replace("name: {{workflow.name}}", "name: {{workflow.name}}-x")
    (workflow,) = objects(text)
    assert workflow.problems == []


def test_yaml_in_a_config_map_is_not_applied() -> None:
    found = objects(
        """\
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: c}
        data:
          job.yaml: |
            apiVersion: batch/v1
            kind: Job
        """
    )
    assert described(found) == ["ConfigMap c"]


def test_aliases_and_merge_keys_are_data() -> None:
    (kube,) = objects(
        """\
        apiVersion: v1
        kind: Pod
        a: &a {x: 1, y: 2}
        b: *a
        c: {<<: *a, y: 3}
        """
    )
    assert plain(kube.node) == {
        "apiVersion": "v1", "kind": "Pod", "a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2}, "c": {"x": 1, "y": 3},
    }  # fmt: skip
    assert isinstance(kube.node.get("b"), Mapping) and isinstance(scalar(kube.node, "b", "x"), Scalar)
