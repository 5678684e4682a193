from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import AddOption, Fix, Gap, Severity
from kube_gaplint.model.pace import is_smoke
from kube_gaplint.model.scale import idle_cost, size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.slurm import Batch, Step
from kube_gaplint.rule import Context, rule


@rule(
    code="SLURM001",
    name="srun-survives-dead-rank",
    view=Batch,
    severity=Severity.WARNING,
    evidence=("IL-0125",),
)
def check(batch: Batch, context: Context) -> Iterator[Gap]:
    """srun keeps the step alive when a rank dies, so a crash of one task holds all nodes.

    ## What it flags
    A multi-node training step without `--kill-on-bad-exit` (`-K`, `SLURM_KILL_BAD_EXIT`, `KillOnBadExit=1` in a
    slurm.conf of the given paths). Slurm's default is 0: the other tasks go on running. A missing `--wait` is named as
    well; where it alone is missing it is info.

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
    profile. Elastic programs that go on with fewer ranks want the default.

    ## Fix safety
    Safe: a step that has lost a rank cannot finish its collective.

    ## References
    - https://slurm.schedmd.com/srun.html#OPT_kill-on-bad-exit
    - https://github.com/pytorch/pytorch/issues/76287
    """
    if batch.multi_node is not True or batch.workload is None or not batch.workload.trains:
        return
    if is_smoke(batch.workload, context.profile):
        return  # somebody waits for it
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


def _gap(batch: Batch, step: Step, no_wait: bool) -> Gap:
    assert batch.workload is not None
    missing = "--kill-on-bad-exit"
    words: tuple[str, ...] = ("--kill-on-bad-exit=1",)
    if no_wait:
        missing, words = "--kill-on-bad-exit and no --wait", ("--kill-on-bad-exit=1", "--wait=60")
    hour = idle_cost(batch.workload, 3600.0)
    return Gap(
        step.origin,
        f"srun has no {missing}: Slurm's defaults leave the other tasks running when one dies",
        f"a dead rank leaves {size(batch.workload)} waiting until something else times out"
        + (f", {hour} for each hour" if hour else ""),
        detail="kill-on-bad-exit",
        fix=Fix(f"add {' '.join(words)}", (AddOption(step.origin, words),), safe=True),
    )
