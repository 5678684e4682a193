"""What must stand in a view for a rule to have anything to say: tests by a glance, made before the rule is imported.

Most rules speak of something that few workloads have (a probe, a hook, spot nodes, a kind), and importing a rule costs
more than asking it. A need only rules out: the rule finds the same by itself, and decides the rest. It reads what the
model holds already, no file and no further module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from kube_gaplint.facts.fabric import is_infiniband
from kube_gaplint.model.pod import affinity, hook, on_host_network, probe, security, tolerations
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Container, Volume, Workload


def _volumes(workload: Workload) -> Iterator[Volume]:
    return (volume for role in workload.roles for volume in role.pod.volumes)


def _containers(workload: Workload) -> Iterator[Container]:
    return (container for _, container in workload.containers())


# Of the object


def is_mpi_job(workload: Workload) -> bool:
    return workload.subject.kind == "MPIJob"


def is_job(workload: Workload) -> bool:
    """A Job or CronJob of Kubernetes itself."""
    return workload.subject.api_version == "batch/v1"


def is_annotated(workload: Workload) -> bool:
    """The object or its pods have annotations."""
    return bool(workload.annotations) or any(role.pod.annotations for role in workload.roles)


# Of what starts it again


def restarted_as_a_set(workload: Workload) -> bool:
    return any(layer.owner == "JobSet" for layer in workload.restarts)


def restarted_by_training_operator(workload: Workload) -> bool:
    return any(layer.owner == "training operator" for layer in workload.restarts)


def has_failure_policy(workload: Workload) -> bool:
    """A role has a podFailurePolicy."""
    return any("pod_failure_policy" in role.exposed for role in workload.roles)


def keeps_pods(workload: Workload) -> bool:
    """The operator leaves the pods of a job that is over: the training operator by its policy, KubeRay a cluster."""
    policy = workload.fields.get("spec.runPolicy.cleanPodPolicy")
    shutdown = workload.fields.get("spec.shutdownAfterJobFinishes")
    kept = isinstance(policy, Set) and policy.value == "None"
    return kept or (isinstance(shutdown, Set) and shutdown.value == "false")


def knows_run_days(workload: Workload) -> bool:
    """How long it is to run is known."""
    return isinstance(workload.run_days, Set)


# Of its pods


def has_several_roles(workload: Workload) -> bool:
    return len(workload.roles) > 1


def has_several_containers(workload: Workload) -> bool:
    return any(len(role.pod.containers) > 1 for role in workload.roles)


def has_helpers(workload: Workload) -> bool:
    """Containers beside the main one, or annotations, which may bring one in."""
    return any(
        len(role.pod.containers) > 1 or role.pod.init_containers or role.pod.annotations for role in workload.roles
    )


def has_priority(workload: Workload) -> bool:
    """Pods name a PriorityClass."""
    return bool(workload.surroundings.priorities) or any(
        isinstance(role.pod.fields.get("priorityClassName"), Set) for role in workload.roles
    )


def has_tolerations(workload: Workload) -> bool:
    return any(tolerations(role.pod) for role in workload.roles)


def chooses_nodes(workload: Workload) -> bool:
    """Pods have a node selector or a node affinity."""
    return any(role.pod.node_selector or affinity(role.pod).nodes for role in workload.roles)


def is_on_host_network(workload: Workload) -> bool:
    """Pods share their node's network, or may."""
    return any(on_host_network(role.pod) is not False for role in workload.roles)


def pulls_always(workload: Workload) -> bool:
    policies = (container.fields.get("imagePullPolicy") for container in _containers(workload))
    return any(isinstance(policy, Set) and policy.value == "Always" for policy in policies)


def has_stop_hook(workload: Workload) -> bool:
    return any(hook(container, "pre_stop") is not None for container in _containers(workload))


def has_liveness_probe(workload: Workload) -> bool:
    return any(probe(container, "liveness") is not None for container in _containers(workload))


def adds_capabilities(workload: Workload) -> bool:
    return any(security(container).added for container in _containers(workload))


def takes_rdma_devices(workload: Workload) -> bool:
    """A container asks for InfiniBand or RoCE devices."""
    return any(
        is_infiniband(name) for container in _containers(workload) for name in (*container.limits, *container.requests)
    )


def runs_other_commands(workload: Workload) -> bool:
    """Something runs beside a single training program: commands before it, in other containers, or in its place, or
    what a framework's runtime environment brings."""
    if "runtime_environment" in workload.exposed:
        return True
    programs = {id(process.command) for process in workload.processes}
    return any(
        len(container.commands) > 1 or any(id(command) not in programs for command in container.commands)
        for role in workload.roles
        for container in (*role.pod.init_containers, *role.pod.containers)
    )


# Of its volumes


def knows_access_modes(workload: Workload) -> bool:
    """The access modes of a claim are in the paths."""
    return any(isinstance(volume.access_modes, Set) for volume in _volumes(workload))


def knows_mount_options(workload: Workload) -> bool:
    """What mounts a volume is in the paths."""
    return any(volume.backing is not None for volume in _volumes(workload))


# Of its surroundings


def meets_karpenter(workload: Workload) -> bool:
    return "karpenter" in workload.surroundings.autoscalers


def meets_cluster_autoscaler(workload: Workload) -> bool:
    return "cluster-autoscaler" in workload.surroundings.autoscalers


def has_disruption_budget(workload: Workload) -> bool:
    return bool(workload.surroundings.budgets)


def is_in_mesh(workload: Workload) -> bool:
    return workload.surroundings.mesh is not None


# Of a training process


def loses_status(process: TrainingProcess) -> bool:
    """Its exit status is lost on the way to the container's."""
    return process.status_lost is not None


def has_shell_in_front(process: TrainingProcess) -> bool:
    return process.shell_in_front is not None


def has_agent(process: TrainingProcess) -> bool:
    """A launcher keeps a rendezvous: torchrun and its kin."""
    return any(not isinstance(launcher.rendezvous_backend, Absent) for launcher in process.launchers)


def pods_choose_nodes(process: TrainingProcess) -> bool:
    """`chooses_nodes`, of its workload."""
    return chooses_nodes(process.workload)


def asks_for_grace(process: TrainingProcess) -> bool:
    """Its pod's grace period is written down."""
    grace = process.role.pod.grace_seconds
    return isinstance(grace, Set) and grace.origin.written


def has_no_device(process: TrainingProcess) -> bool:
    """Its container asks for no accelerator."""
    return not process.container.accelerators


def sets_timeout(process: TrainingProcess) -> bool:
    """Its process-group timeout is written down."""
    timeout = process.settings.timeout
    return isinstance(timeout, Set) and timeout.origin.written


def sets_retention(process: TrainingProcess) -> bool:
    """How many checkpoints it keeps is known."""
    return isinstance(process.settings.retention, Set)


def mounts_by_driver(process: TrainingProcess) -> bool:
    """A volume of its pod is mounted by a CSI driver that is in the paths."""
    return any(volume.backing is not None for volume in process.role.pod.volumes)


# Of environment variables


def gives(view: Workload | TrainingProcess, names: Sequence[str]) -> bool:
    """Whether one of some variables is given to a process, or anywhere in a workload, be its value known or not."""
    if isinstance(view, TrainingProcess):
        return any(name in view.environment.variables for name in names)
    given = chain(
        chain.from_iterable(container.environments() for container in _containers(view)),
        (process.environment.variables for process in view.processes),
    )
    return any(name in variables for variables in given for name in names)
