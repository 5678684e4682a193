from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.needs import adds_capabilities
from kube_gaplint.model.pod import Security, security
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="NET003",
    name="memlock-nonroot",
    view=Workload,
    needs=(adds_capabilities,),
    severity=Severity.WARNING,
    evidence=("memlock-nonroot",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """IPC_LOCK is added to a container that does not run as root, where it has no effect.

    ## What it flags
    A training container that adds the capability IPC_LOCK while `runAsNonRoot` is true or `runAsUser` is not 0, the
    pod's values included. Nodes whose set-up in the given paths raises the limit of locked memory, or a profile with
    `memlock_unlimited: true`, make it quiet.

    ## Why it hurts
    Capabilities that a pod adds take effect for root alone; a process of another user keeps the limit of locked memory
    that the container runtime has, often 8 MiB. RDMA cannot register its buffers. In the case that was measured
    NCCL fell back to TCP without a word: the job ran, only slowly.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      template:
        spec:
          restartPolicy: Never
          securityContext: {runAsUser: 1000}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nnodes=4, train.py]
            securityContext: {capabilities: {add: [IPC_LOCK]}}
            resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
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
            securityContext: {runAsUser: 0, capabilities: {add: [IPC_LOCK]}}
            resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
    ```

    ## When to keep it
    Where the nodes' container runtime has `LimitMEMLOCK=infinity`; the capability is then not needed either.

    ## Fix safety
    There is no automatic fix: raise the limit on the nodes, or let the container run as root.

    ## References
    - https://github.com/NVIDIA/nvidia-container-toolkit/issues/2037
    - https://man7.org/linux/man-pages/man7/capabilities.7.html
    """
    if not workload.trains or workload.surroundings.memlock is not None:
        return
    for _, container in workload.containers():
        context = security(container)
        lock, user = context.added.get("IPC_LOCK"), _not_root(context)
        if lock is not None and user is not None:
            yield Gap(
                lock,
                f"IPC_LOCK has no effect in container {container.name}: {user.note}",
                "RDMA cannot lock its buffers; NCCL stops with ENOMEM or falls back to TCP without a word",
                detail="IPC_LOCK",
                related=(user,),
                fix=Fix("set LimitMEMLOCK=infinity for the nodes' container runtime, or run as root"),
                container=container.name,
            )


def _not_root(context: Security) -> Related | None:
    """What makes a container run as another user than root; None where it may be root."""
    user, non_root = context.run_as_user, context.run_as_non_root
    if isinstance(user, Set):
        return Related(user.origin, f"it runs as user {user.value}") if user.value else None
    if isinstance(non_root, Set) and non_root.value:
        return Related(non_root.origin, "runAsNonRoot keeps it from being root")
    return None
