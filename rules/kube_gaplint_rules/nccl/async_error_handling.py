from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, SetVariable, Severity
from kube_gaplint.model.scale import idle_cost, size
from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.model.training import Release, TrainingProcess, known_release
from kube_gaplint.rule import Context, rule

NEW, OLD = "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"
RENAMED: Release = (2, 2)
ON_BY_DEFAULT: Release = (2, 1)


@rule(
    code="NCCL001",
    name="async-error-handling",
    view=TrainingProcess,
    severity=Severity.ERROR,
    evidence=("IL-0125", "pytorch-97191"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """NCCL's asynchronous error handling is off: when one rank dies, the others wait for it for ever.

    ## What it flags
    `TORCH_NCCL_ASYNC_ERROR_HANDLING` (before torch 2.2: `NCCL_ASYNC_ERROR_HANDLING`) set to 0, or left unset where the
    default is 0 or not known. torch up to 2.0 has it off unless torchrun starts the process. Error when it is off;
    warning when it is unset in a bare process of unknown torch; info when torch 2.1+ or torchrun turns it on anyway.

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
    torchft and NVRx recover inside the process and manage communicators themselves; gaplint keeps quiet about them.

    ## Fix safety
    Safe: with the variable set, a hang becomes an exit that a controller can act on.

    ## References
    - https://pytorch.org/docs/stable/torch_nccl_environment_variables.html
    - https://github.com/pytorch/pytorch/pull/110723 (default 3 since torch 2.2)
    """
    if not process.collective or process.recovers_in_process or process.uses_torch_surely_not:
        return
    torch = known_release(process.torch)
    value = _in_force(process, torch)
    if isinstance(value, Set):
        if value.value.strip() == "0":
            yield _off(process, value, torch)
    elif isinstance(value, Absent):
        yield from _unset(process, torch)


def _in_force(process: TrainingProcess, torch: Release | None) -> Setting[str]:
    """The value that the release reads: the new name wins from 2.2 on and means nothing before."""
    environment = process.environment
    if torch is not None and torch < RENAMED:
        return environment.get(OLD)
    return environment.get(NEW, OLD)


def _off(process: TrainingProcess, value: Set[str], torch: Release | None) -> Gap:
    name = OLD if torch is not None and torch < RENAMED else NEW
    if process.environment.get(name) is not value:
        name = OLD
    return Gap(
        value.origin,
        f"{name}=0 switches asynchronous error handling off",
        _cost(process),
        detail="off",
        fix=Fix(f"set {name} to 1", (SetVariable(process.environment.home, name, "1"),), safe=True),
        container=process.container.name,
    )


def _unset(process: TrainingProcess, torch: Release | None) -> Iterator[Gap]:
    home = process.environment.home
    name = OLD if torch is not None and torch < RENAMED else NEW
    fix = Fix(f"set {name}=1", (SetVariable(home, name, "1"),), safe=True)
    started = Related(process.origin, "started here, and nothing on the way sets the variable")
    shown = "" if torch is None else f"torch {'.'.join(map(str, torch[:2]))}"
    if torch is not None and torch >= ON_BY_DEFAULT:
        severity, why = Severity.INFO, f"{shown} turns it on by default"
    elif process.opaque_because or not process.launched_bare:
        severity, why = Severity.INFO, "what the program or its launcher sets is not visible"
    elif torch is not None:
        severity, why = Severity.ERROR, f"{shown} leaves it off"
    elif isinstance(process.uses_torch, Set) or process.framework is not None:
        severity, why = Severity.WARNING, "torch up to 2.0 leaves it off, and the release is not known"
    else:
        severity, why = Severity.INFO, "whether and with which release the program uses torch is not known"
    yield Gap(
        Origin(home.place, "derived", node=home.node),
        f"{name} is not set: {why}",
        _cost(process) if severity > Severity.INFO else "",
        detail="unset",
        severity=severity,
        related=(started,),
        fix=fix,
        container=process.container.name,
    )


def _cost(process: TrainingProcess) -> str:
    hour = idle_cost(process.workload, 3600.0)
    tail = f"; every hour of it burns {hour}" if hour else ""
    return (
        f"when one rank dies, the rest of {size(process.workload)} waits in its collective until a person looks{tail}"
    )
