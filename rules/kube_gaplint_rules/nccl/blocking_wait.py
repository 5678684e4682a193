from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, SetVariable, Severity
from kube_gaplint.model.scale import size
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.watchdog import (
    ASYNC,
    NO_WATCHDOG,
    Switch,
    handling_is_off,
    sets_handling_itself,
    switch,
    waits_blocked,
)
from kube_gaplint.rule import Context, rule


@rule(
    code="NCCL002",
    name="blocking-wait",
    view=TrainingProcess,
    severity=Severity.ERROR,
    evidence=("IL-0125",),
    evidence_kind="facts",
    sources=("pytorch-process-group-nccl", "pytorch-blocking-wait", "pytorch-async-error-rfc", "pytorch-138001"),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """Blocking wait is on: torch gives up its own means against hangs, and every collective stops the host.

    ## What it flags
    `TORCH_NCCL_BLOCKING_WAIT` (before torch 2.2: `NCCL_BLOCKING_WAIT`) with a value that torch reads as true: `1`, and
    since 2.2 `y`, `yes`, `t` and `true` in any case. torch 2.6 and later then start no watchdog thread: no dump of the
    flight recorder, no heartbeat. torch up to 2.5 switch asynchronous error handling off instead.
    Info where the job itself also switches asynchronous error handling off: blocking wait is then a choice, and the
    only thing that ends a hang.

    ## Why it hurts
    No public incident blames this switch for a lost run; the rule follows from what torch's source does with it.
    BLOOM's silent hangs on 384 A100s show what a run without asynchronous error handling is like, and that is the state
    that the switch restores. The developers measured up to 60 % less speed with it
    (pytorch issue 46874), a user as much as a single GPU's (issue 50820), and Ray took it out of its defaults.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: moe}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime
                command: [torchrun, moe.py]
                env: [{name: TORCH_NCCL_BLOCKING_WAIT, value: "1"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: moe}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime
                command: [torchrun, moe.py]
                env: [{name: TORCH_NCCL_ASYNC_ERROR_HANDLING, value: "1"}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    While debugging by hand, where an exception at the very call is worth the speed. Not in a run that nobody watches.
    gaplint keeps quiet where the program is seen to call a library that switches asynchronous error handling off by
    itself (NVIDIA PhysicsNeMo, once Modulus): blocking wait is then the only thing that ends a hang.

    ## Fix safety
    Safe: without it torch ends a hung process by its watchdog, which is the default everywhere. Where the job also
    switches asynchronous error handling off, the fix changes both variables together and is unsafe: one without the
    other would leave nothing that ends a hang.

    ## References
    - https://pytorch.org/docs/stable/torch_nccl_environment_variables.html
    - https://github.com/pytorch/pytorch/issues/46874
    - https://github.com/pytorch/pytorch/pull/138001
    - https://github.com/ray-project/ray/pull/29562
    """
    workload = process.workload
    if not workload.trains or workload.alone or process.uses_torch_surely_not:
        return
    found = waits_blocked(process)
    if found is None or sets_handling_itself(process) is not None:
        return
    if handling_is_off(process) is not None:
        yield _instead(process, found, switch(process, ASYNC))
        return
    if process.torch_at_least(NO_WATCHDOG):
        effect = f"{process.torch_shown} then starts no watchdog thread"
    elif process.torch_at_least(NO_WATCHDOG) is False:
        effect = f"{process.torch_shown} then switches asynchronous error handling off"
    else:
        effect = "torch then gives up asynchronous error handling (up to 2.5) or its watchdog thread (from 2.6 on)"
    value = found.value
    assert value.origin is not None
    yield Gap(
        value.origin,
        f"{found.name}={getattr(value, 'value', '')} is on: {effect}",
        f"a hang of {size(workload)} leaves no dump and has one guard less, and each collective holds up its process",
        detail="on",
        fix=Fix(f"set {found.name} to 0", (SetVariable(process.environment.home, found.name, "0"),), safe=True),
        container=process.container.name,
    )


def _instead(process: TrainingProcess, blocking: Switch, handling: Switch) -> Gap:
    """Blocking wait beside asynchronous error handling that is switched off: only both together may change."""
    assert blocking.value.origin is not None
    home = process.environment.home
    return Gap(
        blocking.value.origin,
        f"{blocking.name}={getattr(blocking.value, 'value', '')} is on and {handling.name} is off: only the timeout of "
        "a blocked call ends a hang",
        "",
        detail="on-instead",
        severity=Severity.INFO,
        fix=Fix(
            f"set {blocking.name} to 0 and {handling.name} to 1, both or neither",
            (SetVariable(home, blocking.name, "0"), SetVariable(home, handling.name, "1")),
        ),
        container=process.container.name,
    )
