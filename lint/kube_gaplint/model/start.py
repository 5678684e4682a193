"""What a container does before it trains: commands of its start script, and which of them fetch software."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts.data import DATA_REPOSITORY
from kube_gaplint.facts.installs import (
    ALONE_OPTIONS,
    ARCHIVE,
    BRANCH_ARCHIVE,
    EDITABLE_OPTIONS,
    IMAGE_INSTALLERS,
    INDEX_OPTIONS,
    INDEX_VARIABLES,
    INSTALLERS,
    OFFLINE_OPTIONS,
    OFFLINE_VARIABLES,
    PYPI,
    REQUIREMENT_OPTIONS,
    VALUED,
    Installer,
    is_fixed_state,
    is_internal,
    is_local,
    is_project,
)
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.text.source import Files, no_files

_GUARD = lazy_re.compile(
    r"(^|[\s!(\"'])(\[|test\s|command\s+-v|which\s|hash\s|type\s|import\s|pip3?\s+show|grep\s|ls\s|stat\s)"
)
_RELEASE = lazy_re.compile(r"[\w\]](===?|=)\w")
"""A release behind a package: `numpy==1.26.4`, apt's and conda's `libaio=0.3`."""
_RANK = lazy_re.compile(r"RANK|NODEID|PROCID|INDEX|HOSTNAME|POD_NAME|MASTER|LEADER|is_master|NODE_ID", re.IGNORECASE)


def starting_containers(workload: Workload) -> Iterator[tuple[Role, Container]]:
    """Containers whose start decides whether the job comes up: those with accelerators, those that start a training
    program (a launcher too), and the init containers of their pods."""
    programs = {id(process.command) for process in workload.processes}
    for role in workload.roles:
        main = [
            one
            for one in role.pod.containers
            if one.accelerators or any(id(command) in programs for command in one.commands)
        ]
        if main:
            for container in (*role.pod.init_containers, *main):
                yield role, container


def start_commands(workload: Workload, container: Container) -> list[Command]:
    """The commands that run before the container's last training program starts, those of scripts in Slurm's steps as
    well; all where none is seen."""
    programs = {_where(one.command) for one in workload.processes}
    commands = [one for one in _with_steps(workload, container) if one.certainty not in {"on-exit", "never-seen"}]
    last = max((index for index, one in enumerate(commands) if _where(one) in programs), default=len(commands))
    return commands[:last]


def _where(command: Command) -> tuple[int, int, int]:
    """What tells a command from others: a step's script is read once for the step and once for its programs."""
    place = command.place
    return id(place.source), place.span.start, place.span.end


def _with_steps(workload: Workload, container: Container) -> Iterator[Command]:
    steps = workload.batch.steps if workload.batch is not None else ()
    inside = {id(step.command): step.inside for step in steps}
    for command in container.commands:
        yield command
        yield from inside.get(id(command), ())


def guarded(command: Command) -> bool:
    """It runs only where a test says so: a folder is missing, a module cannot be imported, the rank is 0."""
    return command.certainty == "conditional" and _GUARD.search(command.condition) is not None


def guarded_by_rank(command: Command) -> bool:
    """It runs in one of several pods alone."""
    return command.certainty == "conditional" and _RANK.search(command.condition) is not None


class Fetch(Struct, frozen=True):
    """A command that installs something from a network."""

    installer: Installer
    command: Command
    pinned: bool = False
    """Every package is named with its release."""
    locked: bool = False
    """Every package it may bring stands in a lock file of the repository: it installs the same each time."""


class RuntimeEnvironment(Struct, frozen=True):
    """What a framework brings to every node before the job's program starts, as Ray does."""

    commands: tuple[Command, ...]
    archives: tuple[Word, ...]
    """Addresses from which it fetches code."""
    environment: Environment


def runtime_fetches(workload: Workload) -> Iterator[Fetch]:
    """What the runtime environment of a job surely fetches over the network. A state of a repository that does not
    move is left out."""
    given = workload.exposed.get("runtime_environment")
    if not isinstance(given, RuntimeEnvironment):
        return
    yield from fetches(list(given.commands), holds=lambda: _held_by_all(workload))
    for word in given.archives:
        found = BRANCH_ARCHIVE.fullmatch(word.shown)
        if found is not None and not is_fixed_state(found["state"]):
            yield Fetch(ARCHIVE, Command((word,), given.environment, word.place))


def fetches(
    commands: list[Command], files: Files = no_files, holds: Callable[[], frozenset[str]] = frozenset
) -> Iterator[Fetch]:
    """The commands that surely fetch software over the network: not from a local path, an own mirror or a cache, and
    not what is there already.

    `files` gives the text of a lock file or of a list of packages by its path; `holds` the packages that the image
    holds, as its Dockerfile asks for them.
    """
    own_index = False
    for command in commands:
        own_index = own_index or _sets_own_index(command)
        found = _installer(command)
        if found is None:
            continue
        installer, rest = found
        if own_index and installer.source == PYPI:
            continue
        if not _offline(command, rest) and _remote(installer, rest) and not _is_there(command, files, holds):
            yield Fetch(installer, command, _pinned(installer, rest), _locked(installer, command, rest, files))


_RENEWS = frozenset({
    "-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed", "-t", "--target", "--prefix", "--root",
    "--pre", "--no-deps",
})  # fmt: skip
"""Options with which pip does not take what is installed for enough, or puts it elsewhere."""


def asked_of_pip(command: Command, files: Files) -> frozenset[str] | None:
    """The packages that a call of pip asks for, as they are written (`torch==2.9.0`); None where it is none, where not
    all of them are known, or where it would install them anew. `files` gives lists of packages by their paths."""
    found = _installer(command)
    if found is None or found[0].source != PYPI or found[0].words[-1] != "install" or found[0].targets != "packages":
        return None
    rest = found[1]
    texts = [word.known for word in rest]
    if None in texts or any(text in _RENEWS or text in EDITABLE_OPTIONS for text in texts):
        return None
    asked = {_requirement(text) for _, word in operands(rest) if (text := word.known)}
    for index, text in enumerate(texts):
        option, equals, path = (text or "").partition("=")
        if option in REQUIREMENT_OPTIONS:
            listed = files(path if equals else next(iter(texts[index + 1 : index + 2]), None) or "")
            lines = None if listed is None else _lines(listed.text)
            if lines is None:
                return None
            asked |= lines
    return None if "" in asked else frozenset(asked)


def _lines(text: str) -> set[str] | None:
    """The packages of a list; None where it has options or addresses."""
    lines = {line.partition("#")[0].strip() for line in text.splitlines()} - {""}
    return None if any(line.startswith("-") for line in lines) else {_requirement(line) for line in lines}


def _requirement(text: str) -> str:
    """A package as pip takes it, in one way of writing; empty where it is a path or an address."""
    packed = "".join(text.partition(";")[0].split())
    name = _NAME.match(packed)
    return "" if name is None or "/" in packed or "@" in packed else _normal(name[0]) + packed[name.end() :].lower()


def _is_there(command: Command, files: Files, holds: Callable[[], frozenset[str]]) -> bool:
    """pip finds all that it is asked for in the image: by the same words, or by its name where any release will do."""
    asked = asked_of_pip(command, files)
    if not asked:
        return False
    held = holds()
    names = {name[0] for one in held if (name := _NAME.match(one)) is not None}
    return all(one in held or one in names for one in asked)


def packages_held(container: Container) -> Callable[[], frozenset[str]]:
    """What the Dockerfile of a container's image installs by pip, where that lies in the repository."""
    held = container.exposed.get("packages")
    return held if callable(held) else frozenset


def _held_by_all(workload: Workload) -> frozenset[str]:
    """What all pods of a job hold that run in one image: whichever of them starts a program tells its Dockerfile."""
    containers = [one for role in workload.roles for one in role.pod.containers]
    if len({_image_shown(one) for one in containers}) != 1:
        return frozenset()
    return next((held for one in containers if (held := packages_held(one)())), frozenset())


def _image_shown(container: Container) -> str:
    """Images that are left to whoever fills in the manifest are the same where the same stands there."""
    image = container.image
    if isinstance(image, Set):
        return image.value
    return f"{image.prefix}<{image.reason}>" if isinstance(image, Unknown) else ""


def fetched_by_image(container: Container) -> Fetch | None:
    """What the entry point of a container's image surely fetches (git-sync's repository)."""
    if not isinstance(container.image, Set) or not isinstance(container.command, Absent) or not container.commands:
        return None
    name = container.image.value.partition("@")[0].rpartition("/")[2].partition(":")[0]
    row = next((one for one in IMAGE_INSTALLERS if one.image == name), None)
    if row is None:
        return None
    command = container.commands[0]
    given = _given(command, container)
    if any(word.multiple for word in command.words[1:]) or not any(given.get(one) for one in row.asks):
        return None
    chosen = [given[one] for one in row.pins if one in given]
    if any(one is None for one in chosen):
        return None
    return Fetch(row.installer, command, pinned=any(is_fixed_state(one) for one in chosen if one))


def _given(command: Command, container: Container) -> dict[str, str | None]:
    """Options with their values, and the container's variables; None for a value that is not known."""
    found: dict[str, str | None] = {}
    words = command.words[1:]
    for index, word in enumerate(words):
        name, equals, value = word.prefix.partition("=")
        if name.startswith("-"):
            following = words[index + 1].known if index + 1 < len(words) else ""
            found[name] = (value if word.known is not None else value or None) if equals else following
    for name, setting in container.environment.variables.items():
        if not isinstance(setting, Absent):
            found[name] = setting.value if isinstance(setting, Set) else None
    return found


def _sets_own_index(command: Command) -> bool:
    """`pip config set global.index-url …` with an index of one's own, or one that is not known."""
    texts = [word.known for word in command.words[1:]]
    if not command.name.startswith("pip") or texts[:2] != ["config", "set"]:
        return False
    return any("index-url" in (text or "") for text in texts[2:3]) and (
        texts[3:4] == [] or texts[3] is None or is_internal(texts[3])
    )


def _installer(command: Command) -> tuple[Installer, tuple[Word, ...]] | None:
    """The row of a command and the words after its subcommand."""
    words = command.words
    name = command.name
    if name.startswith("python") and [word.known for word in words[1:3]] == ["-m", "pip"]:
        name, words = "pip", words[2:]
    name = re.sub(r"^pip3?[.\d]*$", "pip", name)
    given = operands(words[1:])
    for installer in INSTALLERS:
        wanted = installer.words
        if name in installer.programs and tuple(word.known for _, word in given[: len(wanted)]) == wanted:
            return installer, words[2 + given[len(wanted) - 1][0] :]
    return None


def operands(words: tuple[Word, ...], valued: frozenset[str] = VALUED | REQUIREMENT_OPTIONS) -> list[tuple[int, Word]]:
    """Words that are neither options nor the values of those in `valued`, with their index."""
    found = []
    skip = False
    for index, word in enumerate(words):
        text = word.known if word.known is not None else word.prefix
        if skip:
            skip = False
        elif text.startswith("-") and len(text) > 1:
            skip = text in valued
        else:
            found.append((index, word))
    return found


def _offline(command: Command, rest: tuple[Word, ...]) -> bool:
    """Nothing leaves the cluster, or it cannot be told: an offline option, an own index, options of unknown content."""
    texts = [word.known or word.prefix for word in rest]
    if any(word.multiple for word in rest) or OFFLINE_OPTIONS.intersection(texts):
        return True
    environment = command.environment
    if any(not isinstance(environment.variables.get(name, None), Absent | None) for name in OFFLINE_VARIABLES):
        return True
    for index, text in enumerate(texts):
        option, equals, value = text.partition("=")
        if option in INDEX_OPTIONS:
            given = value if equals else next(iter(texts[index + 1 : index + 2]), "")
            return not given or is_internal(given)
    for name in INDEX_VARIABLES:
        index_url = environment.variables.get(name)
        if index_url is not None and not isinstance(index_url, Absent):
            return not isinstance(index_url, Set) or is_internal(index_url.value)
    return False


def _pinned(installer: Installer, rest: tuple[Word, ...]) -> bool:
    targets = [word.known for _, word in operands(rest)]
    return installer.targets == "packages" and bool(targets) and all(one and _RELEASE.search(one) for one in targets)


_NAME = lazy_re.compile(r"[A-Za-z0-9][\w.-]*")
_LOCKED_NAME = lazy_re.compile(r'^name\s*=\s*"([^"]+)"', re.MULTILINE)


def _locked(installer: Installer, command: Command, rest: tuple[Word, ...], files: Files) -> bool:
    """Whether a lock file that fits the project holds every release: one that knows all that the project asks for."""
    if not installer.locks or any((word.known or word.prefix).startswith(("-U", "--upgrade")) for word in rest):
        return False
    folder = command.directory.value if isinstance(command.directory, Set) else ""
    for name in installer.locks:
        lock, project = (files(posixpath.join(folder, one)) for one in (name, "pyproject.toml"))
        if lock is None:
            continue
        if project is None:
            return name == "Pipfile.lock"
        held = {_normal(found[1]) for found in _LOCKED_NAME.finditer(lock.text)}
        return _asked_for(project.text) <= held
    return False


def _asked_for(project: str) -> set[str]:
    """The packages that a pyproject.toml asks for by name, extras and groups left out."""
    import tomllib

    try:
        data = tomllib.loads(project.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {""}  # nothing holds it
    asked = data.get("project", {})
    listed = asked.get("dependencies") if isinstance(asked, dict) else None
    names = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return {_normal(found[0]) for one in names if (found := _NAME.match(one.strip())) is not None}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _remote(installer: Installer, rest: tuple[Word, ...]) -> bool:
    """Whether what is asked for is not all in the file system."""
    if installer.targets == "any":
        return True
    texts = [word.known or word.prefix for word in rest]
    if installer.targets == "remote":
        targets = [word.known or word.prefix for _, word in operands(rest)]
        if targets and DATA_REPOSITORY.fullmatch(targets[0]):
            return False
        return bool(targets) and ("://" in targets[0] or "@" in targets[0]) and not is_local(targets[0])
    if REQUIREMENT_OPTIONS.intersection(texts) or any(text.startswith("--requirement=") for text in texts):
        return True
    editable = {index + 1 for index, text in enumerate(texts) if text in EDITABLE_OPTIONS}
    targets = [texts[index] for index, _ in operands(rest) if index not in editable and texts[index]] + [
        texts[index] for index in editable if index < len(texts)
    ]
    if "pip" in installer.title and ALONE_OPTIONS.isdisjoint(texts) and any(map(is_project, targets)):
        return True
    return any(not is_local(target) for target in targets)
