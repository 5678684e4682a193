from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.torch import defaults
from kube_gaplint.facts.variables import stoi, torch_flag
from kube_gaplint.findings import Fix, Gap, Related, SetVariable, Severity
from kube_gaplint.model.scale import duration, idle_cost, size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.training import TrainingProcess, known_release
from kube_gaplint.model.watchdog import RENAMED
from kube_gaplint.rule import Context, rule

MONITORING = "TORCH_NCCL_ENABLE_MONITORING"
HEARTBEAT = "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"
SHORT, LONG = 60, 86_400
COMMON_HEARTBEAT = 480
"""Seconds: the default since torch 2.5."""


@rule(
    code="NCCL011",
    name="watchdog-monitor",
    view=TrainingProcess,
    variables=(MONITORING, HEARTBEAT),
    severity=Severity.ERROR,
    evidence=("pytorch-97191",),
    evidence_kind="facts",
    sources=("pytorch-process-group-nccl", "pytorch-heartbeat", "pytorch-monitor-kills", "llamafactory-heartbeat"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """Nobody watches torch's watchdog thread any more, or its heartbeat is set to a time that cannot work.

    ## What it flags
    `TORCH_NCCL_ENABLE_MONITORING` with a value that torch reads as false (error). `TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC`
    below 60 seconds or of a day and more, or raised although the process-group timeout is visible and longer still
    (warning): it is the time for which the watchdog thread may be silent, not the timeout of a collective. NeMo 2,
    which takes the variable for its process-group timeout, is left alone.

    ## Why it hurts
    The watchdog ends a process whose collective hangs, and it can hang itself: in `ncclCommAbort`, or in a CUDA call
    while the GIL is held. A run then stood still unnoticed although its timeout had long expired (pytorch issue
    97191). The monitor was added for that case. Users who switched it off had seen it kill a process at 480 or 600
    seconds during long work under the GIL: that wants a longer heartbeat, not none.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: ddp}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: TORCH_NCCL_ENABLE_MONITORING, value: "0"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: ddp}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                env: [{name: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC, value: "900"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    With torchft or NVRx, which repair communicators inside the process; gaplint keeps quiet about them.

    ## Fix safety
    Safe: the monitor acts only when the watchdog thread has been silent for the whole heartbeat.

    ## References
    - https://pytorch.org/docs/stable/torch_nccl_environment_variables.html
    - https://github.com/pytorch/pytorch/issues/97191
    - https://github.com/hiyouga/LlamaFactory/issues/8549
    """
    workload = process.workload
    if not workload.trains or workload.alone or process.recovers_in_process or process.uses_torch_surely_not:
        return
    if process.torch_at_least(RENAMED) is False:
        return
    monitoring = process.environment.get(MONITORING)
    if isinstance(monitoring, Set) and torch_flag(monitoring.value, known_release(process.torch)) is False:
        yield Gap(
            monitoring.origin,
            f"{MONITORING}={monitoring.value}: nobody notices when the watchdog thread itself hangs",
            f"{size(workload)} can stand still although the collective timeout has expired",
            detail="monitoring",
            fix=Fix(f"set {MONITORING} to 1", (SetVariable(process.environment.home, MONITORING, "1"),), safe=True),
            container=process.container.name,
        )
    heartbeat = process.environment.get(HEARTBEAT)
    if isinstance(heartbeat, Set) and (process.framework is None or process.framework.name != "nemo2"):
        seconds = stoi(heartbeat.value)
        if seconds is not None:
            yield from _heartbeat(process, heartbeat, seconds)


def _heartbeat(process: TrainingProcess, setting: Set[str], seconds: int) -> Iterator[Gap]:
    row = defaults(known_release(process.torch) or ())
    usual = int(row.heartbeat) if row is not None and row.heartbeat else COMMON_HEARTBEAT
    timeout = process.settings.timeout
    fix = Fix(f"set {HEARTBEAT} to {usual}", (SetVariable(process.environment.home, HEARTBEAT, str(usual)),), safe=True)
    related: tuple[Related, ...] = ()
    if seconds < SHORT:
        message = f"{HEARTBEAT}={setting.value} lets the monitor end a process that is only busy for {seconds} s"
        consequence = f"a long save or a pause under the GIL ends the run of {size(process.workload)}"
        detail = "short"
    elif seconds >= LONG:
        cost = idle_cost(process.workload, seconds)
        message = f"{HEARTBEAT}={setting.value} is {duration(seconds)}: as good as no monitor"
        consequence = f"a watchdog thread that hangs costs {cost}" if cost else ""
        detail = "long"
    elif seconds > usual and isinstance(timeout, Set) and timeout.origin.written and timeout.value > seconds:
        how = process.framework.timeout_option if process.framework is not None else ""
        message = f"{HEARTBEAT}={setting.value} is not the collective timeout, which is {duration(timeout.value)}"
        consequence = f"a collective that hangs is noticed after {duration(timeout.value)}, whatever the heartbeat says"
        detail = "not the timeout"
        related = (Related(timeout.origin, "the collective timeout"),)
        fix = Fix(f"leave {HEARTBEAT} at {usual}; the collective timeout is set by {how or 'the other place'}")
    else:
        return
    yield Gap(
        setting.origin,
        message,
        consequence,
        detail=f"heartbeat {detail}",
        severity=Severity.WARNING,
        related=related,
        fix=fix,
        container=process.container.name,
    )
