"""What a path in a container is kept on: the deepest mount that covers it decides."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts.storage import (
    COPYING_PROGRAMS,
    DELETES,
    DELETING_PROGRAMS,
    LISTING_PROGRAMS,
    NODE_LOCAL_FOLDERS,
    SPECIAL_FOLDERS,
    UPLOADING_CALLS,
    UPLOADING_COMMANDS,
)
from kube_gaplint.model.command import Command
from kube_gaplint.model.laid import linked_to, may_be_bound, may_be_mounted
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Container, Mount, Pod, Volume, Workload


def volume_at(path: str, container: Container, pod: Pod) -> Setting[Volume]:
    """The volume that holds an absolute path. `Absent`: none does, it lies on the container's own disk.

    Unknown for a path that is not absolute, a URI, and where an unseen part may mount something over it. The origin is
    the mount's.
    """
    if "://" in path or not path.startswith("/"):
        return Unknown("it is no absolute path", container.origin)
    if container.mounts_open:
        return Unknown(f"more may be mounted than is seen ({container.mounts_open})", container.origin)
    wanted = posixpath.normpath(path)
    best: tuple[int, Mount] | None = None
    for mount in container.mounts:
        if not isinstance(mount.path, Set):
            if isinstance(mount.path, Unknown) and not _apart(mount.path.prefix, wanted):
                return Unknown(f"a volume may be mounted over it ({mount.path.reason})", mount.origin)
            continue
        at = posixpath.normpath(mount.path.value)
        if (wanted == at or wanted.startswith(at.rstrip("/") + "/")) and (best is None or len(at) > best[0]):
            best = len(at), mount
    if best is not None:
        found = pod.volume(best[1].volume)
        if found is not None:
            return Set(found, best[1].origin)
        return Unknown(f"the volume {best[1].volume} is not seen", best[1].origin)
    if pod.overrides_unknown:
        return Unknown(pod.overrides_unknown, pod.origin)
    return Absent(container.origin)


def durable_mounts(container: Container, pod: Pod) -> Iterator[tuple[str, Volume]]:
    """Where a container can write to what outlives the pod and is there for every pod: mount paths and volumes."""
    for mount in container.mounts:
        volume = pod.volume(mount.volume)
        if volume is None or mount.read_only or not isinstance(mount.path, Set):
            continue
        kept = isinstance(volume.durable, Set) and volume.durable.value
        if kept and volume.kind not in {"config-map", "secret", "projected", "downward", "image", "host-path"}:
            yield mount.path.value, volume


class Kept(Struct, frozen=True):
    """Whether what is written to a path outlives the pod. `where` says on what it lies, for people."""

    state: Literal["lost", "kept", "unknown"]
    where: str = ""
    mount: Setting[Volume] | None = None

    @property
    def volume(self) -> Volume | None:
        return self.mount.value if isinstance(self.mount, Set) else None


def kept(process: TrainingProcess, path: Setting[str]) -> Kept:
    """What becomes of a path that the process writes to when its pod is gone.

    A path that is partly unknown is judged by its known beginning where no mount lies below that. Paths of a batch
    script lie on the nodes: all but the folders that every node has for itself is taken as shared. What the container's
    own commands mount or link over a path decides before the volumes below it.
    """
    place = _kept(process, path)
    if place.state != "lost":
        return place
    text = path.value if isinstance(path, Set) else path.prefix if isinstance(path, Unknown) else ""
    return _laid(process, text, place)


def _laid(process: TrainingProcess, text: str, place: Kept) -> Kept:
    """What becomes of a path whose place is lost with the pod where commands lay something over it."""
    container = process.container
    if may_be_bound(container, process.command, text):
        return Kept("unknown")
    if not any(command.name == "ln" for command in container.commands) and not may_be_mounted(container, text):
        return place
    start = container.fields.get("workingDir")
    folder = start.value if isinstance(start, Set) else ""
    now = process.command.directory
    path = posixpath.normpath(posixpath.join(now.value if isinstance(now, Set) else folder, text))
    if may_be_mounted(container, path):
        return Kept("unknown")
    for leads, sure in linked_to(container, path, folder):
        there = _kept(process, Set(leads, container.origin)) if leads else Kept("unknown")
        if there.state != "lost":
            return there if sure else Kept("unknown")
    return place


def _kept(process: TrainingProcess, path: Setting[str]) -> Kept:
    """As `kept`, by the volumes alone."""
    if isinstance(path, Set) and path.origin.via == "derived":  # of the path that is known, the folders
        text, whole = path.value.rstrip("/") + "/", False
    elif isinstance(path, Set):
        text, whole = path.value, True
    elif isinstance(path, Unknown) and path.prefix:
        text, whole = path.prefix, False
    else:
        return Kept("unknown")
    if not text or _TO_FILL_IN.match(text):
        return Kept("unknown")  # a placeholder that the shell took for a redirection, say, or that sed fills in
    if "://" in text:
        return Kept("kept", "an object store")
    if process.workload.batch is not None:
        local = own_disk(text)
        return Kept("lost", f"{local} of the node") if local else Kept("unknown")
    if not whole and posixpath.normpath(text) == ".":
        return Kept("unknown")  # what is joined to it may be an absolute path
    if not text.startswith("/"):
        return _relative(process, text, whole)
    return _absolute(process, text, whole)


_TO_FILL_IN = lazy_re.compile(r"(?:\./)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:/|\Z)")
"""A path that begins with a folder called like a variable, `MODEL_PATH/run`: something fills it in."""


def own_disk(path: str) -> str:
    """The folder of the disk that a node has for itself in which a path lies; empty for other paths."""
    return next((folder for folder in NODE_LOCAL_FOLDERS if _below(path, folder)), "")


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _may_cover(mount: Mount, prefix: str) -> bool:
    """Whether a mount lies below a known beginning of a path."""
    return not isinstance(mount.path, Set) or mount.path.value.startswith(prefix)


def _by_volume(mount: Setting[Volume]) -> Kept:
    if isinstance(mount, Unknown):
        return Kept("unknown")
    if isinstance(mount, Absent):
        return Kept("lost", "the container's own disk", mount)
    volume = mount.value
    if not isinstance(volume.durable, Set) or volume.kind == "unknown":
        return Kept("unknown", mount=mount)
    kinds = {
        "empty-dir": "an emptyDir", "memory": "an emptyDir in memory", "ephemeral": "an ephemeral volume",
        "claim": "a claim", "nfs": "NFS", "host-path": "the host's disk", "csi": "a CSI volume",
    }  # fmt: skip
    where = f"{kinds.get(volume.kind, 'a volume')} ({volume.name})"
    return Kept("kept" if volume.durable.value else "lost", where, mount)


def _relative(process: TrainingProcess, text: str, whole: bool) -> Kept:
    """A path below the working directory, which the image's Dockerfile may tell; without one that is known, only where
    no volume can cover it."""
    directory = process.command.directory
    if text.startswith("~"):
        directory = None  # the home of a user who is not known
    elif directory is None:
        folder = process.container.fields.get("workingDir")
        directory = folder if isinstance(folder, Set) else None
    if isinstance(directory, Set) and directory.value.startswith("/"):
        return _below_folder(process, directory.value, text, whole)
    if directory is not None or process.role.pod.overrides_unknown:
        return Kept("unknown")
    folders = () if text.startswith("~") else process.container.image_folders
    places = [_below_folder(process, one, text, whole) for one in folders]
    if places and all(place.state == places[0].state for place in places):
        return places[0]
    for mount in process.container.mounts:
        if not isinstance(mount.path, Set):
            return Kept("unknown")
        special = any(_below(mount.path.value, one) for one in SPECIAL_FOLDERS)
        if not special and _by_volume(volume_at(mount.path.value, process.container, process.role.pod)).state != "lost":
            return Kept("unknown")
    return Kept("lost", "the container's own disk")


def _below_folder(process: TrainingProcess, folder: str, text: str, whole: bool) -> Kept:
    """A path, or the beginning of one, that is relative to a known folder."""
    path = posixpath.normpath(posixpath.join(folder, text))
    if text.endswith("/"):
        path = path.rstrip("/") + "/"
    return _absolute(process, path, whole)


def _absolute(process: TrainingProcess, path: str, whole: bool) -> Kept:
    if not whole and any(_may_cover(mount, path) for mount in process.container.mounts):
        return Kept("unknown")
    return _by_volume(volume_at(path, process.container, process.role.pod))


def lasting(workload: Workload) -> str:
    """What outlives a failure of a job, in the words of those who run it."""
    if workload.batch is not None:
        return "a file system that all nodes share, or an object store"
    return "a claim, a network file system or an object store"


def kept_besides(process: TrainingProcess) -> bool:
    """A second place that checkpoints go to keeps them, or may."""
    second = process.settings.second_path
    return isinstance(second, Set) and kept(process, second).state != "lost"


def keeps_nothing(process: TrainingProcess) -> str:
    """Why nothing that the program saves outlives its pod, in words; empty where something does or may."""
    settings = process.settings
    if isinstance(settings.saving, Set) and not settings.saving.value:
        return "nothing is saved before the end" if settings.saves_once else "nothing is saved"
    path = settings.save_path
    if not isinstance(path, Set) or kept_besides(process):
        return ""
    place = kept(process, path)
    if place.state != "lost" or copied_elsewhere(process, path.value, place.volume):
        return ""
    return f"checkpoints lie on {place.where}"


def copied_elsewhere(process: TrainingProcess, path: str, volume: Volume | None) -> bool:
    """Whether something takes the files at a path away: others do, or, by what is seen of its text, the program
    itself."""
    if copied_by_others(process, path, volume) or process.text.mentions(*UPLOADING_CALLS) is True:
        return True
    return any(UPLOADING_COMMANDS.search(text) is not None for text in process.text.texts)


def copied_by_others(process: TrainingProcess, path: str, volume: Volume | None) -> bool:
    """Whether a command of the script, another container or the controller takes the files at a path away."""
    if process.workload.controller_saves or any(_within(path, place) for place in process.container.artifacts):
        return True
    if volume is not None and any(_mounted_beside(process, volume)):
        return True
    return _handled(process, path, COPYING_PROGRAMS)


def _within(path: str, folder: str) -> bool:
    inner, outer = posixpath.normpath(path), posixpath.normpath(folder)
    return inner == outer or inner.startswith(f"{outer}/")


def thinned_out(process: TrainingProcess, path: str, volume: Volume) -> bool:
    """Whether something deletes files at a path: a command of the script, a container beside the program that has the
    volume, or another workload in the given paths that has the claim."""
    if _handled(process, path, DELETING_PROGRAMS):
        return True
    claim = volume.source.value if volume.kind == "claim" and isinstance(volume.source, Set) else ""
    if claim in process.workload.surroundings.cleaned_claims:
        return True
    if _handled(process, path, LISTING_PROGRAMS) and any(map(_deletes, process.container.commands)):
        return True  # `ls -1dt /ckpt/iter_* | tail -n +4 | xargs rm -rf`
    return any(
        not mount.read_only and any(map(_deletes, container.commands))
        for container, mount in _mounted_beside(process, volume)
    )


def _mounted_beside(process: TrainingProcess, volume: Volume) -> Iterator[tuple[Container, Mount]]:
    """The mounts of a volume in the other containers of the pod, with these."""
    pod = process.role.pod
    for container in (*pod.containers, *pod.init_containers):
        if container is not process.container:
            yield from ((container, mount) for mount in container.mounts if mount.volume == volume.name)


def _deletes(command: Command) -> bool:
    return any(DELETES.search(word.shown) is not None for word in command.words)


def _handled(process: TrainingProcess, path: str, programs: frozenset[str]) -> bool:
    folder = posixpath.dirname(path.rstrip("/")) or path
    known = (path, folder) if folder not in {"/", "", "."} else (path,)
    for command in process.container.commands:
        if command.name in programs and any(part in word.shown for word in command.words[1:] for part in known):
            return True
    return False


def _apart(prefix: str, path: str) -> bool:
    """Whether a mount path that begins so surely does not cover a path."""
    return bool(prefix) and not path.startswith(prefix) and not prefix.startswith(path)
