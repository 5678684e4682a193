from __future__ import annotations

import math
from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, Related, ReplaceValue, SetKey, Severity
from kube_gaplint.model.needs import has_stop_hook
from kube_gaplint.model.pod import DEFAULT_GRACE, hook
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Pod, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="STOP004",
    name="prestop-exceeds-grace",
    view=Workload,
    needs=(has_stop_hook,),
    severity=Severity.ERROR,
    evidence=("prestop-cut-off", "adaptdl-70"),
    sources=("kubernetes-pod-lifecycle",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The preStop hook uses up the whole grace period, so that the program gets SIGKILL without warning.

    ## What it flags
    A preStop hook that surely sleeps as long as `terminationGracePeriodSeconds` (30 s where it is not set) or longer,
    by all of its sleeps together. Behind `&&` a sleep counts after commands that hardly fail (`touch`, `kill`,
    `echo`). A hook of unknown length is left alone.

    ## Why it hurts
    The grace period starts with the hook. A hook of five minutes was cut off after the default of 30 s (kubernetes,
    issue 65496), another one of 65 s likewise (spark-operator, issue 1049). When the hook ends after the period, no
    time is left between SIGTERM and SIGKILL, and a save on SIGTERM is cut off in the middle: AdaptDL lost a
    checkpoint to a grace period that was too short for its save. The first two reports are not of training.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            lifecycle: {preStop: {exec: {command: [sleep, "45"]}}}
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
          terminationGracePeriodSeconds: 600
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            lifecycle: {preStop: {exec: {command: [sleep, "45"]}}}
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Never.

    ## Fix safety
    Unsafe: how long the program needs after the hook is not known. The fix leaves it what it would have without one.

    ## References
    - https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution
    - https://github.com/kubernetes/kubernetes/issues/65496
    """
    if workload.purpose not in {"training", "unknown"}:
        return
    for role, container in workload.containers():
        before, grace = hook(container, "pre_stop"), role.pod.grace_seconds
        seconds = None if before is None else before.seconds
        if before is None or seconds is None or not isinstance(grace, Set) or seconds < grace.value:
            continue
        if not isinstance(container.accelerator_count, Set):
            continue
        left = "the default grace period" if grace.origin.via == "default" else "a grace period"
        yield Gap(
            before.origin,
            f"the preStop hook sleeps {duration(seconds)} of {left} of {duration(grace.value)}",
            "no time is left between SIGTERM and SIGKILL: a save on SIGTERM is cut off",
            detail="prestop",
            related=(Related(grace.origin, "the grace period"),) if grace.origin.written else (),
            fix=_fix(role.pod, grace, seconds),
            container=container.name,
        )


def _fix(pod: Pod, grace: Set[float], seconds: float) -> Fix:
    wanted = math.ceil(seconds + max(grace.value, DEFAULT_GRACE))
    changes: tuple[Change, ...] = ()
    if grace.origin.written:
        changes = (ReplaceValue(grace.origin, str(wanted)),)
    elif not pod.origin.chain:
        changes = (SetKey(pod.origin, ("terminationGracePeriodSeconds",), wanted),)
    return Fix(f"set terminationGracePeriodSeconds: {wanted}, or shorten the hook", changes)
