from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.nodes import NodePool
from kube_gaplint.model.setting import Set
from kube_gaplint.rule import Context, rule


@rule(
    code="NODE004",
    name="nodepool-consolidates",
    view=NodePool,
    severity=Severity.WARNING,
    evidence=("karpenter-consolidation",),
    sources=("karpenter-disruption",),
)
def check(pool: NodePool, _context: Context) -> Iterator[Gap]:
    """The autoscaler takes GPU nodes away that look underused or costly, and evicts the training pods on them.

    ## What it flags
    A NodePool for GPU machines whose `consolidationPolicy` is `WhenEmptyOrUnderutilized`, written or by default,
    without a disruption budget of 0 that covers `Underutilized` at all times; a ComputeClass of GKE with accelerators
    and `activeMigration.optimizeRulePriority: true`. Info for a pool that may, but need not, hold GPU machines, and
    where all GPU workloads of the given paths serve on other pools. Quiet where every GPU workload of the given paths
    carries `karpenter.sh/do-not-disrupt: "true"`, where those that choose the pool, by its name, a label of its nodes
    or a toleration of its taints (or, where none does, its own name, labels or taints) are for serving, with
    `consolidateAfter: Never`, and on pools of a fixed size (`replicas`), which Karpenter does not consolidate.

    ## Why it hurts
    In a public report 19 of 21 evictions came from consolidation. The tail of a job leaves nodes with little on them,
    so that the slowest pods are moved again and again: one index of a 27-minute task was evicted five times, each time
    after about 7 minutes.

    ## Bad
    ```yaml
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: p5}
    spec:
      template:
        spec:
          expireAfter: Never
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [p5]}]
      disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1m}
    ```

    ## Good
    ```yaml
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: p5}
    spec:
      template:
        spec:
          expireAfter: Never
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [p5]}]
      disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 10m}
    ```

    ## When to keep it
    The pool serves inference or notebooks, whose pods may move.

    ## Fix safety
    Unsafe: nodes that are half empty stay, and cost money.

    ## References
    - https://karpenter.sh/docs/concepts/disruption/#consolidation
    - https://github.com/dynamical-org/reformatters/pull/945
    """
    moves = pool.fields.get("activeMigration.optimizeRulePriority")
    if pool.gpus.answer == "yes" and isinstance(moves, Set) and moves.value == "true" and not pool.only_serves:
        yield Gap(
            moves.origin,
            f"optimizeRulePriority lets GKE move running pods of compute class {pool.name} to nodes of a higher "
            "priority",
            "a run is evicted as soon as machines of a higher priority are to be had",
            detail="migration",
            severity=Severity.INFO if pool.stands_among_serving else Severity.WARNING,
            related=() if pool.gpus.origin is None else (Related(pool.gpus.origin, pool.gpus.reason),),
            fix=Fix("leave running pods where they are: optimizeRulePriority: false", _value(moves, "false")),
        )
    policy = pool.fields.get("consolidationPolicy")
    if pool.gpus.answer == "no" or not isinstance(policy, Set) or not pool.consolidates or pool.spares_its_tenants:
        return
    if pool.only_serves:
        return
    certain = pool.gpus.answer == "yes" or pool.is_chosen
    after = pool.fields.get("consolidateAfter")
    shown = f", {after.value} after its last change" if isinstance(after, Set) else ""
    default = "" if policy.origin.written else " (the default)"
    related = () if pool.gpus.origin is None else (Related(pool.gpus.origin, pool.gpus.reason),)
    yield Gap(
        policy.origin,
        f"consolidationPolicy {policy.value}{default} lets Karpenter take a busy node of "
        f"{'GPU' if certain else 'possibly GPU'} pool {pool.name}{shown}",
        "training pods are evicted as soon as a node looks underused, which the tail of every job does",
        detail="consolidation",
        severity=Severity.WARNING if certain and not pool.stands_among_serving else Severity.INFO,
        related=related,
        fix=_fix(policy),
    )


def _fix(policy: Set[str]) -> Fix:
    return Fix("consolidate empty nodes alone: consolidationPolicy: WhenEmpty", _value(policy, "WhenEmpty"))


def _value(setting: Set[str], text: str) -> tuple[ReplaceValue, ...]:
    return (ReplaceValue(setting.origin, text),) if setting.origin.written else ()
