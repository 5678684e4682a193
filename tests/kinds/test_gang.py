"""What counts as a gang: whatever starts the pods of a job together or not at all."""

from __future__ import annotations

import pytest
from job_samples import UNKNOWN, plain, profile, workload

from kube_gaplint.model.setting import Set

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: team, labels: {%(label)s}, annotations: {%(annotation)s}}
spec:
  parallelism: 4
  %(job)s
  template:
    metadata: {labels: {%(pod_label)s}, annotations: {%(pod_annotation)s}}
    spec:
      %(pod)s
      containers: [{name: c, image: i, command: [torchrun, --nnodes=4, t.py], resources: {limits: {nvidia.com/gpu: 8}}}]
"""
PARTS = ("label", "annotation", "job", "pod_label", "pod_annotation", "pod")


def job(**parts: str) -> str:
    return JOB % {name: parts.get(name, "") for name in PARTS}


@pytest.mark.parametrize(
    ("parts", "expected", "system"),
    [
        ({}, False, ""),
        ({"label": "kueue.x-k8s.io/queue-name: q"}, True, "Kueue"),
        ({"label": 'kueue.x-k8s.io/queue-name: "{{ .Values.queue }}"'}, UNKNOWN, ""),
        ({"label": "ray.io/scheduler-name: volcano"}, True, "Volcano"),
        ({"label": "ray.io/scheduler-name: default-scheduler"}, False, ""),
        ({"pod_label": "kai.scheduler/queue: q"}, True, "KAI"),
        ({"pod_label": "scheduling.x-k8s.io/pod-group: g"}, True, "coscheduling"),
        ({"pod_annotation": "scheduling.k8s.io/group-name: g"}, True, "PodGroup"),
        ({"pod_annotation": "kueue.x-k8s.io/podset-required-topology: rack"}, True, "Kueue"),
        ({"annotation": "alpha.jobset.sigs.k8s.io/exclusive-topology: rack"}, True, "JobSet's exclusive placement"),
        ({"pod": "schedulerName: volcano"}, True, "Volcano"),
        ({"pod": "schedulerName: default-scheduler"}, False, ""),
        ({"pod": "schedulerName: of-our-own"}, UNKNOWN, ""),
        ({"pod": "schedulingGates: [{name: acme.example/hold}]"}, UNKNOWN, ""),
        ({"pod": "workloadRef: {name: w, podGroup: g}"}, True, "Kubernetes' workload API"),
        ({"job": "scheduling: {schedulingPolicy: {gang: {minCount: 4}}}"}, True, "Kubernetes' workload API"),
    ],
)
def test_signs_of_a_gang(parts: dict[str, str], expected: bool | str, system: str) -> None:
    gang = workload(job(**parts)).gang_scheduled
    assert plain(gang) == expected
    if isinstance(gang, Set) and gang.value:
        assert gang.origin.note == system


def queue(name: str, namespace: str) -> str:
    return (
        f"apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        "spec: {clusterQueue: c}"
    )


@pytest.mark.parametrize(("name", "namespace", "expected"), [
    ("default", "team", True), ("default", "other", False), ("research", "team", False),
])  # fmt: skip
def test_the_default_queue_of_the_namespace_takes_jobs_without_a_label(
    name: str, namespace: str, expected: bool
) -> None:
    assert plain(workload(f"{job()}\n---\n{queue(name, namespace)}").gang_scheduled) is expected


def test_the_profile_declares_what_the_cluster_does() -> None:
    assert plain(workload(job(), profile(gang_scheduler=True)).gang_scheduled) is True


def test_an_app_wrapper_resets_what_does_not_come_up_whole() -> None:
    inner = job().strip().replace("\n", "\n      ")
    text = (
        "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a}\nspec:\n  components:\n"
        f"  - template:\n      {inner}\n"
    )
    assert plain(workload(text).gang_scheduled) is True


def test_a_pod_group_is_found_by_its_name_on_the_pods() -> None:
    group = (
        "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g, namespace: team}\n"
        "spec: {minMember: 3}"
    )
    found = workload(f"{job(pod_label='scheduling.x-k8s.io/pod-group: g')}\n---\n{group}").surroundings.pod_groups
    assert [(one.name, plain(one.least)) for one in found] == [("g", 3)]
