from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.images import is_moving_tag, parse_reference
from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
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
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The image's name stands for another image tomorrow, so that a restarted rank may run other code than its peers.

    ## What it flags
    An image of a GPU training container without tag, or with a tag that moves (`latest`, `nightly`, `main`,
    `24.05-latest`). A fixed tag without digest is info: a registry may still replace it. Digests pin, and templated
    names are unknown.

    ## Why it hurts
    A run of weeks is restarted many times, on nodes that hold older copies and on nodes that pull anew. When two of
    them disagree on the NCCL release or on the code, the job hangs at its first collective or, worse, trains on with
    two versions. OPT-175B's log tells of time lost to differing environments after restarts.

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
            "a rank that is restarted on another node may get another image than its peers, and the job hangs",
            detail=f"moving:{image.value}",
            fix=Fix("name a release, and best its digest"),
            container=container.name,
        )
