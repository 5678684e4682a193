from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, RemoveEntry, Severity
from kube_gaplint.model.needs import has_liveness_probe
from kube_gaplint.model.pod import asks_no_program, probe
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="STOP005",
    name="liveness-probe-kills-training",
    view=Workload,
    needs=(has_liveness_probe,),
    severity=Severity.WARNING,
    evidence=("marin-6944",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A liveness probe restarts a rank that is only busy.

    ## What it flags
    A livenessProbe on a GPU training container, or on the one that starts the training on others (the launcher of an
    MPIJob), whose `timeoutSeconds` is 1 or whose `failureThreshold` is at most 3 (both are the defaults). With a
    startupProbe and a threshold of 10 or more it is left alone. So is the threshold of a probe that asks nothing of the
    rank itself, and is answered however busy that is: one that looks into the process list (`pgrep`), for a file, or at
    the driver (`nvidia-smi`).

    ## Why it hurts
    A rank that compiles, saves or waits for a collective does not answer for minutes. The kubelet then kills it in
    health, and the whole gang with it. Marin found its training controllers killed by probes of one second under load.

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
            livenessProbe: {exec: {command: [pgrep, python]}}
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
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Never on a rank; supervise progress instead (a heartbeat, the NCCL watchdog).

    ## Fix safety
    Unsafe: nothing restarts a container that really hangs, until a timeout does.

    ## References
    - https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
    """
    if not workload.trains:
        return
    on_gpus = any(isinstance(role.pod.accelerator_count, Set) for role in workload.roles)
    starting = {id(process.command) for process in workload.processes}
    starting |= {id(launcher.command) for process in workload.processes for launcher in process.launchers}
    for role, container in workload.containers():
        alive = probe(container, "liveness")
        if alive is None:
            continue
        rank = role.trains and isinstance(container.accelerator_count, Set)
        if not rank and not (on_gpus and any(id(command) in starting for command in container.commands)):
            continue
        timeout, threshold, looks = alive.timeout, alive.failure_threshold, asks_no_program(alive)
        patient = isinstance(threshold, Set) and threshold.value >= 10 and probe(container, "startup") is not None
        hasty = [
            f"{name} {setting.value:g}" + ("" if setting.origin.written else " (the default)")
            for name, setting, most in (("timeoutSeconds", timeout, 1), ("failureThreshold", threshold, 3))
            if isinstance(setting, Set) and setting.value <= most and not (looks and setting is threshold)
        ]
        if patient or not hasty:
            continue
        member, busy = ("a rank", "that compiles or saves") if rank else ("a launcher", "that is slow to answer")
        who = f"{member} on a node too busy to run the probe in a second" if looks else f"{member} {busy}"
        watched = "a training container" if rank else "the container that starts the training"
        yield Gap(
            alive.origin,
            f"a liveness probe with {' and '.join(hasty)} watches {watched}",
            f"{who} is killed in health, and {size(workload)} with it",
            detail="liveness",
            fix=Fix("remove the probe; supervise progress instead", (RemoveEntry(alive.origin),)),
            container=container.name,
        )
