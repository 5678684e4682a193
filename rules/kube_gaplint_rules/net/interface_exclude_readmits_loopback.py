from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.interfaces import LOOPBACK, read_interfaces
from kube_gaplint.findings import Fix, Gap, SetVariable, Severity
from kube_gaplint.model.rendezvous import spans_pods
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.variables import in_force
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

_NAME = "NCCL_SOCKET_IFNAME"


@rule(
    code="NET001",
    name="interface-exclude-readmits-loopback",
    view=Workload,
    variables=(_NAME,),
    severity=Severity.WARNING,
    evidence=("ifname-mistakes",),
    sources=("nccl-env", "horovod-ifname"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """An exclusion list of network interfaces lets NCCL choose the loopback interface.

    ## What it flags
    `NCCL_SOCKET_IFNAME` that begins with `^` and leaves out some interfaces, but not `lo`, in a job of several pods or
    nodes.

    ## Why it hurts
    By default NCCL leaves out `lo` and Docker's bridges. A list of one's own replaces that default, so `^docker0` lets
    `lo` in again, and it is the first interface that is found. Every rank then tells the others to reach it at
    127.0.0.1, and the job hangs in its first collective. Horovod corrected such a line in 2018, after a maintainer of
    NCCL had explained the hang.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/encoder:1.4
                command: [torchrun, train.py]
                env: [{name: NCCL_SOCKET_IFNAME, value: "^docker0"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/encoder:1.4
                command: [torchrun, train.py]
                env: [{name: NCCL_SOCKET_IFNAME, value: "^docker0,lo"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Never between nodes; most pods need no such list at all, for they have eth0 and lo alone.

    ## Fix safety
    Safe: `lo` is added to the list, as NCCL's own default has it.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
    - https://github.com/horovod/horovod/pull/700
    """
    if not workload.trains or (workload.multi_node is False and not spans_pods(workload)):
        return
    for given in in_force(workload):
        if given.name != _NAME or not isinstance(given.value, Set):
            continue
        text = given.value.value
        interfaces = read_interfaces(text)
        if not interfaces.excluded or not interfaces.names or interfaces.covers(LOOPBACK):
            continue
        value = f"{text},{LOOPBACK}"
        changes = (SetVariable(given.container.environment.home, _NAME, value),) if given.stands_alone else ()
        yield Gap(
            given.origin,
            f"{_NAME}={text} replaces the default list and lets {LOOPBACK} in again",
            f"NCCL takes 127.0.0.1 for the address of its ranks, and {size(workload)} hang in the first collective",
            detail=_NAME,
            fix=Fix(f"leave out {LOOPBACK} as well: {value}", changes, safe=True),
            container=given.container.name,
        )
