"""How the processes of a job find one another, which decides whether one that was restarted can come back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from kube_gaplint.model.budget import several_pods
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.training import Launcher, TrainingProcess
from kube_gaplint.model.workload import Container, Role, Workload

Meeting: TypeAlias = Literal["static", "dynamic", "remote", "alone", "unknown"]

REMOTE_LAUNCHERS = frozenset({"mpirun", "srun", "horovodrun", "deepspeed", "ray"})
"""Launchers that start every rank from one place: a restart of theirs restarts all."""


def agent_of(process: TrainingProcess) -> Launcher | None:
    """The launcher that keeps the rendezvous: torchrun, accelerate and their kin; the innermost of several."""
    for launcher in reversed(process.launchers):
        if not isinstance(launcher.rendezvous_backend, Absent):
            return launcher
    return None


def meeting(process: TrainingProcess) -> Meeting:
    """How the ranks of a process meet.

    "static": each has a fixed place among a fixed number; "dynamic": a store lets them gather again; "remote": one
    launcher starts them all; "alone": the process needs no other pod.
    """
    agent = agent_of(process)
    if any(launcher.kind in REMOTE_LAUNCHERS for launcher in process.launchers):
        return "remote"
    if agent is None:
        return "static" if not process.launchers and "MASTER_ADDR" in process.environment else "unknown"
    if isinstance(agent.nodes, Set) and agent.nodes.value == 1:
        return "alone"
    if not isinstance(agent.rendezvous_backend, Set):
        return "unknown"
    return "static" if agent.rendezvous_backend.value == "static" else "dynamic"


def restarts_processes(process: TrainingProcess) -> bool | None:
    """Whether the launcher restarts processes that fail; None where that is not known."""
    agent = agent_of(process)
    if agent is None or isinstance(agent.max_restarts, Absent):
        return False
    return agent.max_restarts.value > 0 if isinstance(agent.max_restarts, Set) else None


COUPLED_KINDS = frozenset(
    {
        "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MXJob", "MPIJob", "TrainJob", "JobSet", "RayJob",
        "RayCluster", "LeaderWorkerSet", "HyperPodPyTorchJob", "ElasticJob", "DistributedWorkload", "sbatch",
    }
)  # fmt: skip
"""Kinds whose pods exist to compute together."""

MEETING_VARIABLES = ("MASTER_ADDR", "JAX_COORDINATOR_ADDRESS", "COORDINATOR_ADDRESS", "TF_CONFIG", "MPI_HOST")
"""Variables by which the processes of several pods find one another; Volcano's svc plugin gives lists of hosts."""


def computes_together(workload: Workload) -> bool | None:
    """Whether the pods of a workload need one another; None where nothing tells.

    Pods that each start a run of their own (torchrun for one node in each) do not, whatever the kind.
    """
    if _starts_alone(workload):
        return False
    met = [meeting(process) for process in workload.processes]
    if met and all(one == "alone" for one in met):
        return False
    if workload.subject.kind in COUPLED_KINDS:
        return True
    if any(one in ("static", "dynamic", "remote") for one in met) or sum(role.trains for role in workload.roles) > 1:
        return True
    if any("subdomain" in role.pod.fields for role in workload.roles):
        return True  # its pods have names by which they find one another
    names = {name for _, container in workload.containers() for name in container.environment}
    listed = any(name.startswith("VC_") and name.endswith("_HOSTS") for name in names)
    return True if listed or not names.isdisjoint(MEETING_VARIABLES) else None


_TORCHRUN = frozenset({"torchrun", "torch.distributed.run"})


def _starts_alone(workload: Workload) -> bool:
    """Whether every training container starts its image's own entry point, and that is torchrun for one node: it reads
    no MASTER_ADDR, so that each pod trains by itself."""
    containers = [
        container
        for role in workload.roles
        if role.trains
        for container in role.pod.containers
        if container.accelerators
    ]
    return bool(containers) and all(map(_is_torchrun_for_one_node, containers))


def _is_torchrun_for_one_node(container: Container) -> bool:
    words = container.image_starts
    named = any(word.rpartition("/")[2] in _TORCHRUN for word in words)
    asked = (
        any(word.replace("_", "-").startswith("--nnodes") for word in words) or "PET_NNODES" in container.environment
    )
    return named and not asked


def may_shrink(workload: Workload) -> bool:
    """Whether the job surely also runs with fewer pods than it asks for, by its controller or its launcher's range."""
    ranges = [launcher.elastic for process in workload.processes for launcher in process.launchers]
    return any(isinstance(setting, Set) and setting.value for setting in (workload.elastic, *ranges))


def spans_pods(workload: Workload) -> bool:
    """Whether it surely computes on several pods or nodes: by its replicas, or by what its launcher asks for."""
    if isinstance(workload.nodes, Set) and workload.nodes.value > 1:
        return True
    return any(
        isinstance(launcher.nodes, Set) and launcher.nodes.value > 1
        for process in workload.processes
        for launcher in process.launchers
    )


def spans_nodes(process: TrainingProcess, agent: Launcher) -> bool:
    """The rendezvous surely gathers agents of several pods."""
    if isinstance(agent.nodes, Set):
        return agent.nodes.value > 1
    return several_pods(process.workload)


def is_foreign(process: TrainingProcess, endpoint: str) -> bool:
    """Whether an endpoint names a host that is none of the job's own pods: c10d's store then lives elsewhere."""
    host = _host(endpoint)
    workload = process.workload
    if host is None or not workload.subject.name:
        return False
    own = [workload.subject.name, *(service.name for service in workload.surroundings.services)]
    return not any(_is_part(name, host) for name in (*own, *(name for role in workload.roles for name in _names(role))))


def host_role(process: TrainingProcess, endpoint: str) -> Role | None:
    """The role in whose pods the host of an endpoint lies; None where that cannot be told."""
    host = _host(endpoint)
    if host is None or is_foreign(process, endpoint):
        return None
    roles = process.workload.roles
    named = [role for role in roles if role.name and _is_part(role.name, host)]
    candidates = named or [role for role in roles if role.trains]
    return candidates[0] if len(candidates) == 1 else None


def _host(endpoint: str) -> str | None:
    """The host of an endpoint where it is a name that is known whole."""
    host = endpoint.rpartition(":")[0] or endpoint
    plain = bool(host) and host != "localhost" and host[0].isalpha() and "$" not in host
    return host.lower() if plain else None


def _names(role: Role) -> Iterator[str]:
    yield role.name
    subdomain = role.pod.fields.get("subdomain")
    if isinstance(subdomain, Set):
        yield subdomain.value


def _is_part(name: str, host: str) -> bool:
    """`node` is a part of `gpt-node-0-0.gpt`, and `w` is none of `www.example.com`."""
    return bool(name) and re.search(rf"(?:^|[-.]){re.escape(name.lower())}(?:$|[-.])", host) is not None


def holds_all_ranks(workload: Workload) -> bool:
    """Whether every rank is surely in a pod of the workload itself: it has as many pods as its launcher wants nodes,
    or as its world has members."""
    if not isinstance(workload.nodes, Set):
        return False
    sizes = {workload.nodes.value}
    if isinstance(workload.accelerators, Set):
        sizes.add(workload.accelerators.value)
    for process in workload.processes:
        for launcher in process.launchers:
            if isinstance(launcher.nodes, Set):
                return launcher.nodes.value == workload.nodes.value
        world = process.environment.get("WORLD_SIZE")
        if isinstance(world, Set) and world.value.isdecimal() and len(world.value) < 9:
            return int(world.value) in sizes
    return False
