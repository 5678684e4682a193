from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.nodes import NodeImage, NodePool
from kube_gaplint.model.setting import Set
from kube_gaplint.rule import Context, rule


@rule(
    code="NODE002",
    name="floating-node-image",
    view=NodePool,
    severity=Severity.WARNING,
    evidence=("karpenter-ami-drift", "eks-ami-1697"),
    sources=("karpenter-nodeclasses",),
)
def check(pool: NodePool, _context: Context) -> Iterator[Gap]:
    """GPU nodes take whatever machine image is newest, so an image release replaces or changes nodes under a run.

    ## What it flags
    A pool that can carry GPUs whose image is chosen by something that moves: `alias: al2023@latest`, a name pattern, an
    SSM parameter, an image family, a gallery's `latest`; also in machine templates of Cluster API (AWS, Google, Azure).
    Karpenter counts each new image as drift and replaces running nodes. Info for pools that may or may not carry GPUs,
    for pools that only serve by what the given paths show, and for pools whose nodes change only when they are made
    anew: a budget keeps drift from them, or a static pool (`replicas`) is at its `limits.nodes`, so that no replacement
    can be started first.

    ## Why it hurts
    An AMI release that picks another kernel module left GPU nodes unusable; drift replaced nodes nobody had touched.
    Karpenter's own API comment says that the latest alias is not recommended for production.

    ## Bad
    ```yaml
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: gpu}
    spec:
      amiSelectorTerms: [{alias: al2023@latest}]
    ---
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: p5}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [p5]}]
    ```

    ## Good
    ```yaml
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: gpu}
    spec:
      amiSelectorTerms: [{alias: al2023@v20260915}]
    ---
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: p5}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [p5]}]
    ```

    ## When to keep it
    On a test cluster that is there to meet new images first.

    ## Fix safety
    There is no automatic fix: the version to pin is the one that you tested.

    ## References
    - https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms
    - https://github.com/awslabs/amazon-eks-ami/issues/1697
    """
    if pool.gpus.answer == "no":
        return
    for image in pool.images:
        if isinstance(image.floats, Set) and image.floats.value and not image.repeated:
            yield _gap(pool, image)


def _gap(pool: NodePool, image: NodeImage) -> Gap:
    replaces = pool.replaces_drifted and pool.forbids("Drifted") is False
    certain = pool.gpus.answer == "yes"
    serves = pool.only_serves or pool.stands_among_serving
    value = image.value.value if isinstance(image.value, Set) else image.form
    related = () if pool.gpus.origin is None else (Related(pool.gpus.origin, pool.gpus.reason),)
    what = "each new image counts as drift: running nodes are replaced" if replaces else "new nodes get another image"
    return Gap(
        image.origin,
        f"the machine image of {'GPU' if certain else 'possibly GPU'} pool {pool.name} floats: {value}",
        f"{what}, and a kernel or driver that nobody tested meets {'the pods' if serves else 'the training'}",
        detail=f"{image.form}:{value}",
        severity=Severity.WARNING if certain and replaces and not serves else Severity.INFO,
        related=related,
        fix=Fix("pin the image: a dated alias, or an image id that you tested"),
    )
