from __future__ import annotations

import math
from collections.abc import Iterator

from kube_gaplint.facts.time_limits import LIBRARIES
from kube_gaplint.findings import Change, Fix, Gap, Related, ReplaceValue, SetKey, Severity
from kube_gaplint.model.eviction import in_slurm
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.scale import duration, gpu_count, size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.stopping import grace_ceiling, saves_when_stopped, time_to_save
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Pod
from kube_gaplint.rule import Context, rule

LEAST_GPUS = 8
OFTEN = 600.0
"""Seconds between saves that make one at the end dispensable."""
USUAL = 300
"""Seconds of grace that are proposed where the time of a save is not declared."""


@rule(
    code="STOP002",
    name="grace-period-short",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("pytorch-68258", "adaptdl-70", "adaptdl-105"),
    sources=("kubernetes-pod-lifecycle", "pytorch-elastic-agent"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """The pods are killed before a save on SIGTERM can end.

    ## What it flags
    A job of 8 GPUs or more whose `terminationGracePeriodSeconds` is below 60 s (30 s where it is not set), and whose
    program visibly saves when it is told to stop: by its framework, or by a handler that saves or leaves a note that
    the loop saves by (one that only leaves is none). With a declared time of a save (`gaplint.dev/save-seconds`, the
    profile) that time and one step count instead of the 60 s. Info where the program saves periodically, more than 10
    minutes apart or at an unknown distance: what was done since the last save is lost at every drain. Programs that
    are not visible, benchmarks, and pods of Slurm clusters (whose kill-wait bounds the grace period) are left alone.

    ## Why it hurts
    The kubelet sends SIGTERM, waits for the grace period, and kills. A save that is cut off in the middle is lost, and
    where it wrote over the only copy that one too: AdaptDL's jobs then crashed at every restart. Large models do not
    end a step and write a checkpoint in 30 s; torchrun has a timer of the same length beside Kubernetes' own.

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
                      --train-iters=150000, --save=s3://runs/gpt, --save-interval=500, --exit-signal-handler]
            resources: {limits: {nvidia.com/gpu: 8}}
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
          terminationGracePeriodSeconds: 300
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [torchrun, --nproc-per-node=8, pretrain_gpt.py, --tensor-model-parallel-size=2,
                      --train-iters=150000, --save=s3://runs/gpt, --save-interval=500, --exit-signal-handler]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    A step and a save together surely take less: declare `gaplint.dev/save-seconds` and `gaplint.dev/step-seconds`.

    ## Fix safety
    Unsafe: a pod that hangs is killed later, and holds its node for so long.

    ## References
    - https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
    - https://github.com/pytorch/pytorch/issues/68258
    - https://github.com/petuum/adaptdl/issues/70
    """
    workload, grace = process.workload, process.role.pod.grace_seconds
    gpus = gpu_count(workload)
    if not workload.trains or workload.batch is not None or not process.role.trains or not process.program:
        return
    if gpus is None or gpus < LEAST_GPUS or not isinstance(grace, Set) or in_slurm(workload):
        return
    needed, declared = time_to_save(workload)
    if grace.value >= needed or process.role.pod.overrides_unknown or grace_ceiling(process) <= grace.value:
        return
    saves = saves_when_stopped(process)
    if saves is None and (_is_unseen(process) or not _saves_seldom(process, context)):
        return
    default = "" if grace.origin.written else " (the default)"
    if saves is not None:
        takes = f", which takes {declared}" if declared else ""
        message = f"{duration(grace.value)} of grace{default} for a save on SIGTERM{takes}"
        cost = f"SIGKILL cuts the save off, and {size(workload)} go back to the last periodic one"
    else:
        takes = f" (a save takes {declared})" if declared else ""
        never = isinstance(process.settings.signal_save, Set)
        how = "saves periodically only" if never else "shows no save on SIGTERM"
        message = f"{duration(grace.value)} of grace{default}, and the program {how}{takes}"
        cost = f"a drain or preemption costs {size(workload)} what was done since the last save"
    yield Gap(
        grace.origin if grace.origin.written else process.origin,
        message,
        cost,
        detail="grace",
        severity=Severity.WARNING if saves is not None else Severity.INFO,
        related=() if saves is None else (Related(saves, "it saves when it is told to stop"),),
        fix=_fix(process.role.pod, grace, needed, saves=saves is not None),
    )


def _is_unseen(process: TrainingProcess) -> bool:
    """Nothing of what it does at SIGTERM is seen: a program of somebody's own, whose text is not there."""
    own = process.framework is None or process.framework.name in LIBRARIES
    return own and next(process.text.texts, None) is None


def _saves_seldom(process: TrainingProcess, context: Context) -> bool:
    """It visibly saves by itself, and not every few minutes."""
    settings, pace = process.settings, Pace.of(process, context.profile)
    if not isinstance(settings.saving, Set) or not settings.saving.value or pace.smoke:
        return False
    interval = settings.save_interval
    seconds = pace.seconds(interval.value) if isinstance(interval, Set) else None
    return not isinstance(interval, Absent) and (seconds is None or seconds > OFTEN)


def _fix(pod: Pod, grace: Set[float], needed: float, *, saves: bool) -> Fix:
    seconds = max(USUAL, math.ceil(2 * needed / 60) * 60)
    if not saves:
        return Fix(f"let it save when it is told to stop, and give it time: terminationGracePeriodSeconds: {seconds}")
    changes: tuple[Change, ...] = ()
    if grace.origin.written:
        changes = (ReplaceValue(grace.origin, str(seconds)),)
    elif not pod.origin.chain:
        changes = (SetKey(pod.origin, ("terminationGracePeriodSeconds",), seconds),)
    return Fix(f"give it time: terminationGracePeriodSeconds: {seconds}", changes)
