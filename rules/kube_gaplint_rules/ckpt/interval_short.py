from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.reliability import FLAT_FACTOR
from kube_gaplint.findings import Change, Fix, Gap, Severity, longer_or_shorter
from kube_gaplint.model.optimum import optimum, seconds_of_run
from kube_gaplint.model.pace import Pace, generates_samples, simulates
from kube_gaplint.model.remarks import stands_for_now
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Set, Setting
from kube_gaplint.model.training import Quantity, TrainingProcess
from kube_gaplint.rule import Context, rule

FEWEST_STEPS = 10
FEWEST_GENERATED = 1
"""Steps of reinforcement learning: the model first writes the samples of each, which takes up to minutes."""
FEWEST_SIMULATED = 0
"""Rounds of learning in simulated environments: each holds a rollout and many steps of the optimiser."""


@rule(
    code="CKPT004",
    name="checkpoint-interval-short",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("IL-0125",),
    evidence_kind="facts",
    sources=("young-1974", "daly-2006", "checkpoint-availability"),
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """Checkpoints follow so closely that the run spends its time saving.

    ## What it flags
    Where the times of a step and of a save are known or declared: an interval below a quarter of the Young/Daly
    optimum (which is never taken for more than a tenth of the run or of its time limit), or shorter than the save
    itself. Otherwise a save every 10 steps or fewer; where a language model first generates the samples of each step
    (PPO, GRPO), a save after every step. Learning in simulated environments (DAgger, PPO of robots), which counts
    rounds of a rollout and many steps of the optimiser, runs of up to 200 steps, asynchronous or in-memory saving and
    saving only the best model are left alone.

    ## Why it hurts
    A save stops all GPUs. BLOOM's 2.3 TB took 40 seconds; every 100 iterations of 105 seconds that is 0.4 % of the
    time, every 10 it would have been 3.7 %, and every step 28 %, for failures that came about once a week.

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
            command: [torchrun, --standalone, --nproc-per-node=8, run_clm.py, --max_steps=20000, --save_steps=1,
                      --output_dir=/ckpt/run]
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
            command: [torchrun, --standalone, --nproc-per-node=8, run_clm.py, --max_steps=20000, --save_steps=500,
                      --output_dir=/ckpt/run]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    A value for the first launch alone: where a comment says so (`# SAVE_INTERVAL=249` right above it), or other options
    do (Megatron's `--no-load-optim`, `--reset-progress`), gaplint keeps quiet. Steps that take many
    minutes each: declare them (`gaplint.dev/step-seconds`), and gaplint computes with the time.

    ## Fix safety
    Unsafe: a failure then costs more steps. Where the times of a step and a save are known, the interval becomes the
    best one, about √(2 × time of a save × time between failures of the job) and at most a tenth of the run; else it is
    left to you. `gaplint plan FILE --save-seconds N --step-seconds N` computes it, with the range around it that is as
    good.

    ## References
    - J. T. Daly, FGCS 22(3):303-312, 2006
    - https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md
    """
    settings = process.settings
    interval = settings.save_interval
    if not process.workload.trains or not isinstance(interval, Set) or interval.origin.via == "default":
        return
    if any(_on(setting) for setting in (settings.in_memory, settings.asynchronous, settings.best_only)):
        return
    if isinstance(settings.saving, Set) and not settings.saving.value:
        return
    if isinstance(settings.extra.get("best-by"), Set) and isinstance(settings.retention, Set):
        return  # Lightning looks so often whether its metric is among the best, and writes only then
    pace = Pace.of(process, context.profile)
    if pace.smoke or stands_for_now(interval.origin) or process.begins_anew:
        return
    seconds, save = pace.seconds(interval.value), process.workload.save_seconds
    if seconds is not None and isinstance(save, Set):
        yield from _by_time(process, context, interval, seconds, save.value)
    elif seconds is None and interval.value.unit == "steps" and 0 < interval.value.amount <= _fewest(process):
        if pace.total_steps is None and not isinstance(settings.total, Set):
            return  # it may be a smoke run
        if pace.total_steps is not None and isinstance(settings.extra.get("also-ends"), Set):
            return  # it ends with its epochs, and how many steps those have is not known
        message = f"a checkpoint every {interval.value}"
        if pace.total_steps is not None:
            message += f": {pace.total_steps / interval.value.amount:,.0f} of them in a run of {pace.total_shown}"
        bound = seconds_of_run(process, context.profile)
        yield _gap(process, interval, message, "all GPUs wait for each of them", "steps", bound=bound)


def _fewest(process: TrainingProcess) -> int:
    """Steps between saves up to which nobody needs to know how long they take."""
    if simulates(process):
        return FEWEST_SIMULATED
    return FEWEST_GENERATED if generates_samples(process) else FEWEST_STEPS


def _by_time(
    process: TrainingProcess, context: Context, interval: Set[Quantity], seconds: float, save: float
) -> Iterator[Gap]:
    share = save / (save + seconds)
    cost = f"saving takes {share:.0%} of the time of all GPUs"
    best = optimum(process, context.profile)
    changes = () if best is None else longer_or_shorter(interval, best.seconds / seconds)
    if seconds < save:
        message = f"a checkpoint every {duration(seconds)}, and one takes {duration(save)}"
        yield _gap(process, interval, message, cost, "time", changes)
    elif best is not None and seconds < best.seconds / FLAT_FACTOR:
        message = f"a checkpoint every {duration(seconds)}; {best.reason}"
        yield _gap(process, interval, message, cost, "time", changes)


def _gap(
    process: TrainingProcess,
    interval: Set[Quantity],
    message: str,
    consequence: str,
    detail: str,
    changes: tuple[Change, ...] = (),
    bound: float | None = None,
) -> Gap:
    often = "" if bound is None else f", and several times within the {duration(bound)} that the job has"
    return Gap(
        interval.origin,
        message,
        consequence,
        detail=detail,
        fix=Fix(
            f"save less often: best is about √(2 × time of a save × time between failures of the job){often}, "
            "as `gaplint plan` computes it",
            changes,
        ),
        container=process.container.name,
    )


def _on(setting: Setting[bool]) -> bool:
    return isinstance(setting, Set) and setting.value
