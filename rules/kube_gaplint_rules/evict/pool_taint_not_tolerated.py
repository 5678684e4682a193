from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from kube_gaplint.facts.placement import PoolTaint, pool_taint
from kube_gaplint.findings import Change, Fix, Gap, Related, SetKey, Severity
from kube_gaplint.model.needs import chooses_nodes
from kube_gaplint.model.nodes import Taint
from kube_gaplint.model.pod import affinity, tolerances, tolerations
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.tenants import POOL_LABEL
from kube_gaplint.model.workload import Pod, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT009",
    name="pool-taint-not-tolerated",
    view=Workload,
    needs=(chooses_nodes,),
    severity=Severity.INFO,
    evidence=("marin-3608",),
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The pods ask for nodes whose taint they do not tolerate, and stay Pending.

    ## What it flags
    A node selector or a required affinity for interruptible nodes that the provider taints by itself, without the
    toleration: AKS spot nodes, preemptible OKE nodes, CoreWeave's interruptible nodes; and a Karpenter pool of the
    given paths that the pods choose by name, with a taint that they do not tolerate. Taints that admission tolerates
    for the pod (those for GPUs on GKE), and pools that are not in the paths, are left alone.

    ## Why it hurts
    No node is both chosen and tolerated, so the pods wait for ever, or until an untainted node turns up. Marin's pods
    stayed Pending whenever CoreWeave gave a node of its interruptible pool; the error came and went with the pool.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {kubernetes.azure.com/scalesetpriority: spot}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py]
            resources: {limits: {nvidia.com/gpu: 1}}
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
          nodeSelector: {kubernetes.azure.com/scalesetpriority: spot}
          tolerations: [{key: kubernetes.azure.com/scalesetpriority, value: spot, effect: NoSchedule}]
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py]
            resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## When to keep it
    A mutating webhook of your own adds the toleration.

    ## Fix safety
    Safe: the pods ask for these nodes alone, and the toleration only lets them in.

    ## References
    - https://github.com/marin-community/marin/issues/3608
    - https://learn.microsoft.com/azure/aks/spot-node-pool
    """
    if not workload.trains or workload.batch is not None:
        return
    for role in workload.roles:
        for title, taint, origin in (*_of_providers(role.pod), *_of_pools(workload, role.pod)):
            if tolerances(role.pod).cover(taint.key, taint.value, taint.effect) is not False:
                continue
            shown = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
            yield Gap(
                origin,
                f"the pods choose {title} and do not tolerate their taint {shown}",
                f"they stay Pending, and {size(workload)} wait for them",
                detail=taint.key,
                related=() if taint.origin == origin else (Related(taint.origin, "the taint"),),
                fix=Fix(f"tolerate {shown}", _changes(role.pod, taint), safe=True),
            )


Chosen: TypeAlias = tuple[str, Taint, Origin]
"""What nodes a pod must go to, their taint, and what chooses them."""


def _of_providers(pod: Pod) -> Iterator[Chosen]:
    for key, label in pod.node_selector.items():
        found = pool_taint(key, label.value) if isinstance(label, Set) else None
        if found is not None and isinstance(label, Set):
            yield _known(found, label.origin)
    for term in affinity(pod).nodes:
        values = term.values.value if isinstance(term.values, Set) else ()
        rows = [pool_taint(term.key, value) for value in values]
        first = rows[0] if rows else None
        if term.required and term.operator == "In" and first is not None and None not in rows:
            yield _known(first, term.origin)


def _known(row: PoolTaint, origin: Origin) -> Chosen:
    return row.title, Taint(row.taint, row.value, row.effect, origin), origin


def _of_pools(workload: Workload, pod: Pod) -> Iterator[Chosen]:
    """Karpenter's pools in the paths that the pods choose by name."""
    chosen = pod.node_selector.get(POOL_LABEL)
    for pool in workload.surroundings.pools.members if isinstance(chosen, Set) else ():
        for taint in pool.taints:
            if isinstance(chosen, Set) and pool.name == chosen.value and taint.effect != "PreferNoSchedule":
                yield f"the nodes of pool {pool.name}", taint, chosen.origin


def _changes(pod: Pod, taint: Taint) -> tuple[Change, ...]:
    """Only where there is no list yet: what stands in one is for a person to read."""
    if tolerations(pod) or pod.origin.chain:
        return ()
    wanted = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    return (SetKey(pod.origin, ("tolerations",), [wanted]),)
