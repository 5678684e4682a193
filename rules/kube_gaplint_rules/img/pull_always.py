from __future__ import annotations

import re
from collections.abc import Iterator

from kube_gaplint.facts.images import is_moving_tag, parse_reference
from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.needs import pulls_always
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="IMG003",
    name="pull-always",
    view=Workload,
    needs=(pulls_always,),
    severity=Severity.INFO,
    evidence=("github-pullalways",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """A pinned image is asked for at every start, so that a restart needs the registry.

    ## What it flags
    `imagePullPolicy: Always` on an image with a fixed tag or a digest, in a job that is started again after failures.
    Moving tags are another rule's.

    ## Why it hurts
    After a failure all pods come back at once, and each asks the registry. When it is away or throttles, the job that
    was about to go on stays down. GitHub's status reports tell of pods that could not start for this reason although
    the image lay on their nodes.

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
            imagePullPolicy: Always
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
            imagePullPolicy: IfNotPresent
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the tag is overwritten on purpose.

    ## Fix safety
    Safe: the same image is on the node, or is pulled.

    ## References
    - https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy
    """
    if not workload.trains or workload.starts_again is None:
        return
    for _, container in workload.containers():
        policy, image = container.fields.get("imagePullPolicy"), container.image
        if not isinstance(policy, Set) or policy.value != "Always" or not policy.origin.written:
            continue
        if not isinstance(image, Set) or not container.accelerators:
            continue
        reference = parse_reference(image.value)
        if not reference.digest and (not re.search(r"\d", reference.tag) or is_moving_tag(reference.tag)):
            continue  # a name without a number stands for whatever is built last
        yield Gap(
            policy.origin,
            "imagePullPolicy Always on a pinned image: every restart needs the registry",
            detail="always",
            related=(Related(image.origin, "the image is pinned"),),
            fix=Fix("use IfNotPresent", (ReplaceValue(policy.origin, "IfNotPresent"),), safe=True),
            container=container.name,
        )
