from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.lone_restart import lone_restart
from kube_gaplint.model.rendezvous import agent_of
from kube_gaplint.model.scale import duration, idle_cost
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import RestartLayer, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY003",
    name="partial-gang-restart",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("kubeflow-2000", "kubeflow-1478", "k8s-podfailurepolicy-never"),
    sources=("pytorch-static-rendezvous", "pytorch-scale-down", "pytorch-elastic-hang"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Pods of a fixed-size gang restart one by one, and a lone rank that comes back cannot join the others.

    ## What it flags
    Several pods with a static rendezvous (torchrun without `--rdzv-backend`, `MASTER_ADDR`, a PyTorchJob without
    elasticPolicy), or with c10d and no `--max-restarts`, where the controller restarts single pods: `restartPolicy:
    OnFailure` or `Always`, a Job's `backoffLimit`, Volcano's RestartTask or RestartPod, a LeaderWorkerSet with
    restartPolicy None, and nothing restarts all of them together. Quiet where a script turns the failure into success:
    such a pod is not started again, which is RETRY004.

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
    found = lone_restart(workload)
    if found is None:
        return
    layer, process = found.layer, found.process
    agent = agent_of(process)
    why = "the rendezvous is static" if found.is_static else "torchrun gives up with its first failure"
    yield Gap(
        _place(workload, layer),
        f"{_how(layer)}, but {why}: a pod that comes back alone cannot join the others",
        _cost(workload, process),
        detail=f"{layer.owner} restarts each {layer.scope}",
        related=(Related(process.origin if agent is None else agent.origin, f"here {why}"),),
        fix=Fix(f"restart all pods together ({_together(layer)}), or use c10d with max-restarts above 0"),
    )


def _place(workload: Workload, layer: RestartLayer) -> Origin:
    if layer.owner != "training operator":
        return layer.origin
    origins = [policy.origin for role in workload.roles if isinstance(policy := role.fields["restartPolicy"], Set)]
    return next((origin for origin in origins if origin.written), layer.origin)


def _how(layer: RestartLayer) -> str:
    if layer.owner == "Job":
        budget = layer.budget.value if isinstance(layer.budget, Set) else 0
        return f"the Job restarts pods one by one (backoffLimit {budget})"
    note = layer.note.removesuffix(": each pod by itself")
    if layer.owner == "kubelet":
        note = note.partition(":")[0]
    what = {"role": "single tasks", "container": "containers one by one"}.get(layer.scope, "pods one by one")
    return f"{layer.owner_shown} restarts {what}" + (f" ({note})" if note else "")


def _together(layer: RestartLayer) -> str:
    """No policy of Volcano's hears of a container that the kubelet restarts in its pod."""
    if layer.owner == "kubelet":
        return "restartPolicy Never, and Volcano's RestartJob on PodFailed and PodEvicted"
    return "JobSet, Volcano's RestartJob"


def _cost(workload: Workload, process: TrainingProcess) -> str:
    timeout = process.settings.timeout
    if not isinstance(timeout, Set) or timeout.value <= 0:
        return "the other pods wait until the collective times out and then fail as well"
    seconds = timeout.value
    idle = idle_cost(workload, seconds)
    cost = f", {idle} each time," if idle else ""
    return f"the other pods wait until the collective times out ({duration(seconds)}){cost} and then fail as well"
