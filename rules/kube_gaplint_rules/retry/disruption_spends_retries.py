from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.retry import DISRUPTION, IGNORE_RULES, PLENTY, RESTART_RULES
from kube_gaplint.findings import Change, Fix, Gap, Related, SetKey, Severity
from kube_gaplint.model.budget import OUTER_OWNERS, is_brief, large, time_between_failures
from kube_gaplint.model.lone_restart import lone_restart
from kube_gaplint.model.placement import any_spot
from kube_gaplint.model.retry import disruptions_are_ignored, failure_rules, pod_failure_policy, spares_retries
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import RestartLayer, Role, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="RETRY002",
    name="disruption-spends-retries",
    view=Workload,
    severity=Severity.WARNING,
    evidence=("tangle-358", "flyte-7947", "marin-7652", "vllm-608", "karpenter-consolidation"),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """Drains, preemptions and lost nodes spend the retries that are meant for faults of the job itself.

    ## What it flags
    A Job without a podFailurePolicy rule that ignores `DisruptionTarget`, or a JobSet without the pair of rules that
    restarts the set uncounted (child Job: FailJob on `DisruptionTarget`; JobSet: RestartJobSetAndIgnoreMaxRestarts on
    PodFailurePolicy), where pods have `restartPolicy: Never`. With OnFailure the API forbids the policy. Small single
    pods, budgets of 1000 and more, and jobs with an outer owner are left alone, and so are gangs whose lone pods cannot
    join again (RETRY003): there no retry helps.

    ## Why it hurts
    In Tangle, preemption, eviction, taints, node deletion, shutdown and lack of memory on the node each ended the task,
    until one Ignore rule was added: three lines. Flyte's JobSets used up their restarts on node drains. Autoscalers
    evict as well: Karpenter's consolidation took the same index of a job down five times.

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
    Where a job that is evicted again and again shall end rather than come back.

    ## Fix safety
    Safe: the rules only keep the controller from counting what the job did not cause.

    ## References
    - https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
    - https://github.com/kubernetes-sigs/jobset/blob/main/site/static/examples/failure-policy/host-maintenance-event-model.yaml
    """
    if not workload.trains or not large(workload) or disruptions_are_ignored(workload):
        return
    if is_brief(workload, context.profile) or lone_restart(workload) is not None:
        return  # of a gang whose lone pods cannot join, no retry helps: that is the gap (RETRY003)
    layer = _spent(workload)
    role = _leading(workload)
    if layer is None or role is None or not isinstance(layer.budget, Set):
        return
    number = layer.budget.value
    owner, field = ("JobSet", "maxRestarts") if layer.owner == "JobSet" else ("Job", "backoffLimit")
    spot = any_spot(workload.roles)
    rate = time_between_failures(workload, context.profile)
    spent = "the only retry" if number == 1 else f"one of {number} retries"
    yield Gap(
        role.origin,
        f"every pod that is evicted, preempted or lost with its node spends {spent} ({field} of the {owner}): "
        f"no rule tells {DISRUPTION} apart",
        "after that the next drain ends the run" + (f"; besides, {rate}" if rate else ""),
        detail="disruptions count",
        related=() if spot is None else (Related(spot, "these nodes are taken away as a matter of course"),),
        fix=Fix(
            "ignore disruptions in the podFailurePolicy"
            if owner == "Job"
            else "let disruptions fail the child Job, and restart the set for them without counting",
            _changes(workload, role, owner),
            safe=True,
        ),
    )


def _spent(workload: Workload) -> RestartLayer | None:
    """The layer whose retries a disruption spends; None where they are plenty, none, or not known."""
    layers = [layer for layer in workload.restarts if layer.scope != "process" and layer.owner != "Kueue"]
    if any(layer.owner in OUTER_OWNERS or not isinstance(layer.budget, Set) for layer in layers):
        return None
    for layer in layers:
        if layer.owner not in ("JobSet", "Job") or "node-loss" not in layer.on:
            continue
        assert isinstance(layer.budget, Set)
        if layer.budget.value >= PLENTY:
            return None
        if layer.budget.value > 0:
            return layer
    return None


def _leading(workload: Workload) -> Role | None:
    """The first role of the collective whose pods run under Never, and whose losses no rule keeps from counting."""
    for role in workload.roles:
        restart = role.pod.restart_policy
        never = isinstance(restart, Set) and restart.value == "Never"
        if role.trains and never and spares_retries(workload, role) is False:
            return role
    return None


def _changes(workload: Workload, role: Role, owner: str) -> tuple[Change, ...]:
    """Rules where none stand yet: their order matters, so that adding to existing ones is left to a person."""
    replacement = role.fields["podReplacementPolicy"]
    if pod_failure_policy(role) is not None or (isinstance(replacement, Set) and _contradicts(replacement)):
        return ()
    rules = SetKey(role.origin, ("podFailurePolicy", "rules"), IGNORE_RULES[owner])
    if owner == "Job":
        return (rules,)
    if failure_rules(workload) or workload.subject.kind != "JobSet" or len(workload.roles) != 1:
        return ()
    whole = Origin(workload.origin.place, node=workload.origin.node)
    return rules, SetKey(whole, ("spec", "failurePolicy", "rules"), RESTART_RULES)


def _contradicts(replacement: Set[str]) -> bool:
    """With a podFailurePolicy the API wants podReplacementPolicy Failed."""
    return replacement.origin.written and replacement.value != "Failed"
