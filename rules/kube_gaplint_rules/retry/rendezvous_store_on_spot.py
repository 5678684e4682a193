from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.needs import has_agent, pods_choose_nodes
from kube_gaplint.model.placement import spot
from kube_gaplint.model.rendezvous import agent_of, host_role, restarts_processes, spans_nodes
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.training import Launcher, TrainingProcess
from kube_gaplint.model.workload import Role
from kube_gaplint.rule import Context, rule

_HOST = "spec.elasticPolicy.rdzvHost"


@rule(
    code="RETRY013",
    name="rendezvous-store-on-spot",
    view=TrainingProcess,
    needs=(has_agent, pods_choose_nodes),
    severity=Severity.INFO,
    evidence=("kubeflow-1638",),
    tier="later",
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """The store of the c10d rendezvous lives in a pod on a spot node: when that pod goes, elasticity goes with it.

    ## What it flags
    A PyTorchJob with an elasticPolicy, or torchrun with c10d and restarts on several nodes, whose pods are placed on
    spot or preemptible nodes, and the one that holds the store among them. The training operator takes worker 0 for it,
    unless `rdzvHost` names another one. It keeps quiet for etcd, for a host outside the job, and where the pod with the
    store is placed on nodes that stay.

    ## Why it hurts
    c10d's store is a part of the torchrun in one pod. Any other pod may be taken away, and the rest gathers again
    through the store; when its own pod is taken, all agents lose it, end, and every pod starts anew, however many
    restarts are left. Users of the training operator saw all pods restart whenever worker 0 was down
    (trainer#1638). On n spot nodes it is one reclaim in n.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      runPolicy: {backoffLimit: 50}
      elasticPolicy: {rdzvBackend: c10d, minReplicas: 4, maxReplicas: 8, maxRestarts: 20}
      pytorchReplicaSpecs:
        Worker:
          replicas: 8
          restartPolicy: OnFailure
          template:
            spec:
              nodeSelector: {karpenter.sh/capacity-type: spot}
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
      runPolicy: {backoffLimit: 50}
      elasticPolicy:
        {rdzvBackend: etcd-v2, rdzvHost: etcd.storage, rdzvPort: 2379, minReplicas: 4, maxReplicas: 8, maxRestarts: 20}
      pytorchReplicaSpecs:
        Worker:
          replicas: 8
          restartPolicy: OnFailure
          template:
            spec:
              nodeSelector: {karpenter.sh/capacity-type: spot}
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where a start from the last checkpoint is cheap, so that one full restart among many partial ones does not matter.

    ## Fix safety
    There is no automatic fix: a store outside the job has to be run by somebody, and a pod on a node that stays needs
    a replica or a job of its own.

    ## References
    - https://github.com/kubeflow/trainer/issues/1638
    - https://github.com/pytorch/pytorch/pull/168242
    """
    agent = agent_of(process)
    if agent is None or not process.workload.trains or not spans_nodes(process, agent):
        return
    backend = agent.rendezvous_backend
    if not isinstance(backend, Set) or backend.value != "c10d" or restarts_processes(process) is False:
        return
    role = _role_of_store(process, agent)
    place = None if role is None else spot(role.pod)
    if role is None or place is None:
        return
    yield Gap(
        backend.origin,
        f"the c10d store lives in a pod of {role.name or 'the job'}, and all of them run on spot nodes",
        f"when that pod is taken away, all agents of {size(process.workload)} end, however many restarts are left",
        detail="store on spot",
        related=(Related(place, "this places the pods"),),
        fix=Fix("keep the store on a node that stays, or use etcd-v2 outside the job"),
        container=process.container.name,
    )


def _role_of_store(process: TrainingProcess, agent: Launcher) -> Role | None:
    """The role whose pod holds the store; None where that cannot be told, or where it is outside the job."""
    workload = process.workload
    if "spec.elasticPolicy.minReplicas" in workload.fields:
        host = workload.fields[_HOST]
        if isinstance(host, Absent):
            return next((role for role in workload.roles if role.name == "Worker"), None)
        return host_role(process, host.value) if isinstance(host, Set) else None
    endpoint = agent.rendezvous_endpoint
    return host_role(process, endpoint.value) if isinstance(endpoint, Set) else None
