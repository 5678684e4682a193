from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.scale import idle_cost, size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.slurm import Batch, Step
from kube_gaplint.rule import Context, rule


@rule(
    code="SLURM006",
    name="no-kill-or-wait-unlimited",
    view=Batch,
    severity=Severity.ERROR,
    evidence=("IL-0125",),
    evidence_kind="facts",
    sources=("slurm-srun",),
)
def check(batch: Batch, _context: Context) -> Iterator[Gap]:
    """The script asks Slurm to keep a step alive that has lost a rank or a node.

    ## What it flags
    In a multi-node training: `--kill-on-bad-exit=0` (`-K0`), `--wait=0` (`-W 0`), `--no-kill` (`-k`), or
    `SLURM_KILL_BAD_EXIT=0`, `SLURM_WAIT=0`, `SLURM_NO_KILL` in the environment of srun.

    ## Why it hurts
    This rule follows from how srun reads its options. `--kill-on-bad-exit=0` overrides a site's `KillOnBadExit=1`: the
    other ranks go on after one has failed. `--wait=0` waits for ever for tasks that outlive the first one. `--no-kill`
    keeps the allocation when a node is lost, and makes the other two void for its tasks. A collective of NCCL cannot
    finish without the lost rank, so all nodes wait until its timeout, or for ever: BLOOM's job sat in that limbo until
    `srun --wait=60 --kill-on-bad-exit=1` and NCCL's error handling ended it.

    ## Bad
    ```bash
    #!/bin/bash
    #SBATCH --nodes=8
    #SBATCH --gpus-per-node=8
    srun --kill-on-bad-exit=0 python -u train.py
    ```

    ## Good
    ```bash
    #!/bin/bash
    #SBATCH --nodes=8
    #SBATCH --gpus-per-node=8
    srun --kill-on-bad-exit=1 --wait=60 python -u train.py
    ```

    ## When to keep it
    An elastic launcher that goes on with the nodes that are left, or that restarts its processes in place.

    ## Fix safety
    Safe for the two options: a step without one of its ranks cannot finish. `--no-kill` is left to you.

    ## References
    - https://slurm.schedmd.com/srun.html#OPT_kill-on-bad-exit
    - https://slurm.schedmd.com/srun.html#OPT_no-kill
    """
    if not batch.trains_on_several_nodes or batch.elastic or batch.restarts_inside is not None:
        return
    kept = batch.directive("no-kill")
    if kept is not None and not (isinstance(kept.value, Set) and kept.value.value == "off"):
        yield Gap(
            Origin(kept.place),
            "--no-kill: the job keeps its other nodes when one is lost",
            _cost(batch),
            detail="allocation",
            fix=Fix("remove --no-kill: the job ends with the lost node, and can start again"),
        )
    for step in batch.training_steps:
        gap = _gap(batch, step)
        if gap is not None:
            yield gap


def _gap(batch: Batch, step: Step) -> Gap | None:
    found: list[tuple[str, str, Origin]] = []
    changes: list[ReplaceValue] = []
    if step.launcher == "srun" and isinstance(step.kill_on_bad_exit, Set) and step.kill_on_bad_exit.value == "0":
        origin = step.kill_on_bad_exit.origin
        found.append(
            (origin.place.text or "--kill-on-bad-exit=0", "the other ranks go on after one has failed", origin)
        )
        changes.extend(_ending(origin, "1"))
    if isinstance(step.wait_seconds, Set) and step.wait_seconds.value == 0:
        origin = step.wait_seconds.origin
        found.append(("--wait=0", "tasks that outlive the first one are waited for without end", origin))
        changes.extend(_ending(origin, "60"))
    if isinstance(step.no_kill, Set) and step.no_kill.value:
        found.append(("--no-kill", "the step outlives a lost node", step.no_kill.origin))
    if not found:
        return None
    return Gap(
        found[0][2],
        "; ".join(f"{what}: {effect}" for what, effect, _ in found),
        _cost(batch),
        detail="+".join(sorted(what for what, _, _ in found)),
        related=tuple(Related(origin, what) for what, _, origin in found[1:]),
        fix=Fix("end the step with its first dead rank: --kill-on-bad-exit=1 --wait=60", tuple(changes), safe=True),
    )


def _cost(batch: Batch) -> str:
    assert batch.workload is not None
    hour = idle_cost(batch.workload, 3600.0)
    return f"{size(batch.workload)} wait for a rank that is gone" + (f", {hour} for each hour" if hour else "")


def _ending(origin: Origin, number: str) -> Iterator[ReplaceValue]:
    """The same words with the number at their end replaced."""
    text = origin.place.text
    if text.endswith("0"):
        yield ReplaceValue(origin, text[:-1] + number)
