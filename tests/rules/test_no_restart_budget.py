"""What RETRY001 says of each controller, and how surely."""

from __future__ import annotations

import pytest

from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Finding, Severity

POD = """{restartPolicy: RESTART, PLACE containers: [{name: pytorch, image: "a/b:1",
  command: [torchrun, --nnodes=4, t.py OPTIONS],
  resources: {limits: {nvidia.com/gpu: GPUS}}}]}"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: a, annotations: ANNOTATIONS}
spec: {completions: 4, parallelism: 4, completionMode: Indexed, BACKOFF template: {spec: POD}}
"""
SET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a, annotations: ANNOTATIONS}
spec:
  BACKOFF
  replicatedJobs:
  - {name: n, template: {spec: {completions: 4, parallelism: 4, backoffLimit: 0, template: {spec: POD}}}}
"""
PYTORCH = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a, annotations: ANNOTATIONS}
spec: {BACKOFF pytorchReplicaSpecs: {Worker: {replicas: 4, restartPolicy: RESTART, template: {spec: POD}}}}
"""
VOLCANO = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: a, annotations: ANNOTATIONS}
spec: {BACKOFF minAvailable: 4, tasks: [{name: n, replicas: 4, template: {spec: POD}}]}
"""
WARNING, ERROR = Severity.WARNING, Severity.ERROR
SPOT = "nodeSelector: {karpenter.sh/capacity-type: spot},"


def found(
    kind: str,
    backoff: str = "",
    place: str = "",
    options: str = "",
    gpus: int = 8,
    annotations: str = "{}",
    restart: str = "Never",
) -> Finding | None:
    text = kind.replace("POD", POD).replace("BACKOFF", backoff).replace("PLACE", place).replace("OPTIONS", options)
    text = text.replace("GPUS", str(gpus)).replace("ANNOTATIONS", annotations).replace("RESTART", restart)
    request = Request(paths=("-",), stdin=text.encode(), select=("RETRY001",), min_severity=Severity.INFO)
    findings = lint(request).findings
    assert len(findings) <= 1
    return findings[0] if findings else None


@pytest.mark.parametrize(
    ("kind", "backoff", "message"),
    [
        (JOB, "backoffLimit: 0,", "backoffLimit is 0: the first pod that fails ends the Job"),
        (
            SET, "",
            "there is no failurePolicy, and backoffLimit of the child Job is 0: the first pod that fails ends the "
            "JobSet",
        ),
        (
            SET, "failurePolicy: {maxRestarts: 0}",
            "failurePolicy.maxRestarts is 0: the first pod that fails ends the JobSet",
        ),
        (
            SET, "failurePolicy: {restartStrategy: Recreate}",
            "failurePolicy.maxRestarts is 0, the default: the first pod that fails ends the JobSet",
        ),
        (
            SET, "failurePolicy: {maxRestarts: 9, rules: [{name: r, action: FailJobSet}]}",
            "a rule with action FailJobSet matches every failure of its pods: the first pod that fails ends the JobSet",
        ),
        (PYTORCH, "", "the restartPolicy of Worker is Never: the first pod that fails ends the PyTorchJob"),
        (VOLCANO, "", "no policy restarts the job on PodFailed: the first pod that fails ends the Job"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("place", "severity"), [("", WARNING), (SPOT, ERROR)])
def test_what_is_said(kind: str, backoff: str, message: str, place: str, severity: Severity) -> None:
    one = found(kind, backoff, place)
    assert one is not None
    assert (one.severity, one.message) == (severity, message)
    assert len(one.related) == (place != "")
    assert one.consequence == (
        "a person has to notice it and start the job again; "
        "at 5 failures per 1,000 node-days 4 nodes with 32 GPUs see one about every 50 days"
    )
    assert one.fix is not None
    assert one.fixable in ("no", "unsafe")


@pytest.mark.parametrize(
    ("kind", "backoff"),
    [
        (JOB, ""), (JOB, "backoffLimit: 1,"), (JOB, "backoffLimit: $N,"), (SET, "failurePolicy: {maxRestarts: 1}"),
        (
            JOB,
            "backoffLimit: 0, podFailurePolicy: {rules: [{action: Ignore, onPodConditions: "
            "[{type: DisruptionTarget}]}]},",
        ),
        (VOLCANO, "maxRetry: 3, policies: [{event: PodFailed, action: RestartJob}],"),
    ],
)  # fmt: skip
def test_nothing_is_said_where_something_restarts_it(kind: str, backoff: str) -> None:
    assert found(kind, backoff) is None


def test_runs_that_lose_little() -> None:
    assert found(JOB, "backoffLimit: 0,", annotations='{gaplint.dev/run-days: "0.04"}') is None
    assert found(JOB, "backoffLimit: 0,", annotations='{gaplint.dev/run-days: "0.05"}') is not None


def test_ranks_that_meet_in_a_file_are_not_to_be_restarted() -> None:
    assert found(JOB, "backoffLimit: 0,", options=", --dist-url, 'file:///shared/x'") is None
    assert found(JOB, "backoffLimit: 0,", options=", --dist-url, 'tcp://x:1'") is not None


def test_the_exit_code_decides_under_exit_code() -> None:
    assert found(PYTORCH, restart="ExitCode") is None


@pytest.mark.parametrize(
    ("options", "careful", "edit"),
    [
        ("--train-iters=9000 --save=/ckpt --load=/ckpt --save-interval=100", False, True),
        ("--train-iters=9000 --save=/ckpt --save-interval=100", True, False), ("", True, True),
    ],
)  # fmt: skip
def test_a_restart_helps_only_programs_that_go_on(options: str, careful: bool, edit: bool) -> None:
    given = ", ".join(options.split())
    kind = SET.replace("POD", POD.replace("t.py OPTIONS", f"pretrain_gpt.py, {given}" if given else "t.py"))
    finding = found(kind, "failurePolicy: {maxRestarts: 0}")
    assert finding is not None
    assert finding.fix is not None
    assert finding.fix.title.startswith("see to it that a new start goes on") == careful
    assert bool(finding.fix.changes) == edit
