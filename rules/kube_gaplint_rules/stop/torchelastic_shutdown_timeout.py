from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity, give
from kube_gaplint.model.needs import asks_for_grace
from kube_gaplint.model.scale import duration, size
from kube_gaplint.model.setting import Absent, Set, Setting, first_set
from kube_gaplint.model.stopping import asked_grace
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.units import as_number
from kube_gaplint.rule import Context, rule

VARIABLE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
SINCE = (2, 12)
"""The release of torch that first reads it; before, the 30 s are fixed."""
FIXED = 30.0
"""Seconds between SIGTERM and SIGKILL of torchrun's workers where nothing else is said."""
SHARE = 0.9
"""Of the grace period, left to the workers: the agent and the kubelet need the rest."""


@rule(
    code="STOP003",
    name="torchelastic-shutdown-timeout",
    view=TrainingProcess,
    needs=(asks_for_grace,),
    severity=Severity.INFO,
    evidence=("pytorch-68258",),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """torchrun kills its workers long before the pod's grace period is over.

    ## What it flags
    A `terminationGracePeriodSeconds` above 30 s on a pod that starts torchrun without `TORCH_ELASTIC_SHUTDOWN_TIMEOUT`
    (or `--shutdown-timeout`), or with one that is longer than the grace period. Quiet for torch before 2.12, which does
    not know the variable: its 30 s are fixed.

    ## Why it hurts
    Two timers run when a pod is told to stop: the kubelet's, and that of torchrun's agent, which sends SIGKILL to its
    workers 30 s after SIGTERM. A grace period of five minutes then buys nothing: a save of a large model is cut off
    after half a minute. Users reported it in 2021, and in 2026 again for saves of 70B models under Kubeflow.

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
            image: pytorch/pytorch:2.13.0-cuda12.8-cudnn9-runtime
            command: [torchrun, --nproc-per-node=8, train.py]
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
            image: pytorch/pytorch:2.13.0-cuda12.8-cudnn9-runtime
            command: [torchrun, --nproc-per-node=8, train.py]
            env: [{name: TORCH_ELASTIC_SHUTDOWN_TIMEOUT, value: "270"}]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    The program ends within 30 s of SIGTERM, and the grace period serves another container of the pod.

    ## Fix safety
    Safe: workers that end by themselves end as before; torch before 2.12 ignores the variable.

    ## References
    - https://github.com/pytorch/pytorch/issues/68258
    - https://github.com/kubeflow/trainer/pull/3324
    """
    grace, torchrun = asked_grace(process), process.launcher("torchrun", "torch.distributed.launch")
    if grace is None or torchrun is None or process.workload.batch is not None or not process.workload.trains:
        return
    if process.torch_at_least(SINCE) is False:
        return
    timeout = _timeout(process)
    value = str(int(grace.value * SHARE))
    related = (Related(grace.origin, "the time that the pod has to stop"),)
    fix = Fix(f"set {VARIABLE} a little below the grace period", give(process, VARIABLE, value), safe=True)
    if isinstance(timeout, Absent):
        yield Gap(
            process.origin,
            f"torchrun kills its workers {duration(FIXED)} after SIGTERM, and the pod has {duration(grace.value)}: "
            f"{VARIABLE} is not set",
            f"a save on SIGTERM that takes longer than {duration(FIXED)} is cut off on {size(process.workload)}",
            detail="unset",
            related=related,
            fix=fix,
            container=process.container.name,
        )
    elif isinstance(timeout, Set) and timeout.value > grace.value:
        yield Gap(
            timeout.origin,
            f"torchrun gives its workers {duration(timeout.value)}, and the pod has only {duration(grace.value)}",
            "the kubelet kills them first",
            detail="longer",
            related=related,
            fix=Fix(fix.title),
            container=process.container.name,
        )


def _timeout(process: TrainingProcess) -> Setting[float]:
    """Seconds that the agent gives to its workers: the option, its variable, or the one for all of torch."""
    torchrun = process.launcher("torchrun", "torch.distributed.launch")
    option: Setting[str] = Absent(process.origin) if torchrun is None else torchrun.options.get("shutdown-timeout")
    environment = process.environment
    return as_number(first_set(option, environment.get("PET_SHUTDOWN_TIMEOUT"), environment.get(VARIABLE)))
