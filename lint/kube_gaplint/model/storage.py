"""What a path in a container is kept on: the deepest mount that covers it decides."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.model.workload import Container, Mount, Pod, Volume


def volume_at(path: str, container: Container, pod: Pod) -> Setting[Volume]:
    """The volume that holds an absolute path. `Absent`: none does, it lies on the container's own disk.

    Unknown for a path that is not absolute, a URI, and where an unseen part may mount something over it. The origin is
    the mount's.
    """
    if "://" in path or not path.startswith("/"):
        return Unknown("it is no absolute path", container.origin)
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


def _apart(prefix: str, path: str) -> bool:
    """Whether a mount path that begins so surely does not cover a path."""
    return bool(prefix) and not path.startswith(prefix) and not prefix.startswith(path)
