from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity, put
from kube_gaplint.model.needs import is_mpi_job
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY012",
    name="mpi-launcher-policy",
    view=Workload,
    needs=(is_mpi_job,),
    severity=Severity.INFO,
    evidence=("mpi-launcher-policy",),
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The launcher of an MPIJob has a restart policy that its operator does not act on.

    ## What it flags
    An MPIJob whose launcher has `restartPolicy: ExitCode`, and an MPIJob v1 whose launcher has Never, its default,
    beside a `runPolicy.backoffLimit` above 0. In v2beta1 the launcher is a Job, whose backoffLimit makes a new pod
    under Never as well.

    ## Why it hurts
    A user wrote `backoffLimit: 3` and Never, and no new launcher came (mpi-operator#651; the MPIJob was v1). Another
    one chose ExitCode: the launcher ended with 137, which counts as retryable, the worker was made again, and the
    launcher was not (trainer#1768). The operator of v2beta1 refuses an MPIJob with ExitCode outright. Both jobs
    were small.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: MPIJob
    metadata: {name: resnet}
    spec:
      runPolicy: {cleanPodPolicy: Running, backoffLimit: 3}
      mpiReplicaSpecs:
        Launcher:
          restartPolicy: Never
          template:
            spec:
              containers:
              - name: mpi
                image: horovod/horovod:0.28.1
                command: [mpirun, -np, "32", python, train.py]
        Worker:
          replicas: 4
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: mpi
                image: horovod/horovod:0.28.1
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: MPIJob
    metadata: {name: resnet}
    spec:
      runPolicy: {cleanPodPolicy: Running, backoffLimit: 3}
      mpiReplicaSpecs:
        Launcher:
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: mpi
                image: horovod/horovod:0.28.1
                command: [mpirun, -np, "32", python, train.py]
        Worker:
          replicas: 4
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: mpi
                image: horovod/horovod:0.28.1
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where your operator's release was seen to restart the launcher with exactly this pair.

    ## Fix safety
    Unsafe: OnFailure starts the launcher again, and mpirun begins from the last checkpoint or from the start.

    ## References
    - https://github.com/kubeflow/mpi-operator/issues/651
    - https://github.com/kubeflow/trainer/issues/1768
    - https://github.com/kubeflow/mpi-operator/blob/master/pkg/apis/kubeflow/validation/validation.go
    """
    if workload.subject.kind != "MPIJob" or not workload.trains:
        return
    launcher = next((role for role in workload.roles if role.name == "Launcher"), None)
    if launcher is None:
        return
    policy, limit = launcher.fields["restartPolicy"], workload.fields["spec.runPolicy.backoffLimit"]
    version = workload.subject.api_version.rpartition("/")[2]
    if not isinstance(policy, Set):
        return
    change = put(policy.origin, launcher.origin, ("restartPolicy",), "OnFailure")
    fix = Fix("set restartPolicy: OnFailure on the launcher", (change,))
    if policy.value == "ExitCode":
        refuses = version == "v2beta1"
        yield Gap(
            policy.origin,
            "the launcher's restartPolicy is ExitCode, "
            + ("which the mpi-operator refuses" if refuses else "and the operator restarts no launcher for it"),
            "nothing starts" if refuses else "the first failure ends the job, whatever its exit code",
            detail="launcher ExitCode",
            fix=fix,
        )
    elif policy.value == "Never" and version == "v1" and _counts(limit):
        default = "" if policy.origin.written else ", the default"
        assert isinstance(limit, Set)
        yield Gap(
            limit.origin,
            f"backoffLimit is {limit.value}, but the launcher's restartPolicy is Never{default}: none of these retries "
            "takes place",
            "the first failure of the launcher ends the job",
            detail="launcher Never",
            related=(Related(policy.origin, "the launcher's policy"),),
            fix=fix,
        )


def _counts(limit: object) -> bool:
    return isinstance(limit, Set) and limit.origin.written and limit.value != "0"
