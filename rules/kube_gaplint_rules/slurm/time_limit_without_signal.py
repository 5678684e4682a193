from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.time_limits import EXIT_OPTION, LIBRARIES, LIGHTNING, LIGHTNING_OPTIONS, WATCHES
from kube_gaplint.findings import AddLine, Fix, Gap, Severity
from kube_gaplint.model.pace import Pace, is_smoke, simulates, steps_by_default, trains_on_a_toy
from kube_gaplint.model.scale import duration, gpu_count, idle_cost, size
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.slurm import Batch
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

DIRECT = frozenset({"srun", "mpirun", "python"})
"""Launchers that leave signals to the program, or hand them on."""
SMALL_LOSS = 600.0
"""Seconds between saves up to which the end of the time limit costs little."""
FEW_STEPS = 100
"""Steps between saves that a program's own loop makes in minutes: where they last longer, somebody sets an interval."""
SLOWEST_STEP = 60.0
"""Seconds of a step: few runs have slower ones."""
ORDINARY_STEP = 2.0
"""Seconds within which a step of a job of up to `ONE_RACK` GPUs may well be done."""
ONE_RACK = 64
SHORT_JOB = 3600.0
"""Seconds of time limit up to which the whole job is a small loss."""
FEW_GPUS = 4
"""GPUs up to which hours of work are a small loss."""
GENEROUS = 7 * 86400.0
"""Seconds of time limit above which it is rather what a site allows than the length of a run of which nothing is
seen."""
SMALL_JOB = 16.0
"""Hours of the time limit, or of what passes between saves, times GPUs up to which that is a small loss."""
FASTEST_STEP = 0.005
"""Seconds of a step: where the limit leaves less for each, what the program counts as steps are none of training."""
LEAD = 600.0
"""Seconds before the limit at which a program should begin to save."""


@rule(
    code="SLURM003",
    name="time-limit-without-signal",
    view=Batch,
    severity=Severity.WARNING,
    evidence=("IL-0125",),
    sources=("slurm-sbatch",),
)
def check(batch: Batch, context: Context) -> Iterator[Gap]:
    """The time limit kills a job of many GPUs without warning, and all work since the last save is lost.

    ## What it flags
    A training job with `--time` but neither `--signal` (in the script, or on the `sbatch` commands that are written
    down around it) nor an option by which the program itself saves and leaves in time (Megatron's
    `--exit-duration-in-mins`, NeMo's `max_time_per_run`, Lightning's `max_time`). A program whose options are not all
    seen, or whose configuration is not, is judged where its text stands in the repository and mentions no limit of
    time. Info where the limit is an hour or less, or over a week for a script of your own of which neither the text nor
    the length is seen, for jobs of up to 4 GPUs, of 16 GPU-hours in all (of one node, where the script names no number
    of them) or between two saves, where the script tells neither nodes nor GPUs (whoever submits it chooses them, and
    may choose few), where the framework has no means of its own to save at a signal or a time (verl), where a policy
    learns in simulated environments (a small state, saved after rounds of minutes), where the program's own text acts
    on SIGTERM, and where the run may well be done by then: up to 64 GPUs, and the limit leaves two seconds or more for
    each of its steps, be their number an option, the default up to which its own loop or its trainer counts, or that of
    the configuration that the script names by default (`--config ${CONFIG:-base.yaml}`). Quiet where it leaves more
    than a minute for each, where the program saves every 10 minutes or more often, or every 100 steps by a loop of its
    own (`if step % 100 == 0`) or by such a configuration, where an option switches its saves off (CKPT002), and where
    nothing is known of it. Smoke tests of up to 200 steps and trainings on a toy data set (MNIST) are left alone.

    ## Why it hurts
    At the limit Slurm sends SIGTERM to the steps, and SIGKILL after `KillWait`, 30 seconds by default: enough for a
    small model whose program saves at SIGTERM, too short for a checkpoint of terabytes. BLOOM ran 100-hour jobs and
    passed `--exit-duration-in-mins 5990`, 10 minutes less, so that no run ended in the middle of its 3 hours between
    saves.

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
    `train.py` saves at SIGUSR1. A program that the batch shell starts without srun gets the signal from a trap alone:
    ```bash
    #SBATCH --signal=B:USR1@600
    python -u train.py & pid=$!
    trap 'kill -USR1 $pid; wait $pid' USR1
    wait $pid
    ```

    ## When to keep it
    The run is sure to end before its limit.

    ## Fix safety
    Unsafe: a program without a handler for the signal is ended by it. gaplint writes the line only for programs that
    srun starts and that are seen to handle SIGUSR1. torchrun and its like hand no SIGUSR1 on.

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
    if not processes or is_smoke(batch.workload, context.profile) or all(map(trains_on_a_toy, processes)):
        return
    each = [_seconds_a_step(process, context, seconds.value) for process in processes]
    if all(one is not None and one > SLOWEST_STEP for one in each):
        return  # the limit would be met only if each step took longer than steps take
    if any(_leaves_in_time(process) or _loses_little(process, context) for process in processes):
        return
    if all(_told_not_to_save(process) for process in processes):
        return
    hour, gpus = idle_cost(batch.workload, 3600.0), gpu_count(batch.workload)
    least = gpus or batch.gpus_at_least
    small = seconds.value <= SHORT_JOB or (gpus is not None and gpus <= FEW_GPUS)
    small = small or (least is not None and least * seconds.value / 3600.0 <= SMALL_JOB)
    small = small or _loses_few_hours(processes, context, gpus)
    unsized = batch.leaves_its_size_open
    generous = seconds.value > GENEROUS and not any(map(_is_seen, processes)) and not any(each)
    in_rounds = all(
        simulates(process) and not isinstance(process.settings.save_interval, Absent) for process in processes
    )
    helpless = all(_is_helpless(process) for process in processes)
    pace = [one for one in each if one is not None]
    may_be_done = (
        gpus is not None
        and gpus <= ONE_RACK
        and all(
            (left := _by_default(process, context, seconds.value) if one is None else one) is not None
            and left >= ORDINARY_STEP
            for one, process in zip(each, processes, strict=True)
        )
    )
    share = f", which leaves {duration(min(pace))} for each step" if pace and min(pace) >= FASTEST_STEP else ""
    hears = all(_acts_on_sigterm(process) for process in processes)
    end = "only KillWait (30 s by default) after the SIGTERM on which the program acts" if hears else _NOTHING
    lost = f"all work of {size(batch.workload)} since the last save is lost"
    yield Gap(
        Origin(limit.place),
        f"the job is killed after {duration(seconds.value)}{share}, {end}",
        (f"where its save takes longer, {lost}" if hears else lost) + (f": {hour} for each hour" if hour else ""),
        detail="time",
        severity=Severity.INFO
        if small or unsized or generous or in_rounds or helpless or hears or may_be_done
        else Severity.WARNING,
        fix=_fix(batch, processes, seconds.value, hears=hears),
    )


_NOTHING = "and nothing makes the program save shortly before"


def _fix(batch: Batch, processes: list[TrainingProcess], limit: float, *, hears: bool) -> Fix:
    """An option of the framework's own first; else the signal, by the way on which it reaches the program."""
    options = {process.framework.exit_option for process in processes if process.framework is not None}
    option = options.pop() if len(options) == 1 else ""
    if option and limit > 2 * LEAD:
        given = option.format(minutes=int((limit - LEAD) // 60))
        return Fix(f"let the program save and leave ten minutes before: {given}")
    launchers = {kind for process in processes for kind in process.layers()}
    if launchers - DIRECT:
        return Fix(
            "let the program save and leave ten minutes before, by the clock (SLURM_JOB_END_TIME): the signal of "
            "--signal would end its launcher, which hands it on to nobody"
        )
    if "srun" not in launchers:
        return Fix(
            "let the program save ten minutes before, by the clock (SLURM_JOB_END_TIME) or at SIGUSR1: "
            "#SBATCH --signal=B:USR1@600 and a trap that passes it on, because srun does not start the program"
        )
    if hears:
        return Fix("ask for SIGTERM ten minutes before the end: #SBATCH --signal=TERM@600")
    line = "#SBATCH --signal=USR1@600"
    add = AddLine(Origin(batch.header), line, "header")
    if all(_in_lightning(process) for process in processes):
        return Fix(f"ask for the signal at which Lightning saves and requeues the job: {line}", (add,))
    if all("SIGUSR1" in process.settings.stop_signals for process in processes):
        return Fix(f"ask for the signal ten minutes before the end: {line}", (add,))
    return Fix(
        f"let the program save ten minutes before, at SIGUSR1 ({line}) or by the clock (SLURM_JOB_END_TIME); without "
        "a handler the signal ends it"
    )


def _told_not_to_save(process: TrainingProcess) -> bool:
    """Somebody switched its saves off: that all is lost is what CKPT002 says."""
    saving = process.settings.saving
    return isinstance(saving, Set) and not saving.value and saving.origin.written


def _is_helpless(process: TrainingProcess) -> bool:
    """Its framework has no means to leave in time, and is not the repository's own code."""
    fixed = process.framework is not None and not process.framework.can_leave
    return fixed and next(process.text.texts, None) is None


def _is_seen(process: TrainingProcess) -> bool:
    """Its text is, or it is a framework's own program."""
    own = process.framework is None or process.framework.name in LIBRARIES
    return not own or next(process.text.texts, None) is not None


def _acts_on_sigterm(process: TrainingProcess) -> bool:
    """Its own text has to do with SIGTERM. A framework's may be there without being switched on."""
    own = process.framework is None or process.framework.name in LIBRARIES
    return own and process.text.mentions("SIGTERM") is True


def _seconds_a_step(process: TrainingProcess, context: Context, limit: float) -> float | None:
    """The seconds that the limit leaves for each step of the run, at least; None where its length is not known."""
    steps = Pace.of(process, context.profile).most_steps
    return limit / steps if steps is not None and steps > 0 else None


def _by_default(process: TrainingProcess, context: Context, limit: float) -> float | None:
    """The same for the steps that it makes unless something else is asked for."""
    steps = steps_by_default(process, context.profile)
    return None if not steps else limit / steps


def _leaves_in_time(process: TrainingProcess) -> bool:
    """It surely or possibly ends by itself: an option says so, or options are not seen, or `timeout` ends it."""
    if "timeout" in process.command.wrappers:
        return True
    leaves = process.settings.exit_after
    if isinstance(leaves, Set) or _has_exit_option(process):
        return True
    watches = (*WATCHES, LIGHTNING_OPTIONS if _in_lightning(process) else LIGHTNING)
    if process.text.mentions(*watches) is False:
        return False
    if process.options.open_because or process.settings.unseen_config or not process.program:
        return True
    if process.framework is not None:
        return not isinstance(leaves, Absent)
    return process.text.mentions(*watches) is True


def _in_lightning(process: TrainingProcess) -> bool:
    return process.framework is not None and process.framework.name == "lightning"


def _has_exit_option(process: TrainingProcess) -> bool:
    names = (one.name.lstrip("-").replace("_", "-").lower() for one in process.options.occurrences)
    return any(EXIT_OPTION.search(name) is not None for name in names)


def _loses_few_hours(processes: list[TrainingProcess], context: Context, gpus: float | None) -> bool:
    """The time between saves is known, and it is few hours of all GPUs together."""
    if gpus is None:
        return False
    for process in processes:
        interval = process.settings.save_interval
        between = Pace.of(process, context.profile).seconds(interval.value) if isinstance(interval, Set) else None
        if between is None or between * gpus / 3600.0 > SMALL_JOB:
            return False
    return True


def _loses_little(process: TrainingProcess, context: Context) -> bool:
    interval = process.settings.save_interval
    if not isinstance(interval, Set):
        usual = process.settings.usual_interval
        return usual is not None and usual.unit == "steps" and usual.amount <= FEW_STEPS
    between = Pace.of(process, context.profile).seconds(interval.value)
    if between is None and interval.origin.via == "derived":
        return interval.value.unit == "steps" and interval.value.amount <= FEW_STEPS
    return between is not None and between <= SMALL_LOSS
