"""What a container's own commands lay over paths: file systems that they mount, and symbolic links."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from kube_gaplint.facts.launchers import CONTAINER_RUNNERS, ISOLATED_RUNNERS
from kube_gaplint.facts.storage import (
    BINDING_OPTIONS,
    BINDING_VARIABLES,
    FUSE_MOUNTERS,
    MOUNTING_WORD,
    MOUNTS_BY_SUBCOMMAND,
    OWN_TEMPORARY_FOLDERS,
    STARTS_SCRIPTS,
    VOLATILE_FILE_SYSTEMS,
)
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.pod import hook
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Container

_DEEPEST = 8
"""Scripts that start one another."""


def may_be_mounted(container: Container, path: str) -> bool:
    """Whether a command, or the container's postStart hook, mounts something over a path, or may: a script that is not
    seen and says so by its name. A path that is not absolute stands in a folder that is not known."""
    for command in container.commands:
        at = _mounts_from(command)
        if at and _reaches(
            [word.known if word.known is not None else word.prefix for word in command.words[at:]], path
        ):
            return True
    if any(MOUNTING_WORD.search(word.shown.rpartition("/")[2]) for one in container.scripts for word in one.sources):
        return True
    started = hook(container, "post_start")
    texts = started.command.value if started is not None and isinstance(started.command, Set) else ()
    words = " ".join(texts).split()
    return any(_is_mounter(word, words) for word in words) and _reaches(words, path)


def may_be_bound(container: Container, command: Command | None, path: str) -> bool:
    """Whether a container that a command, or one that starts its script, runs in may have another place at a path: by
    an option that binds it there (`-B /lustre/me:/tmp`, `--container-mounts`), or for its file system is its own."""
    for _ in range(_DEEPEST):
        if command is None:
            return False
        if any(_lays(one, path) for one in (command, *_around(container, command))):
            return True
        command = None if command.script is None else command.script.started_by
    return False


def _around(container: Container, command: Command) -> Iterator[Command]:
    """The commands that hold a command in an argument of theirs, with all that stands before it."""
    source, span = command.place.source, command.place.span
    for one in container.commands:
        whole = one.place.span
        inside = whole.start <= span.start and span.end <= whole.end
        if one is not command and one.place.source is source and inside:
            yield one


def _lays(command: Command, path: str) -> bool:
    """Whether a command starts a container in which a path may be another place."""
    runners = CONTAINER_RUNNERS.keys() & {(word.known or "").rpartition("/")[2] for word in command.words}
    if runners & ISOLATED_RUNNERS or any(_binds(word.shown, path) for word in command.words):
        return True
    options = {word.prefix.partition("=")[0] for word in command.words}
    return bool(runners) and not (
        OWN_TEMPORARY_FOLDERS.isdisjoint(options) and BINDING_VARIABLES.isdisjoint(command.environment)
    )


def _binds(word: str, path: str) -> bool:
    """Whether an argument may bind something over a path; what is not known of it shows as an ellipsis."""
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    if option and option not in BINDING_OPTIONS:
        return False
    for one in value.split(","):
        key, given, target = one.partition("=")
        place = target if given and key in {"destination", "target", "dst"} else one.partition(":")[2].partition(":")[0]
        place = place.rstrip("/")
        if equals and one == "…":
            return True
        if place.startswith("/") and (path == place or path.startswith(place + "/") or place.startswith(path)):
            return True
    return False


def linked_to(container: Container, path: str, folder: str) -> Iterator[tuple[str, bool]]:
    """Where symbolic links that commands make lead a path, and whether that is sure; an empty text where the place is
    not known. `folder` is the working directory before any `cd`; a path and links that are relative to an unknown one
    are taken as relative to the same."""
    for command in container.commands:
        if command.name != "ln":
            continue
        options = [word.shown for word in command.words[1:] if word.shown.startswith("-")]
        if not any(one == "--symbolic" or ("s" in one and one[:2] != "--") for one in options):
            continue
        given = [word for word in command.words[1:] if not word.shown.startswith("-")]
        if command.directory is not None:
            base = command.directory.value if isinstance(command.directory, Set) else ""
        else:
            base = folder
        yield from _of_link(given, base, path, sure=command.expected == "always")


def _of_link(given: list[Word], base: str, path: str, *, sure: bool) -> Iterator[tuple[str, bool]]:
    if not given or len(given) > 2:
        return
    target, name = given[0].known, given[1].known if len(given) == 2 else "./"
    if name is None:
        if not given[1].prefix or path.startswith(given[1].prefix):
            yield "", False
        return
    link = posixpath.normpath(posixpath.join(base, name))
    inside = posixpath.join(link, posixpath.basename((target or "").rstrip("/")) or "?")
    for place in (inside,) if name.endswith("/") else (link, inside):
        if path == place or path.startswith(place + "/"):
            if target is None:
                yield "", False
            else:
                leads = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
                yield leads + path[len(place) :], sure
            return


def _mounts_from(command: Command) -> int:
    """The word from which on a command tells where it mounts something; 0 for any other command."""
    words = [word.known or "" for word in command.words]
    if _is_mounter(words[0], words) or command.name == "mount":
        return int(command.name != "mount" or _is_mounter("mount", words))
    at = 1 if command.name in STARTS_SCRIPTS else 0
    script = next((i for i, word in enumerate(words[at:], at) if not word.startswith("-")), None)
    if script is not None and (script == 0 or at) and MOUNTING_WORD.search(posixpath.basename(words[script])):
        return script + 1
    return 0


def _is_mounter(word: str, words: list[str]) -> bool:
    name = posixpath.basename(word)
    if name in MOUNTS_BY_SUBCOMMAND:
        return "mount" in words
    if name == "mount":
        return len(words) > 1 and VOLATILE_FILE_SYSTEMS.isdisjoint(words)  # alone it lists what is mounted
    return name in FUSE_MOUNTERS or name.startswith("mount.")


def _reaches(words: list[str], path: str) -> bool:
    """Whether one of the folders that are named holds a path, or lies below it; or the folder is not known. `words`:
    the known beginnings of a command's arguments."""
    given = [word for word in words if not word.startswith("-")]
    named = [word.rpartition("=")[2] for word in words if word.startswith("-") and "mount" in word]
    places = [word.rstrip("/") for word in (*given, *named) if word.startswith("/") and not word.startswith("/dev/")]
    if not any(places) or not path.startswith("/") or not given[-1:] or not given[-1]:
        return True
    return any(path == one or path.startswith(one + "/") or one.startswith(path) for one in places if one)
