from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.data import data_paths, is_bucket, is_cached
from kube_gaplint.model.setting import Set
from kube_gaplint.model.storage import volume_at
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="DATA004",
    name="fuse-without-cache",
    view=TrainingProcess,
    severity=Severity.INFO,
    evidence=("gcsfuse-stall",),
    tier="later",
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """Training data is read from a bucket that is mounted as a folder, without a cache.

    ## What it flags
    A data path of the program on a Cloud Storage FUSE, Mountpoint for S3 or blobfuse volume whose attributes and mount
    options name no cache (`file-cache:…`, `fileCacheCapacity`, `cache`, a profile). A volume that only takes
    checkpoints, and options that are not seen, are left alone.

    ## Why it hurts
    Each read of such a folder is a request to the bucket, and each epoch makes them all again. Users saw their GPUs
    starve and runs 30 % slower than from a disk, until they gave the mount a cache for files and metadata.

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
            command: [torchrun, --nproc-per-node=8, train.py, --data-dir, /gcs/images]
            volumeMounts: [{name: gcs, mountPath: /gcs, readOnly: true}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: gcs, csi: {driver: gcsfuse.csi.storage.gke.io, volumeAttributes: {bucketName: images}}}]
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
            command: [torchrun, --nproc-per-node=8, train.py, --data-dir, /gcs/images]
            volumeMounts: [{name: gcs, mountPath: /gcs, readOnly: true}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes:
          - name: gcs
            csi:
              driver: gcsfuse.csi.storage.gke.io
              volumeAttributes: {bucketName: images, fileCacheCapacity: 500Gi}
    ```

    ## When to keep it
    When each file is read once, as a stream.

    ## Fix safety
    There is no automatic fix: a cache takes disk or memory of the node, and how much there is room for is yours to say.

    ## References
    - https://cloud.google.com/kubernetes-engine/docs/how-to/cloud-storage-fuse-csi-driver-perf
    - https://github.com/GoogleCloudPlatform/gcsfuse/issues/1830
    """
    workload = process.workload
    if not workload.trains or workload.batch is not None:
        return
    container, pod = process.container, process.role.pod
    for path in data_paths(process):
        at = volume_at(path.value, container, pod)
        if isinstance(at, Set) and is_bucket(at.value) and not is_cached(at.value):
            volume = at.value
            driver = volume.backing.driver if volume.backing is not None else volume.kind
            yield Gap(
                volume.origin,
                f"the data in {path.value} is read through {driver}, and no option gives the mount a cache",
                "each read is a request to the bucket, in every epoch again, and the GPUs wait for it",
                detail=f"cache:{volume.name}",
                related=(Related(path.origin, "the program reads its data here"),),
                fix=Fix("give the mount a cache for files and metadata"),
                container=container.name,
            )
            return
