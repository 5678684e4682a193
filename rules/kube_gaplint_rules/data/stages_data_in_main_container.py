from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.data import stagings
from kube_gaplint.model.needs import runs_other_commands
from kube_gaplint.model.scale import gpu_count
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="DATA005",
    name="stages-data-in-main-container",
    view=Workload,
    needs=(runs_other_commands,),
    severity=Severity.INFO,
    evidence=("IL-0129", "byterobust"),
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The start script copies data from a bucket while the job already holds its GPUs.

    ## What it flags
    `aws s3 sync` and `cp`, `gsutil`, `gcloud storage`, `s5cmd`, `rclone`, `azcopy`, `hf download`, `git clone` of a
    repository of data, or archives by `curl` and `wget` in the start script of a container with GPUs, towards its own
    disk, an emptyDir, or (for commands that copy what is there already) a volume. A sync onto a
    volume that outlives the pod, and init containers, are left alone.

    ## Why it hurts
    Every restart copies everything again, and the GPUs wait. To bring SmolLM3's data to a node took three hours, so its
    team kept it on the nodes and held a spare node ready that had it already. ByteRobust keeps restarts in place for
    the same reason: what a restart costs is paid at every failure.

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
            command: [bash, -c]
            args:
            - |
              aws s3 sync s3://acme/corpus /tmp/corpus
              exec torchrun --nproc-per-node=8 train.py --data-path /tmp/corpus
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
          initContainers:
          - name: stage
            image: ghcr.io/acme/stage:1.0
            command: [aws, s3, sync, --size-only, s3://acme/corpus, /data/corpus]
            volumeMounts: [{name: data, mountPath: /data}]
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [bash, -c, "exec torchrun --nproc-per-node=8 train.py --data-path /data/corpus"]
            volumeMounts: [{name: data, mountPath: /data}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: data, hostPath: {path: /mnt/nvme/data}}]
    ```

    ## When to keep it
    When the data is small.

    ## Fix safety
    There is no automatic fix.

    ## References
    - https://huggingface.co/spaces/HuggingFaceTB/smol-training-playbook
    - https://arxiv.org/abs/2509.16293
    """
    if not workload.trains or workload.batch is not None:
        return
    for role, container in workload.containers():
        if not container.accelerators:
            continue
        for one in stagings(workload, role, container):
            if one.kept and one.incremental:
                continue
            gpus = gpu_count(workload)
            yield Gap(
                one.origin,
                f"{one.title} of {one.source} to {one.target} at every start of the training container",
                f"{gpus:,} GPUs wait for the copy, at every restart again" if gpus else "the GPUs wait for the copy",
                detail=f"stage:{one.source}",
                fix=Fix("copy in an init container to a disk that outlives the pod, and only what is missing"),
                container=container.name,
            )
