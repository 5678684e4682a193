from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, ReplaceValue, Severity
from kube_gaplint.model.needs import sets_retention
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.setting import Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="CKPT006",
    name="keeps-one-checkpoint",
    view=TrainingProcess,
    needs=(sets_retention,),
    severity=Severity.WARNING,
    evidence=("adaptdl-70", "disk-full-checkpoints"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """Only one checkpoint is kept: a failure while it is being replaced leaves none.

    ## What it flags
    A retention of exactly one (`save_total_limit=1`, `save_num_checkpoints_to_keep: 1`). A best checkpoint that is kept
    beside it makes two, and is left alone; so are Lightning's `save_top_k`, which removes the old file when the new one
    is written, smoke tests, and runs that end before a second checkpoint is due.

    ## Why it hurts
    The old checkpoint is deleted around the moment in which the new one is written, which is when a full disk or a
    SIGKILL at the end of the grace period strikes. AdaptDL lost its only checkpoint when it was stopped while saving.

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
            command: [torchrun, --nproc-per-node=8, run_clm.py, --output_dir=s3://r/a, --save_steps=250,
                      --max_steps=20000, --save_total_limit, "1"]
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
          containers:
          - name: trainer
            image: huggingface/transformers-pytorch-gpu:4.41.2
            command: [torchrun, --nproc-per-node=8, run_clm.py, --output_dir=s3://r/a, --save_steps=250,
                      --max_steps=20000, --save_total_limit, "2"]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When the writer replaces the old checkpoint only after the new one is complete and has been read back.

    ## Fix safety
    Safe, if the storage holds two.

    ## References
    - https://github.com/petuum/adaptdl/issues/70
    """
    settings = process.settings
    retention = settings.retention
    if not process.workload.trains or not isinstance(retention, Set) or retention.value != 1:
        return
    if not retention.origin.written:
        return
    if any(isinstance(settings.extra.get(key), Set) for key in ("keeps-best", "replaces-when-written")):
        return
    if any(isinstance(one, Set) and one.value for one in (settings.best_only, settings.in_memory)):
        return
    pace = Pace.of(process, context.profile)
    if pace.smoke or _saves_once(process, pace):
        return
    changes: tuple[Change, ...] = ()
    if retention.origin.place.text.strip("\"'") == "1":
        changes = (ReplaceValue(retention.origin, "2"),)
    yield Gap(
        retention.origin,
        "only 1 checkpoint is kept",
        "a failure while it is being replaced leaves none, and the run starts from scratch",
        detail="one",
        fix=Fix("keep 2", changes, safe=True),
        container=process.container.name,
    )


def _saves_once(process: TrainingProcess, pace: Pace) -> bool:
    """The run is over before the second save is due: none takes the place of another."""
    interval, steps = process.settings.save_interval, pace.most_steps
    between = pace.steps(interval.value) if isinstance(interval, Set) else None
    return between is not None and steps is not None and steps < 2 * between
