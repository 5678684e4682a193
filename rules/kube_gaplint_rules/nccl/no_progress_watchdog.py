from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.scale import idle_cost, size
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.watchdog import (
    ASYNC,
    handling_by_default,
    handling_is_off,
    is_watched,
    switch,
    waits_blocked,
)
from kube_gaplint.rule import Context, rule

NEVER = frozenset({"0", "0.0", "-1"})


@rule(
    code="NCCL012",
    name="no-progress-watchdog",
    view=TrainingProcess,
    severity=Severity.INFO,
    evidence=("bloom-eval-deadlock", "byterobust", "marin-7344", "pytorch-dataloader-hang", "IL-0125"),
    tier="later",
)
def check(process: TrainingProcess, context: Context) -> Iterator[Gap]:
    """Nothing visible notices when a multi-node run stops making progress: a hang lasts until a person looks.

    ## What it flags
    A job of several nodes in which torch's own guard is surely gone (asynchronous error handling off, or blocking wait
    on), or whose stack has none (Horovod, whose stall shutdown is 0 by default), and in which nothing else is seen that
    could notice: no liveness probe, no launcher with heartbeats (`ft_launcher`), no watchdog beside the program (a loop
    of the script that looks at the log and ends the job is one), and none in its text (`dump_traceback_later`).

    ## Why it hurts
    BLOOM's evaluation deadlocks cost about 18, 6 and 11 hours with all GPUs at 100 %. A 512-GPU run of the Marin
    project stood still for 33 minutes with healthy heartbeats until somebody killed it. PyTorch users report hangs in
    the data loader of hours to days, ByteDance built its own detector for explicit and silent failures. A GPU that is
    busy is no sign of progress.

    ## Bad
    ```bash
    #!/bin/bash
    #SBATCH --nodes=8
    #SBATCH --gpus-per-node=8
    #SBATCH --ntasks-per-node=8
    #SBATCH --requeue
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=0
    srun --kill-on-bad-exit=1 --wait=60 python train.py
    ```

    ## Good
    ```bash
    #!/bin/bash
    #SBATCH --nodes=8
    #SBATCH --gpus-per-node=8
    #SBATCH --ntasks-per-node=8
    #SBATCH --requeue
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    srun --kill-on-bad-exit=1 --wait=60 python train.py
    ```

    ## When to keep it
    When the platform watches the run by itself; say so with `profile.supervisor: true`.

    ## Fix safety
    There is no automatic fix: switch torch's guard on again, or let something outside watch the step count in the log.

    ## References
    - https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md
    - https://github.com/marin-community/marin/issues/7344
    - https://github.com/NVIDIA/nvidia-resiliency-ext
    """
    if process.workload.multi_node is not True or not process.collective or context.profile.supervisor:
        return
    found = _unguarded(process)
    if found is None or is_watched(process):
        return
    origin, why = found
    cost = idle_cost(process.workload, 3600.0)
    yield Gap(
        origin,
        f"nothing visible notices a hang: {why}",
        f"{size(process.workload)} waits until a person looks" + (f": {cost} an hour" if cost else ""),
        detail="unwatched",
        related=() if origin.place == process.origin.place else (Related(process.origin, "started here"),),
        fix=Fix("let torch's watchdog end hung processes, or add something that watches the step count"),
        container=process.container.name,
    )


def _unguarded(process: TrainingProcess) -> tuple[Origin, str] | None:
    """Why the collectives themselves never end a hang, and where that shows; None where they do or may."""
    stall = process.settings.extra.get("stall-shutdown")
    if process.framework is not None and process.framework.name == "horovod":
        if isinstance(stall, Set) and stall.value.strip() in NEVER:
            return stall.origin if stall.origin.written else process.origin, "Horovod's stall shutdown is 0, never"
        return None
    if process.uses_torch_surely_not:
        return None
    off = handling_is_off(process)
    if off is not None:
        return off.origin, "asynchronous error handling is off"
    blocked = waits_blocked(process)
    if blocked is not None and isinstance(blocked.value, Set):
        return blocked.value.origin, "blocking wait takes torch's watchdog away"
    unset = isinstance(switch(process, ASYNC).value, Absent)
    if unset and process.launched_bare and handling_by_default(process) is False:
        return process.origin, f"{process.torch_shown} leaves asynchronous error handling off"
    return None
