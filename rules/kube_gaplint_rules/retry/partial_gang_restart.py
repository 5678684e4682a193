from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import failure_layers, loses_nodes, several_pods
from kube_gaplint.model.rendezvous import agent_of, meeting, restarts_processes
from kube_gaplint.model.scale import duration, idle_cost
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import RestartLayer, Workload
from kube_gaplint.rule import Context, rule

_WITHOUT_TORCH_RENDEZVOUS = frozenset({"MPIJob", "XGBoostJob", "RayJob", "RayCluster", "RayService"})
"""Kinds in which one launcher or driver restarts all ranks, or which bring a rendezvous of another sort."""
TORCH_TIMEOUT = 600.0


@rule(
    code="RETRY003",
    name="partial-gang-restart",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("kubeflow-2000", "kubeflow-1478", "k8s-podfailurepolicy-never"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Pods of a fixed-size gang restart one by one, and a lone rank that comes back cannot join the others.

    ## What it flags
    Several pods with a static rendezvous (torchrun without `--rdzv-backend`, `MASTER_ADDR`, a PyTorchJob without
    elasticPolicy), or with c10d and no `--max-restarts`, where the controller restarts single pods: `restartPolicy:
    OnFailure` or `Always`, a Job's `backoffLimit`, Volcano's RestartTask or RestartPod, a LeaderWorkerSet with
    restartPolicy None, and nothing restarts all of them together.

    ## Why it hurts
    A user with 1,000 GPUs reported that no OnFailure restart of a PyTorchJob ever worked beyond 100 pods: each worker
    meets its NCCL timeout at another moment, and those that were restarted give up waiting for the rest. In smaller
    jobs a deleted worker came back and training stayed stuck, because the rendezvous was over.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      runPolicy: {backoffLimit: 20}
      pytorchReplicaSpecs:
        Worker:
          replicas: 8
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      runPolicy: {backoffLimit: 20}
      elasticPolicy: {rdzvBackend: c10d, minReplicas: 8, maxReplicas: 8, maxRestarts: 10}
      pytorchReplicaSpecs:
        Worker:
          replicas: 8
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the pods train independently of one another, or the program forms its groups anew by itself (torchft).

    ## Fix safety
    There is no automatic fix: a JobSet with a failurePolicy restarts all pods, c10d lets them meet again; which of the
    two fits depends on the program.

    ## References
    - https://github.com/kubeflow/trainer/issues/2000
    - https://github.com/kubeflow/trainer/issues/1478
    - https://docs.pytorch.org/docs/stable/elastic/rendezvous.html
    """
    if not workload.trains or workload.batch is not None or workload.subject.kind in _WITHOUT_TORCH_RENDEZVOUS:
        return
    if not several_pods(workload) or not isinstance(workload.elastic, Set) or workload.elastic.value:
        return
    layer = _lone_restart(workload)
    if layer is None or loses_nodes(workload):
        return
    stuck = [process for process in workload.processes if _cannot_rejoin(process)]
    if not stuck or len(stuck) < len(workload.processes):
        return
    process = stuck[0]
    agent = agent_of(process)
    why = "the rendezvous is static" if meeting(process) == "static" else "torchrun gives up with its first failure"
    yield Gap(
        _place(workload, layer),
        f"{_how(layer)}, but {why}: a pod that comes back alone cannot join the others",
        _cost(workload, process),
        detail=f"{layer.owner} restarts each {layer.scope}",
        related=(Related(process.origin if agent is None else agent.origin, f"here {why}"),),
        fix=Fix("restart all pods together (JobSet, Volcano's RestartJob), or use c10d with max-restarts above 0"),
    )


def _lone_restart(workload: Workload) -> RestartLayer | None:
    """The controller that restarts single pods where nothing restarts them all; None where something may."""
    if any(layer.owner == "HyperPod" for layer in workload.restarts):
        return None  # it restarts the whole job after a node has failed
    found = None
    one_role = sum(role.trains for role in workload.roles) == 1
    for layer in failure_layers(workload):
        budget = layer.budget.value if isinstance(layer.budget, Set) else None
        if layer.scope == "workload" or (layer.scope == "role" and one_role):
            if budget != 0:
                return None
        elif budget is None:
            return None
        elif budget > 0 and found is None:
            found = layer
    return found


def _cannot_rejoin(process: TrainingProcess) -> bool:
    """A rank of it that is started again alone surely waits in vain.

    A static rendezvous with restarts of its own is a gap of its own (RETRY018).
    """
    if not process.program or process.recovers_in_process or restarts_processes(process) is not False:
        return False
    how = meeting(process)
    if how == "dynamic":
        agent = agent_of(process)
        return agent is not None and isinstance(agent.nodes, Set) and agent.nodes.value > 1
    return how == "static" and not process.uses_torch_surely_not


def _place(workload: Workload, layer: RestartLayer) -> Origin:
    if layer.owner != "training operator":
        return layer.origin
    origins = [policy.origin for role in workload.roles if isinstance(policy := role.fields["restartPolicy"], Set)]
    return next((origin for origin in origins if origin.written), layer.origin)


def _how(layer: RestartLayer) -> str:
    if layer.owner == "Job":
        budget = layer.budget.value if isinstance(layer.budget, Set) else 0
        return f"the Job restarts pods one by one (backoffLimit {budget})"
    owner = f"the {layer.owner}" if layer.owner[:1].islower() else layer.owner
    note = layer.note.removesuffix(": each pod by itself")
    what = "single tasks" if layer.scope == "role" else "pods one by one"
    return f"{owner} restarts {what}" + (f" ({note})" if note else "")


def _cost(workload: Workload, process: TrainingProcess) -> str:
    timeout = process.settings.timeout
    seconds = timeout.value if isinstance(timeout, Set) and timeout.value > 0 else TORCH_TIMEOUT
    idle = idle_cost(workload, seconds)
    cost = f", {idle} each time," if idle else ""
    return f"the other pods wait until the collective times out ({duration(seconds)}){cost} and then fail as well"
