from __future__ import annotations

import re
from collections.abc import Iterator

from kube_gaplint import lazy_re
from kube_gaplint.findings import Fix, Gap, Related, Severity, beside
from kube_gaplint.model.data import is_bucket
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.storage import kept, thinned_out
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

FEW = 5
"""Checkpoints of a whole run up to which nobody needs a retention."""
KEPT = 3

_ADAPTER = lazy_re.compile(r"(?:\A|[^a-z])q?lora(?:\Z|[^a-z])", re.IGNORECASE)


@rule(
    code="CKPT007",
    name="no-checkpoint-retention",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("fms-217", "disk-full-checkpoints"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """Every checkpoint is kept on a volume of fixed size, which fills up in the middle of the run.

    ## What it flags
    Periodic saves to a claim whose size stands in the given paths, with no option that thins them out. Runs with up to
    5 checkpoints in all, adapters (LoRA), which are small, and claims that show a bucket are left alone, and so is what
    deletes old ones: the start script, a container beside it, or a CronJob, Deployment or DaemonSet in the given paths
    that mounts the claim.

    ## Why it hurts
    A full volume fails the save, and often the run. Fine-tuning jobs of the Foundation Model Stack died this way with
    all of their checkpoints on disk and the last one torn.

    ## Bad
    ```yaml
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: runs}
    spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 2Ti}}}
    ---
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
            command: [torchrun, --nproc-per-node=8, run_clm.py, --output_dir=/runs/a, --save_steps=250,
                      --max_steps=20000]
            volumeMounts: [{name: runs, mountPath: /runs}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: runs, persistentVolumeClaim: {claimName: runs}}]
    ```

    ## Good
    ```yaml
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: runs}
    spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 2Ti}}}
    ---
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
            command: [torchrun, --nproc-per-node=8, run_clm.py, --output_dir=/runs/a, --save_steps=250,
                      --max_steps=20000, --save_total_limit=3]
            volumeMounts: [{name: runs, mountPath: /runs}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: runs, persistentVolumeClaim: {claimName: runs}}]
    ```

    ## When to keep it
    When something outside of the manifests deletes old checkpoints.

    ## Fix safety
    Unsafe: older checkpoints are deleted from then on. Where the framework has an option for it on the command line, 3
    are kept; another number is yours to say.

    ## References
    - https://github.com/foundation-model-stack/fms-hf-tuning/issues/217
    """
    settings = process.settings
    path, interval = settings.save_path, settings.save_interval
    if not process.workload.trains or not isinstance(settings.retention, Absent):
        return
    if not isinstance(path, Set) or not isinstance(interval, Set):
        return
    if any(isinstance(one, Set) and one.value for one in (settings.best_only, settings.in_memory)):
        return
    if not (isinstance(settings.saving, Set) and settings.saving.value):
        return
    if _trains_adapters(process):
        return
    volume = kept(process, path).volume
    if volume is None or volume.kind != "claim" or not isinstance(volume.capacity, Set) or is_bucket(volume):
        return  # a bucket has no size: that of its claim says nothing
    pace = Pace.of(process, context.profile)
    share = pace.share_of_run(interval.value)
    if pace.smoke or (share is not None and share * FEW >= 1) or thinned_out(process, path.value, volume):
        return
    count = f"about {1 / share:,.0f} checkpoints" if share else "a checkpoint"
    each = "" if share else f" every {interval.value}"
    yield Gap(
        path.origin,
        f"{count}{each} on a claim of {volume.capacity.value}, and nothing deletes old ones",
        "the volume fills up, and the save that finds no room ends the run",
        detail="retention",
        related=(Related(volume.capacity.origin, "the size of the claim"), Related(interval.origin, "the interval")),
        fix=_fix(process, path),
        container=process.container.name,
    )


def _trains_adapters(process: TrainingProcess) -> bool:
    """An option speaks of LoRA, by its name or value: what is saved is a small part of the model."""
    given = process.options.occurrences
    values = (one.value.value for one in given if isinstance(one.value, Set))
    return any(_ADAPTER.search(text) for text in (*(one.name for one in given), *values))


def _fix(process: TrainingProcess, path: Set[str]) -> Fix:
    option = "" if process.framework is None else process.framework.keep_option
    if not option:
        return Fix("keep the newest few: save_total_limit, keep_latest_k, or what the framework calls it")
    return Fix(f"keep the newest {KEPT}: {option} {KEPT}", beside(process, path.origin, option, str(KEPT)))
