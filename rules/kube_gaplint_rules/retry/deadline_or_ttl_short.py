from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.purposes import TRIAL_NAMES, words_of
from kube_gaplint.facts.reliability import DAY
from kube_gaplint.findings import Fix, Gap, Related, Severity, put
from kube_gaplint.model.logs import logs_are_kept
from kube_gaplint.model.scale import duration, size
from kube_gaplint.model.setting import Set, Setting
from kube_gaplint.model.units import duration_seconds
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule

HOUR = 3600.0


@rule(
    code="RETRY015",
    name="deadline-or-ttl-short",
    view=Workload,
    severity=Severity.INFO,
    evidence=("activedeadline-trainjob",),
    evidence_kind="thin",
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A deadline ends a healthy run, or a short time to live deletes the logs of a failed one.

    ## What it flags
    `activeDeadlineSeconds` below the declared length of the run (`gaplint.dev/run-days`, `run_days` in the profile), or
    below 24 hours for a job on several nodes whose length nobody declares; and `ttlSecondsAfterFinished` below an hour,
    in a RayJob with `shutdownAfterJobFinishes` also the default of 0, by which its cluster goes at once. Tests and
    benchmarks are left alone, and so is a time to live where the logs are kept: by a collector in the paths or beside
    the program, or in a file on a volume that stays.

    ## Why it hurts
    A deadline does not ask whether the job makes progress: it wins over every retry, some APIs count the time in a
    queue as well, and after each restart the job has less of it left. A time to live counts for failed jobs too, and
    deletes the pods together with the job: whoever looks an hour later finds neither the stack of the hang nor the name
    of the node. The evidence is thin: the change that gave TrainJob a deadline, and an Argo user whose logs were gone.
    No report was found of a training run that such a deadline ended.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      ttlSecondsAfterFinished: 300
      backoffLimit: 12
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [torchrun, --standalone, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      ttlSecondsAfterFinished: 604800
      backoffLimit: 12
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [torchrun, --standalone, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the run is meant to be cut into pieces of that length, or the cluster ships all logs: declare the length, or
    say so in the suppression.

    ## Fix safety
    Unsafe: objects that stay longer count against quotas, and their names stay taken.

    ## References
    - https://github.com/kubeflow/trainer/pull/3258
    - https://github.com/argoproj/argo-workflows/issues/1093
    - https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-termination-and-cleanup
    """
    if not workload.trains or workload.batch is not None:
        return
    if TRIAL_NAMES.intersection(words_of(workload.subject.name)):
        return
    yield from _deadline(workload)
    yield from _time_to_live(workload)


def _deadline(workload: Workload) -> Iterator[Gap]:
    deadline, days = workload.deadline_seconds, workload.run_days
    if not isinstance(deadline, Set) or deadline.value <= 0:
        return
    declared = isinstance(days, Set) and days.origin.via != "derived"
    if declared:
        assert isinstance(days, Set)
        needed, why = days.value * DAY, f"the run is declared to take {duration(days.value * DAY)}"
    elif workload.multi_node:
        needed, why = DAY, f"this job of {size(workload)} has less than a day"
    else:
        return
    if deadline.value >= needed:
        return
    yield Gap(
        deadline.origin,
        f"activeDeadlineSeconds ends the job after {duration(deadline.value)}: {why}",
        "a healthy run is killed at that moment, retries or not",
        detail="activeDeadlineSeconds",
        related=(Related(days.origin, "the length of the run"),) if declared and isinstance(days, Set) else (),
        fix=Fix("leave the deadline out, or set it well above the length of the run with all its restarts"),
    )


def _time_to_live(workload: Workload) -> Iterator[Gap]:
    ttl, shuts_down = _ttl(workload), _shuts_down(workload)
    if not isinstance(ttl, Set) or not (ttl.origin.written or shuts_down) or logs_are_kept(workload):
        return
    seconds = duration_seconds(ttl.value)
    if seconds is None or not 0 <= seconds < HOUR:
        return
    end = "the job's end" if shuts_down else "its end"
    after = f"{duration(seconds)} after {end}" if seconds else f"at {end}"
    yield Gap(
        shuts_down.origin if shuts_down and not ttl.origin.written else ttl.origin,
        f"ttlSecondsAfterFinished is {ttl.value}{'' if ttl.origin.written else ' by default'}: "
        f"the {'cluster' if shuts_down else 'job'} and its pods are deleted {after}, failed or not",
        f"the logs of {'its workers' if shuts_down else 'a failure'} are gone before anybody looks",
        detail="ttlSecondsAfterFinished",
        fix=Fix(
            "keep it for a day at least",
            (put(ttl.origin, workload.origin, ("spec", "ttlSecondsAfterFinished"), str(int(DAY))),),
        ),
    )


def _shuts_down(workload: Workload) -> Set[str] | None:
    """The field by which a RayJob deletes its cluster, at once where no time to live is written."""
    found = workload.fields.get("spec.shutdownAfterJobFinishes")
    return found if isinstance(found, Set) and found.value == "true" else None


def _ttl(workload: Workload) -> Setting[str] | None:
    """The time to live where the workload's kind has it; None for a RayJob that keeps its cluster."""
    fields, group = workload.fields, workload.subject.api_version.partition("/")[0]
    if group == "ray.io" and _shuts_down(workload) is None:
        return None
    by_run_policy = group in ("kubeflow.org", "sagemaker.amazonaws.com")
    return fields.get("spec.runPolicy.ttlSecondsAfterFinished" if by_run_policy else "spec.ttlSecondsAfterFinished")
