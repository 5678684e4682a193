from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Gap, Related, Severity, annotate
from kube_gaplint.model.eviction import SAFE_TO_EVICT, holding_budgets, refuses_drain, unspared
from kube_gaplint.model.needs import meets_cluster_autoscaler
from kube_gaplint.model.placement import spot
from kube_gaplint.model.scale import size
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Pod, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT002",
    name="autoscaler-may-evict",
    view=Workload,
    needs=(meets_cluster_autoscaler,),
    severity=Severity.WARNING,
    evidence=("cluster-autoscaler-jobs",),
    sources=("cluster-autoscaler-faq",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The cluster autoscaler may drain the nodes of a running job.

    ## What it flags
    Pods on accelerators without `cluster-autoscaler.kubernetes.io/safe-to-evict: "false"` where the autoscaler or GKE
    is evident: GKE's node labels among the pods' selectors or tolerations (a pool's name alone tells nothing), a
    cluster-autoscaler, a ComputeClass or a pool that scales in the given paths, or the profile. Quiet for spot pods,
    pools of a fixed size, and pods that the autoscaler does not drain anyway: bare pods and, by default, those of
    custom controllers (PyTorchJob, RayJob, Volcano; the pods of a JobSet or TrainJob belong to Jobs), pods with
    hostPath or disk-backed emptyDir volumes (unless `safe-to-evict-local-volumes` lets them go), pods behind a
    PodDisruptionBudget that lets none go, TPU slices. Info where a command or Terraform beside the manifest makes pools
    whose nodes have no more GPUs than a pod takes.

    ## Why it hurts
    A scale-down drains nodes that are used by less than half. Batch pods look movable, so jobs of many hours were
    started again and again when others on their nodes had ended, and GPU jobs ran out of retries. A pod that asks for
    at least half of a node's GPUs keeps the node by the default threshold; the annotation holds whatever the threshold
    and the profile of the cluster are.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
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
        metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}
        spec:
          restartPolicy: Never
          nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [python, train.py]
            resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## When to keep it
    The pool never scales down, or an eviction costs the job little. `autoscaler: none` in the profile says that no
    autoscaler acts.

    ## Fix safety
    Safe: the pods stay where they are until they end. On GKE Autopilot it also asks for up to seven days of run time.

    ## References
    - https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
    - https://github.com/kubernetes/autoscaler/issues/4048
    """
    evidence = workload.surroundings.autoscalers.get("cluster-autoscaler")
    if evidence is None or not workload.trains or workload.batch is not None or holding_budgets(workload):
        return
    for pod in unspared(workload, SAFE_TO_EVICT):
        if spot(pod.pod) is not None or refuses_drain(workload, pod.pod) != "":
            continue
        filled = _fills_its_node(workload, pod.pod)
        state = f'{SAFE_TO_EVICT}: "{pod.value}" lets it' if pod.value else f"no {SAFE_TO_EVICT}"
        yield Gap(
            pod.origin,
            f"{state} on pods that the cluster autoscaler may drain ({evidence.what})",
            "by the default threshold its pods keep their nodes, whose GPUs they take all"
            if filled
            else f"a scale-down takes a node from under {size(workload)}",
            detail="cluster-autoscaler",
            severity=Severity.INFO if filled else None,
            related=() if evidence.origin is None else (Related(evidence.origin, "this shows the autoscaler"),),
            fix=annotate(pod, SAFE_TO_EVICT, "false"),
        )


def _fills_its_node(workload: Workload, pod: Pod) -> bool:
    """Whether the pools that are made beside the manifest show that a pod takes all GPUs of its node."""
    most, count = workload.surroundings.most_gpus_per_node, pod.accelerator_count
    return isinstance(most, Set) and isinstance(count, Set) and count.value >= most.value
