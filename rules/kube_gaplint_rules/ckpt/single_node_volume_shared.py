from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.purposes import SERVER_KINDS
from kube_gaplint.facts.storage import NEVER_ATTACHED
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.needs import knows_access_modes
from kube_gaplint.model.placement import HOSTNAME
from kube_gaplint.model.pod import only_choices
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Pod, Role, Volume, Workload
from kube_gaplint.rule import Context, rule

ONE_NODE = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})


@rule(
    code="CKPT008",
    name="single-node-volume-shared",
    view=Workload,
    needs=(knows_access_modes,),
    severity=Severity.ERROR,
    evidence=("rwo-multinode",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A volume that one node can mount is given to pods on several nodes.

    ## What it flags
    A claim with access mode ReadWriteOnce or ReadWriteOncePod that more than one pod of the workload mounts. Pods that
    are pinned to one node (ReadWriteOnce), and claims that each pod gets for itself, are left alone, and so are
    Deployments and StatefulSets that nothing shows to train. So is ReadWriteOnce on a volume of a network file system
    that no node attaches (NFS, EFS, FSx, Azure Files, SMB, by the driver of its class or PersistentVolume): nothing
    enforces the mode there.

    ## Why it hurts
    The first pod attaches the volume, the others wait in ContainerCreating with a multi-attach error, and the gang
    never forms, or forms only after a restart has put all pods on one node by chance.

    ## Bad
    ```yaml
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: ckpt}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ti}}}
    ---
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
            command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
            volumeMounts: [{name: ckpt, mountPath: /ckpt}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: ckpt, persistentVolumeClaim: {claimName: ckpt}}]
    ```

    ## Good
    ```yaml
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: ckpt}
    spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Ti}}}
    ---
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
            command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
            volumeMounts: [{name: ckpt, mountPath: /ckpt}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: ckpt, persistentVolumeClaim: {claimName: ckpt}}]
    ```

    ## When to keep it
    On a cluster of one node.

    ## Fix safety
    There is no automatic fix: the access modes of a claim cannot be changed, and its storage class must support them.

    ## References
    - https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
    """
    if workload.purpose not in {"training", "unknown"} or workload.alone:
        return
    if workload.purpose == "unknown" and workload.subject.kind in SERVER_KINDS:
        return  # the first pod serves while the others wait
    users: dict[str, list[tuple[Role, Volume]]] = {}
    for role in workload.roles:
        for volume in role.pod.volumes:
            if _one_node(volume) and isinstance(volume.source, Set) and not volume.per_pod and _mounted(role, volume):
                users.setdefault(volume.source.value, []).append((role, volume))
    for claim, pairs in users.items():
        if any(not isinstance(role.replicas, Set) for role, _ in pairs):
            continue
        pods = sum(role.replicas.value for role, _ in pairs if isinstance(role.replicas, Set))
        modes = pairs[0][1].access_modes
        assert isinstance(modes, Set)
        pinned = all(_pinned(role.pod) for role, _ in pairs)
        anywhere = pinned or all(_never_attached(volume) for _, volume in pairs)
        if pods <= 1 or (anywhere and "ReadWriteOnce" in modes.value):
            continue
        volume = pairs[0][1]
        yield Gap(
            volume.origin,
            f"{pods} pods mount claim {claim}, whose access mode is {', '.join(modes.value)}",
            "pods on other nodes wait for the volume for ever, and the job does not start",
            detail=claim,
            related=(Related(modes.origin, "the claim's access modes"),),
            fix=Fix("use a claim with ReadWriteMany, or give each pod its own"),
        )


def _pinned(pod: Pod) -> bool:
    """Its pods may run on one node alone, by a selector or a required affinity."""
    return HOSTNAME in pod.node_selector or any(
        term.key in {HOSTNAME, "metadata.name"} for term, _ in only_choices(pod)
    )


def _never_attached(volume: Volume) -> bool:
    return volume.backing is not None and volume.backing.driver in NEVER_ATTACHED


def _one_node(volume: Volume) -> bool:
    modes = volume.access_modes
    return volume.kind == "claim" and isinstance(modes, Set) and bool(modes.value) and set(modes.value) <= ONE_NODE


def _mounted(role: Role, volume: Volume) -> bool:
    containers = (*role.pod.containers, *role.pod.init_containers)
    return any(mount.volume == volume.name for container in containers for mount in container.mounts)
