from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import declared_short, runs_once
from kube_gaplint.model.eviction import gang, is_low_priority
from kube_gaplint.model.needs import has_priority
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.placement import any_spot
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.model.storage import keeps_nothing
from kube_gaplint.model.surroundings import Priority
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT007",
    name="preemptible-unprotected",
    view=Workload,
    needs=(has_priority,),
    severity=Severity.WARNING,
    evidence_kind="derived",
    tier="later",
    evidence=("everyvoice-183", "meta-rsc-reliability", "trainer-preemption"),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """A job that gives way to others has no retry or no checkpoint.

    ## What it flags
    Pods whose PriorityClass has a value of 0 or below in the given paths, or, where it is not there, a name that says
    so (`preemptible`, `scavenger`, `best-effort`, `low-priority`), in a job without retries, or without a checkpoint
    that outlives the pod. Jobs that are declared to be shorter than an hour are left alone, and so are pods on spot
    nodes, which another rule speaks of.

    ## Why it hurts
    Such a job is preempted whenever something more important comes, and on a busy cluster that is often: on Meta's
    research clusters one job that was requeued 35 times preempted 548 others. Without a retry it is over, without a
    checkpoint it starts at step 0: a preempted job of EveryVoice was started again as asked and began at epoch 0
    after 5,460 epochs. The evidence is derived: the reports tell of preemptions on Slurm and of lost work, not of
    this manifest.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          priorityClassName: scavenger
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py, --output-dir=s3://runs/tune, --resume]
            resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      backoffLimit: 50
      template:
        spec:
          restartPolicy: Never
          priorityClassName: scavenger
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py, --output-dir=s3://runs/tune, --resume]
            resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## When to keep it
    The job is cheap to start again by hand, or something outside the manifest does so.

    ## Fix safety
    There is no automatic fix: retries help only where the program goes on from its last checkpoint.

    ## References
    - https://arxiv.org/abs/2410.21680
    - https://github.com/kubeflow/trainer/pull/3316
    - https://github.com/EveryVoiceTTS/EveryVoice/issues/183
    """
    if not workload.trains or workload.batch is not None or declared_short(workload) or any_spot(workload.roles):
        return
    priority = next((one for role in gang(workload) if (one := _low(workload, role.name)) is not None), None)
    if priority is None or not isinstance(priority.name, Set):
        return
    missing = _missing(workload, context)
    if missing is None:
        return
    what, place = missing
    value = priority.value
    shown = f"{priority.name.value}, of value {value.value}" if isinstance(value, Set) else priority.name.value
    yield Gap(
        priority.origin,
        f"pods of priority class {shown} give way to others, and {what}",
        f"the first preemption costs {size(workload)} the run",
        detail="priority",
        related=(Related(place, what),),
        fix=Fix("give it retries and a checkpoint on storage that lasts"),
    )


def _low(workload: Workload, role: str) -> Priority | None:
    """The priority of a role, where its pods give way to the usual ones."""
    priority = workload.surroundings.priority_of(role)
    if priority is None or not isinstance(priority.name, Set):
        return None
    if isinstance(priority.value, Set):
        return priority if priority.value.value <= 0 else None
    unseen = isinstance(priority.value, Unknown) and is_low_priority(priority.name.value)
    return priority if unseen else None


def _missing(workload: Workload, context: Context) -> tuple[str, Origin] | None:
    once = runs_once(workload, context.profile)
    if once is not None:
        return "nothing makes a lost pod anew", once
    for process in workload.processes:
        lost = keeps_nothing(process) if process.program and not Pace.of(process, context.profile).smoke else ""
        if lost:
            path = process.settings.save_path
            return lost, path.origin if isinstance(path, Set) else process.origin
    return None
