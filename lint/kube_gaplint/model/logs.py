"""Whether what a job writes outlives its pods."""

from __future__ import annotations

from kube_gaplint.facts.surroundings import LOG_SHIPPER_IMAGES, LOG_SHIPPER_NAME, matches
from kube_gaplint.model.setting import Set
from kube_gaplint.model.storage import durable_mounts
from kube_gaplint.model.workload import Container, Pod, Workload


def logs_are_kept(workload: Workload) -> bool:
    """Something carries the logs away, or the program writes them to a volume that stays."""
    if workload.surroundings.log_shipper is not None:
        return True
    for role in workload.roles:
        containers = (*role.pod.containers, *role.pod.init_containers)
        if any(_ships(container) for container in containers):
            return True
        if any(_writes_durably(container, role.pod) for container in role.pod.containers):
            return True
    return False


def _ships(container: Container) -> bool:
    """A collector of logs beside the program, by its image or its name."""
    image = container.image.value if isinstance(container.image, Set) else ""
    return matches(image, LOG_SHIPPER_IMAGES) or LOG_SHIPPER_NAME.search(container.name) is not None


def _writes_durably(container: Container, pod: Pod) -> bool:
    """A redirection, `tee` or an option for logs names a file on a volume that outlives the pod."""
    mounts = tuple(f"{path.rstrip('/')}/" for path, _ in durable_mounts(container, pod))
    if not mounts:
        return False
    for command in container.commands:
        names = [command.writes.shown] if command.writes is not None else []
        if command.name == "tee":
            names += [word.shown for word in command.words[1:]]
        names += [word.shown.rpartition("=")[2] for word in command.words if "log" in word.shown.lower()]
        if any(name.startswith(mounts) for name in names):
            return True
    return any(script.output is not None and script.output.shown.startswith(mounts) for script in container.scripts)
