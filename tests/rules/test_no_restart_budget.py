"""What RETRY001 says of each controller, and how surely."""

from __future__ import annotations

import pytest
from judged import finding

from kube_gaplint.facts.retry import IGNORE_RULES, RESTART_RULES
from kube_gaplint.findings import Finding, SetKey, Severity

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
UNCOUNTED = "podFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, values: [3]}}]},"
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
    return finding("RETRY001", text)


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
    one = found(kind, "failurePolicy: {maxRestarts: 0}")
    assert one is not None
    assert one.fix is not None
    assert one.fix.title.startswith("see to it that a new start goes on") == careful
    assert bool(one.fix.changes) == edit


def edits(one: Finding) -> list[tuple[tuple[str, ...], object]]:
    assert one.fix is not None
    return [(change.path, change.value) for change in one.fix.changes if isinstance(change, SetKey)]


GOES_ON = "pretrain_gpt.py, --train-iters=9000, --save=/ckpt, --load=/ckpt, --save-interval=100"
ALONG = f"--nnodes=4, --rdzv-backend=c10d, --rdzv-endpoint=a-0:29500, {GOES_ON}"
LONE = """
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {BACKOFF template: {spec: POD}}
"""
RESTART_OF_DISRUPTED = (("spec", "failurePolicy", "rules"), RESTART_RULES)


@pytest.mark.parametrize(
    ("kind", "backoff", "restart", "changes"),
    [
        (
            SET, "failurePolicy: {maxRestarts: 0}", "Never",
            [
                (("spec", "failurePolicy", "maxRestarts"), 10), RESTART_OF_DISRUPTED,
                (("podFailurePolicy", "rules"), IGNORE_RULES["JobSet"]),
            ],
        ),
        # A podFailurePolicy needs restartPolicy Never.
        (SET, "failurePolicy: {maxRestarts: 0}", "OnFailure", [(("spec", "failurePolicy", "maxRestarts"), 10)]),
        (
            SET.replace("backoffLimit: 0,", f"backoffLimit: 0, {UNCOUNTED}"), "failurePolicy: {maxRestarts: 0}",
            "Never", [(("spec", "failurePolicy", "maxRestarts"), 10)],
        ),
        (
            LONE, "backoffLimit: 0,", "Never",
            [(("backoffLimit",), 10), (("podFailurePolicy", "rules"), IGNORE_RULES["Job"])],
        ),
        (LONE, "backoffLimit: 0,", "OnFailure", [(("backoffLimit",), 10)]),
        # The pods of a Job come back one by one: a number alone makes no start of them all together.
        (JOB, "backoffLimit: 0,", "Never", []),
        # No number helps against a rule.
        (SET, "failurePolicy: {maxRestarts: 9, rules: [{name: r, action: FailJobSet}]}", "Never", []),
    ],
)  # fmt: skip
def test_what_the_fix_writes(kind: str, backoff: str, restart: str, changes: list[object]) -> None:
    going_on = kind.replace("POD", POD.replace("--nnodes=4, t.py", ALONG))
    one = found(going_on, backoff, restart=restart)
    assert one is not None
    assert edits(one) == changes


@pytest.mark.parametrize(
    ("kind", "backoff", "remedy"),
    [
        (JOB, "backoffLimit: 0,", "set backoffLimit, or let a JobSet with a failurePolicy restart all pods together"),
        (SET, "", "set failurePolicy.maxRestarts, so that the whole set starts again"),
        (
            SET, "failurePolicy: {maxRestarts: 9, rules: [{name: r, action: FailJobSet}]}",
            "let the rule match only what a restart does not mend (onJobFailureReasons: [PodFailurePolicy] beside a "
            "podFailurePolicy), and set maxRestarts",
        ),
        (PYTORCH, "", "set restartPolicy OnFailure and runPolicy.backoffLimit"),
        (
            VOLCANO, "",
            "add the policies {event: PodFailed, action: RestartJob} and {event: PodEvicted, action: RestartJob}",
        ),
    ],
)  # fmt: skip
def test_the_remedy_is_the_controllers_own(kind: str, backoff: str, remedy: str) -> None:
    one = found(kind.replace("POD", POD.replace("--nnodes=4, t.py", ALONG)), backoff)
    assert one is not None
    assert one.fix is not None
    assert one.fix.title == remedy


def test_ranks_that_meet_only_at_the_start_need_all_pods_anew() -> None:
    """With torchrun's static rendezvous a pod that the operator makes again finds no partners."""
    together = "let a JobSet restart all pods together, or start by torchrun with c10d under restartPolicy OnFailure"
    static = POD.replace("t.py", GOES_ON)
    for kind, backoff, said in ((PYTORCH, "", True), (JOB, "backoffLimit: 0,", False)):
        one = found(kind.replace("POD", static), backoff)
        assert one is not None
        assert one.fix is not None
        assert (one.fix.title == together) is said


@pytest.mark.parametrize(
    ("pods", "command", "severity"),
    [
        (4, "/opt/start", Severity.INFO),  # 4 GPUs, and nothing is seen of what they do
        (5, "/opt/start", WARNING),
        (4, "torchrun, --nnodes=4, t.py", WARNING),
    ],
)
def test_a_few_gpus_may_be_a_try(pods: int, command: str, severity: Severity) -> None:
    kind = PYTORCH.replace("replicas: 4", f"replicas: {pods}")
    one = found(kind.replace("POD", POD.replace("torchrun, --nnodes=4, t.py OPTIONS", command)), gpus=1)
    assert one is not None
    assert one.severity is severity


RAY = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: a}
spec:
  BACKOFF
  entrypoint: python /src/t.py
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: head, image: "rayproject/ray:2.9.0",
        volumeMounts: [{name: src, mountPath: /src}]}], volumes: [{name: src, configMap: {name: program}}]}}
    workerGroupSpecs:
    - groupName: w
      replicas: 4
      rayStartParams: {}
      template: {spec: {containers: [{name: worker, image: "rayproject/ray:2.9.0",
        resources: {limits: {nvidia.com/gpu: 8}}}]}}
"""
PROGRAM = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: program}
data:
  t.py: |
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer
    run = RunConfig(name="a", storage_path="s3://runs"CONFIG)
    TorchTrainer(train, scaling_config=ScalingConfig(num_workers=32, use_gpu=True), run_config=run).fit()
"""
UNLESS = (
    "backoffLimit is 0, the default: the loss of the head ends the RayJob, unless the program has retries of its own"
)
BOTH = "backoffLimit is 0, the default: the loss of the head ends the RayJob, and the program's max_failures is 0"


@pytest.mark.parametrize(
    ("program", "severity", "message"),
    [
        ("", Severity.INFO, UNLESS),
        (PROGRAM.replace("CONFIG", ", failure_config=FailureConfig(max_failures=0)"), WARNING, BOTH),
        (PROGRAM.replace("CONFIG", ", failure_config=FailureConfig(max_failures=N)"), Severity.INFO, UNLESS),
        (PROGRAM.replace("CONFIG", ", failure_config=FailureConfig(max_failures=3)"), None, ""),
    ],
)
def test_ray_has_retries_of_its_own(program: str, severity: Severity | None, message: str) -> None:
    one = found(RAY + program)
    assert (None if one is None else one.severity) is severity
    if one is not None:
        assert one.message == message


def test_retries_of_a_rayjob() -> None:
    assert found(RAY, "backoffLimit: 3") is None
