from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.resources import PROCESS_BYTES, WORKER_BYTES
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.resources import asked, data_workers, limit, request
from kube_gaplint.model.setting import Set
from kube_gaplint.model.storage import volume_at
from kube_gaplint.model.units import quantity
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.rule import Context, rule

GIB = 2.0**30


@rule(
    code="GPU010",
    name="memory-headroom",
    view=Workload,
    severity=Severity.INFO,
    evidence=("oom-group",),
    tier="later",
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The memory limit leaves too little beside /dev/shm for the processes of the container.

    ## What it flags
    A container with several GPUs whose memory limit equals its request and is below the `sizeLimit` of its `/dev/shm`
    plus 2 GiB for each process and half a GiB for each data-loader worker that it is given. Silent where the kubelet is
    told to kill single processes (`singleProcessOOMKill`).

    ## Why it hurts
    Pages in `/dev/shm` count as the container's memory. Since Kubernetes 1.28 running out of memory kills every process
    of the container at once: one data worker that grows takes all eight ranks with it, and all other nodes wait for
    them. Clusters met this as outages after the upgrade.

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
            command: [torchrun, --nproc-per-node=8, train.py, --num_workers=4]
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
            resources: {limits: {nvidia.com/gpu: 8, memory: 72Gi}}
          volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
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
            command: [torchrun, --nproc-per-node=8, train.py, --num_workers=4]
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
            resources: {limits: {nvidia.com/gpu: 8, memory: 512Gi}}
          volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
    ```

    ## When to keep it
    When the peak of a whole run, its saves included, was measured.

    ## Fix safety
    There is no automatic fix: the amount is yours to measure.

    ## References
    - https://github.com/kubernetes/kubernetes/pull/117793
    - https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
    """
    if workload.surroundings.single_process_kill is not None:
        return
    for one in asked(workload, context.profile):
        if one.devices < 2:
            continue
        most = limit("memory", one.container, one.role.pod, workload)
        least = request("memory", one.container, one.role.pod, workload)
        if not isinstance(most, Set) or not isinstance(least, Set):
            continue
        bound, asked_for = quantity(most.value), quantity(least.value)
        if bound is None or bound != asked_for:
            continue
        shared = _shared_memory(one.container, one.role)
        room = 0.0 if shared is None else quantity(shared.value) or 0.0
        workers = data_workers(workload, one.container)
        each = 0 if workers is None else workers.value
        need = one.devices * (PROCESS_BYTES + each * WORKER_BYTES)
        if room >= bound or bound >= room + need:
            continue
        beside = f" beside the {shared.value} of /dev/shm" if shared is not None else ""
        loaders = f" with {each} data-loader workers each" if each else ""
        yield Gap(
            most.origin,
            f"the memory limit {most.value} leaves {(bound - room) / GIB:.0f} GiB{beside} for {one.devices} processes"
            f"{loaders}, which need some {need / GIB:.0f} GiB",
            "when one process runs out of memory, all processes of the container are killed, and the other nodes wait",
            detail="headroom",
            related=() if shared is None else (Related(shared.origin, "what is written there counts as memory"),),
            fix=Fix("raise the limit, or lower the sizeLimit of /dev/shm"),
            container=one.container.name,
        )


def _shared_memory(container: Container, role: Role) -> Set[str] | None:
    """The sizeLimit of /dev/shm."""
    found = volume_at("/dev/shm", container, role.pod)
    if not isinstance(found, Set) or found.value.kind != "memory":
        return None
    return found.value.size_limit if isinstance(found.value.size_limit, Set) else None
