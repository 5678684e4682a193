from __future__ import annotations

import re
from collections.abc import Iterator

from kube_gaplint import lazy_re
from kube_gaplint.findings import AddLine, Change, Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.model.slurm import Batch, name_holds
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

_FOR_LIGHTNING = lazy_re.compile(r"R?:?(?:SIG)?(?:USR1|10)(?:@|\Z)", re.IGNORECASE)
"""The signal at which Lightning requeues, sent to the steps: `B:` would send it to the batch shell alone."""
_MAKES_TRAINER = "Trainer("
"""The program itself makes the trainer, so that its plugins are seen."""
_OTHERWISE = lazy_re.compile(
    r"^[^#\n]*(?:SLURMEnvironment\(|auto_requeue|requeue_signal|signal\.signal\(|SIGUSR1)", re.MULTILINE
)
"""Code by which a program may do something else at the signal; what a comment says is none."""


@rule(
    code="SLURM007",
    name="log-truncated-on-requeue",
    view=Batch,
    severity=Severity.WARNING,
    evidence_kind="facts",
    sources=("slurm-sbatch", "slurm-conf"),
)
def check(batch: Batch, _context: Context) -> Iterator[Gap]:
    """A requeued job overwrites its log, and with it the evidence of the failure.

    ## What it flags
    A training job that asks for `--requeue`, or requeues itself with `scontrol requeue`, whose output file has the same
    name in every attempt and is truncated: `--open-mode=truncate`, or no `--open-mode` at all (`JobFileAppend=0` is
    Slurm's default). A trainer of Lightning that srun starts requeues its job when `--signal=USR1@…` reaches it. The
    job number stays the same over a requeue, so `%j` does not help; `%r`, its restarts, does.
    Info where the job is requeued by default only, or where the name holds the host (`%N`), which may be another.
    Quiet where the training step keeps a log of its own that grows (`>> file`, `tee -a file`), and where a command
    beside the script submits it with another mode: by the option, or by an exported `SBATCH_OPEN_MODE`.

    ## Why it hurts
    This rule follows from how Slurm opens the file. The stack trace, the rank that died first and the name of the bad
    node stand at the end of the log; the next attempt empties it within seconds. What is then left is a job that has
    restarted for a reason that nobody can find.

    ## Bad
    ```bash
    #!/bin/bash
    #SBATCH --nodes=4
    #SBATCH --gpus-per-node=8
    #SBATCH --requeue
    #SBATCH --output=/logs/%x-%j.log
    srun --kill-on-bad-exit=1 --wait=60 python -u train.py
    ```

    ## Good
    ```bash
    #!/bin/bash
    #SBATCH --nodes=4
    #SBATCH --gpus-per-node=8
    #SBATCH --requeue
    #SBATCH --open-mode=append
    #SBATCH --output=/logs/%x-%j.log
    srun --kill-on-bad-exit=1 --wait=60 python -u train.py
    ```

    ## When to keep it
    The logs are collected elsewhere while the job runs.

    ## Fix safety
    Safe: lines are only added to the file.

    ## References
    - https://slurm.schedmd.com/sbatch.html#OPT_open-mode
    - https://slurm.schedmd.com/slurm.conf.html#OPT_JobFileAppend
    """
    mode, output = batch.open_mode, batch.get("output")
    if not batch.trains or not isinstance(mode, Set) or mode.value.strip().lower().startswith("a"):
        return
    if isinstance(output, Unknown) or not _requeued(batch):
        return
    pattern = output.value if isinstance(output, Set) else "slurm-%j.out"
    if pattern == "/dev/null" or name_holds(pattern, "rS") or _keeps_own_log(batch):
        return
    related = _requeued_at(batch)
    same = not name_holds(pattern, "N")
    what = "a requeue" if related else "a requeue, which is on by default,"
    yield Gap(
        _place(batch),
        f"{what} overwrites {pattern}{'' if same else ' where the first node is the same'}: {_told(batch, mode)}",
        "the trace, the rank and the node of the failure are gone when the next attempt starts",
        detail="truncate",
        severity=Severity.WARNING if related and same else Severity.INFO,
        related=related,
        fix=_fix(batch),
    )


def _requeued(batch: Batch) -> bool:
    """Whether the job surely comes back under its own number."""
    if batch.requeues_itself is not None:
        return True
    return isinstance(batch.requeue, Set) and batch.requeue.value


def _keeps_own_log(batch: Batch) -> bool:
    """Every training step writes into a file that grows."""
    steps = [step for step in batch.steps if step.trains]
    return bool(steps) and all(step.log_grows for step in steps)


def _place(batch: Batch) -> Origin:
    """The line that truncates, else the output file, else what asks for the requeue."""
    directive = batch.directive("open-mode") or batch.directive("output") or batch.directive("requeue")
    return Origin(batch.header if directive is None else directive.place)


def _told(batch: Batch, mode: Set[str]) -> str:
    if batch.directive("open-mode") is not None:
        return f"--open-mode={mode.value}"
    default = " by default" if mode.origin.via == "default" else ""
    return f"no --open-mode, and JobFileAppend is 0{default}"


def _requeued_at(batch: Batch) -> tuple[Related, ...]:
    """What asks for the requeue; empty where Slurm's default alone brings the job back."""
    asked = batch.directive("requeue")
    if batch.requeues_itself is not None:
        return (Related(batch.requeues_itself, "the script puts its job back into the queue"),)
    if asked is not None:
        return (Related(Origin(asked.place), "the requeue"),)
    signal = batch.directive("signal")
    if signal is not None and _requeued_by_lightning(batch):
        return (Related(Origin(signal.place), "at this signal Lightning requeues the job"),)
    return ()


def _requeued_by_lightning(batch: Batch) -> bool:
    """Whether the signal before the time limit surely reaches a trainer of Lightning that requeues its job then.

    Source: Lightning-AI/pytorch-lightning signal_connector.py @7f0c3436 (SLURMEnvironment, auto_requeue true).
    """
    signal = batch.get("signal")
    if batch.workload is None or not isinstance(signal, Set) or not _FOR_LIGHTNING.match(signal.value.strip()):
        return False
    processes = batch.workload.processes
    return bool(processes) and all(map(_requeues_its_job, processes))


def _requeues_its_job(process: TrainingProcess) -> bool:
    if process.framework is None or process.framework.name != "lightning":
        return False
    if [launcher.kind for launcher in process.launchers] != ["srun"] or process.settings.stop_signals:
        return False
    return _MAKES_TRAINER in next(process.text.texts, "") and not any(map(_OTHERWISE.search, process.text.texts))


def _fix(batch: Batch) -> Fix:
    written = batch.directive("open-mode")
    change: Change = AddLine(Origin(batch.header), "#SBATCH --open-mode=append", "header")
    if written is not None:
        change = ReplaceValue(Origin(written.place), "--open-mode=append")
    return Fix("append to the log: #SBATCH --open-mode=append", (change,), safe=True)
