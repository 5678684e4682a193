from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, SetVariable, Severity, give
from kube_gaplint.model.scale import duration, idle_cost, size
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.watchdog import (
    ASYNC,
    RENAMED,
    Switch,
    handling_by_default,
    handling_is_off,
    sets_handling_itself,
    shows_recent_torch,
    switch,
    waits_blocked,
)
from kube_gaplint.rule import Context, rule

SHORT_LIMIT = 3600.0
"""Seconds of time limit that bound what a hang costs."""


@rule(
    code="NCCL001",
    name="async-error-handling",
    view=TrainingProcess,
    severity=Severity.ERROR,
    evidence=("IL-0125", "pytorch-97191"),
    sources=(
        "pytorch-process-group-nccl",
        "pytorch-elastic-agent",
        "pytorch-async-error-rename",
        "pytorch-async-error-rfc",
    ),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """NCCL's asynchronous error handling is off: when one rank dies, the others wait for it for ever.

    ## What it flags
    `TORCH_NCCL_ASYNC_ERROR_HANDLING` (before torch 2.2: `NCCL_ASYNC_ERROR_HANDLING`) set to 0, or left unset where the
    default is 0 or not known. torch up to 2.0 has it off unless torchrun starts the process. Error when it is off;
    warning when it is unset in a bare process of unknown torch; info when torch 2.1+ or torchrun turns it on anyway.
    Before 2.2 the new name alone counts as unset: nothing reads it. A `python`, `srun python` or `mpirun python` is
    bare; NVIDIA's monthly images hold a torch from before the release that they name, which leaves a doubt at 2.1. Info
    as well for a bare program on one node, which may be a single process, and where another variable, the framework,
    the package index that the script installs from, the repository's requirements, its README or the Python in the
    image's name (3.12 needs torch 2.2) give a newer torch away. Where the job's own limit ends a hang within an
    hour, what is unset is at most a warning.
    Left alone where blocking wait is on, which makes torch ignore it (NCCL002).

    ## Why it hurts
    BLOOM trained on 384 A100s without it. When a GPU died the other ranks sat in their collective, the job did not
    end, and Slurm had nothing to restart: the machines idled until a person looked. Setting it to 1 was the cure.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime
            command: [python, /app/pretrain.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      completionMode: Indexed
      completions: 4
      parallelism: 4
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime
            command: [python, /app/pretrain.py]
            env: [{name: NCCL_ASYNC_ERROR_HANDLING, value: "1"}]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    torchft and NVRx recover inside the process and manage communicators themselves; gaplint keeps quiet about them, and
    about programs whose whole text is seen and makes no process group (a search for hyperparameters). So it does where
    the program is seen to call a library that overwrites the variable (`DistributedManager.initialize` of NVIDIA
    PhysicsNeMo, once Modulus, sets 0 for its CUDA graphs): what the job sets does nothing there.

    ## Fix safety
    Safe: with the variable set, a hang becomes an exit that a controller can act on.

    ## References
    - https://pytorch.org/docs/stable/torch_nccl_environment_variables.html
    - https://github.com/pytorch/pytorch/pull/110723 (default 3 since torch 2.2)
    """
    workload = process.workload
    if not workload.trains or workload.alone or process.recovers_in_process or process.uses_torch_surely_not:
        return
    found = switch(process, ASYNC)
    off = handling_is_off(process)
    unset = process.collective and isinstance(found.value, Absent)
    if not (off or unset) or waits_blocked(process) is not None or sets_handling_itself(process) is not None:
        return
    if off is not None:
        yield _off(process, found, off)
    else:
        yield from _unset(process, _read_by_all(process) or found.name)


def _read_by_all(process: TrainingProcess) -> str:
    """The old name where the release is open and no torchrun sets the new one: before 2.2 it is the only one, and
    later releases still read it."""
    old = ASYNC.removeprefix("TORCH_")
    return old if process.launched_bare and process.torch_at_least(RENAMED) is None else ""


def _off(process: TrainingProcess, found: Switch, value: Set[str]) -> Gap:
    doubt = f", if {process.torch_shown} knows that name" if process.torch_is_early and not found.read else ""
    return Gap(
        value.origin,
        f"{found.name}={value.value} switches asynchronous error handling off{doubt}",
        _cost(process),
        detail="off",
        severity=Severity.WARNING if doubt else Severity.ERROR,
        fix=Fix(f"set {found.name} to 1", (SetVariable(process.environment.home, found.name, "1"),), safe=True),
        container=process.container.name,
    )


def _unset(process: TrainingProcess, name: str) -> Iterator[Gap]:
    home = process.environment.home
    by_default = handling_by_default(process)
    shown = process.torch_shown
    if by_default:
        severity, why = Severity.INFO, f"{shown} turns it on by default"
    elif process.framework is not None and process.framework.guards:
        severity, why = Severity.INFO, f"{process.framework.title} turns it on by itself"
    elif not process.launched_bare:
        severity, why = Severity.INFO, "what the program or its launcher sets is not visible"
    elif not process.surely_several:
        severity, why = Severity.INFO, "whether the program starts several processes by itself is not visible"
    elif by_default is not None:
        severity, why = Severity.ERROR, f"{shown} leaves it off"
    elif shown:
        severity, why = Severity.WARNING, f"{shown} may still leave it off"
    elif recent := shows_recent_torch(process):
        severity, why = Severity.INFO, f"{recent}, and that has it on by default"
    elif process.torch_asked is not None:
        severity, why = Severity.WARNING, f"torch up to 2.0 leaves it off, and {process.torch_asked.origin.note}"
    elif isinstance(process.uses_torch, Set):
        severity, why = Severity.WARNING, "torch up to 2.0 leaves it off, and the release is not known"
    else:
        severity, why = Severity.INFO, "whether and with which release the program uses torch is not known"
    if _bound(process) is not None:
        severity = min(severity, Severity.WARNING)
    yield Gap(
        Origin(home.place, "derived", node=home.node),
        f"{name} is not set: {why}",
        _cost(process) if severity > Severity.INFO else "",
        detail="unset",
        severity=severity,
        related=(Related(process.origin, "started here, and nothing on the way sets the variable"),),
        fix=Fix(f"set {name}=1", give(process, name, "1"), safe=True),
        container=process.container.name,
    )


def _bound(process: TrainingProcess) -> float | None:
    """Seconds after which the job's own limit ends it, where those are few."""
    limit = process.workload.deadline_seconds
    return limit.value if isinstance(limit, Set) and limit.value <= SHORT_LIMIT else None


def _cost(process: TrainingProcess) -> str:
    hour = idle_cost(process.workload, 3600.0)
    bound = _bound(process)
    if bound is not None:
        return (
            f"when one rank dies, the rest of {size(process.workload)} waits in its collective until the job's limit "
            f"of {duration(bound)} ends it"
        )
    tail = f"; every hour of it burns {hour}" if hour else ""
    return (
        f"when one rank dies, the rest of {size(process.workload)} waits in its collective until a person looks{tail}"
    )
