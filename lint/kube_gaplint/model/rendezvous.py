"""How the processes of a job find one another, which decides whether one that was restarted can come back."""

from __future__ import annotations

from typing import Literal, TypeAlias

from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.training import Launcher, TrainingProcess

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
