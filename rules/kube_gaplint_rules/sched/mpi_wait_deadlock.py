from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.schedulers import WAITS_FOR_POD_GROUP
from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, SetKey, Severity
from kube_gaplint.model.gang import KUBEFLOW_MINIMUM
from kube_gaplint.model.needs import is_mpi_job
from kube_gaplint.model.setting import Absent, Origin, Set, Unknown
from kube_gaplint.model.units import as_integer
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

_CREATION = "spec.launcherCreationPolicy"


@rule(
    code="SCHED003",
    name="mpi-wait-deadlock",
    view=Workload,
    needs=(is_mpi_job,),
    severity=Severity.ERROR,
    evidence=("mpi-608",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """An MPIJob's launcher waits for the workers, and the workers' gang waits for the launcher.

    ## What it flags
    An MPIJob with `launcherCreationPolicy: WaitForWorkersReady` under a scheduler that waits for a PodGroup (Volcano,
    coscheduling; seen by a schedulingPolicy or the pods' schedulerName) whose `minAvailable` is unset, which means
    workers and launcher, or larger than the number of workers. Kueue admits by quota and waits for no pods; KAI makes
    its group without the launcher.

    ## Why it hurts
    The PodGroup asks for all workers and the launcher, but the operator makes the launcher only when the workers run.
    No pod is ever scheduled. A maintainer of the mpi-operator found it in the code (issue 608).

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v2beta1
    kind: MPIJob
    metadata: {name: resnet}
    spec:
      launcherCreationPolicy: WaitForWorkersReady
      runPolicy: {schedulingPolicy: {queue: research}}
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
      launcherCreationPolicy: WaitForWorkersReady
      runPolicy: {schedulingPolicy: {queue: research, minAvailable: 4}}
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
    Never.

    ## Fix safety
    Safe: as it stands the job does not start at all.

    ## References
    - https://github.com/kubeflow/mpi-operator/issues/608
    """
    if workload.subject.kind != "MPIJob" or workload.purpose == "cpu":
        return
    creation = workload.fields.get(_CREATION)
    workers = next((role.replicas for role in workload.roles if role.name == "Worker"), None)
    if not isinstance(creation, Set) or creation.value != "WaitForWorkersReady" or not isinstance(workers, Set):
        return
    group = _waits_for_group(workload)
    least = as_integer(workload.fields.get(KUBEFLOW_MINIMUM, Absent(workload.origin)))
    if group is None or workers.value < 1 or isinstance(least, Unknown):
        return
    number = str(workers.value)
    change: ReplaceValue | SetKey
    if isinstance(least, Set):
        if least.value <= workers.value:
            return
        at, other = least.origin, creation.origin
        asks = f"minAvailable is {least.value}"
        change = ReplaceValue(at, number)
    else:
        at, other = creation.origin, group
        asks = f"without minAvailable it is {workers.value + 1}"
        root = Origin(workload.origin.place, node=workload.origin.node)
        change = SetKey(root, tuple(KUBEFLOW_MINIMUM.split(".")), workers.value)
    yield Gap(
        at,
        f"the launcher waits for the {number} workers, and their PodGroup waits for the launcher: {asks}",
        "no pod of the job is ever scheduled",
        detail="minAvailable",
        related=(Related(other, "the other half of the deadlock"),),
        fix=Fix(f"set runPolicy.schedulingPolicy.minAvailable to {number}", (change,), safe=True),
    )


def _waits_for_group(workload: Workload) -> Origin | None:
    """What shows that a scheduler waits for a PodGroup of the whole job."""
    for role in workload.roles:
        scheduler = role.pod.fields.get("schedulerName")
        if isinstance(scheduler, Set) and scheduler.value in WAITS_FOR_POD_GROUP:
            return scheduler.origin
    gang = workload.gang_scheduled
    by_policy = isinstance(gang, Set) and gang.value and gang.origin.note == "runPolicy.schedulingPolicy"
    return gang.origin if by_policy and isinstance(gang, Set) else None
