from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.torch import SHARED_STORE_FAULT, SHARED_STORE_VARIABLE
from kube_gaplint.findings import Fix, Gap, Related, Severity, give
from kube_gaplint.model.needs import has_agent
from kube_gaplint.model.rendezvous import agent_of, spans_nodes
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY014",
    name="elastic-store-share",
    view=TrainingProcess,
    needs=(has_agent,),
    severity=Severity.INFO,
    evidence=("pytorch-135712",),
    tier="later",
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """In torch 2.4 and 2.5 restarts of torchrun find the keys of earlier attempts in a shared store, and fail.

    ## What it flags
    torchrun of torch 2.4 or 2.5 on several nodes with the c10d rendezvous and `--max-restarts` above 0, in an
    environment without `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`. Of a release that is not known, and of any other one,
    nothing is said.

    ## Why it hurts
    From 2.4 on the agents' store serves the workers as well, and each attempt finds its keys there by the number of the
    restart. Each agent counts by itself, so that after a pod has been replaced the numbers differ. A user who moved
    from 2.3 saw restarts fail to initialise NCCL, with errors of connection: they read the identifier of an earlier
    attempt (pytorch#135712). So the restarts that torchrun is given are spent without one step of training. The
    variable gives the workers a store of their own again.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      runPolicy: {backoffLimit: 20}
      elasticPolicy: {rdzvBackend: c10d, minReplicas: 4, maxReplicas: 4, maxRestarts: 10}
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
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
      elasticPolicy: {rdzvBackend: c10d, minReplicas: 4, maxReplicas: 4, maxRestarts: 10}
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env:
                - {name: TORCH_DISABLE_SHARE_RDZV_TCP_STORE, value: "1"}
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    With a build of torch that carries the correction, or where restarts were seen to work.

    ## Fix safety
    Safe: the workers open a store of their own, as they did up to torch 2.3.

    ## References
    - https://github.com/pytorch/pytorch/issues/135712
    """
    agent = agent_of(process)
    if agent is None or not process.workload.trains or not spans_nodes(process, agent):
        return
    backend, restarts = agent.rendezvous_backend, agent.max_restarts
    if not isinstance(backend, Set) or backend.value != "c10d":
        return
    if not isinstance(restarts, Set) or restarts.value <= 0:
        return
    first, past = SHARED_STORE_FAULT
    if process.torch_at_least(first) is not True or process.torch_at_least(past) is not False:
        return
    value = process.environment.get(SHARED_STORE_VARIABLE)
    if not isinstance(value, Absent) and not (isinstance(value, Set) and value.value != "1"):
        return
    state = f"is {value.value}" if isinstance(value, Set) else "is not set"
    yield Gap(
        value.origin if isinstance(value, Set) else process.environment.home,
        f"{process.torch_shown} and {restarts.value} restarts of {agent.kind}, and {SHARED_STORE_VARIABLE} {state}",
        f"a restart of {size(process.workload)} may find the keys of an earlier attempt and not initialise NCCL",
        detail=SHARED_STORE_VARIABLE,
        related=(Related(restarts.origin, "the restarts"), Related(process.torch.origin, "the release"))
        if isinstance(process.torch, Set)
        else (),
        fix=Fix(f"set {SHARED_STORE_VARIABLE}=1", give(process, SHARED_STORE_VARIABLE, "1"), safe=True),
        container=process.container.name,
    )
