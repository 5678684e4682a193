from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.findings import AddLine, Fix, Gap, Severity
from kube_gaplint.model.pace import Pace, is_smoke
from kube_gaplint.model.scale import duration, idle_cost, size
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.slurm import Batch
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

EXIT_OPTIONS = (
    "exit-duration-in-mins", "exit-duration", "max-time", "max-time-per-run", "max-runtime", "max-runtime-secs",
    "max-train-seconds", "max-walltime", "walltime", "time-limit", "timelimit", "stop-after", "job-time", "max-hours",
)  # fmt: skip
"""Names that programs of no known framework give to such an option."""
SMALL_LOSS = 600.0
"""Seconds between saves up to which the end of the time limit costs little."""
SLOWEST_STEP = 60.0
"""Seconds of a step: few runs have slower ones."""
SHORT_JOB = 3600.0
"""Seconds of time limit up to which the whole job is a small loss."""


@rule(
    code="SLURM003",
    name="time-limit-without-signal",
    view=Batch,
    severity=Severity.WARNING,
    evidence=("IL-0125",),
    sources=("slurm-sbatch",),
)
def check(batch: Batch, context: Context) -> Iterator[Gap]:
    """The time limit kills the training without warning, and all work since the last save is lost.

    ## What it flags
    A training job with `--time` but neither `--signal` nor an option by which the program itself saves and leaves in
    time (Megatron's `--exit-duration-in-mins`, NeMo's `max_time_per_run`, Lightning's `max_time`). Info where the limit
    is an hour or less. Quiet where the program saves every 10 minutes or more often.

    ## Why it hurts
    At the limit Slurm sends SIGTERM to the steps, and SIGKILL after `KillWait`, 30 seconds by default: too short for a
    checkpoint of terabytes. BLOOM ran 100-hour jobs and passed `--exit-duration-in-mins 5990`, 10 minutes less, so that
    no run ended in the middle of its 3 hours between saves.

    ## Bad
    ```bash
    #!/bin/bash
    #SBATCH --nodes=4
    #SBATCH --gpus-per-node=8
    #SBATCH --time=20:00:00
    srun python -u train.py
    ```

    ## Good
    ```bash
    #!/bin/bash
    #SBATCH --nodes=4
    #SBATCH --gpus-per-node=8
    #SBATCH --time=20:00:00
    #SBATCH --signal=USR1@600
    srun python -u train.py
    ```

    ## When to keep it
    The run is sure to end before its limit.

    ## Fix safety
    Unsafe: a program without a handler for the signal is ended by it, and with `B:` the signal reaches the batch shell
    alone, which must pass it on. Where the program is seen to have none, nothing is edited.

    ## References
    - https://slurm.schedmd.com/sbatch.html#OPT_signal
    - https://slurm.schedmd.com/slurm.conf.html#OPT_KillWait
    """
    limit = batch.directive("time")
    if not batch.trains or limit is None or batch.workload is None:
        return
    seconds = batch.workload.deadline_seconds
    if not isinstance(seconds, Set) or not isinstance(batch.get("signal"), Absent):
        return
    processes = batch.workload.processes
    if is_smoke(batch.workload, context.profile) or all(
        _ends_before(process, context, seconds.value) for process in processes
    ):
        return
    if any(_leaves_in_time(process) or _loses_little(process, context) for process in processes):
        return
    hour = idle_cost(batch.workload, 3600.0)
    yield Gap(
        Origin(limit.place),
        f"the job is killed after {duration(seconds.value)}: no --signal tells the program to save before that",
        f"all work of {size(batch.workload)} since the last save is lost" + (f": {hour} for each hour" if hour else ""),
        detail="time",
        severity=Severity.INFO if seconds.value <= SHORT_JOB else Severity.WARNING,
        fix=_fix(batch, processes),
    )


def _fix(batch: Batch, processes: Iterable[TrainingProcess]) -> Fix:
    """A signal helps only a program that saves on it; one that is seen to have no handler would end earlier."""
    ask = "#SBATCH --signal=USR1@600"
    handles = [process.settings.signal_save for process in processes]
    if any(isinstance(one, Set) and not one.value for one in handles):
        return Fix(f"let the program save and leave on a signal, and ask for it ten minutes before the end: {ask}")
    surely = bool(handles) and all(isinstance(one, Set) for one in handles)
    return Fix(
        f"ask for a signal ten minutes before the end{'' if surely else ', and save on it'}: {ask}",
        (AddLine(Origin(batch.header), ask, "header"),),
    )


def _ends_before(process: TrainingProcess, context: Context, limit: float) -> bool:
    """Its steps are so few that the limit would be met only if each took longer than steps take."""
    steps = Pace.of(process, context.profile).total_steps
    return steps is not None and steps > 0 and limit / steps > SLOWEST_STEP


def _leaves_in_time(process: TrainingProcess) -> bool:
    """It surely or possibly ends by itself: an option says so, or options are not seen, or `timeout` ends it."""
    if "timeout" in process.command.wrappers or process.options.open_because:
        return True
    if process.framework is not None:
        return not isinstance(process.settings.exit_after, Absent)
    return process.options.find(*EXIT_OPTIONS) is not None


def _loses_little(process: TrainingProcess, context: Context) -> bool:
    interval = process.settings.save_interval
    if not isinstance(interval, Set):
        return False
    between = Pace.of(process, context.profile).seconds(interval.value)
    return between is not None and between <= SMALL_LOSS
