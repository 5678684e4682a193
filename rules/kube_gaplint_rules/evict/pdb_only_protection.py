from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import large
from kube_gaplint.model.eviction import DO_NOT_DISRUPT, SAFE_TO_EVICT, gang, holding_budgets, in_slurm
from kube_gaplint.model.needs import has_disruption_budget
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT008",
    name="pdb-only-protection",
    view=Workload,
    needs=(has_disruption_budget,),
    severity=Severity.INFO,
    evidence=("gke-drain-1h",),
    tier="later",
    sources=("trainer-pdb",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A PodDisruptionBudget is all that keeps a training gang in place, and it only delays.

    ## What it flags
    A PodDisruptionBudget that lets no pod go (`maxUnavailable: 0`, or `minAvailable` of all) over the pods of a
    training job of several pods or 8 GPUs, whose templates carry neither `safe-to-evict` nor `do-not-disrupt`. Pods of
    Slurm clusters are left alone.

    ## Why it hurts
    A budget binds only what asks the eviction API, and some of that for a while: GKE's upgrades honour it for an
    hour and then delete the pods, which ended 85 user pods of mybinder.org at once; another platform gave up such
    budgets for the same reason (naiserator, pull request 268). A spot reclaim, a lost node, a taint with NoExecute
    and a preemption by Kueue do not ask at all. In the reports notebooks and services were hit, not training.

    ## Bad
    ```yaml
    apiVersion: policy/v1
    kind: PodDisruptionBudget
    metadata: {name: tune}
    spec: {maxUnavailable: 0, selector: {matchLabels: {app: tune}}}
    ---
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        metadata: {labels: {app: tune}}
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: policy/v1
    kind: PodDisruptionBudget
    metadata: {name: tune}
    spec: {maxUnavailable: 0, selector: {matchLabels: {app: tune}}}
    ---
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        metadata:
          labels: {app: tune}
          annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    No autoscaler and no automatic upgrade acts on the nodes.

    ## Fix safety
    There is no automatic fix: which annotation helps depends on the autoscaler; upgrades need windows or exclusions.

    ## References
    - https://github.com/jupyterhub/mybinder.org-deploy/issues/511
    - https://kubernetes.io/docs/tasks/run-application/configure-pdb/
    - https://github.com/nais/naiserator/pull/268
    """
    if not workload.trains or workload.batch is not None or not large(workload) or in_slurm(workload):
        return
    roles = list(gang(workload))
    if any(role.pod.overrides_unknown for role in roles):
        return
    if any(name in part for part in _annotated(workload) for name in (SAFE_TO_EVICT, DO_NOT_DISRUPT)):
        return
    for budget in [one for one in holding_budgets(workload) if one.sure][:1]:
        bound = budget.max_unavailable if isinstance(budget.max_unavailable, Set) else budget.min_available
        yield Gap(
            bound.origin or budget.origin,
            f"only the PodDisruptionBudget {budget.name} keeps the pods of {workload.subject.name} in place",
            f"upgrades wait for it for an hour at most, and reclaims do not ask: {size(workload)} go all the same",
            detail="budget",
            related=(Related(roles[0].pod.origin, "the pods carry no annotation for autoscalers"),) if roles else (),
            fix=Fix("annotate the pod template for the autoscaler, and keep upgrades out by a window or an exclusion"),
        )


def _annotated(workload: Workload) -> list[set[str]]:
    return [set(workload.annotations), *(set(role.pod.annotations) for role in workload.roles)]
