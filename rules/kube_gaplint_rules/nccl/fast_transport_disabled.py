from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.variables import strtoll
from kube_gaplint.findings import Fix, Gap, Related, SetVariable, Severity
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

BETWEEN_NODES = "NCCL_IB_DISABLE"
WITHIN_A_NODE = {
    "NCCL_P2P_DISABLE": "GPUs of one node then talk through host memory instead of their own links",
    "NCCL_SHM_DISABLE": "GPUs of one node without a direct path then talk over the network",
}


@rule(
    code="NCCL010",
    name="fast-transport-disabled",
    view=TrainingProcess,
    variables=(BETWEEN_NODES, *WITHIN_A_NODE),
    severity=Severity.WARNING,
    evidence=("nccl-ib-disable-roce", "memlock-nonroot"),
    sources=("nccl-env",),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """A fast transport is switched off on machines that have it: the job pays for hardware that it does not use.

    ## What it flags
    `NCCL_IB_DISABLE=1` in a job of several nodes whose pods ask for InfiniBand or RoCE devices, and
    `NCCL_P2P_DISABLE=1` or `NCCL_SHM_DISABLE=1` where the GPUs of a node are joined by NVLink or the like (a product or
    machine type that nodes are chosen by, a public cluster that a batch script of one node gives away) or stand beside
    such devices. On several nodes of a public cluster it may be what the site advises.

    ## Why it hurts
    Such a line comes from a debugging session and stays. The run goes on over TCP or host memory at a fraction of
    the speed, and on a network that is loaded more timeouts expire. Nothing reports it: in a template for a shared
    cluster NCCL_IB_DISABLE=1 had outlived the arrival of RoCE, and steps on two nodes took 5.72 s instead of 2.51 s
    until somebody measured (pytorch-experiment-template, issue 11).

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: granite}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: NCCL_IB_DISABLE, value: "1"}]
                resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: granite}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: NCCL_IB_TIMEOUT, value: "22"}]
                resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    ```

    ## When to keep it
    While a broken link or driver is being mended, or where a plugin (EFA, TCPX) replaces the transport.

    ## Fix safety
    Unsafe: if the transport was switched off because it failed, switching it on brings the failure back.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-disable
    - https://github.com/NVIDIA/nvidia-container-toolkit/issues/2037
    - https://github.com/scottclowe/pytorch-experiment-template/issues/11
    """
    workload = process.workload
    if not workload.trains or workload.alone:
        return
    device = process.rdma_device
    disabled = _given(process, BETWEEN_NODES)
    if disabled is not None and strtoll(disabled.value)[0] != 0 and workload.multi_node is not False:
        if device is not None and not process.own_transport:
            effect = f"the {size(workload)} talk over TCP" if workload.multi_node else "the nodes talk over TCP"
            yield _gap(process, BETWEEN_NODES, disabled, device, "InfiniBand or RoCE is given here", effect)
        elif device is None and context.profile.rdma is True and not process.own_transport:
            yield _gap(process, BETWEEN_NODES, disabled, None, "", "the nodes talk over TCP, the profile says RDMA")
    each = workload.accelerators_per_node
    linked = process.link_evidence
    if linked is not None and linked.via == "derived" and workload.multi_node is not False:
        linked = None
    evidence = linked or device
    if evidence is None or not isinstance(each, Set) or each.value < 2:
        return
    joined = "a machine with RDMA devices" if linked is None else linked.note or "NVLink joins the GPUs here"
    for name, effect in WITHIN_A_NODE.items():
        value = _given(process, name)
        if value is None:
            continue
        number = strtoll(value.value)[0]
        if number == 1 or (number != 0 and name == "NCCL_SHM_DISABLE"):
            yield _gap(process, name, value, evidence, joined, effect)


def _given(process: TrainingProcess, name: str) -> Set[str] | None:
    value = process.environment.get(name)
    return value if isinstance(value, Set) else None


def _gap(process: TrainingProcess, name: str, value: Set[str], evidence: Origin | None, note: str, effect: str) -> Gap:
    return Gap(
        value.origin,
        f"{name}={value.value} switches off a transport that the machine has",
        effect,
        detail=name,
        related=() if evidence is None else (Related(evidence, note),),
        fix=Fix(f"set {name} to 0, or mend what it works around", (SetVariable(process.environment.home, name, "0"),)),
        container=process.container.name,
    )
