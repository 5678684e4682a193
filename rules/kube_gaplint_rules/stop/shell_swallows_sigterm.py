from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.budget import large
from kube_gaplint.model.command import ShellInFront
from kube_gaplint.model.needs import has_shell_in_front
from kube_gaplint.model.placement import spot
from kube_gaplint.model.scale import duration, size
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.model.stopping import asked_grace, deaf_shell, grace_shown, ignores_signals, saves_when_stopped
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="STOP001",
    name="shell-swallows-sigterm",
    view=TrainingProcess,
    needs=(has_shell_in_front,),
    severity=Severity.WARNING,
    evidence=("adaptdl-105", "goodfire-677"),
    sources=("kubernetes-pod-lifecycle",),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """A shell stays in front of the training, so that SIGTERM never reaches it.

    ## What it flags
    `sh -c`, `bash -c` or a script that starts the training and stays: commands come after it, its output is piped or
    redirected, it stands in a script file or in the background, and nothing hands SIGTERM on. Quiet with `exec`, with
    a trap that tells a program in the background, with `shareProcessNamespace`, and for a `bash -c` whose last command
    is the training: bash then runs it in its own place (measured with bash 5.2), and dash never does. Info where the
    program is seen and nothing in it has to do with a signal, and for jobs of one pod with fewer than 8 GPUs that show
    no sign of it.

    ## Why it hurts
    Kubernetes sends SIGTERM to the first process of a container alone. A shell there waits for its child and passes
    nothing on; after the grace period everything is killed. AdaptDL's pods saved at an eviction when python was the
    first process, and never when `sh -c` was. A signal is no guarantee even where it arrives: another project's save on
    SIGTERM fired in none of six preemptions.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 300
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [bash, -c]
            args: ["torchrun --nproc-per-node=8 train.py --out /ckpt > /ckpt/log.txt 2>&1"]
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
          terminationGracePeriodSeconds: 300
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [bash, -c]
            args: ["exec torchrun --nproc-per-node=8 train.py --out /ckpt > /ckpt/log.txt 2>&1"]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    The program saves often and does nothing on SIGTERM: then it only stops later than it could.

    ## Fix safety
    Safe where `exec` in front of the last command is enough. Elsewhere what comes after the training has to move, or
    the training has to run in the background with a trap that signals it; that is for a person to do.

    ## References
    - https://github.com/petuum/adaptdl/issues/105
    - https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
    - https://www.gnu.org/software/bash/manual/html_node/Signals.html
    """
    held = deaf_shell(process)
    if held is None or not process.workload.trains or not process.program:
        return
    severity, cost, related = _at_stake(process)
    yield Gap(
        Origin(held.command.place),
        f"{held.shell} stays in front of {held.command.name or 'the training'} and hands no SIGTERM on: {_why(held)}",
        cost,
        detail="background" if held.why == "background" else "shell",
        severity=severity,
        related=related,
        fix=_fix(held),
        container=process.container.name,
    )


def _why(held: ShellInFront) -> str:
    after = "" if held.after is None else " ".join(held.after.place.text.split())[:40]
    text = {
        "background": "it runs in the background",
        "pipe": "it is part of a pipe",
        "redirected": "its output is redirected",
        "fallback": "its failure is caught",
        "time": "`time` measures it",
        "trap": "a trap is set",
        "file": "it is run from a script file without exec",
        "later": f"`{after}` comes after it" if after else "it is not the last command",
        "compound": "it stands inside a compound command",
        "text": "a blank line or a comment comes after it",
        "dash": "it runs no command in its own place",
    }[held.why]
    return f"{text}, and a trap runs only when it has ended" if held.deaf_trap else text


def _at_stake(process: TrainingProcess) -> tuple[Severity, str, tuple[Related, ...]]:
    """How bad it is, and why: what the signal would have been good for."""
    workload, grace, saves = process.workload, asked_grace(process), saves_when_stopped(process)
    after = grace_shown(process)
    if saves is not None:
        lost = (
            f"its save never starts: {after} later SIGKILL takes all since the last periodic save of {size(workload)}"
        )
        return Severity.WARNING, lost, (Related(saves, "it saves when it is told to stop"),)
    little = Severity.INFO, f"it stops by SIGKILL alone, {after} later", ()
    if ignores_signals(process):
        return little
    placed = spot(process.role.pod)
    if placed is not None:
        notice = (Related(placed, "these nodes are taken away with short notice"),)
        return Severity.WARNING, "the notice before a node is taken away never reaches the program", notice
    if grace is not None:
        asked = (Related(grace.origin, "the time that it is given to stop"),)
        return (
            Severity.WARNING,
            f"{duration(grace.value)} of grace pass unused, then SIGKILL ends {size(workload)}",
            asked,
        )
    settings = process.settings
    may_save = isinstance(settings.signal_save, Unknown) and not (
        isinstance(settings.saving, Set) and not settings.saving.value
    )
    if may_save and large(workload):
        return Severity.WARNING, f"a save on SIGTERM cannot happen: {after} later SIGKILL ends {size(workload)}", ()
    return little


def _fix(held: ShellInFront) -> Fix:
    if held.exec_suffices:
        word = held.command.words[0]
        changes: tuple[Change, ...] = (ReplaceValue(Origin(word.place), f"exec {word.place.text}", raw=True),)
        return Fix(f"put exec in front of {held.command.name}", changes, safe=True)
    if held.why == "pipe":
        return Fix("send the output into the pipe by `exec > >(tee log) 2>&1`, then exec the program")
    if held.why == "background":
        trap = """keep its PID (pid=$!), set trap 'kill -TERM "$pid"' TERM, and wait by `wait "$pid" || wait "$pid"`"""
        pipeline = held.command.pipeline
        piped = pipeline.index < pipeline.length - 1  # of a pipe, $! is the last program
        return Fix(f"send its output away by `> >(tee log) 2>&1 &`, not by a pipe; then {trap}" if piped else trap)
    return Fix("exec the program last, or run it in the background under a trap that signals it and waits")
