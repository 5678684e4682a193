from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.fabric import is_infiniband
from kube_gaplint.findings import Change, Fix, Gap, SetKey, Severity
from kube_gaplint.model.needs import takes_rdma_devices
from kube_gaplint.model.pod import Security, security
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Container, Workload
from kube_gaplint.rule import Context, rule

_LOCK = "IPC_LOCK"


@rule(
    code="NET008",
    name="rdma-without-ipc-lock",
    view=Workload,
    needs=(takes_rdma_devices,),
    severity=Severity.WARNING,
    evidence=("memlock-nonroot",),
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A container gets RDMA devices, but may not lock the memory that they need.

    ## What it flags
    A training container that asks for an InfiniBand, RoCE or SR-IOV device (`rdma/hca`, `nvidia.com/hostdev` …) and is
    neither privileged nor has the capability IPC_LOCK. AWS's EFA and Google's networks are left alone, for their node
    images raise the limit; so are nodes whose set-up in the given paths does, and a profile with
    `memlock_unlimited: true`.

    ## Why it hurts
    RDMA registers buffers with the card, and they must not be swapped out. Without the capability the limit of locked
    memory holds that the container runtime has, often 8 MiB: `ibv_reg_mr` fails with ENOMEM, and NCCL stops or falls
    back to TCP.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nnodes=4, train.py]
            resources: {limits: {nvidia.com/gpu: 8, rdma/hca: 1}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nnodes=4, train.py]
            securityContext: {capabilities: {add: [IPC_LOCK]}}
            resources: {limits: {nvidia.com/gpu: 8, rdma/hca: 1}}
    ```

    ## When to keep it
    Where the nodes' container runtime has `LimitMEMLOCK=infinity`.

    ## Fix safety
    Safe for a container that runs as root: it may lock memory, and nothing else. For another user it has no effect, so
    that no change is offered there.

    ## References
    - https://github.com/openucx/ucx/issues/8229
    - https://github.com/NVIDIA/nccl-tests/issues/206
    """
    if not workload.trains or workload.batch is not None or workload.surroundings.memlock is not None:
        return
    for _, container in workload.containers():
        device = _device(container)
        context = security(container)
        if device is None or context.has_capability(_LOCK) is not False:
            continue
        name, amount = device
        yield Gap(
            amount.origin,
            f"container {container.name} gets {name}, but has neither {_LOCK} nor privileges",
            "RDMA cannot lock its buffers beyond the runtime's limit, often 8 MiB: ENOMEM, or TCP without a word",
            detail=_LOCK,
            fix=Fix(f"add the capability {_LOCK}", _changes(container, context), safe=True),
            container=container.name,
        )


def _device(container: Container) -> tuple[str, Set[str]] | None:
    """The RDMA device that a container asks for, with the amount."""
    for name, amount in (*container.limits.items(), *container.requests.items()):
        if is_infiniband(name) and isinstance(amount, Set) and amount.value.strip() not in ("", "0"):
            return name, amount
    return None


def _changes(container: Container, context: Security) -> tuple[Change, ...]:
    user, non_root = context.run_as_user, context.run_as_non_root
    another = (isinstance(user, Set) and user.value != 0) or (isinstance(non_root, Set) and non_root.value)
    if another or context.added:
        return ()
    return (SetKey(container.origin, ("securityContext", "capabilities", "add"), [_LOCK]),)
