from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.kubeflow import FIRST_RETRYABLE, expected_container
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import OUTER_OWNERS
from kube_gaplint.model.needs import restarted_by_training_operator
from kube_gaplint.model.pod import open_parts
from kube_gaplint.model.rendezvous import REMOTE_LAUNCHERS
from kube_gaplint.model.retry import restart_policies
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.training import BARE_LAUNCHERS, TrainingProcess
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule

_LIMIT = "spec.runPolicy.backoffLimit"


@rule(
    code="RETRY019",
    name="exit-code-policy-mismatch",
    view=Workload,
    needs=(restarted_by_training_operator,),
    severity=Severity.WARNING,
    evidence_kind="facts",
    sources=("training-operator-v1", "training-operator-webhook", "kubeflow-exit-code-1", "kubeflow-exit-code-2"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """restartPolicy ExitCode waits for exit codes that the program never gives, or that the operator never reads.

    ## What it flags
    A job of the training operator (PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob; the launcher of an MPIJob)
    - with `restartPolicy: ExitCode` whose program, as far as it is visible, ends with 1 to 127 after a fault: torchrun
      itself ends with 1 whatever happened to its workers, and so does Python after an uncaught CUDA or NCCL error;
    - with ExitCode and a `runPolicy.backoffLimit`, which does not count these restarts;
    - without a container of the name that the operator looks for (`pytorch`, `tensorflow` …): it reads the exit code of
      that one alone, and its webhook refuses the object (error).

    ## Why it hurts
    Under ExitCode the operator takes 1 to 127 for permanent errors and fails the job; only 128 and above, which stand
    for signals, start the pod again. So a run with this policy looks as if it were restarted after faults of the
    network and the GPUs, and ends with the first of them. The rule stands on the operator's code
    (`IsRetryableExitCode`, `ReconcilePods`); no report of a large run names this condition.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      runPolicy: {cleanPodPolicy: Running}
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          restartPolicy: ExitCode
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      runPolicy: {cleanPodPolicy: Running}
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          restartPolicy: ExitCode
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [bash, -c, "torchrun train.py || exit 138"]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where only signals (a pod that ran out of memory, 137) are to be retried, and every other failure shall end the job.

    ## Fix safety
    There is no automatic fix: OnFailure with a backoffLimit retries everything; a script that ends with 138 for faults
    and with less for errors of the program keeps the two apart.

    ## References
    - https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/util/train/train_util.go
    - https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/controller.v1/common/pod.go
    - https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/webhooks/pytorch/pytorchjob_webhook.go
    """
    if not workload.trains or not any(layer.owner == "training operator" for layer in workload.restarts):
        return
    name = expected_container(workload.subject.api_version, workload.subject.kind)
    unnamed = [role for role in workload.roles if _lacks(role, name)]
    if unnamed:
        yield from (_refused(workload, role, name) for role in unnamed)
        return
    if any(layer.owner in OUTER_OWNERS for layer in workload.restarts):
        return  # the job shall end, so that its owner starts all of it again
    ended = [role for role in workload.roles if _policy(role) is not None and _is_permanent(workload, role)]
    if ended:
        yield from (_permanent(workload, role) for role in ended)
        return
    limit = workload.fields[_LIMIT]
    policies = restart_policies(workload)
    if isinstance(limit, Set) and limit.origin.written and policies and set(policies.values()) == {"ExitCode"}:
        yield Gap(
            limit.origin,
            f"backoffLimit is {limit.value}, but all replicas have restartPolicy ExitCode: it does not count their "
            "restarts",
            "a pod that ends with 128 or more starts again without limit",
            detail="backoffLimit beside ExitCode",
            fix=Fix("bound the job by runPolicy.activeDeadlineSeconds, or use OnFailure, which the limit counts"),
        )


def _policy(role: Role) -> Set[str] | None:
    policy = role.fields["restartPolicy"]
    return policy if isinstance(policy, Set) and policy.value == "ExitCode" else None


# The container


def _lacks(role: Role, name: str) -> bool:
    """No container of its pods has the name; none of them may be hidden."""
    names = [container.name for container in role.pod.containers]
    hidden = role.pod.overrides_unknown or "containers" in open_parts(role.pod)
    return bool(name and names) and all(names) and name not in names and not hidden


def _refused(workload: Workload, role: Role, name: str) -> Gap:
    container = role.pod.containers[0]
    return Gap(
        container.origin,
        f"no container of {role.name} is named {name}: the operator's webhook refuses the {workload.subject.kind}",
        "nothing starts; an operator without the webhook reads the exit code of that container alone",
        detail="container name",
        severity=Severity.ERROR,
        fix=Fix(f"name the container that trains {name}"),
    )


# The exit code


def _is_permanent(workload: Workload, role: Role) -> bool:
    """All training programs of its pods are seen, and end with a code that the operator does not retry."""
    own = _ended_in(workload, role)
    return bool(own) and all(_code(process) is not None for process in own)


def _ended_in(workload: Workload, role: Role) -> list[TrainingProcess]:
    """The training programs whose end is that of a container of the role: mpirun's is the launcher's, though it trains
    in the workers, where an ssh server runs."""
    return [process for process in workload.processes if _held_by(workload, process) is role]


def _held_by(workload: Workload, process: TrainingProcess) -> Role:
    remote = any(launcher.kind in REMOTE_LAUNCHERS for launcher in process.launchers)
    if not remote or workload.subject.kind != "MPIJob":
        return process.role
    return next((role for role in workload.roles if role.name == "Launcher"), process.role)


def _code(process: TrainingProcess) -> int | None:
    """The code below 128 that the container ends with after a fault; None for another one, or where it is not known."""
    if process.end_status is None or not (process.launchers or process.program):
        return None
    code = process.end_status.code
    if code is None:
        return 1
    return code if 0 < code < FIRST_RETRYABLE else None


def _permanent(workload: Workload, role: Role) -> Gap:
    policy = _policy(role)
    process = _ended_in(workload, role)[0]
    assert policy is not None
    assert process.end_status is not None
    place = process.end_status.place
    agent = next((launcher.kind for launcher in process.launchers if launcher.kind not in BARE_LAUNCHERS), "")
    who = agent or process.command.name or "the program"
    fault = "any fault of its workers" if agent else "an uncaught error, be it of a GPU or of the network"
    return Gap(
        policy.origin,
        f"restartPolicy is ExitCode, but {who} ends with {_code(process)} after {fault}, and the operator takes 1 to "
        "127 for permanent errors",
        f"the first such fault fails the job: {size(workload)} wait for a person",
        detail="permanent exit code",
        related=(Related(process.origin if place is None else Origin(place), f"here {who} ends"),),
        fix=Fix("end the script with 128 or more where a retry helps (`|| exit 138`), or use OnFailure"),
    )
