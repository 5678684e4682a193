from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.retry import REPLACEMENT_POLICY_SINCE
from kube_gaplint.findings import Fix, Gap, Severity, put
from kube_gaplint.model.needs import is_job
from kube_gaplint.model.retry import pod_failure_policy
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY011",
    name="pod-replacement-overlap",
    view=Workload,
    needs=(is_job,),
    severity=Severity.INFO,
    evidence=("podreplacement-115844",),
    tier="later",
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The Job makes a new pod for an index while the old one is still ending: two pods hold the same rank.

    ## What it flags
    An indexed Job with GPUs that retries, without a podFailurePolicy and with `podReplacementPolicy` left at
    TerminatingOrFailed. With a podFailurePolicy the policy is Failed by itself. Clusters before 1.29 do not have the
    field: declare `kubernetes` in the profile.

    ## Why it hurts
    A pod that is evicted or deleted keeps running for its grace period, and a training job asks for a long one so that
    it can save. The Job controller does not wait for it. Frameworks that take the index for a rank then see one rank
    twice (Kubernetes' documentation names TensorFlow and JAX), the new pod finds no GPU on the node, which makes an
    autoscaler start one more, and two processes write one checkpoint. The longer the grace, the longer the overlap.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      completionMode: Indexed
      completions: 8
      parallelism: 8
      backoffLimit: 12
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 600
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [python, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: pretrain}
    spec:
      completionMode: Indexed
      completions: 8
      parallelism: 8
      backoffLimit: 12
      podReplacementPolicy: Failed
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 600
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [python, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the indices are independent shards, no two of which share anything.

    ## Fix safety
    Safe: the new pod only waits until the old one is gone.

    ## References
    - https://github.com/kubernetes/kubernetes/issues/115844
    - https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-replacement-policy
    """
    release = context.profile.kubernetes
    if not workload.trains or (release and release < REPLACEMENT_POLICY_SINCE):
        return
    if workload.subject.api_version != "batch/v1" or workload.subject.kind not in ("Job", "CronJob"):
        return
    for role in workload.roles:
        policy = role.fields["podReplacementPolicy"]
        if not isinstance(policy, Set) or policy.value == "Failed" or not _retries_by_index(role):
            continue
        default = "" if policy.origin.written else ", the default"
        grace = role.pod.grace_seconds
        overlap = f"for up to {duration(grace.value)} " if isinstance(grace, Set) and grace.value > 0 else ""
        yield Gap(
            policy.origin,
            f"podReplacementPolicy is {policy.value}{default}: a pod that is evicted is made again before it has ended",
            f"{overlap}two pods hold one index: the new one finds its GPUs taken, or both write the same checkpoint",
            detail="podReplacementPolicy",
            fix=Fix(
                "set podReplacementPolicy: Failed",
                (put(policy.origin, role.origin, ("podReplacementPolicy",), "Failed"),),
                safe=True,
            ),
        )


def _retries_by_index(role: Role) -> bool:
    mode, limit, each = role.fields["completionMode"], role.fields["backoffLimit"], role.pod.accelerator_count
    return (
        isinstance(mode, Set)
        and mode.value == "Indexed"
        and isinstance(limit, Set)
        and limit.value != "0"
        and isinstance(each, Set)
        and each.value > 0
        and pod_failure_policy(role) is None
    )
