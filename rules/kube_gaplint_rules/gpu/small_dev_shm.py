from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.resources import data_workers
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.model.storage import volume_at
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="GPU001",
    name="small-dev-shm",
    view=Workload,
    severity=Severity.WARNING,
    evidence=(
        "bigscience-13b-shm-bad-node",
        "pytorch-dataloader-hang",
        "k8s-shm-64mb",
    ),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Several GPUs share a container whose /dev/shm is the runtime's 64 MiB.

    ## What it flags
    A training container with more than one GPU, or with data-loader workers, that mounts nothing at `/dev/shm`. Host
    IPC, a host path and volumes that an operator adds by itself (KubeRay) count as enough, and templated volumes as
    unknown. With `NCCL_SHM_DISABLE=1` only data loaders count.

    ## Why it hurts
    NCCL passes data between the GPUs of a node through shared memory, and PyTorch's data loaders hand over batches in
    it. With 64 MiB the first large message ends in `No space left on device` or a bus error, often hours into the run.
    BigScience's 13B run was held up by a node whose shared memory was smaller than that of its peers.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
    ```

    ## When to keep it
    When the container runtime is configured with a larger default on all GPU nodes.

    ## Fix safety
    There is no automatic fix: the size must fit into the container's memory limit.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
    - https://github.com/NVIDIA/nccl/issues/525
    """
    if not workload.trains or workload.batch is not None:
        return
    for role, container in workload.containers():
        why = _needs_memory(workload, container)
        if why and _surely_none(role, container):
            yield Gap(
                container.origin,
                f"nothing is mounted at /dev/shm: 64 MiB of shared memory for {why}",
                "NCCL or a data loader fails with a bus error or 'No space left on device', often hours into the run",
                detail="shm",
                fix=Fix("mount an emptyDir with medium Memory and a sizeLimit at /dev/shm"),
                container=container.name,
            )


def _needs_memory(workload: Workload, container: Container) -> str:
    """What uses shared memory in a container, in words; empty where nothing surely does."""
    if any(accelerator.vendor == "tpu" for accelerator in container.accelerators):
        return ""
    count = container.accelerator_count
    if not isinstance(count, Set) or count.value < 1:
        return ""
    if count.value > 1 and not _goes_without(container):
        return f"{count.value} GPUs"
    workers = data_workers(workload, container)
    return "" if workers is None else f"{workers.value} data-loader workers"


def _goes_without(container: Container) -> bool:
    """NCCL is told to leave shared memory alone, or may be."""
    told = container.environment.variables.get("NCCL_SHM_DISABLE")
    return isinstance(told, Unknown) or (isinstance(told, Set) and told.value.strip() not in ("", "0"))


def _surely_none(role: Role, container: Container) -> bool:
    host_ipc = role.pod.fields.get("hostIPC")
    if isinstance(host_ipc, Set) and host_ipc.value != "false":
        return False
    if host_ipc is not None and not isinstance(host_ipc, Set | Absent):
        return False
    return isinstance(volume_at("/dev/shm", container, role.pod), Absent)
