from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, SetKey, Severity
from kube_gaplint.model.budget import whole_set
from kube_gaplint.model.needs import restarted_as_a_set
from kube_gaplint.model.rendezvous import MEETING_VARIABLES, meeting, restarts_processes
from kube_gaplint.model.retry import CRASH, action_on, pod_failure_policy
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY007",
    name="jobset-child-backoff",
    view=Workload,
    needs=(restarted_as_a_set,),
    severity=Severity.WARNING,
    evidence=("flyte-7947",),
    sources=("jobset-webhook",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Child Jobs of a JobSet retry single pods before the set restarts, while the other pods wait for them.

    ## What it flags
    A JobSet (or the JobSet that a TrainJob's runtime makes) that restarts as a whole by its failurePolicy, and whose
    child Job of several pods, which meet one another by torchrun, `MASTER_ADDR`, a coordinator or the like, has a
    `backoffLimit` above 0; left out, it is 6. A child Job of one pod is left alone, and so are pods that train by
    themselves, torchrun with c10d and restarts of its own, which takes a pod that comes back into the group, and
    restarts in place, for which JobSet's webhook wants the limit at 2147483647.

    ## Why it hurts
    JobSet hears of a failure only when a child Job has failed, and with the default that takes the seventh failed pod.
    Until then the Job starts lone pods, with growing pauses (10 s, 20 s, 40 s …), into a rendezvous that is over, and
    all other GPUs wait for their collective to time out. Flyte found both halves of this in its JobSets: node drains
    spent the retries, and the child's limit stood at 6. 164 of 186 published JobSets set it to 0.

    ## Bad
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: llm}
    spec:
      failurePolicy: {maxRestarts: 20}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 16
            completions: 16
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: trainer
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=16, --nproc-per-node=8, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: llm}
    spec:
      failurePolicy: {maxRestarts: 20}
      replicatedJobs:
      - name: node
        template:
          spec:
            parallelism: 16
            completions: 16
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                containers:
                - name: trainer
                  image: nvcr.io/nvidia/pytorch:24.05-py3
                  command: [torchrun, --nnodes=16, --nproc-per-node=8, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the pods of a child Job do not depend on one another, or the program takes a pod back by itself.

    ## Fix safety
    Safe where the failurePolicy restarts the set: with `backoffLimit: 0` the first failed pod brings that restart about
    at once.

    ## References
    - https://github.com/flyteorg/flyte/pull/7947
    - https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-backoff-failure-policy
    - https://github.com/kubernetes-sigs/jobset/blob/main/pkg/controllers/failure_policy.go
    """
    above = whole_set(workload)
    if not workload.trains or above is None or _in_place_or_unknown(workload):
        return
    for role in workload.roles:
        limit = _retries(role)
        if limit is None or not _is_gang(workload, role) or _takes_back(workload, role):
            continue
        default = "" if limit.origin.written else ", the default"
        simple = isinstance(role.fields["backoffLimitPerIndex"], Absent)
        yield Gap(
            limit.origin,
            f"backoffLimit of the child Job {role.name} is {limit.value}{default}: failed pods are retried one by one, "
            f"and the set restarts with failure {int(limit.value) + 1}",
            f"until then the rest of {size(workload)} waits for ranks that cannot join again",
            detail="child backoffLimit",
            related=(Related(above, "this restarts the whole set"),),
            fix=Fix(
                "set backoffLimit: 0 in the child Job",
                (SetKey(role.origin, ("backoffLimit",), 0),) if simple else (),
                safe=True,
            ),
        )


def _in_place_or_unknown(workload: Workload) -> bool:
    """Restarts in place keep the pods; the strategy's default recreates them."""
    for path in ("spec.failurePolicy.restartStrategy", "jobset.failurePolicy.restartStrategy"):
        strategy = workload.fields[path]
        if not isinstance(strategy, Absent):
            return not isinstance(strategy, Set) or strategy.value == "InPlaceRestart"
    return False


def _retries(role: Role) -> Set[str] | None:
    """The limit of a child Job that starts single pods of several again after a crash; None for any other."""
    limit, pods = role.fields["backoffLimit"], role.replicas
    if not role.trains or not isinstance(limit, Set) or limit.value == "0":
        return None
    if not isinstance(pods, Set) or pods.value <= 1:
        return None
    return None if action_on(pod_failure_policy(role) or (), exit_code=CRASH) else limit


def _is_gang(workload: Workload, role: Role) -> bool:
    """Something shows that its pods need one another: a rendezvous, a coordinator, slices of TPUs."""
    if not isinstance(workload.fields["spec.coordinator.replicatedJob"], Absent):
        return True
    if any(meeting(process) in ("static", "dynamic", "remote") for process in workload.processes_of(role)):
        return True
    return any(
        any(name in container.environment for name in MEETING_VARIABLES)
        or any(accelerator.vendor == "tpu" for accelerator in container.accelerators)
        for container in role.pod.containers
    )


def _takes_back(workload: Workload, role: Role) -> bool:
    """A pod that comes back alone finds its way into the group again."""
    own = workload.processes_of(role)
    return bool(own) and all(
        process.recovers_in_process or (meeting(process) == "dynamic" and restarts_processes(process) is not False)
        for process in own
    )
