"""Objects of any shape are read without a crash: the API server would refuse them, gaplint looks at them before."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_samples import model
from node_samples import bundle_of

from kube_gaplint.kinds import ADAPTERS
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.generic import pod_templates

KEYS = [
    "spec", "template", "metadata", "containers", "initContainers", "env", "envFrom", "name", "value", "valueFrom",
    "command", "args", "resources", "limits", "requests", "nvidia.com/gpu", "volumes", "volumeMounts", "mountPath",
    "emptyDir", "claims", "replicas", "replicatedJobs", "failurePolicy", "rules", "maxRestarts", "backoffLimit",
    "podFailurePolicy", "tasks", "policies", "plugins", "minAvailable", "runPolicy", "elasticPolicy",
    "pytorchReplicaSpecs", "mpiReplicaSpecs", "Master", "Worker", "Launcher", "headGroupSpec", "workerGroupSpecs",
    "rayClusterSpec", "entrypoint", "leaderWorkerTemplate", "size", "workerTemplate", "runtimeRef", "trainer",
    "runtimePatches", "replicaSpecs", "templates", "container", "script", "steps", "retryStrategy", "timeout",
    "annotations", "labels", "nodeSelector", "tolerations", "affinity", "securityContext", "lifecycle",
    "livenessProbe", "schedulerName", "restartPolicy", "terminationGracePeriodSeconds", "jobTemplate",
]  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.sampled_from(["", "x", "${X}", "{{ y }}", "$(Z)", "8", "1e400", "-1"]),
)
SHAPES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
OBJECTS = sorted(f"{group or 'v1'}|{kind}" for group, kind in ADAPTERS)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(OBJECTS), st.dictionaries(st.sampled_from(KEYS), SHAPES, max_size=6))
def test_any_spec_is_read(which: str, spec: dict[str, object]) -> None:
    group, kind = which.split("|")
    version = group if group == "v1" else f"{group}/v1"
    for found in model(
        json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec})
    ).workloads:
        assert found.subject.kind == kind
        assert found.classified.reason
        list(found.fields)
        for role in found.roles:
            list(role.pod.fields)


@pytest.mark.parametrize("depth", [10, 150])
def test_deep_nesting_costs_no_recursion(depth: int) -> None:
    text = "apiVersion: a.example/v1\nkind: K\nspec: " + '{"a": ' * depth + "{}" + "}" * depth
    bundle = bundle_of(main=text)
    assert pod_templates(Part.of(bundle.objects[0].node)) == []


def test_many_elements_take_linear_time() -> None:
    containers = ", ".join(f"{{name: c{n}, image: i, command: [python, train.py]}}" for n in range(60))
    variables = ", ".join(f"{{name: V{n}, value: $(V{n - 1})}}" for n in range(2000))
    text = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n"
        f"spec: {{template: {{spec: {{containers: [{{name: v, image: i, env: [{variables}]}}, {containers}]}}}}}}\n"
    )
    (found,) = model(text).workloads
    assert len(found.roles[0].pod.containers) == 61
