from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.images import surely_differ
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.needs import has_several_roles
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="IMG004",
    name="image-skew-across-roles",
    view=Workload,
    needs=(has_several_roles,),
    severity=Severity.WARNING,
    evidence=("nccl-latest",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Ranks of one collective run different images.

    ## What it flags
    Roles of one training gang whose GPU containers name different images or tags. A launcher or head without GPUs is
    left alone, and so are two spellings of one image (`docker.io/`, `:latest`, a digest beside a tag).

    ## Why it hurts
    Ranks must agree on the NCCL and torch releases. With two of them, the first collective hangs or fails with an error
    about versions, and the difference stands far from it: usually one role was bumped and the other forgotten.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: tune}
    spec:
      pytorchReplicaSpecs:
        Master:
          replicas: 1
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
        Worker:
          replicas: 3
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.03-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: tune}
    spec:
      pytorchReplicaSpecs:
        Master:
          replicas: 1
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
        Worker:
          replicas: 3
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When the roles do not share a process group (actors and learners, for example).

    ## Fix safety
    There is no automatic fix: which of the two is right is yours to say.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """
    if not workload.trains:
        return
    ranks = [_rank(role) for role in workload.roles if role.trains]
    known = [(role, container) for pair in ranks if pair is not None for role, container in (pair,)]
    if not known:
        return
    first = known[0][1].image
    for role, container in known[1:]:
        image = container.image
        if isinstance(first, Set) and isinstance(image, Set) and surely_differ(image.value, first.value):
            yield Gap(
                image.origin,
                f"role {role.name} runs {image.value}, and {known[0][0].name} runs {first.value}",
                "ranks with different NCCL or torch releases hang or fail at their first collective",
                detail=f"{known[0][0].name}:{role.name}",
                related=(Related(first.origin, f"the image of {known[0][0].name}"),),
                fix=Fix("give all ranks the same image"),
                container=container.name,
            )


def _rank(role: Role) -> tuple[Role, Container] | None:
    """The GPU container of a role whose image is known."""
    for container in role.pod.containers:
        if isinstance(container.accelerator_count, Set) and isinstance(container.image, Set):
            return role, container
    return None
