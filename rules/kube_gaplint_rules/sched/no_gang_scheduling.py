from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.budget import several_pods
from kube_gaplint.model.fields import Fields
from kube_gaplint.model.rendezvous import computes_together, may_shrink
from kube_gaplint.model.scale import accelerator_hours, counted, gpu_count, node_count, noun
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.units import as_integer
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

_LEAST = "spec.elasticPolicy.minReplicas"


@rule(
    code="SCHED001",
    name="no-gang-scheduling",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("gang-deadlock",),
    sources=("kueue",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Nothing starts the pods of a training job all together or not at all.

    ## What it flags
    A GPU job of several pods that need one another, placed by the default scheduler, without any of: a Kueue queue
    label, a PodGroup or Kubernetes' own workload API, Volcano, KAI, coscheduling and their kin, Kubeflow's
    schedulingPolicy, an operator of Kubeflow's in the given paths that makes groups itself (`--gang-scheduling`), a
    podGroupPolicy of its training runtime, JobSet's exclusive placement, a ProvisioningRequest, an AppWrapper around
    it. Jobs that also run with one pod, pods that ask for no GPU, pods that each train by themselves (torchrun for one
    node, also as the entry point of an image whose Dockerfile is seen), TPU slices (which come whole) and Slurm are
    left alone. What the cluster does by itself no manifest says: declare `gang_scheduler: true` in the profile.

    ## Why it hurts
    The default scheduler places pods one by one. On a busy cluster a part of the job gets its GPUs, holds them and
    waits in the rendezvous for the rest. Users of Kubeflow saw a master run while its worker waited for a GPU that
    another half-started job held; neither could ever finish. It strikes again after every restart of the whole job.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: asr}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/asr:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: asr, labels: {kueue.x-k8s.io/queue-name: research}}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/asr:1.4
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    On a cluster that one job has for itself, or whose own scheduler or admission places jobs whole.

    ## Fix safety
    There is no automatic fix: which queue or scheduler the cluster has is not in the manifest, and a job with the name
    of one that is not there never starts.

    ## References
    - https://kueue.sigs.k8s.io/docs/tasks/manage/setup_wait_for_pods_ready/
    - https://github.com/kubeflow/trainer/issues/165
    - https://github.com/kubernetes-sigs/kueue/issues/2796
    """
    gang = workload.gang_scheduled
    if not workload.trains or workload.batch is not None or not isinstance(gang, Set) or gang.value:
        return
    if workload.asks_for_no_accelerator:
        return
    if not several_pods(workload) or not computes_together(workload) or _runs_with_one(workload) or _on_tpu(workload):
        return
    pods = node_count(workload)
    yield Gap(
        _place(workload),
        f"nothing starts {_pods(workload)} all together or not at all: no queue, no pod group, no gang scheduler",
        _cost(workload, pods),
        detail="gang",
        fix=Fix(_remedy(workload)),
    )


def _remedy(workload: Workload) -> str:
    """Kueue takes only RayJobs that delete their cluster (its documentation, Run a RayJob)."""
    ends = workload.fields.get("spec.shutdownAfterJobFinishes")
    ray = workload.subject.kind == "RayJob" and not (isinstance(ends, Set) and ends.value.lower() == "true")
    needs = ", with shutdownAfterJobFinishes: true" if ray else ""
    return f"give it a queue (label kueue.x-k8s.io/queue-name{needs}) or a gang scheduler with a PodGroup"


def _pods(workload: Workload) -> str:
    pods, gpus = node_count(workload), gpu_count(workload)
    if pods is None:
        return "the job's pods"
    return f"its {pods:,} pods" if gpus is None else f"its {pods:,} pods with {counted(gpus, noun(workload))}"


def _runs_with_one(workload: Workload) -> bool:
    """It shrinks down to one pod, or how far it shrinks is not known."""
    if not may_shrink(workload):
        return False
    least = as_integer(workload.fields[_LEAST]) if _LEAST in workload.fields else None
    return not isinstance(least, Set) or least.value <= 1


def _on_tpu(workload: Workload) -> bool:
    return any(device.vendor == "tpu" for _, container in workload.containers() for device in container.accelerators)


def _place(workload: Workload) -> Origin:
    """Where the label of a queue stands, or would stand."""
    fields = workload.fields
    return fields.place("metadata.labels") if isinstance(fields, Fields) else workload.origin


def _held_at_most(workload: Workload, pods: int) -> float:
    """The accelerators of all pods but one that is missing, of the kind that has the fewest."""
    each = [count for replicas, count in workload.accelerators_of_pods or () if replicas]
    total = gpu_count(workload) or 0
    return total - min(each) if each else total * (pods - 1) / pods


def _cost(workload: Workload, pods: int | None) -> str:
    devices = f"{noun(workload)}s"
    if pods is None or gpu_count(workload) is None:
        return f"on a busy cluster some pods hold their {devices} and wait for the rest, which another job may hold"
    some = f"up to {pods - 1} pods hold their {devices} and wait"
    if pods == 2:
        some = f"one pod holds its {devices} and waits"
    own = accelerator_hours(workload, _held_at_most(workload, pods))
    return (
        f"on a busy cluster {some} for the rest, which another half-started "
        f"job may hold: up to {own} lost in every hour by this job alone"
    )
