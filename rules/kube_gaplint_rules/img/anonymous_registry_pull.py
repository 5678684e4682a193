from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.images import parse_reference
from kube_gaplint.findings import Fix, Gap, Severity
from kube_gaplint.model.pod import open_parts, pull_secrets
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule

DOCKER_HUB = frozenset({"", "docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"})
LEAST_PODS = 8
PULLS = 100
"""Pulls in six hours that Docker Hub lets an address without an account make."""


@rule(
    code="IMG005",
    name="anonymous-registry-pull",
    view=Workload,
    severity=Severity.INFO,
    evidence=("dockerhub-429",),
    tier="later",
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """Many pods pull an image from Docker Hub without an account.

    ## What it flags
    A training job of eight or more pods whose image comes from Docker Hub, without `imagePullSecrets` and with the
    default service account. Other registries, pods whose secrets may come with a service account (that of `default` is
    looked up in the given paths) or a template, and nodes that are seen to pull through a mirror are left alone.

    ## Why it hurts
    Docker Hub counts pulls by address, and a cluster often leaves through one. After 100 pulls in six hours it answers
    429: some ranks start, others stay in `ImagePullBackOff`, and those that run hold their GPUs and wait. Kubeflow's
    users met it even with the image of an init container that the operator adds.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: tune}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 16
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
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
        Worker:
          replicas: 16
          restartPolicy: OnFailure
          template:
            spec:
              imagePullSecrets: [{name: docker-hub}]
              containers:
              - name: pytorch
                image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    When the nodes pull through a mirror, which no manifest shows.

    ## Fix safety
    There is no automatic fix: copy the image to your own registry, or name a secret.

    ## References
    - https://docs.docker.com/docker-hub/usage/pulls/
    - https://github.com/kubeflow/pytorch-operator/issues/339
    """
    around = workload.surroundings
    if not workload.trains or workload.batch is not None or around.pull_secrets or around.registry_mirror:
        return
    for role in workload.roles:
        if not isinstance(role.replicas, Set) or role.replicas.value < LEAST_PODS or not _anonymous(role):
            continue
        for container in role.pod.containers:
            image = container.image
            if not isinstance(image, Set) or not image.origin.written or not container.accelerators:
                continue
            if parse_reference(image.value).registry in DOCKER_HUB:
                yield Gap(
                    image.origin,
                    f"{role.replicas.value} pods pull {image.value} from Docker Hub without imagePullSecrets",
                    f"after {PULLS} pulls in six hours from one address some ranks cannot start, and the others wait",
                    detail=f"docker-hub:{parse_reference(image.value).repository}",
                    fix=Fix("name a pull secret, or pull from a registry of your own"),
                    container=container.name,
                )


def _anonymous(role: Role) -> bool:
    """Surely no secret of the pod or of a service account of its own goes along."""
    pod = role.pod
    if pod.overrides_unknown or pull_secrets(pod) or "imagePullSecrets" in open_parts(pod):
        return False
    accounts = (pod.fields.get(field, Absent(pod.origin)) for field in ("serviceAccountName", "serviceAccount"))
    return all(isinstance(one, Absent) or (isinstance(one, Set) and one.value == "default") for one in accounts)
