from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.storage import copied_elsewhere, kept, kept_besides, lasting
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="CKPT001",
    name="checkpoint-on-ephemeral-storage",
    view=TrainingProcess,
    severity=Severity.ERROR,
    evidence=("IL-0198", "fms-217", "ephemeral-evictions"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """Checkpoints are written to a disk that goes away with the pod.

    ## What it flags
    A save path on an emptyDir, an ephemeral volume, `/tmp` or the container's own disk. The deepest mount decides: an
    emptyDir inside a claim wins. In batch scripts only folders that each node has for itself (`/tmp`, `/dev/shm`),
    unless a container that the script starts has another place there (`--bind`, `--container-mounts`, Docker). A path
    that is not known, smoke tests of up to 200 steps, folders that a sidecar, a later command or the controller (output
    artifacts of Argo) takes away, and those over which the container's own commands mount a bucket or a file system, or
    that they link to one that lasts, are left alone, and so are programs that are seen to upload files or to save to a
    second folder that lasts, jobs of a kind of somebody's own whose controller is told of checkpoints
    (`checkpointConfig`), and a framework's default folder where nobody asks for checkpoints. A warning for elastic
    jobs, whose programs may take their state from the pods that are left.

    ## Why it hurts
    A restarted pod starts with an empty disk, so the retry that was meant to save the run begins at step 0. When
    Datadog's nodes were replaced after an unattended update, everything on their local disks was gone with them.
    Pods that fill the node's disk with checkpoints are evicted besides.

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
            image: huggingface/transformers-pytorch-gpu:4.41.2
            command: [torchrun, --nproc-per-node=8, run_clm.py, --output_dir=/out, --save_steps=250, --max_steps=20000]
            volumeMounts: [{name: out, mountPath: /out}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: out, emptyDir: {}}]
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
            image: huggingface/transformers-pytorch-gpu:4.41.2
            command: [torchrun, --nproc-per-node=8, run_clm.py, --output_dir=/out, --save_steps=250, --max_steps=20000]
            volumeMounts: [{name: out, mountPath: /out}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: out, persistentVolumeClaim: {claimName: checkpoints}}]
    ```

    ## When to keep it
    When something that the manifest does not show copies the files away while the job runs.

    ## Fix safety
    There is no automatic fix: which storage is right is yours to say.

    ## References
    - https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/
    - https://github.com/foundation-model-stack/fms-hf-tuning/issues/217
    """
    settings = process.settings
    path = settings.save_path
    if not process.workload.trains or isinstance(path, Absent):
        return
    asked = settings.saving.origin if isinstance(settings.saving, Set) and settings.saving.value else None
    by_default = isinstance(path, Set) and path.origin.via in {"default", "injected"}
    if by_default and (asked is None or not asked.written):
        return  # nobody asks for it, and nobody names a place
    if isinstance(settings.saving, Set) and not settings.saving.value and not settings.saves_once:
        return
    if kept_besides(process) or Pace.of(process, context.profile).smoke:
        return
    place = kept(process, path)
    if place.state != "lost":
        return
    shown = path.value if isinstance(path, Set) else path.prefix if isinstance(path, Unknown) else ""
    origin = asked if by_default else _written(process, path)
    if origin is None or copied_elsewhere(process, shown, place.volume):
        return
    volume = place.volume
    related = () if volume is None else (Related(volume.origin, f"the volume at {shown}"),)
    what = "the trained weights" if settings.saves_once else "checkpoints"
    tail = "…" if not isinstance(path, Set) else ", the default" if by_default else ""
    severity, cost = _loss(process)
    yield Gap(
        origin,
        f"{what} go to {shown}{tail}, which lies on {place.where}",
        cost,
        detail="path",
        severity=severity,
        related=related,
        fix=Fix(f"save to {lasting(process.workload)}"),
        container=process.container.name,
    )


def _written(process: TrainingProcess, path: Setting[str]) -> Origin | None:
    """Where the path stands: of one that is known in part, its option, not what gives the part that is not known."""
    if isinstance(path, Unknown):
        for option in process.options.occurrences:
            if isinstance(option.value, Unknown) and option.value.prefix == path.prefix:
                return Origin(option.word.place)
    return path.origin


def _loss(process: TrainingProcess) -> tuple[Severity, str]:
    """What the loss of the disk costs. Programs of elastic jobs may take their state from the pods that are left."""
    workload = process.workload
    resume = process.settings.resume
    once = process.settings.saves_once or (isinstance(resume, Set) and not resume.value)
    if workload.batch is not None:
        if once:
            return Severity.ERROR, f"what {size(workload)} trained is left behind on the disk of a node"
        return Severity.ERROR, f"{size(workload)} start at step 0 where the next attempt gets other nodes"
    if once:
        return Severity.ERROR, f"what {size(workload)} trained is gone with the pod"
    if isinstance(workload.elastic, Set) and workload.elastic.value and workload.multi_node is not False:
        return Severity.WARNING, f"{size(workload)} start at step 0 unless one of them still has the state"
    return Severity.ERROR, f"a restarted pod of {size(workload)} finds nothing there and starts at step 0"
