from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import AddOption, Fix, Gap, Severity
from kube_gaplint.model.pace import is_smoke
from kube_gaplint.model.scale import duration, gpu_count, idle_cost, size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.slurm import Batch, Step
from kube_gaplint.model.watchdog import ASYNC, handling_by_default, switch
from kube_gaplint.rule import Context, rule

SMALL_LOSS = 3600.0
"""GPU-seconds of waiting that are a small loss."""
FEW_GPUS = 4
"""A job of so few GPUs is a small loss however long it waits."""
AN_HOUR = 3600.0
SHORT_LIMIT = 900.0
"""Seconds of a time limit that only a test has: it ends the wait soon enough by itself."""


@rule(
    code="SLURM001",
    name="srun-survives-dead-rank",
    view=Batch,
    severity=Severity.WARNING,
    evidence=("IL-0125",),
    sources=("slurm-srun",),
)
def check(batch: Batch, context: Context) -> Iterator[Gap]:
    """srun keeps the step alive when a rank dies, so a crash of one task holds all nodes.

    ## What it flags
    A multi-node training step without `--kill-on-bad-exit` (`-K`, `SLURM_KILL_BAD_EXIT`, `KillOnBadExit=1` in a
    slurm.conf of the given paths). Slurm's default is 0: the other tasks go on running. A missing `--wait` is named as
    well; where it alone is missing it is info, and so are jobs of up to 4 GPUs or with a time limit of up to 15
    minutes, a step beside others that the script waits for, and one whose collective times out before an hour of one
    GPU is lost. A file that the script sources and that is not seen is not taken to set the variable. Smoke tests of up
    to 200 steps are left alone. Where a script inside the step swallows the exit status, no option of srun helps, and
    gaplint is silent here.

    ## Why it hurts
    BLOOM's job stayed in limbo after crashes: processes were gone, srun waited for the others, and the job array could
    not start the next attempt. `srun --wait=60 --kill-on-bad-exit=1` together with NCCL's error handling ended that.

    ## Bad
    ```bash
    #!/bin/bash
    #SBATCH --nodes=16
    #SBATCH --ntasks-per-node=8
    #SBATCH --gres=gpu:8
    srun python -u train.py
    ```

    ## Good
    ```bash
    #!/bin/bash
    #SBATCH --nodes=16
    #SBATCH --ntasks-per-node=8
    #SBATCH --gres=gpu:8
    srun --kill-on-bad-exit=1 --wait=60 python -u train.py
    ```

    ## When to keep it
    The site's slurm.conf sets `KillOnBadExit=1`: give that file to gaplint, or declare `kill_on_bad_exit` in the
    profile. Elastic programs that go on with fewer ranks want the default. Of programs whose whole text is seen and
    makes no process group, each process a run of its own, nothing is said.

    ## Fix safety
    Safe: a step that has lost a rank cannot finish its collective.

    ## References
    - https://slurm.schedmd.com/srun.html#OPT_kill-on-bad-exit
    - https://github.com/pytorch/pytorch/issues/76287
    """
    if batch.multi_node is not True or batch.workload is None or not batch.workload.trains:
        return
    processes = batch.workload.processes
    if is_smoke(batch.workload, context.profile) or _ends_well_anyhow(batch):
        return
    if processes and all(process.trains_by_itself for process in processes):
        return
    for step in batch.steps:
        if not step.trains or (isinstance(step.nodes, Set) and step.nodes.value <= 1):
            continue
        no_wait = isinstance(step.wait_seconds, Absent)
        if isinstance(step.kill_on_bad_exit, Absent) and context.profile.kill_on_bad_exit is not True:
            yield _gap(batch, step, no_wait)
        elif no_wait and isinstance(step.kill_on_bad_exit, Set) and step.kill_on_bad_exit.value != "0":
            yield Gap(
                step.origin,
                "srun has no --wait: when a task ends early without an error, the others are waited for without end",
                detail="wait",
                severity=Severity.INFO,
                fix=Fix("add --wait=60", (AddOption(step.origin, ("--wait=60",)),), safe=True),
            )


def _ends_well_anyhow(batch: Batch) -> bool:
    """A script inside the step ends with 0 when its program fails: srun sees no bad exit, and that is the gap."""
    assert batch.workload is not None
    losses = [process.status_lost for process in batch.workload.processes]
    return bool(losses) and all(
        loss is not None and loss.place.source is not batch.origin.place.source for loss in losses
    )


def _bound(batch: Batch) -> float | None:
    """Seconds after which the ranks' own collective surely times out and ends them; None where that is not known."""
    assert batch.workload is not None
    found: list[float] = []
    for process in batch.workload.processes:
        timeout = process.settings.timeout
        if not isinstance(timeout, Set) or not (handling_by_default(process) or not process.launched_bare):
            return None
        found.append(timeout.value)
    return max(found, default=None)


def _hangs(batch: Batch) -> bool:
    """No collective ends by itself: the release of torch leaves error handling off, and nothing switches it on."""
    assert batch.workload is not None
    return all(
        process.launched_bare
        and handling_by_default(process) is False
        and isinstance(switch(process, ASYNC).value, Absent)
        for process in batch.workload.processes
    )


def _gap(batch: Batch, step: Step, no_wait: bool) -> Gap:
    assert batch.workload is not None
    missing = "--kill-on-bad-exit"
    words: tuple[str, ...] = ("--kill-on-bad-exit=1",)
    if no_wait:
        missing, words = "--kill-on-bad-exit and no --wait", ("--kill-on-bad-exit=1", "--wait=60")
    bound, gpus = _bound(batch), gpu_count(batch.workload)
    beside = step.command.background and sum(other.command.background for other in batch.steps) > 1
    limit = batch.workload.deadline_seconds
    small = gpus is not None and (gpus <= FEW_GPUS or (bound is not None and bound * gpus < SMALL_LOSS))
    small = small or (isinstance(limit, Set) and limit.value <= SHORT_LIMIT)
    if isinstance(limit, Set) and limit.value <= (bound or AN_HOUR):
        cost = idle_cost(batch.workload, limit.value)
        if bound is not None or _hangs(batch):
            wait, most = f"until the job's limit of {duration(limit.value)} ends it", ""
        else:
            wait, most = f"until the collective or the job's limit of {duration(limit.value)} ends it", "up to "
        wait += f": {most}{cost}" if cost else ""
    elif bound is not None:
        cost = idle_cost(batch.workload, bound)
        wait = f"until the collective times out after {duration(bound)}" + (f": {cost}" if cost else "")
    else:
        cost = idle_cost(batch.workload, AN_HOUR)
        wait = "until something else times out" + (f", {cost} for each hour" if cost else "")
    return Gap(
        step.origin,
        f"srun has no {missing}: Slurm's defaults leave the other tasks running when one dies",
        f"a dead rank leaves {size(batch.workload)} waiting {wait}",
        detail="kill-on-bad-exit",
        severity=Severity.INFO if small or beside else Severity.WARNING,
        fix=Fix(f"add {' '.join(words)}", (AddOption(step.origin, words),), safe=True),
    )
