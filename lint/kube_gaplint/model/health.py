"""Whether anything keeps a job that starts again away from the node on which it failed."""

from __future__ import annotations

from kube_gaplint.facts import health as facts
from kube_gaplint.facts.shell_names import SUCCEED_ANYWAY
from kube_gaplint.model.command import Command
from kube_gaplint.model.pod import affinity, open_parts
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Container, Pod, Workload


def screens_nodes(workload: Workload) -> bool | None:
    """Whether something in front of the job finds or leaves out bad nodes: True, False, or None where that cannot be
    told (an init container whose program is not seen, a pod that something unseen extends)."""
    if workload.surroundings.node_health is not None:
        return True
    if any(layer.owner in facts.REPLACING_OWNERS for layer in workload.restarts):
        return True
    if any(_of_launcher(workload)):
        return True
    answers = [_pod_is_screened(role.pod) for role in workload.roles]
    if any(answers):
        return True
    return None if None in answers else False


def _of_launcher(workload: Workload) -> list[bool]:
    """Options of launchers that test the nodes first (`dlrover-run --network-check`)."""
    return [
        facts.CHECK.search(option.name) is not None
        for process in workload.processes
        for launcher in process.launchers
        for option in launcher.options.occurrences
    ]


def _pod_is_screened(pod: Pod) -> bool | None:
    terms = affinity(pod)
    keys = [*pod.node_selector, *(term.key for term in terms.nodes)]
    if any(facts.LABELS.search(key) or facts.MANAGED.search(key) for key in keys):
        return True
    if any(term.key == facts.HOST and term.operator in ("In", "NotIn") for term in terms.nodes):
        return True
    if facts.HOST in pod.node_selector:
        return True
    if any(_checks(container) for container in pod.containers):
        return True
    answers = [_init_checks(container) for container in pod.init_containers]
    if any(answers):
        return True
    hidden = pod.overrides_unknown or terms.open_because or "initContainers" in open_parts(pod)
    return None if hidden or None in answers else False


def _checks(container: Container) -> bool:
    """A container that runs a check itself: before training, or beside it."""
    if facts.CHECK.search(container.name):
        return True
    return any(
        command.name in facts.PROGRAMS
        or any(facts.CHECK.search(word.shown) for word in command.words[:2])
        or (command.name in facts.LOOKS and _is_heeded(command, container))
        for command in container.commands
    )


def _is_heeded(command: Command, container: Container) -> bool:
    """Its failure makes a difference: by `set -e`, or to a command that runs on its condition (`|| exit 1`)."""
    if isinstance(command.errexit, Set) and command.errexit.value and not command.fallback:
        return True
    after = (other for other in container.commands if other.condition and other.name not in SUCCEED_ANYWAY)
    return any(command.place.text in other.condition for other in after)


def _init_checks(container: Container) -> bool | None:
    image = container.image.value if isinstance(container.image, Set) else ""
    if facts.CHECK.search(container.name) or facts.CHECK.search(image) or _checks(container):
        return True
    if any(command.name in facts.LOOKS for command in container.commands):
        return True
    return None if container.entrypoint_unknown or not container.commands else False
