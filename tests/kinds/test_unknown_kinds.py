"""Kinds that nobody told gaplint about, and any shape of the known ones: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import UNKNOWN, gpu_pod, plain, profile, workload, workloads
from node_samples import bundle_of

from kube_gaplint.kinds import build
from kube_gaplint.kinds.generic import UserKind
from kube_gaplint.model.setting import Unknown


def test_an_unknown_kind_is_claimed_as_far_as_its_template_goes() -> None:
    found = workload(
        "apiVersion: acme.example/v1\nkind: MegaTrain\nmetadata: {name: m}\nspec:\n  groups:\n"
        f"  - name: ranks\n    replicas: 4\n    podTemplate: {gpu_pod()}\n"
    )
    assert plain(found.accelerators_per_node) == 8
    assert plain(found.nodes) == UNKNOWN
    assert plain(found.restart_budget) == UNKNOWN
    assert plain(found.roles[0].pod.restart_policy) == UNKNOWN
    assert plain(found.roles[0].replicas) == 4
    assert found.roles[0].pod.overrides_unknown


@pytest.mark.parametrize(
    ("field", "saves"),
    [
        ("checkpointConfig: {interval: 30m}", True),
        ("recovery: {snapshotEvery: 30m}", True),
        ("checkpointing: true", True),
        ("checkpointing: false", False),
        ("checkpointConfig: {enabled: false}", False),
        ("checkpoint: None", False),
        ("replicas: 2", False),
    ],
)
def test_a_controller_that_is_told_of_checkpoints_may_take_them(field: str, saves: bool) -> None:
    found = workload(
        "apiVersion: acme.example/v1\nkind: MegaTrain\nmetadata: {name: m}\nspec:\n"
        f"  {field}\n  podTemplate: {gpu_pod('[python, train.py, --checkpoint-dir=/c]')}\n"
    )
    assert found.controller_saves is saves


def test_a_bare_pod_spec_in_an_unknown_kind_is_found() -> None:
    found = workload(
        "apiVersion: acme.example/v1\nkind: MegaTrain\nmetadata: {name: m}\n"
        "spec: {podSpec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n"
    )
    assert plain(found.accelerators_per_node) == 1
    assert found.roles[0].pod.containers[0].name == "c"


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: acme.example/v1\nkind: Gadget\nspec: {containers: 3}\n",
        "apiVersion: acme.example/v1\nkind: Gadget\nspec: {template: {spec: {containers: [{name: c, image: i}]}}}\n",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "spec: {x: {spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n",
    ],
)
def test_nothing_is_claimed_without_proof(text: str) -> None:
    assert workloads(text) == []


@pytest.mark.parametrize(
    "kind",
    ["batch/v1 Job", "jobset.x-k8s.io/v1alpha2 JobSet", "kubeflow.org/v1 PyTorchJob", "kubeflow.org/v2beta1 MPIJob",
     "trainer.kubeflow.org/v1alpha1 TrainJob", "batch.volcano.sh/v1alpha1 Job", "ray.io/v1 RayJob",
     "ray.io/v1 RayCluster",
     "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet", "sagemaker.amazonaws.com/v1 HyperPodPyTorchJob",
     "elastic.iml.github.io/v1alpha1 ElasticJob", "run.ai/v2alpha1 TrainingWorkload", "argoproj.io/v1alpha1 Workflow",
     "tekton.dev/v1 PipelineRun", "training.kubedl.io/v1alpha1 TFJob", "apps/v1 Deployment", "v1 Pod",
     "batch/v1 CronJob"],
)  # fmt: skip
@pytest.mark.parametrize(
    "spec", ["", "spec: ${SPEC}", "spec: {}", "spec: [1]", "spec: {template: [], tasks: {}, runPolicy: 3}"]
)
def test_any_shape_is_read(kind: str, spec: str) -> None:
    version, name = kind.split()
    for found in workloads(f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: x}}\n{spec}\n"):
        assert not isinstance(found.restart_budget, Unknown) or found.restart_budget.reason


def test_a_kind_of_the_users_own() -> None:
    text = (
        "apiVersion: acme.example/v1\nkind: MegaTrain\nmetadata: {name: m}\nspec:\n  groups:\n"
        f"  - name: ranks\n    size: 4\n    pod: {gpu_pod()}\n  - name: cpu\n    size: 1\n"
        "    pod: {containers: [{name: c, image: i}]}\n  other: {containers: [{name: x, image: i}]}\n"
    )
    own = UserKind("acme.example", "MegaTrain", ("spec.groups.*.pod",), replicas="size")
    (found,) = build(bundle_of(main=text), profile(), [own]).workloads
    assert {one.name: plain(one.replicas) for one in found.roles} == {"ranks": 4, "cpu": 1}
    assert plain(found.restart_budget) == UNKNOWN


def test_katib_trials_are_what_they_hold() -> None:
    found = workload(
        "apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nmetadata: {name: e}\nspec:\n  trialTemplate:\n"
        "    trialSpec:\n      apiVersion: batch/v1\n      kind: Job\n"
        f"      spec: {{backoffLimit: 0, template: {gpu_pod(restartPolicy='Never')}}}\n"
    )
    assert found.subject.kind == "Job"
    assert plain(found.restart_budget) == UNKNOWN
