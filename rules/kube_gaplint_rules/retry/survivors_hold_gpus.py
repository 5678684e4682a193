from __future__ import annotations

import re
from collections.abc import Iterator

from kube_gaplint import lazy_re
from kube_gaplint.findings import Fix, Gap, SetKey, Severity
from kube_gaplint.model.budget import OUTER_OWNERS, several_pods
from kube_gaplint.model.needs import keeps_pods
from kube_gaplint.model.retry import restart_policies
from kube_gaplint.model.scale import counted, idle_cost, noun, size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.units import as_integer
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule

_POLICY = "spec.runPolicy.cleanPodPolicy"
_SHUTDOWN = "spec.shutdownAfterJobFinishes"
_DEBUG = lazy_re.compile(r"(?:^|[-_./])debug(?:$|[-_./])", re.IGNORECASE)


@rule(
    code="RETRY005",
    name="survivors-hold-gpus",
    view=Workload,
    needs=(keeps_pods,),
    severity=Severity.WARNING,
    evidence=("kubeflow-1579", "mpi-launcher-policy"),
    sources=("kuberay",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """When the job has failed or ended, its other pods keep running and hold their GPUs.

    ## What it flags
    A Kubeflow job of several pods with restartPolicy Never, or an MPIJob, whose `cleanPodPolicy` is None. None is the
    default of both operators, whatever the comment in the API of the mpi-operator says. And a RayJob with a cluster of
    its own whose `shutdownAfterJobFinishes` is false, KubeRay's default: its GPU workers stay, except for those that
    the autoscaler may take away. Jobs in an AppWrapper, which deletes them as a whole, and jobs with a debug label are
    left alone, and so are RayJobs with a `deletionStrategy`.

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
    Safe: `Running` deletes only pods that still run when the job is over; those that ended stay with their logs. For a
    RayJob it is unsafe: the logs of its pods and its dashboard go with the cluster, if nothing carries them away.

    ## References
    - https://github.com/kubeflow/trainer/issues/1579
    - https://github.com/kubeflow/mpi-operator/blob/master/pkg/apis/kubeflow/v2beta1/default.go
    - https://docs.ray.io/en/latest/cluster/kubernetes/getting-started/rayjob-quick-start.html
    """
    if not workload.trains or any(layer.owner in OUTER_OWNERS for layer in workload.restarts):
        return
    if any(_DEBUG.search(text) for text in _labels(workload)):
        return
    group = workload.subject.api_version.partition("/")[0]
    if group == "kubeflow.org":
        yield from _kept_pods(workload)
    elif workload.subject.kind == "RayJob":
        yield from _kept_cluster(workload)


def _kept_pods(workload: Workload) -> Iterator[Gap]:
    """The training operator's jobs, and those of the mpi-operator."""
    kind, policy = workload.subject.kind, workload.fields.get(_POLICY)
    if not isinstance(policy, Set) or policy.value != "None" or not _leaves_survivors(workload):
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


def _kept_cluster(workload: Workload) -> Iterator[Gap]:
    """A RayJob that makes its own cluster."""
    shutdown = workload.fields.get(_SHUTDOWN)
    if not isinstance(shutdown, Set) or shutdown.value != "false":
        return
    if any(field.startswith(("spec.clusterSelector", "spec.deletion")) for field in workload.fields):
        return
    kept = sum(_least_devices(workload, role) for role in workload.roles)
    if kept < 1:
        return
    default = "" if shutdown.origin.written else ", KubeRay's default"
    spec = Origin(workload.origin.place, node=workload.origin.node)
    yield Gap(
        shutdown.origin,
        f"shutdownAfterJobFinishes is false{default}: when the job has failed or ended, its cluster stays and keeps "
        f"{counted(kept, noun(workload))}",
        f"{kept:,} {noun(workload)}-hours for every hour until somebody deletes the job",
        detail="shutdownAfterJobFinishes",
        fix=Fix("set shutdownAfterJobFinishes: true", (SetKey(spec, ("spec", "shutdownAfterJobFinishes"), True),)),
    )


def _least_devices(workload: Workload, role: Role) -> int:
    """The devices of a group's pods that surely stay: of the autoscaler's groups, those of the fewest pods."""
    each, pods = role.pod.accelerator_count, role.replicas
    if isinstance(workload.elastic, Set) and workload.elastic.value and "minReplicas" in role.fields:
        least, hosts = as_integer(role.fields["minReplicas"]), as_integer(role.fields["numOfHosts"])
        if not isinstance(least, Set) or not isinstance(hosts, Set):
            return 0
        pods = Set(least.value * hosts.value, role.origin)
    return each.value * pods.value if isinstance(each, Set) and isinstance(pods, Set) else 0


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
