"""Commands of a start script that delete folders."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kube_gaplint.facts.storage import NODE_LOCAL_FOLDERS
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.model.start import guarded, guarded_by_rank, start_commands
from kube_gaplint.model.storage import volume_at
from kube_gaplint.model.workload import Container, Mount, Role, Volume, Workload

_CHECKPOINTS = re.compile(r"\*|(checkpoint|ckpt|iter|global_step|step|epoch|latest)[\w.-]*\*?|\{?,?\*\}?")
_PRESENT = re.compile(r"""\[+\s*(!\s+)?-[defLs]\s|test\s+-[defLs]\s|ls\s""")
_CONDITIONS = (
    "-name", "-iname", "-path", "-regex", "-mtime", "-mmin", "-atime", "-newer", "-size", "-empty", "-user",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wipe:
    """A folder that a command deletes, as a whole (`all_of_it`) or by a pattern; `title` is the command."""

    title: str
    folder: str
    all_of_it: bool
    origin: Origin

    def takes(self, path: str) -> bool:
        """Whether what lies at a path is deleted with it."""
        inside = posixpath.normpath(path)
        return self.all_of_it and (inside == self.folder or inside.startswith(self.folder.rstrip("/") + "/"))


def wipes(workload: Workload, container: Container) -> Iterator[Wipe]:
    """What is surely deleted before each training: not by one rank alone, not where a test must allow it first."""
    for command in start_commands(workload, container):
        if guarded_by_rank(command) or (guarded(command) and not _PRESENT.search(command.condition)):
            continue
        targets = _removed(command) if command.name == "rm" else _found(command) if command.name == "find" else []
        for word in targets:
            text = word.known
            if text is None:
                continue
            if not text.startswith("/"):
                if not isinstance(command.directory, Set):
                    continue
                text = posixpath.join(command.directory.value, text)
            folder, whole = _folder(posixpath.normpath(text))
            if folder.count("/") >= 1 and folder != "/":
                whole = (whole and command.name == "rm") or (command.name == "find" and _finds_all(command))
                title = "rm -rf" if command.name == "rm" else "find -delete"
                yield Wipe(title, folder, whole, Origin(command.place))


def _removed(command: Command) -> list[Word]:
    """The operands of a recursive `rm`."""
    options = [word.known or "" for word in command.words[1:] if (word.known or "").startswith("-")]
    recursive = any(one == "--recursive" or (not one.startswith("--") and set(one) & {"r", "R"}) for one in options)
    return [word for word in command.words[1:] if not (word.known or "").startswith("-")] if recursive else []


def _found(command: Command) -> list[Word]:
    """The starting points of a `find` that deletes."""
    texts = [word.known or "" for word in command.words]
    if "-delete" not in texts and not any(
        one in {"-exec", "-execdir"} and "rm" in texts[index + 1 : index + 2] for index, one in enumerate(texts)
    ):
        return []
    out = []
    for word in command.words[1:]:
        if word.prefix.startswith(("-", "(", "!")):
            break
        out.append(word)
    return out


def _finds_all(command: Command) -> bool:
    """It has no condition on names or ages."""
    return not any((word.known or "").startswith(_CONDITIONS) for word in command.words)


def _folder(path: str) -> tuple[str, bool]:
    """The folder above the first pattern, and whether the pattern takes all that counts in it."""
    parts = path.split("/")
    for index, part in enumerate(parts):
        if any(sign in part for sign in "*?[{"):
            return "/".join(parts[:index]) or "/", index == len(parts) - 1 and _CHECKPOINTS.fullmatch(part) is not None
    return path, True


def saved_at(workload: Workload, container: Container) -> Set[str] | None:
    """Where the programs of a container save, as an absolute path; the known beginning where the rest is not known."""
    for process in workload.processes:
        path = process.settings.save_path
        if process.container is not container:
            continue
        if isinstance(path, Set) and path.value.startswith("/"):
            return path
        if isinstance(path, Unknown) and path.prefix.startswith("/") and path.origin is not None:
            return Set(path.prefix, path.origin)
    return None


def outlives_pods(path: str, workload: Workload, role: Role, container: Container) -> bool:
    """Whether what lies at a path surely is still there when the pod starts again."""
    if workload.batch is not None:
        return not any(path == one or path.startswith(one + "/") for one in NODE_LOCAL_FOLDERS)
    at = volume_at(path, container, role.pod)
    return isinstance(at, Set) and isinstance(at.value.durable, Set) and at.value.durable.value


def shared_volume(path: str, role: Role, container: Container) -> Volume | None:
    """The volume at a path that all pods of a role surely have in common."""
    at = volume_at(path, container, role.pod)
    if not isinstance(at, Set) or at.value.per_pod or at.value.kind not in {"claim", "nfs", "csi", "other"}:
        return None
    volume = at.value
    if isinstance(volume.shared, Set) and not volume.shared.value:
        return None
    if volume.kind != "claim" and not isinstance(volume.shared, Set):
        return None
    mount = next((one for one in container.mounts if one.origin is at.origin), None)
    return None if mount is None or _own_part(mount) else volume


def _own_part(mount: Mount) -> bool:
    """Each pod has a folder of its own (`subPathExpr: $(POD_NAME)`)."""
    return "$" in mount.sub_path
