from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kube_gaplint.facts.reliability import FLAT_FACTOR, lost_gpu_hours
from kube_gaplint.findings import Change, Fix, Gap, Related, Severity, longer_or_shorter
from kube_gaplint.model.optimum import LARGEST_SHARE, optimum
from kube_gaplint.model.pace import Pace, trains_on_a_toy
from kube_gaplint.model.scale import duration, gpu_count, size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.training import Quantity, TrainingProcess
from kube_gaplint.rule import Context, rule

LONGEST_SECONDS = 4 * 3600.0
SHORT_RUN_STEPS = 5_000
"""Runs of fewer steps are often over within hours: a long interval in them is worth a hint alone."""


@rule(
    code="CKPT003",
    name="checkpoint-interval-long",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("meta-llama3-405b", "IL-0125", "glm-130b", "meta-rsc-reliability", "goodfire-677"),
    sources=("young-1974", "daly-2006"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """Checkpoints are so far apart that one failure throws away more than it should.

    ## What it flags
    An interval as long as the run or longer, so that nothing is saved before the end (error). An interval beyond 10 %
    of the run; or, where the time of a step is known or declared, beyond 4 hours or 4 times the Young/Daly optimum;
    or saving on a signal alone, where all that a visible script saves waits for its handler (warning; info for a
    share of a run of up to 5,000 steps whose pace is not known). Lightning's ModelCheckpoint saves once an epoch where
    all of the program is seen and says nothing else. Runs of up to 200 steps are smoke tests and left alone, and so is
    a framework's default on a toy data set.

    ## Why it hurts
    A failure costs half an interval on every GPU. BLOOM lost 7.3 hours of 384 GPUs to one dead GPU that came just
    before a save, and went from 300 iterations between saves to 100. GLM-130B went from 500 steps to 100 on its second
    day. Llama 3 was interrupted every three hours.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: llm}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 16
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, pretrain_gpt.py, --train-iters=150000, --save=/ckpt, --load=/ckpt,
                          --save-interval=20000]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: llm}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 16
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, pretrain_gpt.py, --train-iters=150000, --save=/ckpt, --load=/ckpt,
                          --save-interval=250]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    In-memory replicas between the persistent saves cover the faults; gaplint keeps quiet where it sees them.

    ## Fix safety
    Unsafe: saves take time. Where the times of a step and a save are known, the interval becomes the best one, about
    √(2 × time of a save × time between failures of the job); where only the length of the run is known, a tenth of it.
    `gaplint plan FILE --save-seconds N --step-seconds N` computes the best, with the range around it that is as good.

    ## References
    - J. W. Young, CACM 17(9):530, 1974; J. T. Daly, FGCS 22(3):303-312, 2006
    - https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md
    """
    settings = process.settings
    if not process.workload.trains or (isinstance(settings.in_memory, Set) and settings.in_memory.value):
        return
    interval = settings.save_interval
    if isinstance(interval, Absent):
        signal = settings.signal_save
        if isinstance(signal, Set) and signal.value and isinstance(settings.saving, Set) and settings.saving.value:
            yield _gap(process, signal, "checkpoints are written on a signal alone", "signal")
        return
    if not isinstance(interval, Set) or (isinstance(settings.saving, Set) and not settings.saving.value):
        return
    pace = Pace.of(process, context.profile)
    share, steps = pace.share_of_run(interval.value), pace.total_steps
    if pace.smoke:
        return
    shown = f"{interval.value} between saves"
    if interval.origin.via == "default":
        if trains_on_a_toy(process):
            return
        shown += " (the default)"
    if share is not None and share >= 1.0:
        first = "with the first save" if share == 1.0 else "before the first save"
        message = f"{shown}: the run ends after {pace.total_shown}, {first}"
        yield _gap(process, interval, message, "never", Severity.ERROR, changes=_tenth(interval, share))
        return
    seconds = pace.seconds(interval.value)
    if seconds is not None:
        yield from _by_time(process, context, interval, seconds, shown)
    elif share is not None and share > LARGEST_SHARE:
        if interval.value.unit == "epochs" and process.workload.multi_node is not True:
            return  # a few epochs on one node: the time of an epoch decides, and it is not known
        message = f"{shown} are {share:.0%} of the run of {pace.total_shown}"
        short = steps is not None and steps <= SHORT_RUN_STEPS
        severity = Severity.INFO if short else Severity.WARNING
        yield _gap(process, interval, message, "share", severity, changes=_tenth(interval, share))


def _tenth(interval: Set[Quantity], share: float) -> tuple[Change, ...]:
    return longer_or_shorter(interval, LARGEST_SHARE / share)


def _by_time(
    process: TrainingProcess, context: Context, interval: Set[Quantity], seconds: float, shown: str
) -> Iterator[Gap]:
    best = optimum(process, context.profile)
    if best is not None and seconds > FLAT_FACTOR * best.seconds:
        changes = longer_or_shorter(interval, best.seconds / seconds)
        message = f"{shown} are {duration(seconds)}; {best.reason}"
        yield _gap(process, interval, message, "time", seconds=seconds, changes=changes)
        return
    if seconds > LONGEST_SECONDS:
        yield _gap(process, interval, f"{shown} are {duration(seconds)}", "time", seconds=seconds)


def _gap(
    process: TrainingProcess,
    setting: Set[Any],
    message: str,
    detail: str,
    severity: Severity = Severity.WARNING,
    seconds: float | None = None,
    changes: tuple[Change, ...] = (),
) -> Gap:
    gpus = gpu_count(process.workload)
    if seconds is not None and gpus is not None:
        consequence = f"one failure throws away {lost_gpu_hours(seconds, gpus):,.0f} GPU-hours on average"
    elif detail == "never":
        consequence = f"any failure of {size(process.workload)} starts the training from scratch"
    else:
        consequence = f"one failure of {size(process.workload)} throws away half an interval on average"
    total = process.settings.total
    related = (Related(total.origin, "the length of the run"),) if isinstance(total, Set) else ()
    return Gap(
        setting.origin,
        message,
        consequence,
        detail=detail,
        severity=severity,
        related=related if detail in {"never", "share"} else (),
        fix=Fix(
            "save more often: best is about √(2 × time of a save × time between failures of the job), "
            "as `gaplint plan` computes it",
            changes,
        ),
        container=process.container.name,
    )
