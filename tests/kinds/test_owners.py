"""What stands above a job and starts it again: wrappers, owners, tools that labels give away, and queues.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import ABSENT, ENDLESS, UNKNOWN, gpu_pod, layers, plain, workload, workloads

from kube_gaplint.model.workload import Workload

OWNED = "ownerReferences: [{apiVersion: example.com/v1, kind: Sweep, name: s, uid: u}]"


def job(labels: str = "", annotations: str = "", more: str = "") -> Workload:
    return workload(
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, labels: {{{labels}}}, annotations: {{{annotations}}}, "
        f"{more}}}\nspec: {{backoffLimit: 0, template: {gpu_pod(restartPolicy='Never')}}}\n"
    )


def wrapped(kind: str, version: str, annotations: str = "", labels: str = "") -> Workload:
    return workload(
        f"apiVersion: {version}\nkind: {kind}\n"
        f"metadata: {{name: w, annotations: {{{annotations}}}, labels: {{kueue.x-k8s.io/queue-name: q}}}}\nspec:\n"
        "  components:\n  - template:\n      apiVersion: batch/v1\n      kind: Job\n"
        f"      metadata: {{name: inner, labels: {{{labels}}}}}\n"
        f"      spec: {{backoffLimit: 0, template: {gpu_pod(restartPolicy='Never')}}}\n"
    )


@pytest.mark.parametrize(
    ("annotation", "retries", "place"),
    [
        ("", 3, "annotations: "),
        ("workload.codeflare.dev.appwrapper/retryLimit: '7'", 7, "'7'"),
        ("workload.codeflare.dev.appwrapper/retryLimit: '$RETRIES'", UNKNOWN, "apiVersion: "),
    ],
)
def test_an_app_wrapper_resets_what_it_holds(annotation: str, retries: int | str, place: str) -> None:  # A9
    found = wrapped("AppWrapper", "workload.codeflare.dev/v1beta2", annotation)
    assert found.subject.kind == "Job"
    assert layers(found)[0] == ("AppWrapper", "workload", retries, "efn")
    assert found.restarts[0].origin.place.text.startswith(place)
    assert plain(found.restart_budget) == retries
    assert plain(found.gang_scheduled) is True


def test_an_older_app_wrapper_has_settings_of_its_own() -> None:
    found = wrapped("AppWrapper", "workload.codeflare.dev/v1beta1")
    assert layers(found)[0] == ("AppWrapper", "workload", UNKNOWN, "efn")
    assert plain(found.restart_budget) == UNKNOWN


@pytest.mark.parametrize(
    ("labels", "more", "owner"),
    [
        ("", OWNED, "Sweep"),
        ("dag_id: nightly", "", "Airflow"),
        ("flyte.org/execution: e", "", "Flyte"),
        ("dag_id: nightly", OWNED, "Airflow"),
        ("", "ownerReferences: [{apiVersion: example.com/v1, name: s, uid: u}]", "its owner"),
    ],
)
def test_who_made_the_job_may_make_it_again(labels: str, more: str, owner: str) -> None:
    found = job(labels, more=more)
    assert layers(found) == [(owner, "workload", UNKNOWN, "efn"), ("Job", "pod", 0, "efn")]
    assert plain(found.restart_budget) == UNKNOWN


def test_nobody_stands_above_a_plain_job() -> None:
    found = job("app: train", "note: a")
    assert layers(found) == [("Job", "pod", 0, "efn")]
    assert plain(found.restart_budget) == 0


def test_beside_a_wrapper_in_sight_labels_give_nobody_away() -> None:
    found = wrapped("AppWrapper", "workload.codeflare.dev/v1beta2", labels="dag_id: nightly")
    assert [owner for owner, *_ in layers(found)] == ["AppWrapper", "Job"]


@pytest.mark.parametrize(("queue", "waits"), [("kueue.x-k8s.io/queue-name: gpus", True), ("queue: gpus", False)])
def test_a_queue_admits_a_preempted_job_again(queue: str, waits: bool) -> None:
    found = job(queue)
    assert (("Kueue", "workload", ENDLESS, "e") in layers(found)) is waits
    for layer in found.restarts:
        if layer.owner == "Kueue":
            assert layer.origin.place.text == "gpus"


RESUME = "sagemaker.amazonaws.com/enable-job-auto-resume"
COUNT = "sagemaker.amazonaws.com/job-max-retry-count"


@pytest.mark.parametrize(
    ("annotations", "budget"),
    [
        (f"{RESUME}: 'true', {COUNT}: '4'", 4),
        (f"{RESUME}: 'true'", UNKNOWN),  # how often is not written
        (f"{RESUME}: 'false', {COUNT}: '4'", ABSENT),
        (f"{COUNT}: '4'", ABSENT),
    ],
)
def test_hyperpod_resumes_a_job_after_a_lost_node(annotations: str, budget: int | str) -> None:
    found = [layer for layer in layers(job(annotations=annotations)) if layer[0] == "HyperPod"]
    assert found == ([] if budget == ABSENT else [("HyperPod", "workload", budget, "n")])


def test_a_wrapper_that_only_applies_restarts_nothing() -> None:
    found = workload(
        "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: w}\nspec:\n"
        "  workload:\n    manifests:\n    - apiVersion: batch/v1\n      kind: Job\n      metadata: {name: inner}\n"
        f"      spec: {{backoffLimit: 0, template: {gpu_pod(restartPolicy='Never')}}}\n"
    )
    assert layers(found) == [("Job", "pod", 0, "efn")]


TEMPLATE = """\
  - name: {name}
    {retries}
    resource:
      action: create
      manifest: |
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: {name}}}
        spec: {{backoffLimit: 0, template: {pod}}}
"""


def test_an_argo_template_retries_the_job_that_it_makes() -> None:
    """Each by the strategy of its own template."""
    pod = gpu_pod(restartPolicy="Never")
    templates = "".join(
        TEMPLATE.format(name=name, retries=retries, pod=pod)
        for name, retries in (("first", ""), ("second", "retryStrategy: {limit: 5}"))
    )
    workflow = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  templates:\n"
    by_name = {one.subject.name: layers(one)[0] for one in workloads(workflow + templates)}
    assert by_name == {
        "first": ("Argo Workflow", "workload", 0, "efn"),
        "second": ("Argo Workflow", "workload", 5, "f"),
    }
