from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.purposes import TRAINING_OPTIONS
from kube_gaplint.facts.purposes import script as purpose_of_script
from kube_gaplint.findings import AddLine, Fix, Gap, Related, Severity
from kube_gaplint.model.command import LostStatus, Script, Word
from kube_gaplint.model.needs import loses_status
from kube_gaplint.model.profiling import profiles_training
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.training import BARE_LAUNCHERS, TrainingProcess
from kube_gaplint.rule import Context, rule

_KEPT_ALIVE = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet", "RayCluster", "RayService"})
"""Kinds that start their pods again after success as after failure."""
_WITHOUT_PIPEFAIL = frozenset({"sh", "dash"})
"""Shells that may not know the option (dash has it since 0.5.13)."""


@rule(
    code="RETRY004",
    name="exit-code-swallowed",
    view=TrainingProcess,
    needs=(loses_status,),
    severity=Severity.ERROR,
    evidence=("IL-0125", "pip-at-start"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """The script ends with 0 though training failed: the failure counts as success, and nothing is retried.

    ## What it flags
    A shell script that loses the exit status of the training program: a pipe into `tee` without `pipefail` (behind it
    `$?` is that of `tee`), `|| true`, commands after it that always succeed (`echo`, `sleep`, `ray stop`, `exit 0`),
    list folders that the script made itself (`ls`) or copy the folder as it is (`rsync -a`), a loop of a few tries
    whose last command does (`sleep`), a background job that nothing waits for, or a `wait` without a process id, whose
    status is 0. Nested scripts, functions and an `eval` of one command are followed. It keeps quiet where the script
    looks at the status (`rc=$?`, `${PIPESTATUS[0]}`, a test that ends it), where `set -e` ends it in time, and where it
    stays for somebody to log in (`sleep infinity` behind the training). A warning for a training, known by its
    framework or launcher, that runs under a profiler (nsys); other benchmarks are left alone.

    ## Why it hurts
    The controller only sees the status of the container. With 0 the Job is Complete, the checkpoint stays where the
    crash left it, and no restart budget is ever touched. The batch script of BLOOM's 384-GPU run piped srun into `tee`
    under `set -e` alone, so that the failure of a step did not reach Slurm. Elsewhere a missing `set -e` turned a
    failed download into a misleading import error, for two days.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      backoffLimit: 20
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [bash, -c]
            args:
            - |
              set -e
              torchrun --standalone --nproc-per-node=8 pretrain.py 2>&1 | tee /logs/train.log
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      backoffLimit: 20
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [bash, -c]
            args:
            - |
              set -eo pipefail
              torchrun --standalone --nproc-per-node=8 pretrain.py 2>&1 | tee /logs/train.log
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where a failed run must not be repeated and something else reads the result. Then say so in the suppression.

    ## Fix safety
    Safe where `set -o pipefail` alone hands the status on. Elsewhere there is only advice: what the script should do
    after a failure is for its author to say. It keeps the status and goes on, for `set -e` may end a script at a
    command in front of the training that fails at the first start, as an `ls` of earlier logs does.

    ## References
    - https://www.gnu.org/software/bash/manual/html_node/Pipelines.html
    - https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/tr11-176B-ml.slurm
    """
    lost, workload = process.status_lost, process.workload
    profiled = not workload.trains and profiles_training(process)
    if lost is None or workload.subject.kind in _KEPT_ALIVE or not (profiled or workload.trains):
        return
    if not _is_training(process) or (lost.way == "background" and _may_be_a_helper(process)):
        return
    yield Gap(
        Origin(lost.place if lost.way == "pipe" else lost.command.place),
        _message(lost, process),
        f"a failed run of {size(workload)} counts as finished: no restart, no mail and no waiting job sees the failure",
        detail=lost.way,
        severity=Severity.WARNING if profiled else None,
        related=() if lost.way == "pipe" else (Related(Origin(lost.place), "this is the status that counts"),),
        fix=_fix(lost, several=_is_one_of_several(process, lost)),
        container=process.container.name,
    )


def _is_training(process: TrainingProcess) -> bool:
    """A program that is seen to train; of scripts that are not seen, one whose name or options say so."""
    if process.program or process.launchers or any(map(_only_for_training, process.command.words)):
        return True
    return any(purpose_of_script(word.shown.rsplit("/", 1)[-1]) == "training" for word in process.command.words[:3])


def _may_be_a_helper(process: TrainingProcess) -> bool:
    """A script that is not seen, started once on each node by srun alone: in the background it may well be a server
    that is to run until the job ends."""
    return (
        not process.program
        and set(process.layers()) <= BARE_LAUNCHERS
        and not any(map(_only_for_training, process.command.words))
    )


def _only_for_training(word: Word) -> bool:
    """Whether it is an option that only trainings have (`--gradient_accumulation_steps`)."""
    text = word.known or word.prefix
    return text.startswith("--") and text[2:].partition("=")[0].replace("_", "-").lower() in TRAINING_OPTIONS


def _message(lost: LostStatus, process: TrainingProcess) -> str:
    name = process.program.rpartition("/")[2] or lost.command.name or "the training command"
    what = " ".join(lost.place.text.split())[:60]
    return {
        "pipe": f"{name} is piped into another command without pipefail: its failure is lost",
        "fallback": f"a failure of {name} is turned into success by `|| {what}`",
        "later": f"a failure of {name} is lost: `{what}` comes last, and its 0 is the script's status",
        "background": f"{name} runs in the background, and nothing waits for its status",
        "wait": f"{name} runs in the background, and `wait` without its process id always gives 0",
        "branch": f"a failure of {name} only takes another branch, and the script ends with 0",
        "exit": f"a failure of {name} is lost: the script ends with `{what}`",
    }[lost.way]


def _whole(script: Script) -> str:
    """The script in words: the status of one that a shell starts by `-c` has to leave that one first."""
    return f"what `{script.shell} -c` runs" if script.form == "string" and script.parent is not None else "the script"


def _is_one_of_several(process: TrainingProcess, lost: LostStatus) -> bool:
    """Whether others lose their status at the same place, or a loop may start it several times."""
    if lost.looped or len(process.launched) > max(1, len(process.launchers)):
        return True
    found = [one.status_lost.place for one in process.workload.processes if one.status_lost is not None]
    return found.count(lost.place) > 1


def _fix(lost: LostStatus, *, several: bool) -> Fix:
    """What hands the status on and changes nothing else: under `set -e` a script may end at a command in front of the
    training that fails at the first start, as an `ls` of the logs of earlier ones does."""
    script = lost.command.script
    if lost.way == "pipe" and script is not None:
        plain = script.shell in _WITHOUT_PIPEFAIL
        if plain and lost.pipefail_suffices:
            return Fix("run the script with `bash -o pipefail`: not every sh knows the option")
        if not lost.pipefail_suffices:
            kept = f"`[ ${{PIPESTATUS[{lost.member}]}} -eq 0 ] || rc=1`"
            bash = f"run {_whole(script)} with bash: " if plain else ""
            return Fix(f"{bash}behind the pipe, {kept}, and at the end of {_whole(script)} `exit ${{rc:-0}}`")
        several_lines = "\n" in script.text.text.strip()
        line = (AddLine(Origin(lost.place), "set -o pipefail"),) if several_lines else ()
        return Fix("set -o pipefail before the pipe", line, safe=True)
    kept = "keep its status: `|| rc=$?` behind it, and `exit ${rc:-0}` at the end of the script"
    waited = (
        'wait for each by its id: `pids="$pids $!"` behind it, then '
        "`for pid in $pids; do wait $pid || rc=$?; done` and `exit ${rc:-0}`"
        if several
        else "keep its id (`pid=$!` behind it), wait for it (`wait $pid || rc=$?`), and end with `exit ${rc:-0}`"
    )
    return Fix({
        "fallback": "let the failure through, or end with `exit 1` after what has to be done",
        "later": kept,
        "background": waited,
        "wait": waited,
        "branch": "end the branch with `exit 1`",
        "exit": kept,
    }[lost.way])  # fmt: skip
