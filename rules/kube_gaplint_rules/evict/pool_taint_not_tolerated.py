from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.placement import PoolTaint, pool_taint
from kube_gaplint.findings import Change, Fix, Gap, SetKey, Severity
from kube_gaplint.model.eviction import tolerates
from kube_gaplint.model.pod import affinity, tolerations
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import Pod, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT009",
    name="pool-taint-not-tolerated",
    view=Workload,
    severity=Severity.INFO,
    evidence=("marin-3608",),
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The pods ask for nodes whose taint they do not tolerate, and stay Pending.

    ## What it flags
    A node selector or a required affinity for interruptible nodes that the provider taints by itself, without the
    toleration: AKS spot nodes, preemptible OKE nodes, CoreWeave's interruptible nodes. Taints that admission tolerates
    for the pod (those for GPUs on GKE) and taints of one's own pools, which are not known, are left alone.

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
        for taint, origin in _chosen(role.pod):
            if tolerates(role.pod, taint) is not False:
                continue
            shown = f"{taint.taint}={taint.value}:{taint.effect}"
            yield Gap(
                origin,
                f"the pods choose {taint.title} and do not tolerate their taint {shown}",
                f"they stay Pending, and {size(workload)} wait for them",
                detail=taint.taint,
                fix=Fix(f"tolerate {shown}", _changes(role.pod, taint), safe=True),
            )


def _chosen(pod: Pod) -> Iterator[tuple[PoolTaint, Origin]]:
    """The tainted nodes that a pod must go to."""
    for key, label in pod.node_selector.items():
        found = pool_taint(key, label.value) if isinstance(label, Set) else None
        if found is not None and isinstance(label, Set):
            yield found, label.origin
    for term in affinity(pod).nodes:
        values = term.values.value if isinstance(term.values, Set) else ()
        rows = [pool_taint(term.key, value) for value in values]
        first = rows[0] if rows else None
        if term.required and term.operator == "In" and first is not None and None not in rows:
            yield first, term.origin


def _changes(pod: Pod, taint: PoolTaint) -> tuple[Change, ...]:
    """Only where there is no list yet: what stands in one is for a person to read."""
    if tolerations(pod) or pod.origin.chain:
        return ()
    wanted = {"key": taint.taint, "operator": "Exists", "effect": taint.effect}
    return (SetKey(pod.origin, ("tolerations",), [wanted]),)
