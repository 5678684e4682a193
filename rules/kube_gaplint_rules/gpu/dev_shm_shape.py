from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, SetKey, Severity
from kube_gaplint.model.resources import shared_memory_room
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.storage import volume_at
from kube_gaplint.model.units import quantity
from kube_gaplint.model.workload import Container, Volume, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="GPU002",
    name="dev-shm-shape",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("shm-memory-accounting", "k8s-shm-64mb", "oom-group"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The volume at /dev/shm is on disk, has no bound, or is as large as the container's memory.

    ## What it flags
    An emptyDir at `/dev/shm` without `medium: Memory` (warning): shared memory on a disk. One without `sizeLimit`
    (info): it may take the node's memory. A `sizeLimit` at or above the container's memory limit (info): what is
    written there counts as the container's memory.

    ## Why it hurts
    Without the medium the volume is a folder on the node's disk, slow and evicted when it fills. In memory, every
    page counts against the container that writes it: users found it killed at its own limit although the volume was
    larger (kubernetes/website, issue 36494), and evicted beyond sizeLimit. An out-of-memory kill takes all
    processes of the container. No report tells of a training run that was lost so.

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
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: shm, emptyDir: {}}]
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
            resources: {limits: {nvidia.com/gpu: 8, memory: 900Gi}}
          volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
    ```

    ## When to keep it
    When the node is the job's alone and its memory is known to suffice.

    ## Fix safety
    Setting the medium is safe, together with a size: 8 GiB for each GPU and at most half of the memory limit. A size
    alone is unsafe: a run that writes more fails. A memory limit that is not known leaves the size to you.

    ## References
    - https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
    - https://github.com/kubernetes/website/issues/36494
    """
    if not workload.trains:
        return
    for role, container in workload.containers():
        found = volume_at("/dev/shm", container, role.pod)
        if isinstance(found, Set) and found.value.origin.written and isinstance(container.accelerator_count, Set):
            yield from _shape(container, found.value)


def _shape(container: Container, volume: Volume) -> Iterator[Gap]:
    if volume.kind == "empty-dir":
        yield Gap(
            volume.origin,
            "the emptyDir at /dev/shm has no medium Memory: it is a folder on the node's disk",
            "shared memory is as slow as the disk, and a full disk evicts the pod",
            detail="medium",
            fix=_in_memory(container, volume),
            container=container.name,
        )
    elif volume.kind == "memory":
        limit = container.limits.get("memory")
        size = volume.size_limit
        if isinstance(size, Absent):
            bound = "the node's memory" if not isinstance(limit, Set) else f"the memory limit of {limit.value}"
            yield Gap(
                volume.origin,
                f"the emptyDir at /dev/shm has no sizeLimit: it grows up to {bound}",
                detail="unbounded",
                severity=Severity.INFO,
                fix=_bounded(container, volume),
                container=container.name,
            )
        elif isinstance(size, Set) and isinstance(limit, Set):
            room, most = quantity(size.value), quantity(limit.value)
            if room is not None and most is not None and room >= most:
                yield Gap(
                    size.origin,
                    f"sizeLimit {size.value} of /dev/shm is not below the container's memory limit {limit.value}",
                    "what is written there counts as memory: the container is killed before the volume is full",
                    detail="too-large",
                    severity=Severity.INFO,
                    related=(Related(limit.origin, "the memory limit"),),
                    fix=Fix("lower the sizeLimit, or raise the memory limit"),
                    container=container.name,
                )


def _in_memory(container: Container, volume: Volume) -> Fix:
    """Memory without a sizeLimit would be a gap again."""
    medium = SetKey(volume.origin, ("emptyDir", "medium"), "Memory")
    if not isinstance(volume.size_limit, Absent):
        return Fix("set medium: Memory", (medium,), safe=True)
    bound = _bounded(container, volume).changes
    return Fix("set medium: Memory and a sizeLimit", (medium, *bound) if bound else (), safe=True)


def _bounded(container: Container, volume: Volume) -> Fix:
    gigabytes = shared_memory_room(container)
    if gigabytes < 1:
        return Fix("set a sizeLimit below the memory limit")
    size = f"{gigabytes}Gi"
    return Fix(f"set sizeLimit: {size}", (SetKey(volume.origin, ("emptyDir", "sizeLimit"), size),))
