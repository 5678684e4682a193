from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.nodes import NodePool
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Set
from kube_gaplint.model.units import duration_seconds
from kube_gaplint.rule import Context, rule

AUTO_DEFAULT = 336 * 3600
"""Seconds that a node of EKS Auto Mode lives where nothing else is written."""


@rule(
    code="NODE005",
    name="nodepool-expires",
    view=NodePool,
    severity=Severity.WARNING,
    evidence=("karpenter-expiry",),
    sources=("karpenter-disruption",),
)
def check(pool: NodePool, _context: Context) -> Iterator[Gap]:
    """GPU nodes have an age limit, and a node that reaches it is drained with the training on it.

    ## What it flags
    A NodePool for GPU machines with a finite `expireAfter`, written or by default (720 hours). Disruption budgets do
    not hold expiry back; with a `terminationGracePeriod` it goes over disruption budgets of pods and
    `karpenter.sh/do-not-disrupt` as well. A node group with `maxInstanceLifetime` (eksctl, an Auto Scaling group) is
    such a pool. Info for a pool that may, but need not, hold GPU machines, where every GPU workload of the given paths
    carries the annotation and no `terminationGracePeriod` is set, and where all of them serve on other pools. EKS Auto
    Mode allows at most 21 days, grace period included: there an age below its default of 14 days is a gap, and the rest
    info. Quiet where all GPU workloads that choose the pool, by its name, a label of its nodes or a toleration of its
    taints (or, where none does, its own name, labels or taints) are for serving, and where all of them end before the
    nodes do (`activeDeadlineSeconds`). A Deployment of which nothing is seen counts as serving where it chooses the
    pool. What stands in templates that are not filled in counts by their text, where no other GPU workload may land on
    the pool.

    ## Why it hurts
    All nodes of a run were made within minutes, so they reach their age within minutes as well: a run of five weeks
    meets the 30 days of Karpenter's default for certain. Karpenter's maintainers made expiry forceful on purpose.

    ## Bad
    ```yaml
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: p5}
    spec:
      template:
        spec:
          expireAfter: 168h
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [p5]}]
      disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 10m}
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
    Runs are much shorter than the age, or the site's security rules ask for an age: then roll the pool between runs.

    ## Fix safety
    Unsafe: nodes no longer take new images by themselves; replace them between runs.

    ## References
    - https://karpenter.sh/docs/concepts/disruption/#expiration
    - https://docs.aws.amazon.com/eks/latest/userguide/automode.html
    - https://github.com/kubernetes-sigs/karpenter/pull/916
    """
    age = pool.fields.get("expireAfter", pool.fields.get("maxInstanceLifetime"))
    if pool.gpus.answer == "no" or not isinstance(age, Set):
        return
    seconds = duration_seconds(age.value)
    if not seconds or pool.only_serves or pool.outlives(seconds):
        return
    grace = pool.fields.get("terminationGracePeriod")
    forced = isinstance(grace, Set)
    certain = pool.gpus.answer == "yes" or pool.is_chosen
    spared = pool.spares_its_tenants and not forced
    what = "GPU" if certain else "possibly GPU"
    default = "" if age.origin.written else " by default"
    also = f"; terminationGracePeriod {grace.value} then forces every pod out" if isinstance(grace, Set) else ""
    auto = pool.controller == "eks-auto"
    bound = ", and EKS Auto Mode ends them at 21 days whatever is written" if auto else ""
    lenient = (auto and seconds >= AUTO_DEFAULT) or spared or pool.stands_among_serving
    related = [] if pool.gpus.origin is None else [Related(pool.gpus.origin, pool.gpus.reason)]
    if isinstance(grace, Set):
        related.append(Related(grace.origin, "it goes over do-not-disrupt and disruption budgets"))
    yield Gap(
        age.origin,
        f"nodes of {what} pool {pool.name} end after {duration(seconds)}{default}{bound}{also}",
        "nodes of one run are of one age: they are drained one after the other, whatever runs on them",
        detail="expiry",
        severity=Severity.WARNING if certain and not lenient else Severity.INFO,
        related=tuple(related),
        fix=_fix(pool, age),
    )


def _fix(pool: NodePool, age: Set[str]) -> Fix:
    if pool.controller == "eks-auto":
        return Fix("end runs before, or raise expireAfter: with terminationGracePeriod it may be 21 days (504h)")
    if "expireAfter" not in pool.fields:
        return Fix("let nodes live: no maxInstanceLifetime, and new images between runs")
    title = "let nodes live: expireAfter: Never, with a pinned image"
    return Fix(title, (ReplaceValue(age.origin, "Never"),)) if age.origin.written else Fix(title)
