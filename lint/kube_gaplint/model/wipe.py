"""Commands of a start script that delete folders."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.model.start import guarded, guarded_by_rank, start_commands
from kube_gaplint.model.storage import own_disk, volume_at
from kube_gaplint.model.workload import Container, Mount, Role, Volume, Workload

_CHECKPOINTS = lazy_re.compile(r"\*|(checkpoint|ckpt|iter|global_step|step|epoch|latest)[\w.-]*\*?|\{?,?\*\}?")
_FILES = lazy_re.compile(
    r"\*|\*?[\w.-]*\*?\.(?:pt|pth|ckpt|distcp|safetensors|bin)|(?:checkpoint|ckpt|iter|global_step|step|epoch)[\w.-]*\*"
)
"""Patterns of the names of checkpoints."""
_NAMED = lazy_re.compile(r"(?:\A|/)(?:checkpoints?|ckpts?)(?:/|\Z)", re.IGNORECASE)
_BELOW = lazy_re.compile(r"[\"']?\$\{?(\w+)\}?[\"']?/")
_OWN_DISK = lazy_re.compile(r"tmp|temp|local|shm|ssd|nvme", re.IGNORECASE)
"""Names of variables for disks that a node has for itself."""
_PRESENT = lazy_re.compile(r"""\[+\s*(!\s+)?-[defLs]\s|test\s+-[defLs]\s|ls\s""")
_CONDITIONS = (
    "-name", "-iname", "-path", "-regex", "-mtime", "-mmin", "-atime", "-newer", "-size", "-empty", "-user",
)  # fmt: skip


class Wipe(Struct, frozen=True):
    """A folder that a command deletes, as a whole (`all_of_it`) or by a pattern; `title` is the command.

    One below a variable that is not known (`$WORK/checkpoints/run1`) is told of where its name says what it holds.
    """

    title: str
    folder: str
    all_of_it: bool
    origin: Origin

    @property
    def says_checkpoints(self) -> bool:
        """By its name it holds checkpoints, and it lies on no disk that a node has for itself."""
        return _NAMED.search(self.folder) is not None and not own_disk(self.folder)


def wipes(workload: Workload, container: Container) -> Iterator[Wipe]:
    """What is surely deleted before each training: not by one rank alone, not where a test must allow it first."""
    for command in start_commands(workload, container):
        if guarded_by_rank(command) or (guarded(command) and not _PRESENT.search(command.condition)):
            continue
        targets = _removed(command) if command.name == "rm" else _found(command) if command.name == "find" else []
        for word in targets:
            text = word.known
            if text is None:
                text = _below_a_variable(word)
                if text and command.name == "rm":
                    yield Wipe("rm -rf", text, True, Origin(command.place))
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


def _below_a_variable(word: Word) -> str:
    """`$WORK/checkpoints/run1` for a folder below a variable of the submitter's; empty for other words."""
    base = _BELOW.match(word.place.text)
    if base is None or not isinstance(word.pieces[0], Unknown) or not word.known_end.startswith("/"):
        return ""
    folder, whole = _folder(posixpath.normpath(word.known_end))
    return f"${base[1]}{folder}" if whole and _NAMED.search(folder) and not _OWN_DISK.search(base[1]) else ""


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
    """It has no condition on names or ages, but that they are names of checkpoints."""
    texts = [word.known or "" for word in command.words]
    for index, text in enumerate(texts):
        if not text.startswith(_CONDITIONS):
            continue
        named = text in {"-name", "-iname"} and texts[index - 1] not in {"!", "-not"}
        if not named or _FILES.fullmatch("".join(texts[index + 1 : index + 2])) is None:
            return False
    return True


def _folder(path: str) -> tuple[str, bool]:
    """The folder above the first pattern, and whether the pattern takes all that counts in it."""
    parts = path.split("/")
    for index, part in enumerate(parts):
        if any(sign in part for sign in "*?[{"):
            return "/".join(parts[:index]) or "/", index == len(parts) - 1 and _CHECKPOINTS.fullmatch(part) is not None
    return path, True


def wiped_save(wipe: Wipe, workload: Workload, role: Role, container: Container) -> Set[str] | None:
    """The save path of a program in the same pod that a command deletes with everything in it, where it would have
    outlived the pod; None where there is none. A path that is known in part counts by its beginning."""
    if not wipe.all_of_it:
        return None
    wiped = _location(wipe.folder, workload, role, container)
    for process in workload.processes:
        path = process.settings.save_path
        known = path.value if isinstance(path, Set) else path.prefix if isinstance(path, Unknown) else ""
        if process.role is not role or wiped is None or not known.startswith("/") or path.origin is None:
            continue
        saved = _location(known, workload, role, process.container)
        if saved is None or saved[0] != wiped[0] or not outlives_pods(known, workload, role, process.container):
            continue
        if saved[1] == wiped[1] or saved[1].startswith(wiped[1].rstrip("/") + "/"):
            return Set(known, path.origin)
    return None


def _location(path: str, workload: Workload, role: Role, container: Container) -> tuple[str, str] | None:
    """The volume of a path and the path within it; None where it lies on none, or on one that is not known."""
    path = posixpath.normpath(path)
    if workload.batch is not None:
        return "", path
    at = volume_at(path, container, role.pod)
    mount = next((one for one in container.mounts if one.origin is at.origin), None) if isinstance(at, Set) else None
    if mount is None or not isinstance(at, Set) or not isinstance(mount.path, Set) or "$" in mount.sub_path:
        return None
    below = posixpath.relpath(path, posixpath.normpath(mount.path.value))
    return at.value.name, posixpath.normpath(posixpath.join("/", mount.sub_path, below))


def outlives_pods(path: str, workload: Workload, role: Role, container: Container) -> bool:
    """Whether what lies at a path surely is still there when the pod starts again."""
    if workload.batch is not None:
        return not own_disk(path)
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
