from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from kube_gaplint.findings import AppendItem, Change, Fix, Gap, SetKey, Severity
from kube_gaplint.model.resources import data_workers, shared_memory_room
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.model.storage import volume_at
from kube_gaplint.model.training import NCCL_VENDORS
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
    Safe: until now the job has 64 MiB, and the new volume takes memory only as far as it is used. Its sizeLimit is
    8 GiB for each GPU and at most half of the container's memory limit, which what is written there counts towards. A
    memory limit that is not known leaves the size to you.

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
                fix=_fix(role, container),
                container=container.name,
            )


def _fix(role: Role, container: Container) -> Fix:
    title = "mount an emptyDir with medium Memory and a sizeLimit at /dev/shm"
    gigabytes = shared_memory_room(container)
    pod = role.pod
    if gigabytes < 1 or pod.origin.node is None or container.origin.node is None:
        return Fix(title)
    size = f"{gigabytes}Gi"
    there = next(
        (one for one in pod.volumes if one.kind == "memory" and "shm" in one.name and one.origin.written), None
    )
    name = next(name for name in _names() if pod.volume(name) is None) if there is None else there.name
    changes: list[Change] = [AppendItem(container.origin, "volumeMounts", {"name": name, "mountPath": "/dev/shm"})]
    if there is None:
        volume = {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}}
        changes.append(AppendItem(pod.origin, "volumes", volume))
    elif isinstance(there.size_limit, Absent):
        changes.append(SetKey(there.origin, ("emptyDir", "sizeLimit"), size))
    return Fix(title, tuple(changes), safe=True)


def _names() -> Iterator[str]:
    yield "dshm"
    yield from (f"dshm-{number}" for number in count(2))


def _needs_memory(workload: Workload, container: Container) -> str:
    """What uses shared memory in a container, in words; empty where nothing surely does."""
    vendors = {accelerator.vendor for accelerator in container.accelerators}
    if "tpu" in vendors:
        return ""
    gpus = container.accelerator_count
    if not isinstance(gpus, Set) or gpus.value < 1:
        return ""
    if gpus.value > 1 and vendors <= NCCL_VENDORS and not _goes_without(container):
        return f"{gpus.value} GPUs"
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
