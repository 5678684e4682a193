"""What becomes of a training process when its pod is told to stop: who gets SIGTERM, how long there is for a save."""

from __future__ import annotations

import math

from kube_gaplint.facts.time_limits import HEARS_SIGNALS
from kube_gaplint.model.command import ShellInFront
from kube_gaplint.model.placement import spot_choice
from kube_gaplint.model.pod import DEFAULT_GRACE
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.units import as_boolean
from kube_gaplint.model.workload import Workload

ELSEWHERE = frozenset({"mpirun", "horovodrun", "ray", "srun"})
"""Launchers whose processes do not stop by the signal that their pod gets."""


def deaf_shell(process: TrainingProcess) -> ShellInFront | None:
    """The shell that keeps SIGTERM from a process, as the first process of its container.

    None where nothing does, where that is not known, where another process is the first one (a namespace shared by the
    pod or the host), and for processes that a launcher starts in other pods.
    """
    pod, workload = process.role.pod, process.workload
    if workload.batch is not None or not process.role.trains or set(process.layers()) & ELSEWHERE:
        return None
    if workload.subject.api_version.startswith("ray.io/"):
        return None  # Ray's own processes come first in its containers
    for name in ("shareProcessNamespace", "hostPID"):
        shared = as_boolean(pod.fields.get(name, Absent(pod.origin)))
        if not isinstance(shared, Absent) and not (isinstance(shared, Set) and not shared.value):
            return None
    return process.shell_in_front


def saves_when_stopped(process: TrainingProcess) -> Origin | None:
    """What shows that the program saves when it is told to stop."""
    saves = process.settings.signal_save
    return saves.origin if isinstance(saves, Set) and saves.value else None


def ignores_signals(process: TrainingProcess) -> bool:
    """Whether its text is seen, at least in part, and nothing in it has to do with a signal."""
    seen = next(process.text.texts, None) is not None
    return seen and not any(HEARS_SIGNALS.search(text) for text in process.text.texts)


def asked_grace(process: TrainingProcess) -> Set[float] | None:
    """The grace period in seconds, where somebody asked for more than Kubernetes' 30 s."""
    grace = process.role.pod.grace_seconds
    return grace if isinstance(grace, Set) and grace.origin.written and grace.value > DEFAULT_GRACE else None


def grace_shown(process: TrainingProcess) -> str:
    """`30 s`: the grace period, for messages."""
    grace = process.role.pod.grace_seconds
    return duration(grace.value) if isinstance(grace, Set) else "the grace period"


LEAST_TO_SAVE = 60.0
"""Seconds that a step and a save of a job of several GPUs take at least, where nobody declared them."""


def time_to_save(workload: Workload) -> tuple[float, str]:
    """How long a program needs from SIGTERM to the end of its save, in seconds, and the sum for a message.

    It ends its step before it saves. Without a declared time of a save it is `LEAST_TO_SAVE`, and the words are empty.
    """
    save, step = workload.save_seconds, workload.step_seconds
    if not isinstance(save, Set):
        return LEAST_TO_SAVE, ""
    if not isinstance(step, Set):
        return save.value, f"{duration(save.value)} as declared"
    return save.value + step.value, f"{duration(save.value)} after a step of {duration(step.value)} as declared"


def grace_ceiling(process: TrainingProcess) -> float:
    """The longest grace period in seconds that its nodes can keep: a provider's notice on spot nodes, else infinite."""
    choice = spot_choice(process.role.pod)
    notice = None if choice is None else choice.notice
    return math.inf if notice is None else notice.seconds
