from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.retry import POLICY_NEEDS_NEVER_UNTIL
from kube_gaplint.findings import Fix, Gap, Related, Severity, put
from kube_gaplint.model.needs import has_failure_policy
from kube_gaplint.model.retry import pod_failure_policy
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY008",
    name="failure-policy-needs-never",
    view=Workload,
    needs=(has_failure_policy,),
    severity=Severity.ERROR,
    evidence=("k8s-podfailurepolicy-never",),
    sources=("kubernetes-job",),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The API server rejects a Job that has a podFailurePolicy and a restartPolicy other than Never.

    ## What it flags
    A podFailurePolicy of a Job, or of a JobSet's child Job, whose pods have `restartPolicy: OnFailure` or `Always`. In
    a JobSet a pod template that names no restartPolicy counts as well: its webhook fills in OnFailure.

    ## Why it hurts
    Under OnFailure the kubelet restarts a container in its pod, so that no pod fails whose exit code or condition a
    rule could look at; therefore the API takes only Never beside such rules. A plain Job is refused when it is applied.
    The child Job of a JobSet is refused when the controller makes it, so that the JobSet is accepted and no pod ever
    starts. Users of large jobs have asked for the pair since 2024 (kubernetes#125677): making tens of thousands of pods
    again is slow. Nothing has been allowed so far.

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
      podFailurePolicy:
        rules:
        - action: Ignore
          onPodConditions: [{type: DisruptionTarget}]
      template:
        spec:
          restartPolicy: OnFailure
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
      podFailurePolicy:
        rules:
        - action: Ignore
          onPodConditions: [{type: DisruptionTarget}]
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: nvcr.io/nvidia/pytorch:24.05-py3
            command: [python, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    On a release of Kubernetes newer than 1.37 that allows the pair: declare `kubernetes` in the profile.

    ## Fix safety
    Unsafe: under Never each retry is a new pod, maybe on another node, and what lies in an emptyDir is lost.

    ## References
    - https://github.com/kubernetes/kubernetes/issues/125677
    - https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
    """
    release = context.profile.kubernetes
    if not workload.trains or (release and release[:2] > POLICY_NEEDS_NEVER_UNTIL):
        return
    for role in workload.roles:
        restart = role.pod.restart_policy
        rules = pod_failure_policy(role)
        if rules is None or not isinstance(restart, Set) or restart.value == "Never":
            continue
        policy = rules[0].origin if rules else role.origin
        default = "" if restart.origin.written else f", {restart.origin.note or 'the default'}"
        child = workload.subject.kind != "Job"
        yield Gap(
            restart.origin if restart.origin.written else policy,
            f"podFailurePolicy stands beside restartPolicy {restart.value}{default}: the API server accepts it with "
            "Never alone",
            f"the child Job {role.name} is refused, and none of its pods ever starts"
            if child
            else "the Job is refused, and nothing starts",
            detail="podFailurePolicy without Never",
            related=(Related(policy, "the podFailurePolicy"),) if restart.origin.written else (),
            fix=Fix(
                "set restartPolicy: Never",
                (put(restart.origin, role.origin, ("template", "spec", "restartPolicy"), "Never"),),
            ),
        )
