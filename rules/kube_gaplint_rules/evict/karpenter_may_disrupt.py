from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Gap, Related, Severity, annotate
from kube_gaplint.model.eviction import holding_budgets, karpenter_annotation, unspared
from kube_gaplint.model.needs import meets_karpenter
from kube_gaplint.model.nodes import NodePool
from kube_gaplint.model.pod import affinity
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.surroundings import Evidence
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT001",
    name="karpenter-may-disrupt",
    view=Workload,
    needs=(meets_karpenter,),
    severity=Severity.WARNING,
    evidence=("karpenter-consolidation",),
    sources=("karpenter-disruption",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Karpenter may take the nodes of a running job.

    ## What it flags
    Pods on accelerators without `karpenter.sh/do-not-disrupt: "true"` where Karpenter or EKS Auto Mode is evident: a
    NodePool in the given paths that may carry GPUs, `karpenter.sh/…` among the pods' selectors, tolerations or
    annotations, the settings of eksctl, or the profile. A value that Karpenter does not take for protection (`"false"`)
    is as good as none; a duration protects. Quiet where every pool leaves running pods alone by its budgets, where a
    PodDisruptionBudget lets none of the pods go, where all pools (or the node classes of pools that are not seen) say
    by their names, labels or taints that they are for serving, and the job chooses none of them, and where the pods
    tolerate the taints of none (but for taints named after a device, which admission may tolerate for them). Beside
    pools of karpenter.sh/v1alpha5 the annotation is `karpenter.sh/do-not-evict`.

    ## Why it hurts
    Karpenter moves pods together when nodes look underused, which they do at the tail of every job. A project counted
    21 evictions of its jobs, 19 of them by consolidation; one task of 27 minutes was evicted five times, each time
    after about 7 minutes. The annotation stops consolidation and drift. It does not stop the expiry of nodes, nor a
    spot reclaim.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {karpenter.sh/nodepool: gpu}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        metadata: {annotations: {karpenter.sh/do-not-disrupt: "true"}}
        spec:
          restartPolicy: Never
          nodeSelector: {karpenter.sh/nodepool: gpu}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    The job is short, or an eviction costs it little. `autoscaler: none` in the profile says that no autoscaler acts.

    ## Fix safety
    Safe: the pods stay where they are until they end.

    ## References
    - https://karpenter.sh/docs/concepts/disruption/#pod-level-controls
    - https://github.com/dynamical-org/reformatters/pull/945
    """
    evidence = workload.surroundings.autoscalers.get("karpenter")
    if evidence is None or not workload.trains or workload.batch is not None:
        return
    pools = workload.surroundings.pools
    around = evidence.origin is not None and not evidence.of_pods
    if pools.leave_running_pods or (pools.keep_out and around):
        return
    if pools.are_for_serving and not evidence.of_pods and pools.labels.isdisjoint(_wanted_labels(workload)):
        return
    wants = dict(_wanted_labels(workload))
    pool = pools.likeliest(workload.origin.place.source.path, wants) if around else None
    if pool is not None:
        evidence = Evidence(f"{pool.subject.kind} {pool.name}", pool.origin)
    key, held = karpenter_annotation(workload), _held(workload)
    for pod in unspared(workload, key):
        if id(pod.pod) in held:
            continue
        state = f'{key}: "{pod.value}" protects nothing' if pod.value else f"no {key}"
        yield Gap(
            pod.origin,
            f"{state} on pods that Karpenter may evict ({evidence.what})",
            f"{_causes(pool)} takes a node from under {size(workload)}",
            detail="karpenter",
            related=() if evidence.origin is None else (Related(evidence.origin, "this shows Karpenter"),),
            fix=annotate(pod, key, "true"),
        )


def _held(workload: Workload) -> set[int]:
    """By identity, the pods that a PodDisruptionBudget surely keeps where they are: Karpenter waits for it, too."""
    names = {name for budget in holding_budgets(workload) if budget.sure for name in budget.roles}
    return {id(role.pod) for role in workload.roles if role.name in names}


def _causes(pool: NodePool | None) -> str:
    """For what Karpenter takes nodes with running pods out of a pool; for anything where no pool is seen."""
    if pool is not None and pool.consolidates is False:
        return "a drifted image"
    drifts = pool is None or (pool.replaces_drifted and pool.forbids("Drifted") is not True)
    return "a consolidation or a drifted image" if drifts else "a consolidation"


def _wanted_labels(workload: Workload) -> Iterator[tuple[str, str]]:
    """The labels by which its pods choose nodes, as far as they are known."""
    for role in workload.roles:
        for key, value in role.pod.node_selector.items():
            if isinstance(value, Set):
                yield key, value.value
        for term in affinity(role.pod).nodes:
            for text in term.values.value if isinstance(term.values, Set) else ():
                yield term.key, text
