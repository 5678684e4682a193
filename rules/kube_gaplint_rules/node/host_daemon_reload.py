from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.nodes import HostAction, HostAgent
from kube_gaplint.rule import Context, rule

WHAT = {
    "daemon-reload": "systemd writes the device rules of all containers anew",
    "runtime-restart": "the container runtime starts again under its containers",
    "kubelet-restart": "kubelet starts again and admits its pods once more",
}
"""By kind of action: what it does to a host."""


@rule(
    code="NODE008",
    name="host-daemon-reload",
    view=HostAgent,
    severity=Severity.ERROR,
    evidence=("nvml-unknown-error",),
)
def check(agent: HostAgent, _context: Context) -> Iterator[Gap]:
    """A pod reloads systemd or restarts the container runtime of GPU nodes, and running containers lose their GPUs.

    ## What it flags
    A DaemonSet, Pod or Job that runs `systemctl daemon-reload`, or restarts containerd, Docker, CRI-O or kubelet, on
    its host (through `nsenter` or `chroot`). Info where it runs on every node and nothing tells that there are GPUs.
    Quiet where it drains its node first, or cordons it and looks after its pods, where the GPU Operator of the given
    paths uses CDI, and on nodes without GPUs.

    ## Why it hurts
    Without CDI the runtime's hook gives GPUs to a container behind systemd's back. A reload writes the device rules
    anew, without the GPUs: `Failed to initialize NVML: Unknown Error` in every running container, while the host is
    fine. The containers have to be made anew, so every rank on the node is lost. A kubelet that starts again admits its
    pods anew, and can end those whose devices are not registered yet: reports of it reach from Kubernetes 1.25 to
    1.31.

    ## Bad
    ```yaml
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: registry-mirror, namespace: kube-system}
    spec:
      selector: {matchLabels: {app: mirror}}
      template:
        metadata: {labels: {app: mirror}}
        spec:
          hostPID: true
          nodeSelector: {nvidia.com/gpu.present: "true"}
          initContainers:
          - name: apply
            image: alpine:3.20
            securityContext: {privileged: true}
            command: [nsenter, -t, "1", -m, --, sh, -c, "systemctl daemon-reload && systemctl restart containerd"]
          containers: [{name: pause, image: "registry.k8s.io/pause:3.10"}]
    ```

    ## Good
    ```yaml
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: registry-mirror, namespace: kube-system}
    spec:
      selector: {matchLabels: {app: mirror}}
      template:
        metadata: {labels: {app: mirror}}
        spec:
          hostPID: true
          nodeSelector: {nvidia.com/gpu.present: "true"}
          initContainers:
          - name: apply
            image: alpine:3.20
            securityContext: {privileged: true}
            command: [nsenter, -t, "1", -m, --, sh, -c, "cp /tmp/hosts.toml /etc/containerd/certs.d/_default/"]
          containers: [{name: pause, image: "registry.k8s.io/pause:3.10"}]
    ```

    ## When to keep it
    It runs before the node takes its first job: then put it into the node's image or user data.

    ## Fix safety
    There is no automatic fix. Do it in the image, drain the node first, or hand GPUs out through CDI.

    ## References
    - https://github.com/NVIDIA/nvidia-container-toolkit/issues/48
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    - https://github.com/kubernetes/kubernetes/issues/118559
    - https://github.com/kubernetes/kubernetes/issues/133382
    """
    if agent.gpus.answer == "no" or agent.drains_first or agent.cdi_may_be_on:
        return
    actions = [action for action in agent.actions if action.kind in WHAT]
    if actions:
        yield _gap(agent, actions)


def _gap(agent: HostAgent, actions: list[HostAction]) -> Gap:
    first = actions[0]
    certain = agent.gpus.answer == "yes"
    kubelet = all(action.kind == "kubelet-restart" for action in actions)
    related = [Related(action.origin, WHAT[action.kind]) for action in actions[1:]]
    if agent.gpus.origin is not None:
        related.append(Related(agent.gpus.origin, agent.gpus.reason))
    return Gap(
        first.origin,
        f"{first.what} runs on {'GPU nodes' if certain else 'nodes that may carry GPUs'}: {WHAT[first.kind]}",
        "running pods whose devices are not registered yet can be ended (UnexpectedAdmissionError)"
        if kubelet
        else "running containers lose their GPUs (NVML: Unknown Error), and every rank on the node with them",
        detail="+".join(sorted({action.kind for action in actions})),
        severity=Severity.ERROR if certain else Severity.INFO,
        related=tuple(related),
        fix=Fix("do it in the node's image, or drain the node first, or hand GPUs out through CDI"),
    )
