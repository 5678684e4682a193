from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from kube_gaplint.facts.kubeflow import declares_port
from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.budget import several_pods
from kube_gaplint.model.needs import is_on_host_network
from kube_gaplint.model.placement import kept_apart
from kube_gaplint.model.pod import on_host_network, ports
from kube_gaplint.model.resources import knows_the_nodes, takes_whole_node
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.variables import in_force
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule

_VARIABLES = ("MASTER_PORT", "PET_MASTER_PORT")


_CLASHES = {
    "declared": "the scheduler lets one such pod on a node: the rest stays Pending beside free GPUs",
    "rank 0": "a second job whose rank 0 comes to the same node cannot bind the port, or its ranks join this job's",
    "each": "the second pod on a node cannot bind the port",
}


class _Port(Struct, frozen=True):
    """A port, and who takes it: every pod ("declared" to the scheduler or not: "each"), or the one of rank 0."""

    name: str
    taken_by: Literal["declared", "each", "rank 0"]
    origin: Origin


@rule(
    code="NET009",
    name="hostnetwork-port-clash",
    view=Workload,
    needs=(is_on_host_network,),
    severity=Severity.WARNING,
    evidence=("hostnetwork-ports",),
    tier="later",
)
def check(workload: Workload, context: Context) -> Iterator[Gap]:
    """Pods on the host's network use a fixed port, and two of them may land on one node.

    ## What it flags
    A training job of several pods with `hostNetwork: true` and a fixed port (a container port, `MASTER_PORT`,
    `--master-port`, the ssh server of an MPIJob's workers) whose pods take less than all GPUs of a node, without
    anti-affinity or a spread over nodes. The port of rank 0 is left alone in jobs whose operator declares a port of its
    own in every pod, as the training operator does: no two such pods come to one node. So is a declared port that one
    pod of the job alone takes. A node counts as eight GPUs where neither the machine type nor the profile's
    `gpus_per_node` says otherwise; a port of rank 0, over which only a second job can fall, is info then.

    ## Why it hurts
    Pods on the host's network share its ports with everything else there. The second one fails to bind ("Address
    already in use"), or meets the wrong job; with a declared port the scheduler lets only one such pod on a node, and
    the rest stays Pending beside free GPUs. Kubeflow's MPIJob, SkyPilot and Marin all had it, at Marin as a
    segmentation fault at port 8476.

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
              hostNetwork: true
              containers:
              - name: pytorch
                image: ghcr.io/acme/encoder:1.4
                command: [torchrun, train.py]
                ports: [{containerPort: 29500}]
                resources: {limits: {nvidia.com/gpu: 1}}
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
                ports: [{containerPort: 29500}]
                resources: {limits: {nvidia.com/gpu: 1}}
    ```

    ## When to keep it
    Where one job at a time runs on a node for another reason.

    ## Fix safety
    Unsafe, so no change is made: give up hostNetwork, take whole nodes, or add anti-affinity, each of which changes
    where the pods run.

    ## References
    - https://github.com/kubeflow/mpi-operator/issues/593
    - https://github.com/kubeflow/trainer/issues/1797
    """
    if not workload.trains or workload.batch is not None or not several_pods(workload):
        return
    for role in workload.roles:
        pod, count = role.pod, role.pod.accelerator_count
        if not role.trains or not on_host_network(pod) or not isinstance(count, Set) or kept_apart(pod):
            continue
        port = None if takes_whole_node(pod, context.profile, workload.surroundings) else _fixed_port(workload, role)
        if port is None:
            continue
        who = "the pod of rank 0" if port.taken_by == "rank 0" else "each pod"
        gpus = "1 GPU" if count.value == 1 else f"{count.value} GPUs"
        yield Gap(
            pod.fields["hostNetwork"].origin or pod.origin,
            f"{who} of {gpus} takes {port.name} of its node, which others share: nothing keeps them apart",
            _CLASHES[port.taken_by],
            detail="port",
            severity=Severity.INFO if port.taken_by == "rank 0" and not _knows(workload, role, context) else None,
            related=(Related(port.origin, port.name),),
            fix=Fix("give up hostNetwork, take whole nodes, or add anti-affinity over kubernetes.io/hostname"),
        )


def _knows(workload: Workload, role: Role, context: Context) -> bool:
    return knows_the_nodes(role.pod, context.profile, workload.surroundings)


def _taken_twice(workload: Workload, role: Role, number: int) -> bool:
    """Whether two pods of the job declare a port of their host: like pods of the role, or those of another one."""
    alone = isinstance(role.replicas, Set) and role.replicas.value <= 1
    return not alone or any(
        isinstance(port.host, Set) and port.host.value == number
        for other in workload.roles
        if other is not role and on_host_network(other.pod)
        for container in other.pod.containers
        for port in ports(container)
    )


def _fixed_port(workload: Workload, role: Role) -> _Port | None:
    """A port that every pod of a role takes, or that the one of rank 0 does."""
    for container in role.pod.containers:
        for port in ports(container):
            if isinstance(port.host, Set) and _taken_twice(workload, role, port.host.value):
                return _Port(f"port {port.host.value}", "declared", port.origin)
    if declares_port(workload.subject.api_version, workload.subject.kind):
        return None
    for given in in_force(workload):
        if given.name in _VARIABLES and isinstance(given.value, Set) and given.container in role.pod.containers:
            return _Port(f"port {given.value.value}", "rank 0", given.origin)
    for process in workload.processes:
        for launcher in process.launchers:
            value = launcher.options.get("master-port")
            if process.role is role and isinstance(value, Set):
                return _Port(f"port {value.value}", "rank 0", value.origin)
    if workload.subject.kind == "MPIJob" and role.name == "Worker":
        return _Port("the ssh port", "each", role.origin)
    return None
