from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kube_gaplint.facts.purposes import SEARCHES, words_of
from kube_gaplint.facts.retry import SUBMITS_ITSELF
from kube_gaplint.facts.storage import OWN_LOOP, RESTORES
from kube_gaplint.findings import AddLine, Fix, Gap, Related, Severity
from kube_gaplint.model.budget import LONG
from kube_gaplint.model.pace import Pace, generates_samples, is_smoke, simulates, trains_on_a_toy
from kube_gaplint.model.scale import duration, idle_cost, node_count, size
from kube_gaplint.model.setting import Absent, Origin, Set, Unknown
from kube_gaplint.model.slurm import Batch, Directive
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule

_ARRAY_INDEX = "SLURM_ARRAY_TASK_ID"
FEW_STEPS = 500
"""Steps of a run that is done within eight hours if each takes less than a minute, as nearly all do."""


@rule(
    code="SLURM002",
    name="no-requeue",
    view=Batch,
    severity=Severity.WARNING,
    evidence=("IL-0125", "bigscience-13b-shm-bad-node"),
    sources=("slurm-sbatch", "hyperpod"),
)
def check(batch: Batch, context: Context) -> Iterator[Gap]:
    """Nothing starts the job again after a crash, so the nodes are lost until a person looks.

    ## What it flags
    Multi-node training without a job array that runs one element after the other, a dependency chain, a submission of
    the next job, `scontrol requeue`, HyperPod's `--auto-resume`, a launcher that restarts in place, a loop of the
    script without an end, or `--requeue` together with `RequeueExit` in slurm.conf. Warning for jobs of 8 hours or more
    or without a time limit, and where requeueing is switched off (`--no-requeue`, `JobRequeue=0`); info for shorter
    ones. `--requeue` by itself (and `JobRequeue=1`, the default) covers lost nodes and preemption alone: a program that
    exits with an error is not started again unless `RequeueExit` lists its code. Where slurm.conf is not in the paths
    that is info. A README or a script beside it that submits it with `--array`, `--dependency` or `--requeue` keeps the
    rule quiet, and so does a training that a script starts which is not in the paths, or whose program calls sbatch: it
    may submit the next run. Info also where the program is seen to begin anew at every start (a `Trainer.fit` without
    `ckpt_path`) and no option of its framework would change that, and where a script of your own holds the loop and
    reads no state back, where each start is told the same checkpoint (`--resume model_03.pt`), and where the program
    begins a search over settings (`sweep.py`): another start would save no work; and where the run has up to 500 steps,
    which are done within hours. Smoke tests of up to 200 steps and trainings on a toy data set (MNIST) are left alone.

    ## Why it hurts
    BLOOM lost a GPU about once a week on 384 of them. With one job at a time, each crash at night waited for somebody
    to see it. BigScience's 13B model had hours in which its job was neither running nor queued, found by a mail alert.
    Both went over to job arrays of which one element runs at a time.

    ## Bad
    ```bash
    #!/bin/bash
    #SBATCH --nodes=16
    #SBATCH --gpus-per-node=8
    #SBATCH --time=2-00:00:00
    srun --kill-on-bad-exit=1 --wait=60 python -u train.py
    ```

    ## Good
    ```bash
    #!/bin/bash
    #SBATCH --nodes=16
    #SBATCH --gpus-per-node=8
    #SBATCH --time=2-00:00:00
    #SBATCH --array=1-10%1
    srun --kill-on-bad-exit=1 --wait=60 python -u train.py
    ```

    ## When to keep it
    Something outside submits the job again: declare `supervisor` in the profile. A program that cannot resume gains
    nothing from a restart; where options of a first launch show that (Megatron's `--reset-progress`,
    `--no-load-optim`), for runs of up to 200 steps (also where that is the script's own default, `${STEPS:-50}`) or
    over a data set as small as MNIST, gaplint keeps quiet.

    ## Fix safety
    Unsafe: with an array the program must find its last checkpoint by itself, and stop when the run is complete. There
    is an edit only where it is seen that it resumes and where nothing reads the array's index (as a seed, say): else
    the elements would be runs of their own.

    ## References
    - https://slurm.schedmd.com/sbatch.html#OPT_array
    - https://slurm.schedmd.com/slurm.conf.html#OPT_RequeueExit
    """
    if not batch.trains_on_several_nodes or not isinstance(batch.continuation, Absent):
        return
    if batch.restarts_inside is not None or batch.loops_for_ever or not isinstance(batch.requeue, Set):
        return
    assert batch.workload is not None
    processes = batch.workload.processes
    if is_smoke(batch.workload, context.profile) or (processes and all(map(trains_on_a_toy, processes))):
        return
    if any(process.begins_anew for process in processes):
        return  # a restart would begin from the first step again
    if any(map(_is_hidden, processes)) or any(process.text.mentions(*SUBMITS_ITSELF) is True for process in processes):
        return
    asked = batch.directive("requeue", "no-requeue")
    if not batch.requeue.value:
        gap = _switched_off(batch, asked)
    elif asked is not None:
        gap = _asked_for(batch, asked)
    else:
        gap = _nothing(batch, context)
    hours = idle_cost(batch.workload, LONG)
    cost = f": eight hours of a night are {hours}" if hours else ""
    idle = size(batch.workload)
    stay = "stay" if node_count(batch.workload) is not None else "stays"
    yield replace(
        gap,
        severity=Severity.INFO
        if any(map(_trains_anew, processes)) or (processes and all(_is_short(one, context) for one in processes))
        else gap.severity,
        consequence=f"after a crash {idle} {stay} idle until a person submits the job again{cost}",
        fix=_fix(batch, processes),
    )


def _fix(batch: Batch, processes: Sequence[TrainingProcess]) -> Fix:
    """A run more helps only a program that goes on from its last checkpoint, and harms one that trains anew.

    Where the index of an array means something to the job, such as its seed, its elements would be other runs.
    """
    queue = "queue several runs of which one runs at a time: #SBATCH --array=1-10%1"
    change: tuple[AddLine, ...] = (AddLine(Origin(batch.header), "#SBATCH --array=1-10%1", "header"),)
    if any(map(_has_array_index, processes)):
        queue = "submit it again behind itself, for a run that failed: sbatch --dependency=afternotok:JOBID"
        change = ()
    resumes = [process.settings.resume for process in processes]
    if resumes and all(isinstance(resume, Set) and resume.value for resume in resumes):
        return Fix(queue, change)
    first = "see to it that a new start goes on from the last checkpoint and a complete run ends at once; then "
    return Fix(first + queue)


def _is_short(process: TrainingProcess, context: Context) -> bool:
    """It has so few steps that it is done within hours."""
    steps = Pace.of(process, context.profile).most_steps
    return steps is not None and steps <= FEW_STEPS and not generates_samples(process) and not simulates(process)


def _has_array_index(process: TrainingProcess) -> bool:
    """The index of a job array, as its script or its program reads it, tells its elements apart."""
    if _ARRAY_INDEX in process.reads:
        return True
    script = process.command.script
    while script is not None:
        if _ARRAY_INDEX in script.reads:
            return True
        script = script.parent
    return False


def _is_hidden(process: TrainingProcess) -> bool:
    """A script that is not seen starts the training: it may submit the next run as well."""
    script = process.command.script
    return not process.program and script is not None and any(word in script.unseen for word in process.command.words)


def _trains_anew(process: TrainingProcess) -> bool:
    """It does not go on from a checkpoint of its own: it is told the same one at each start, it begins a search anew,
    it saves none, or reads none, and no option of its framework would make it do so; or its script, which holds the
    loop, has nothing to do with such a state."""
    saving, resume = process.settings.saving, process.settings.resume
    if process.settings.told_one_state or not SEARCHES.isdisjoint(words_of(process.program.rpartition("/")[2])):
        return True
    if isinstance(saving, Absent) or (isinstance(saving, Set) and not saving.value):
        return True
    if process.framework is not None and process.framework.resume_option[0]:
        return False
    if not isinstance(resume, Unknown):
        return isinstance(resume, Absent) or not resume.value
    script = next(process.text.texts, "")
    return any(sign in script for sign in OWN_LOOP) and not any(sign in script for sign in RESTORES)


def _switched_off(batch: Batch, asked: Directive | None) -> Gap:
    assert isinstance(batch.requeue, Set)
    end = "nothing starts the job again, not even after a lost node"
    if asked is not None:
        return Gap(Origin(asked.place), f"--no-requeue: {end}", detail="off")
    related = (Related(batch.requeue.origin, "requeueing is switched off here"),)
    return Gap(Origin(batch.header), f"JobRequeue=0 in slurm.conf: {end}", detail="off", related=related)


def _asked_for(batch: Batch, asked: Directive) -> Gap:
    """`--requeue` without the RequeueExit that makes it hold for crashes."""
    start = "--requeue covers lost nodes and preemption alone"
    if batch.conf is None or isinstance(batch.conf.get("requeueexit"), Unknown):
        message = f"{start}; whether a crash counts is up to RequeueExit, which is not in the given paths"
        return Gap(Origin(asked.place), message, detail="crash", severity=Severity.INFO)
    related = (Related(batch.conf.origin, "slurm.conf without RequeueExit"),)
    return Gap(Origin(asked.place), f"{start}: slurm.conf has no RequeueExit", detail="crash", related=related)


def _nothing(batch: Batch, context: Context) -> Gap:
    assert batch.workload is not None
    limit = batch.workload.deadline_seconds
    long = isinstance(limit, Absent) or (isinstance(limit, Set) and limit.value >= LONG)
    length = f"a job of {duration(limit.value)}" if isinstance(limit, Set) else "a job that names no time limit"
    none = "no array, dependency chain or resubmission"
    if batch.directive("array") is not None:
        none = "no dependency chain or resubmission, and its array has a single element"
    return Gap(
        Origin(batch.header),
        f"nothing starts {length} again after a crash: {none}",
        detail="crash",
        severity=Severity.WARNING if long and context.profile.slurm_requeue is not True else Severity.INFO,
    )
