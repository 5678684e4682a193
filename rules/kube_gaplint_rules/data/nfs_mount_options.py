from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.storage import NFS_CLIENTS
from kube_gaplint.findings import AppendItem, Fix, Gap, Related, Severity
from kube_gaplint.model.needs import knows_mount_options
from kube_gaplint.model.scale import node_count
from kube_gaplint.model.setting import Set, Unknown
from kube_gaplint.model.workload import Backing, Volume, Workload
from kube_gaplint.rule import Context, rule

LEAST_NODES = 16

_OPTION = "nconnect=16"


@rule(
    code="DATA006",
    name="nfs-mount-options",
    view=Workload,
    needs=(knows_mount_options,),
    severity=Severity.INFO,
    evidence=("IL-0137",),
    tier="later",
    evidence_kind="derived",
    sources=("nfs-nconnect", "nfs-man"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Many nodes use an NFS volume over a single connection each.

    ## What it flags
    An NFS volume of a training on 16 or more nodes whose PersistentVolume or StorageClass has no `nconnect` among its
    mount options, or that stands inline in the pod, where no options can be given. Drivers of managed services, and
    volumes whose options are not seen, are left alone.

    ## Why it hurts
    The kernel's client opens one TCP connection to a server, with 128 request slots for everything on the node;
    with large jobs the slots fill while the link is nearly idle. A storage vendor's engineer measured 10 Gb/s over
    one connection and about 70 Gb/s with nconnect=16 on the same host. The evidence is derived: secondary reports
    on a 60-node run name the slots as the choke point of an initialisation that took over eight hours, without
    showing its mount options.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: tune}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 16
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/train:1.4
                command: [torchrun, train.py]
                volumeMounts: [{name: d, mountPath: /data}]
                resources: {limits: {nvidia.com/gpu: 8}}
              volumes: [{name: d, nfs: {server: 10.0.0.4, path: /corpus}}]
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: tune}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 16
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/train:1.4
                command: [torchrun, train.py]
                volumeMounts: [{name: d, mountPath: /data}]
                resources: {limits: {nvidia.com/gpu: 8}}
              volumes: [{name: d, persistentVolumeClaim: {claimName: corpus}}]
    ---
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: corpus}
    spec: {accessModes: [ReadWriteMany], volumeName: corpus, resources: {requests: {storage: 20Ti}}}
    ---
    apiVersion: v1
    kind: PersistentVolume
    metadata: {name: corpus}
    spec:
      capacity: {storage: 20Ti}
      accessModes: [ReadWriteMany]
      mountOptions: [nconnect=16, hard]
      nfs: {server: 10.0.0.4, path: /corpus}
    ```

    ## When to keep it
    When the nodes set `nconnect` in `/etc/nfsmount.conf`, or the server cannot serve several connections.

    ## Fix safety
    Unsafe: the option changes the load on the server, and takes effect with a new mount (of a StorageClass: with a new
    volume). A volume that stands in the pod itself has no mount options: it needs a PersistentVolume first.

    ## References
    - https://man7.org/linux/man-pages/man5/nfs.5.html
    - https://www.backend.ai/resources/lablup-tech-report-504gpu
    - https://medium.com/@emilypotyraj/use-nconnect-to-effortlessly-increase-nfs-performance-4ceb46c64089
    """
    nodes = node_count(workload)
    if not workload.trains or workload.batch is not None or nodes is None or nodes < LEAST_NODES:
        return
    for role, container in workload.containers():
        used = {mount.volume for mount in container.mounts}
        for volume in role.pod.volumes:
            backing = volume.backing
            if volume.name not in used or not container.accelerators or backing is None:
                continue
            options = backing.mount_options
            if backing.driver not in NFS_CLIENTS or isinstance(options, Unknown):
                continue
            if isinstance(options, Set) and any(one.strip().startswith("nconnect") for one in options.value):
                continue
            # where it would stand: among the options that there are
            place = options.origin if isinstance(options, Set) else backing.origin
            yield Gap(
                place,
                f"{nodes} nodes mount the NFS volume {volume.name} without nconnect, over one connection each",
                "its 128 request slots fill up while the link is nearly idle, and reads of all GPUs queue",
                detail=f"nconnect:{volume.name}",
                related=() if place.place == volume.origin.place else (Related(volume.origin, "used here"),),
                fix=_fix(volume, backing),
                container=container.name,
            )


def _fix(volume: Volume, backing: Backing) -> Fix:
    title = f"add {_OPTION} to the mountOptions of the PersistentVolume"
    if volume.kind != "claim" or backing.origin.node is None:
        return Fix(title)
    return Fix(title, (AppendItem(backing.origin, "mountOptions", _OPTION),))
