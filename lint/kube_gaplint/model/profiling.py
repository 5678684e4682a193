"""Trainings that run for a profile: measurements, of which some of what is said of a training holds all the same."""

from __future__ import annotations

from kube_gaplint.facts.purposes import PROFILERS
from kube_gaplint.model.training import TrainingProcess


def profiles_training(process: TrainingProcess) -> bool:
    """A training program runs under a profiler: its own framework or launcher shows that it trains."""
    if PROFILERS.isdisjoint(process.command.wrappers):
        return False
    return process.framework is not None or process.launcher("torchrun", "torch.distributed.launch") is not None
