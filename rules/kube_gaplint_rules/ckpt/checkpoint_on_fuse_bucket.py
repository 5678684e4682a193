from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.data import driver_of, is_bucket
from kube_gaplint.model.needs import mounts_by_driver
from kube_gaplint.model.setting import Set
from kube_gaplint.model.storage import kept
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="CKPT009",
    name="checkpoint-on-fuse-bucket",
    view=TrainingProcess,
    needs=(mounts_by_driver,),
    severity=Severity.INFO,
    tier="later",
    evidence=("fuse-checkpoints", "opt-175b", "gcsfuse-stall"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """Checkpoints are written straight to a bucket that is mounted as a folder.

    ## What it flags
    A save path on a gcsfuse, Mountpoint for S3, s3fs or blobfuse volume, with no local tier in front of it: a volume of
    the pod, or a claim whose PersistentVolume or StorageClass stands in the given paths. Programs that write to the
    bucket by its address (`gs://`, `s3://`) are left alone.

    ## Why it hurts
    Such a folder has no rename and no partial write: a save that is interrupted leaves a torn file under its final
    name, and the upload of a large one stalls the program. Of a sharded checkpoint that two hosts saved to a
    gcsfuse mount the shard of one was empty, and the checkpoint could not be loaded (xla, issue 7919; its cause was
    not found). FastChat went from the mounted bucket to the local disk and copies from there, to make saves
    cheaper. OPT-175B copied its checkpoints from local disks to blob storage in the background.

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
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [torchrun, --nproc-per-node=8, pretrain_gpt.py, --tensor-model-parallel-size=2,
                      --train-iters=60000, --save=/bucket/a, --load=/bucket/a, --save-interval=500]
            volumeMounts: [{name: bucket, mountPath: /bucket}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: bucket, csi: {driver: gcsfuse.csi.storage.gke.io, volumeAttributes: {bucketName: runs}}}]
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
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [torchrun, --nproc-per-node=8, pretrain_gpt.py, --tensor-model-parallel-size=2,
                      --train-iters=60000, --save=gs://runs/a, --load=gs://runs/a, --save-interval=500]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When the driver's mode that makes writes atomic is on, and its cache holds a whole checkpoint.

    ## Fix safety
    There is no automatic fix: save to a local disk and copy in the background, or write by the bucket's address.

    ## References
    - https://cloud.google.com/storage/docs/cloud-storage-fuse/overview
    - https://github.com/facebookresearch/metaseq/tree/main/projects/OPT/chronicles
    - https://github.com/pytorch/xla/issues/7919
    - https://github.com/lm-sys/FastChat/pull/108
    """
    settings = process.settings
    path = settings.save_path
    if not process.workload.trains or not isinstance(path, Set) or isinstance(settings.second_path, Set):
        return
    if isinstance(settings.in_memory, Set) and settings.in_memory.value:
        return
    volume = kept(process, path).volume
    if volume is None or not is_bucket(volume):
        return
    claimed = volume.kind == "claim"
    backing = (Related(volume.backing.origin, "what mounts the bucket"),) if claimed and volume.backing else ()
    yield Gap(
        path.origin,
        f"checkpoints go to {path.value}, a bucket that {driver_of(volume)} shows as a folder",
        "an interrupted save leaves a torn file, and a slow upload stalls all GPUs",
        detail="fuse",
        related=(Related(volume.origin, "the claim" if claimed else "the bucket"), *backing),
        fix=Fix("save to a local disk and copy in the background, or write by the bucket's address"),
        container=process.container.name,
    )
