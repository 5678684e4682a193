"""Which restarts have no bound for RETRY006, what it says of each controller, and the number that it writes."""

from __future__ import annotations

import pytest
from judged import finding

from kube_gaplint.findings import Finding, ReplaceValue, SetKey, Severity

POD = """{restartPolicy: Never, containers: [{name: pytorch, image: "registry.example/train:7",
  command: [torchrun, OPTIONS --nnodes=4, --nproc-per-node=8, train.py],
  resources: {limits: {nvidia.com/gpu: 8}}}]}"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sample}
spec: {LIMIT, completions: 4, parallelism: 4, completionMode: Indexed, template: {spec: POD}}
"""
SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: sample}
spec:
  failurePolicy: {LIMIT}
  replicatedJobs:
  - {name: n, template: {spec: {completions: 4, parallelism: 4, backoffLimit: 0, template: {spec: POD}}}}
"""
PYTORCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: sample}
spec: {LIMIT, pytorchReplicaSpecs: {Worker: {replicas: 4, restartPolicy: OnFailure, template: {spec: POD}}}}
"""
KUBEDL = PYTORCH.replace("kubeflow.org/v1", "training.kubedl.io/v1alpha1")
VOLCANO = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: sample}
spec:
  {LIMIT, policies: [{event: PodFailed, action: RestartJob}], tasks: [{name: n, replicas: 4, template: {spec: POD}}]}
"""
FOREVER = 2_147_483_647
IGNORED = "podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: NotIn, values: [0]}}]}"
LOST_AND_IGNORED = "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}"
ENDS = "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [1, 2]}}]}"


def found(kind: str, limit: str, options: str = "") -> Finding | None:
    return finding("RETRY006", kind.replace("POD", POD).replace("LIMIT", limit).replace("OPTIONS", options))


def times(owner: str, number: str) -> str:
    return f"{owner} may restart it {number} times, and no rule ends it for errors that a retry does not mend"


@pytest.mark.parametrize(
    ("kind", "limit", "message", "place"),
    [
        (JOB, "backoffLimit: 101", times("Job", "101"), "101"),
        (JOB, f"backoffLimit: {FOREVER}", times("Job", "2,147,483,647"), f"{FOREVER}"),
        (JOB, f"backoffLimit: 5000, {LOST_AND_IGNORED}", times("Job", "5,000"), "5000"),
        (SET, "maxRestarts: 1000", times("JobSet", "1,000"), "1000"),
        (VOLCANO, "maxRetry: 1000", times("Volcano", "1,000"), "1000"),
        (PYTORCH, "runPolicy: {backoffLimit: 5000}", times("training operator", "5,000"), "5000"),
    ],
)
def test_a_number_that_is_too_large(kind: str, limit: str, message: str, place: str) -> None:
    one = found(kind, limit)
    assert one is not None
    assert (one.severity, one.message) == (Severity.WARNING, message)
    assert one.consequence == (
        "a program that fails at its start does so again and again, and meanwhile nobody else gets its 4 nodes with "
        "32 GPUs"
    )
    assert one.origin.place.text == place
    assert one.fix is not None
    assert one.fix.title == "allow a number that covers the faults to expect, such as 10"
    assert [change.text for change in one.fix.changes if isinstance(change, ReplaceValue)] == ["10"]
    assert not one.fix.safe


@pytest.mark.parametrize(
    ("kind", "message", "added"),
    [
        (PYTORCH, "restartPolicy OnFailure without a backoffLimit: there is no limit to the restarts", True),
        (KUBEDL, "KubeDL retries without a backoffLimit: there is no limit to the restarts", False),
    ],
)
def test_without_a_number_there_is_no_limit(kind: str, message: str, added: bool) -> None:
    one = found(kind, "runPolicy: {cleanPodPolicy: Running}")
    assert one is not None
    assert one.message == message
    if kind == PYTORCH:
        assert one.origin.place.text == "runPolicy: {cleanPodPolicy: Running}"
    assert one.fix is not None
    changes = [(change.path, change.value) for change in one.fix.changes if isinstance(change, SetKey)]
    assert changes == [(("spec", "runPolicy", "backoffLimit"), 10)] * added


@pytest.mark.parametrize(
    ("kind", "limit", "owner", "place"),
    [
        (JOB, f"backoffLimit: 6, {IGNORED}", "Job", "6"),
        (
            SET, "maxRestarts: 3, rules: [{action: RestartJobSetAndIgnoreMaxRestarts}]", "JobSet",
            "{action: RestartJobSetAndIgnoreMaxRestarts}",
        ),
    ],
)  # fmt: skip
def test_a_rule_that_counts_no_failure(kind: str, limit: str, owner: str, place: str) -> None:
    one = found(kind, limit)
    assert one is not None
    rule = f"a rule lets {owner} restart it after failures of its own without counting them: there is no limit"
    assert one.message == rule
    assert one.origin.place.text == place
    assert one.fix is not None
    assert one.fix.title.startswith("leave only disruptions uncounted, and allow a number")
    assert one.fix.changes == ()


def test_restarts_of_a_launcher_are_left_to_its_author() -> None:
    one = found(JOB, "backoffLimit: 0", "--max-restarts=1000,")
    assert one is not None
    assert one.message == times("torchrun", "1,000")
    assert one.origin.place.text == "--max-restarts=1000"
    assert one.fix is not None
    assert one.fix.changes == ()


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        (JOB, "backoffLimit: 100"),
        (JOB, "backoffLimitPerIndex: 3"),
        (JOB, f"backoffLimit: 5000, {ENDS}"),
        (JOB, "backoffLimit: 5000, activeDeadlineSeconds: 864000"),
        (SET, "maxRestarts: 20"),
        (VOLCANO, "maxRetry: 20"),
        (PYTORCH, "runPolicy: {backoffLimit: 20}"),
        (PYTORCH, "runPolicy: {activeDeadlineSeconds: 864000}"),
    ],
)
def test_restarts_that_end(kind: str, limit: str) -> None:
    assert found(kind, limit) is None
