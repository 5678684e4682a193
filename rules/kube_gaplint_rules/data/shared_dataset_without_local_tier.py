from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.data import data_paths, is_bucket, is_cached, local_tier, one_server, streams
from kube_gaplint.model.setting import Set
from kube_gaplint.model.storage import volume_at
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

LEAST_NODES = 8


@rule(
    code="DATA002",
    name="shared-dataset-without-local-tier",
    view=TrainingProcess,
    severity=Severity.INFO,
    evidence=("IL-0137", "IL-0129", "glm-130b", "apertus-alps"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """Many nodes read the data set straight from one file server or bucket.

    ## What it flags
    A training on eight or more nodes whose data path (an option, or a mount called `data`, `datasets` and the like)
    lies on NFS, a bucket that is mounted as a folder or a claim that many nodes mount, in a pod without anything of the
    node's own (an emptyDir, a local disk) to stage it on. Loaders that stream, mounts with a cache and parallel file
    systems are left alone.

    ## Why it hurts
    What two nodes read in minutes took 60 nodes over eight hours: the links were 1 to 10 % used, and the file server's
    request slots were full. SmolLM3's throughput fell within hours on 48 nodes when shared storage moved shards out to
    a bucket, until the data was copied to the nodes. GLM-130B stood still for days when its one file system failed.

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
                command: [torchrun, train.py, --data-path, /nfs/corpus]
                volumeMounts: [{name: d, mountPath: /nfs}]
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
              initContainers:
              - name: stage
                image: ghcr.io/acme/stage:1.0
                command: [rsync, -a, /nfs/corpus/, /nvme/corpus/]
                volumeMounts: [{name: d, mountPath: /nfs}, {name: n, mountPath: /nvme}]
              containers:
              - name: pytorch
                image: ghcr.io/acme/train:1.4
                command: [torchrun, train.py, --data-path, /nvme/corpus]
                volumeMounts: [{name: n, mountPath: /nvme}]
                resources: {limits: {nvidia.com/gpu: 8}}
              volumes:
              - {name: d, nfs: {server: 10.0.0.4, path: /corpus}}
              - {name: n, hostPath: {path: /mnt/nvme}}
    ```

    ## When to keep it
    When the file server was measured with as many nodes as the job has.

    ## Fix safety
    There is no automatic fix.

    ## References
    - https://arxiv.org/abs/2605.09370
    - https://huggingface.co/spaces/HuggingFaceTB/smol-training-playbook
    """
    workload, nodes = process.workload, process.nodes
    if not workload.trains or workload.batch is not None or not isinstance(nodes, Set) or nodes.value < LEAST_NODES:
        return
    container, pod = process.container, process.role.pod
    if streams(process) or local_tier(container, pod):
        return
    for path in data_paths(process):
        at = volume_at(path.value, container, pod)
        if not isinstance(at, Set) or not one_server(at.value) or (is_bucket(at.value) and is_cached(at.value)):
            continue
        volume = at.value
        kind = "a bucket" if is_bucket(volume) else "NFS" if volume.kind == "nfs" else "a shared volume"
        yield Gap(
            path.origin,
            f"{nodes.value} nodes read {path.value} from {kind}, with nothing local between",
            "the file server's request slots fill up long before the network: starts take hours, and all GPUs wait",
            detail=f"data:{path.value}",
            related=(Related(volume.origin, f"the volume {volume.name}"),),
            fix=Fix("stage the data on the nodes' disks, or give the mount a cache"),
            container=container.name,
        )
        return
