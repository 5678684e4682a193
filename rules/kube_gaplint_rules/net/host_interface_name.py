from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.facts.interfaces import on_hosts_alone, read_interfaces
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.network import has_further_networks
from kube_gaplint.model.pod import on_host_network
from kube_gaplint.model.rendezvous import spans_pods
from kube_gaplint.model.setting import Set
from kube_gaplint.model.variables import GivenVariable, in_force
from kube_gaplint.model.workload import Pod, Workload
from kube_gaplint.rule import Context, rule

_LIBRARIES = {"NCCL_SOCKET_IFNAME": "NCCL", "GLOO_SOCKET_IFNAME": "Gloo"}


@rule(
    code="NET002",
    name="host-interface-name",
    view=Workload,
    variables=tuple(_LIBRARIES),
    severity=Severity.WARNING,
    evidence=("IL-0116", "ifname-mistakes"),
    sources=("nccl-env", "gloo-ifname"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """NCCL or Gloo is told to use a network card of the host, which the pod does not have.

    ## What it flags
    `NCCL_SOCKET_IFNAME` or `GLOO_SOCKET_IFNAME` that names cards of hosts alone (`ens5`, `bond0`, `=enp90s0np0`) in a
    pod with a network of its own. On the host's network the card may be there, and the rule only notes (info) that
    every node must call it so. Lists with an interface of the pod among them (`eth,ens`), pods with further networks
    (Multus, SR-IOV, GKE multi-networking) and batch scripts are left alone.

    ## Why it hurts
    A pod sees eth0 and lo. NCCL finds no interface of that name and stops with "no socket interface found", Gloo cannot
    bind. Marin lost runs to `=enp90s0np0` in a setting copied from another cluster. Names differ between generations of
    hardware, too: at OpenAI in 2023 a network change that did not fit one hardware type took a GPU cluster off the
    network for hours.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/encoder:1.4
                command: [torchrun, train.py]
                env: [{name: NCCL_SOCKET_IFNAME, value: bond0}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: encoder}
    spec:
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          template:
            spec:
              containers:
              - name: pytorch
                image: ghcr.io/acme/encoder:1.4
                command: [torchrun, train.py]
                env: [{name: NCCL_SOCKET_IFNAME, value: eth0}]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Where the cluster gives pods an interface of that name in a way that the manifest does not show.

    ## Fix safety
    There is no automatic fix: eth0 is right for most pods, and no setting at all as well.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
    - https://github.com/marin-community/marin/issues/6940
    """
    if not workload.trains or workload.batch is not None or (workload.alone and not spans_pods(workload)):
        return
    for given in in_force(workload):
        if given.name not in _LIBRARIES or not isinstance(given.value, Set):
            continue
        interfaces = read_interfaces(given.value.value)
        pods = list(_pods_of(workload, given))
        hosts = [on_host_network(pod) for pod in pods]
        if not on_hosts_alone(interfaces) or None in hosts or any(map(has_further_networks, pods)):
            continue
        yield _gap(given, given.value.value, pods[hosts.index(True)] if True in hosts else None)


def _pods_of(workload: Workload, given: GivenVariable) -> Iterator[Pod]:
    """The pods in which the variable is read: those of its container, and those that a launcher hands it to."""
    for role in workload.roles:
        if role.trains or given.container in role.pod.containers:
            yield role.pod


def _gap(given: GivenVariable, value: str, on_host: Pod | None) -> Gap:
    fix = Fix(f"leave {given.name} out, or name an interface of the pod (eth0)")
    if on_host is None:
        return Gap(
            given.origin,
            f"{given.name}={value} names a network card of the host, and the pod has a network of its own",
            f"{_LIBRARIES[given.name]} finds no such interface in the pod, and no rank gets past the start",
            detail=given.name,
            fix=fix,
            container=given.container.name,
        )
    return Gap(
        given.origin,
        f"{given.name}={value} is right only while every node calls its card so",
        "a node of another hardware generation fails at the start, or takes a slow card",
        detail=given.name,
        severity=Severity.INFO,
        related=(Related(on_host.fields["hostNetwork"].origin or on_host.origin, "the pod is on the host's network"),),
        fix=fix,
        container=given.container.name,
    )
