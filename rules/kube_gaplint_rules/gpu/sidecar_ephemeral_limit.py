from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, RemoveEntry, ReplaceValue, Severity
from kube_gaplint.model.needs import has_helpers
from kube_gaplint.model.resources import limit
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.rule import Context, rule

RESOURCE = "ephemeral-storage"
SIDECAR_ANNOTATIONS = {"gke-gcsfuse/ephemeral-storage-limit": "gke-gcsfuse-sidecar"}
"""Annotations that give an injected sidecar its limit (GKE, Cloud Storage FUSE CSI driver); 0 is none."""


@rule(
    code="GPU008",
    name="sidecar-ephemeral-limit",
    view=Workload,
    needs=(has_helpers,),
    severity=Severity.WARNING,
    evidence=("ephemeral-evictions",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The disk limit of a sidecar bounds the whole pod, training container included.

    ## What it flags
    An `ephemeral-storage` limit on a sidecar or an init container (or on the Cloud Storage FUSE sidecar by its
    annotation) of a pod whose training containers have none. A request alone bounds nothing.

    ## Why it hurts
    The kubelet adds up the limits of a pod's containers, takes a missing one as zero, and evicts the pod when all of
    them together use more: a log shipper's 1 GiB ends the training as soon as its cache has grown past that. Notebook
    and training pods were lost to the 5 GiB of an injected sidecar.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8, memory: 900Gi}}
          - name: logs
            image: ghcr.io/acme/logs:2.1
            resources: {limits: {ephemeral-storage: 1Gi}}
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
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8, memory: 900Gi, ephemeral-storage: 500Gi}}
          - name: logs
            image: ghcr.io/acme/logs:2.1
            resources: {limits: {ephemeral-storage: 1Gi}}
    ```

    ## When to keep it
    When the training container writes nothing to its own disk or an emptyDir.

    ## Fix safety
    Unsafe: the limit of the helper is dropped, so that nothing bounds what it writes. A limit on the training container
    would have to be high enough, and only you know how high that is.

    ## References
    - https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#local-ephemeral-storage
    - https://github.com/substratusai/runbooks/issues/246
    """
    if not workload.trains or workload.batch is not None:
        return
    for role in workload.roles:
        main = [container for container in role.pod.containers if container.accelerators]
        if not main or not all(_unbounded(container, role, workload) for container in main):
            continue
        for name, bound in _bounds(role, main):
            yield Gap(
                bound.origin,
                f"the limit of {bound.value} on {name} is the pod's: {main[0].name} has no {RESOURCE} limit to add",
                "the kubelet evicts the pod when all containers together use more than the limits that are there",
                detail=f"sidecar:{name}",
                related=(Related(main[0].origin, f"container {main[0].name} has no limit"),),
                fix=_fix(f"give {main[0].name} a limit of its own", role, bound),
                container=name,
            )


def _fix(first: str, role: Role, bound: Set[str]) -> Fix:
    """An annotation is there to be read, and without it the sidecar has a default: 0 is what means no limit."""
    if any(role.pod.annotations.get(annotation) == bound for annotation in SIDECAR_ANNOTATIONS):
        return Fix(f'{first}, or set this one to "0", no limit', (ReplaceValue(bound.origin, "0", as_text=True),))
    return Fix(f"{first}, or drop this one", (RemoveEntry(bound.origin),))


def _unbounded(container: Container, role: Role, workload: Workload) -> bool:
    return isinstance(limit(RESOURCE, container, role.pod, workload), Absent)


def _bounds(role: Role, main: list[Container]) -> Iterator[tuple[str, Set[str]]]:
    """The limits of the pod's other containers, with their names."""
    for container in (*role.pod.containers, *role.pod.init_containers):
        bound = container.fields.get(f"resources.limits.{RESOURCE}")
        if container not in main and isinstance(bound, Set):
            yield container.name, bound
    for annotation, name in SIDECAR_ANNOTATIONS.items():
        value = role.pod.annotations.get(annotation)
        if isinstance(value, Set) and value.value.strip() not in {"0", ""}:
            yield name, value
