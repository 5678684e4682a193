from __future__ import annotations

import re
from collections.abc import Iterator

from kube_gaplint import lazy_re
from kube_gaplint.findings import Fix, Gap, SetKey, Severity
from kube_gaplint.model.budget import OUTER_OWNERS, several_pods
from kube_gaplint.model.needs import keeps_pods
from kube_gaplint.model.retry import restart_policies
from kube_gaplint.model.scale import idle_cost, noun, size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

_POLICY = "spec.runPolicy.cleanPodPolicy"
_DEBUG = lazy_re.compile(r"(?:^|[-_./])debug(?:$|[-_./])", re.IGNORECASE)


@rule(
    code="RETRY005",
    name="survivors-hold-gpus",
    view=Workload,
    needs=(keeps_pods,),
    severity=Severity.WARNING,
    evidence=("kubeflow-1579", "mpi-launcher-policy"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """When the job has failed or ended, its other pods keep running and hold their GPUs.

    ## What it flags
    A Kubeflow job of several pods with restartPolicy Never, or an MPIJob, whose `cleanPodPolicy` is None. None is the
    default of both operators, whatever the comment in the API of the mpi-operator says. Jobs in an AppWrapper, which
    deletes them as a whole, and jobs with a debug label are left alone.

    ## Why it hurts
    A worker of a PyTorchJob failed and the job was marked Failed, but twelve minutes later the master still ran on its
    GPUs: it waited for a rank that would not come. An MPIJob's workers are ssh servers that never end by themselves, so
    that they outlive even a launcher that succeeded.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v2beta1
    kind: MPIJob
    metadata: {name: resnet}
    spec:
      mpiReplicaSpecs:
        Launcher:
          template:
            spec:
              containers:
              - name: mpi
                image: horovod/horovod:0.28.1
                command: [mpirun, -np, "32", python, train.py]
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: mpi
                image: horovod/horovod:0.28.1
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v2beta1
    kind: MPIJob
    metadata: {name: resnet}
    spec:
      runPolicy: {cleanPodPolicy: Running}
      mpiReplicaSpecs:
        Launcher:
          template:
            spec:
              containers:
              - name: mpi
                image: horovod/horovod:0.28.1
                command: [mpirun, -np, "32", python, train.py]
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: mpi
                image: horovod/horovod:0.28.1
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    While somebody debugs a job and wants to look into the pods that are left.

    ## Fix safety
    Safe: `Running` deletes only pods that still run when the job is over; those that ended stay with their logs.

    ## References
    - https://github.com/kubeflow/trainer/issues/1579
    - https://github.com/kubeflow/mpi-operator/blob/master/pkg/apis/kubeflow/v2beta1/default.go
    """
    kind = workload.subject.kind
    group = workload.subject.api_version.partition("/")[0]
    policy = workload.fields.get(_POLICY)
    if group != "kubeflow.org" or not workload.trains or not isinstance(policy, Set) or policy.value != "None":
        return
    if not _leaves_survivors(workload) or any(layer.owner in OUTER_OWNERS for layer in workload.restarts):
        return
    if any(_DEBUG.search(text) for text in _labels(workload)):
        return
    if kind != "MPIJob" and "Never" not in restart_policies(workload).values():
        return
    hour = _held_by_the_rest(workload)
    default = "" if policy.origin.written else ", the default"
    key = _key(workload)
    how = "the launcher has ended" if kind == "MPIJob" else "one pod has failed and the job is over"
    yield Gap(
        policy.origin,
        f"cleanPodPolicy is None{default}: when {how}, the other pods stay and keep their {noun(workload)}s",
        f"up to {hour} for every hour until somebody deletes the job" if hour else f"{size(workload)} stay occupied",
        detail="cleanPodPolicy",
        fix=Fix(
            f"set {'.'.join(key)}: Running",
            (SetKey(Origin(workload.origin.place, node=workload.origin.node), ("spec", *key), "Running"),),
            safe=True,
        ),
    )


def _key(workload: Workload) -> tuple[str, ...]:
    """Where its operator looks for the policy, below `spec`: the oldest knows no cleanPodPolicy in runPolicy."""
    if (workload.subject.kind, workload.subject.api_version) == ("MPIJob", "kubeflow.org/v1alpha2"):
        return ("cleanPodPolicy",)
    return ("runPolicy", "cleanPodPolicy")


def _held_by_the_rest(workload: Workload) -> str:
    """What the pods that are left keep for an hour: all but the one that failed, whose devices are free again."""
    nodes, each = workload.nodes, workload.accelerators_per_node
    if workload.subject.kind == "MPIJob" or not isinstance(nodes, Set) or not isinstance(each, Set):
        return idle_cost(workload, 3600.0)
    return f"{(nodes.value - 1) * each.value:,} {noun(workload)}-hours"


def _leaves_survivors(workload: Workload) -> bool:
    """Several pods train; of an MPIJob one worker is enough to outlive its launcher."""
    if workload.subject.kind != "MPIJob":
        return several_pods(workload)
    return any(
        role.name != "Launcher" and isinstance(role.replicas, Set) and role.replicas.value > 1
        for role in workload.roles
    )


def _labels(workload: Workload) -> Iterator[str]:
    for table in (workload.labels, workload.annotations, *(role.pod.labels for role in workload.roles)):
        for key, value in table.items():
            yield key
            if isinstance(value, Set):
                yield value.value
