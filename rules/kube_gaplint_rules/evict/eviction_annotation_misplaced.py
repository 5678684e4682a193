from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, ReplaceValue, Severity
from kube_gaplint.model.eviction import DO_NOT_DISRUPT, REMOVED, SAFE_TO_EVICT, before_karpenter_1_0
from kube_gaplint.model.needs import is_annotated
from kube_gaplint.model.pod import is_text
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="EVICT004",
    name="eviction-annotation-misplaced",
    view=Workload,
    needs=(is_annotated,),
    severity=Severity.ERROR,
    evidence=(
        "autoscaler-1497",
        "karpenter-consolidation",
    ),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The annotation that keeps autoscalers off the pods stands where no autoscaler looks, or is not understood.

    ## What it flags
    `safe-to-evict` or `do-not-disrupt` on the job's own metadata and not on its pod template; a value without quotes,
    which is a boolean and not a string; `karpenter.sh/do-not-evict` and `do-not-consolidate`, which Karpenter 1.0
    removed (quiet beside pools of an older API version). On a bare Pod the metadata is the right place.

    ## Why it hurts
    Autoscalers read pods, not jobs. The manifest looks protected, and the first consolidation takes the job's nodes. A
    project counted 19 evictions of one job by Karpenter, five times the same pod.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune, annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}
    spec:
      template:
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
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Never.

    ## Fix safety
    Safe: renaming and quoting give the annotation the meaning that it was written for.

    ## References
    - https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
    - https://karpenter.sh/docs/concepts/disruption/#pod-level-controls
    """
    if workload.purpose not in {"training", "unknown", "evaluation"} or workload.batch is not None:
        return
    roles = [role for role in workload.roles if isinstance(role.pod.accelerator_count, Set)]
    if not roles:
        return
    removed = () if before_karpenter_1_0(workload) else REMOVED
    for role in roles:
        yield from _on_pod(role, removed)
    if workload.subject.kind == "Pod":
        return
    for key, wanted in ((SAFE_TO_EVICT, "false"), (DO_NOT_DISRUPT, "true")):
        own = workload.annotations.get(key)
        if not isinstance(own, Set) or own.value != wanted or not own.origin.written:
            continue
        if any(key in role.pod.annotations or role.pod.overrides_unknown for role in roles):
            continue
        yield Gap(
            own.origin,
            f"{key} stands on the {workload.subject.kind}, and autoscalers read it on pods alone",
            "the pods are not protected: a scale-down or consolidation takes their nodes",
            detail=f"place:{key}",
            fix=Fix("move it to the metadata of the pod template"),
        )


def _on_pod(role: Role, removed: tuple[str, ...]) -> Iterator[Gap]:
    annotations = role.pod.annotations
    for key in removed:
        value = annotations.get(key)
        if isinstance(value, Set) and value.origin.written and DO_NOT_DISRUPT not in annotations:
            yield Gap(
                value.origin,
                f"Karpenter 1.0 and later do not read {key}",
                "the pods are not protected: a consolidation takes their nodes",
                detail=f"removed:{key}",
                fix=Fix(f"use {DO_NOT_DISRUPT}"),
            )
    for key in (SAFE_TO_EVICT, DO_NOT_DISRUPT):
        value = annotations.get(key)
        if isinstance(value, Set) and value.origin.written and not is_text(value):
            quoted: tuple[Change, ...] = (ReplaceValue(value.origin, value.value, as_text=True),)
            yield Gap(
                value.origin,
                f"{key}: {value.value} is a boolean, and annotations must be strings",
                "the API server refuses the object, or a template tool drops the annotation",
                detail=f"quote:{key}",
                fix=Fix("put it in quotes", quoted, safe=True),
            )
