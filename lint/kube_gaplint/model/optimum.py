"""The time between saves that costs one process least."""

from __future__ import annotations

from msgspec import Struct

from kube_gaplint.facts.reliability import DAY, daly, job_mtbf_seconds
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.scale import counted, duration, node_count
from kube_gaplint.model.setting import known
from kube_gaplint.model.training import TrainingProcess

LARGEST_SHARE = 0.10
"""Of the run: beyond it one failure, or the time limit, takes too much of what was done."""


class Optimum(Struct, frozen=True):
    """Seconds of training between two saves, and in words why so many."""

    seconds: float
    reason: str


def optimum(process: TrainingProcess, profile: Profile) -> Optimum | None:
    """Daly's optimum, but never more than a tenth of the time that the job has: few failures are to be expected of a
    short job, and yet its time limit ends it. None where the time of a save or the number of nodes is not known."""
    save, nodes = known(process.workload.save_seconds), node_count(process.workload)
    if not save or save < 0 or nodes is None:
        return None
    best = daly(save, job_mtbf_seconds(nodes, profile.failures_per_1000_node_days))
    bound = seconds_of_run(process, profile)
    if bound is not None and bound * LARGEST_SHARE < best:
        best = bound * LARGEST_SHARE
        return Optimum(best, f"a tenth of the {duration(bound)} that the job has is {duration(best)}")
    return Optimum(best, f"the optimum for {counted(nodes, 'node')} is about {duration(best)}")


def seconds_of_run(process: TrainingProcess, profile: Profile) -> float | None:
    """The most seconds that the job lasts: to its time limit, for its declared days, or for its steps."""
    workload, pace = process.workload, Pace.of(process, profile)
    days = known(workload.run_days)
    bounds = (
        known(workload.deadline_seconds),
        None if days is None else days * DAY,
        None if pace.total is None else pace.seconds(pace.total),
    )
    return min((bound for bound in bounds if bound is not None and bound > 0), default=None)
