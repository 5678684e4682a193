from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.images import is_moving_tag, parse_reference
from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.budget import failure_layers, runs_once, several_pods
from kube_gaplint.model.rendezvous import computes_together
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.workload import Container, RestartLayer, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="IMG001",
    name="mutable-image",
    view=Workload,
    severity=Severity.WARNING,
    evidence=(
        "nccl-latest",
        "opt-175b",
        "bloom-eval-deadlock",
    ),
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """The image's name stands for another image tomorrow, so that a restart may run other code than before.

    ## What it flags
    An image of a training container with GPUs, TPUs or other accelerators without tag, or with a tag that moves
    (`latest`, `nightly`, `main`, `24.05-latest`). Info for a single pod that nothing starts again, and for a fixed tag
    without digest: a registry may still replace it. Digests pin, and templated names are unknown. The images
    of batch scripts are left alone.

    ## Why it hurts
    A run of weeks is restarted many times, on nodes that hold older copies and on nodes that pull anew. When two of
    them disagree on the NCCL release or on the code, the job hangs at its first collective or, worse, trains on with
    two versions. OPT-175B's log tells of time lost to differing environments after restarts. A job of one pod does not
    hang, but its results cannot be compared with those of the start before, or made again.

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
            image: ghcr.io/acme/train:latest
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
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nproc-per-node=8, train.py]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    In a sandbox in which every run is thrown away.

    ## Fix safety
    There is no automatic fix: which digest is right is yours to say.

    ## References
    - https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    if not workload.trains or workload.batch is not None:
        return
    for role, container in workload.containers():
        image = container.image
        if not role.trains or not isinstance(image, Set) or not image.origin.written or not container.accelerators:
            continue
        reference = parse_reference(image.value)
        if reference.digest:
            continue
        if reference.tag and not is_moving_tag(reference.tag):
            yield Gap(
                image.origin,
                f"tag {reference.tag} is not pinned by a digest",
                detail=f"tag:{image.value}",
                severity=Severity.INFO,
                fix=Fix("add the digest of the image that you tested"),
                container=container.name,
            )
            continue
        yield Gap(
            image.origin,
            f"tag {reference.tag} moves" if reference.tag else "the image has no tag, which stands for latest",
            _consequence(workload, container),
            detail=f"moving:{image.value}",
            severity=Severity.INFO if _starts_once(workload, context) else Severity.WARNING,
            fix=Fix("name a release, and best its digest"),
            container=container.name,
        )


def _consequence(workload: Workload, container: Container) -> str:
    """What another image does: ranks that differ hang; a pod that computes alone differs from its own start before."""
    if not several_pods(workload) or not computes_together(workload):
        return "the next start may run other code than the one before, so that results cannot be compared or repeated"
    if any(layer.scope == "pod" and _acts(layer) for layer in failure_layers(workload)):
        return "a rank that is restarted on another node may get another image than its peers, and the job hangs"
    policy = container.fields.get("imagePullPolicy")
    if isinstance(policy, Set) and policy.value == "Always":
        return "pods that start while a new image is pushed run other code than their peers, and the next run differs"
    return "a pod on a node with an older copy runs other code than its peers, and the job hangs"


def _acts(layer: RestartLayer) -> bool:
    """Whether a controller may restart anything at all."""
    budget = layer.budget
    return not isinstance(budget, Absent) and not (isinstance(budget, Set) and budget.value == 0)


def _starts_once(workload: Workload, context: Context) -> bool:
    """Surely a single pod that nothing starts again."""
    one = isinstance(workload.nodes, Set) and workload.nodes.value == 1
    return one and runs_once(workload, context.profile) is not None
