"""What a job writes on its node's own disk: the container's layer, and emptyDirs that are no memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from kube_gaplint.facts.resources import SCRATCH_FOLDERS, TRACKERS, WRITTEN_BY_OPTION, WRITTEN_BY_VARIABLE
from kube_gaplint.model.data import stagings
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.storage import copied_elsewhere, kept, volume_at
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Container, Role, Workload


class Write(Struct, frozen=True):
    """A folder that a container's programs fill: what with, where that is said, and on what it lies."""

    path: str
    what: str
    origin: Origin
    where: str


def disk_writes(workload: Workload, role: Role, container: Container) -> list[Write]:
    """Folders that are surely written on the node's own disk, each once.

    Known by variables and options that name them (facts.resources), by checkpoints that are copied away from there, by
    what the start script copies, and by emptyDirs that are mounted as scratch space and that something names.
    """
    found: dict[str, Write] = {}
    for write in _writes(workload, role, container):
        found.setdefault(write.path, write)
    return list(found.values())


def _writes(workload: Workload, role: Role, container: Container) -> Iterator[Write]:
    for process in workload.processes:
        if process.container is not container:
            continue
        yield from _checkpoints(process)
        for option, found in process.options.among(WRITTEN_BY_OPTION):
            if isinstance(found.value, Set):
                yield from _on_disk(found.value, f"--{option}", role, container)
    for name, what in WRITTEN_BY_VARIABLE.items():
        value = container.environment.variables.get(name)
        if isinstance(value, Set) and value.origin.written and _has_writer(name, workload, container):
            yield from _on_disk(value, what, role, container)
    for staging in stagings(workload, role, container):
        yield from _on_disk(Set(staging.target, staging.origin), f"the copy of {staging.title}", role, container)
    for mount in container.mounts:
        volume = role.pod.volume(mount.volume)
        if volume is None or volume.kind != "empty-dir" or mount.read_only or not isinstance(mount.path, Set):
            continue
        names = (mount.path.value.rstrip("/").rpartition("/")[2].lower(), volume.name.lower())
        if SCRATCH_FOLDERS.intersection(names) and _is_named(mount.path.value.rstrip("/"), workload, container):
            yield Write(mount.path.value, "files", mount.origin, f"the emptyDir {volume.name}")


def _is_named(folder: str, workload: Workload, container: Container) -> bool:
    """Whether a command or a variable of a container names a folder: one that is only mounted may stay empty."""
    variables = (value.value for _, value in container.environment.set_items())
    words = (
        word.shown for process in workload.processes if process.container is container for word in process.command.words
    )
    own = (word.shown for command in container.commands for word in command.words)
    return any(folder in text for text in chain(variables, words, own))


def _has_writer(variable: str, workload: Workload, container: Container) -> bool:
    """Whether something fills the folder of a variable: any library its cache, a tracker only where options name it."""
    tracker = TRACKERS.get(variable)
    if tracker is None:
        return True
    return any(
        tracker in option.name.lower() or (isinstance(option.value, Set) and tracker in option.value.value.lower())
        for process in workload.processes
        if process.container is container
        for option in process.options.occurrences
    )


def _checkpoints(process: TrainingProcess) -> Iterator[Write]:
    """Checkpoints that are written to the disk and taken away from there. Those that are lost with it are another gap:
    once they go to a volume, the disk is not written. Where it is not known when the program saves, the run may be over
    before."""
    saved, saving = process.settings.save_path, process.settings.saving
    if not isinstance(saved, Set) or not saved.origin.written or (isinstance(saving, Set) and not saving.value):
        return
    if not isinstance(process.settings.save_interval, Set):
        return
    place = kept(process, saved)
    elsewhere = isinstance(process.settings.second_path, Set) or copied_elsewhere(process, saved.value, place.volume)
    if place.state == "lost" and elsewhere and (place.volume is None or place.volume.kind == "empty-dir"):
        yield Write(saved.value, "checkpoints", saved.origin, place.where)


def _on_disk(path: Set[str], what: str, role: Role, container: Container) -> Iterator[Write]:
    at = volume_at(path.value, container, role.pod)
    if isinstance(at, Absent):
        if not path.value.startswith(("/dev/", "/proc/", "/sys/")):
            yield Write(path.value, what, path.origin, "the container's own disk")
    elif isinstance(at, Set) and at.value.kind == "empty-dir":
        yield Write(path.value, what, path.origin, f"the emptyDir {at.value.name}")
