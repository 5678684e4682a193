"""Means against hangs, as they stand in one process: torch's own, and whatever watches the job's progress."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts import progress
from kube_gaplint.facts.torch import SETS_ASYNC, SetsAsync, defaults, names_read
from kube_gaplint.facts.variables import stoi, torch_flag, variable
from kube_gaplint.model.command import Command
from kube_gaplint.model.pod import probe
from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.model.training import Release, TrainingProcess, known_release
from kube_gaplint.model.workload import Container, Role

RENAMED: Release = (2, 2)
"""From here torch reads `TORCH_NCCL_…`, and the old `NCCL_…` names as well."""
ON_BY_DEFAULT: Release = (2, 1)
"""From here asynchronous error handling is on by itself."""
NO_WATCHDOG: Release = (2, 6)
"""From here blocking wait leaves the process without a watchdog thread."""

ASYNC = "TORCH_NCCL_ASYNC_ERROR_HANDLING"
BLOCKING = "TORCH_NCCL_BLOCKING_WAIT"


_SETTERS = tuple(
    (
        row,
        lazy_re.needing(row.packages, rf"(?m)^[ \t]*(?:from|import)[ \t]+(?:{'|'.join(row.packages)})\b"),
        lazy_re.compile(rf"(?m)^[^#\n]*\b{re.escape(row.call)}[ \t]*\("),
    )
    for row in SETS_ASYNC
)
"""For each library how its import looks, and how its call."""


class Switch(Struct, frozen=True):
    """A variable of torch under the name that is in force; of a variable that is not set, the name to set."""

    name: str
    value: Setting[str]
    read: bool
    """Whether the release surely reads the name."""


def switch(process: TrainingProcess, name: str) -> Switch:
    """A variable of torch by its new name, as the process's release reads it: before 2.2 the new name means nothing."""
    old = name.removeprefix("TORCH_")
    environment = process.environment
    renamed = process.torch_at_least(RENAMED)
    if renamed is False:
        return Switch(old, environment.get(old), True)
    for candidate in (name, old):
        value = environment.get(candidate)
        if not isinstance(value, Absent):
            return Switch(candidate, value, candidate == old or renamed is True)
    return Switch(name, environment.get(*names_read(name)), renamed is True)


def handling_is_off(process: TrainingProcess) -> Set[str] | None:
    """The setting that switches asynchronous error handling off, where one surely stands there."""
    found = switch(process, ASYNC)
    if isinstance(found.value, Set) and stoi(found.value.value) == 0:
        return found.value
    return None


def sets_handling_itself(process: TrainingProcess) -> SetsAsync | None:
    """The library that overwrites what the job sets of asynchronous error handling, where the program is seen to call
    it."""
    for text in process.text.texts:
        for row, imported, call in _SETTERS:
            if imported.search(text) and call.search(text):
                return row
    return None


def handling_by_default(process: TrainingProcess) -> bool | None:
    """Whether torch deals with a lost rank where nothing is set; None where the release leaves it open."""
    if process.torch_at_least(ON_BY_DEFAULT) is None:
        return None
    if process.framework is not None and process.framework.guards:
        return True
    row = defaults(known_release(process.torch) or ())
    return None if row is None else row.async_error_handling != 0


def shows_recent_torch(process: TrainingProcess) -> str:
    """What gives away that a torch of unknown release has handling on by default; empty where nothing does."""
    for name in process.environment:
        row = variable(name)
        if row is None or row.owner != "torch" or row.first < ON_BY_DEFAULT or name == ASYNC:
            continue
        setting = process.environment.variables[name]
        if setting.origin is not None and setting.origin.written:
            return f"{name} is set, which torch reads since {'.'.join(map(str, row.first))}"
    asked = process.torch_asked
    if asked is not None and asked.value >= ON_BY_DEFAULT:
        return asked.origin.note
    framework = process.framework
    if framework is not None and framework.least_torch >= ON_BY_DEFAULT:
        return f"{framework.title} runs with torch {'.'.join(map(str, framework.least_torch))} or later"
    return ""


def waits_blocked(process: TrainingProcess) -> Switch | None:
    """The switch that makes every collective block the process, where it is surely on."""
    found = switch(process, BLOCKING)
    if isinstance(found.value, Set) and torch_flag(found.value.value, known_release(process.torch)) is True:
        return found
    return None


def is_watched(process: TrainingProcess) -> bool:
    """Whether something visible may notice that the job makes no progress: a probe, a supervisor, a watchdog."""
    workload = process.workload
    group = workload.subject.api_version.rpartition("/")[0]
    if process.recovers_in_process or (group, workload.subject.kind) in progress.KINDS:
        return True
    if not progress.LAUNCHERS.isdisjoint(process.layers()) or probe(process.container, "liveness") is not None:
        return True
    if any(progress.OPTION.search(one.name.lower().replace("_", "-")) for one in process.options.occurrences):
        return True
    if any(progress.VARIABLE.match(name) and not name.startswith(("NCCL_", "TORCH_")) for name in process.environment):
        return True
    containers = [container for role in workload.roles for container in _all(role)]
    names = (name for container in containers for name in _names(container))
    if any(progress.PROGRAM.search(name.lower()) for name in names) or any(
        _watches_by_loop(one, process.command) for one in containers
    ):
        return True
    return any(lazy_re.found_in(text, progress.OWN_GUARD) for text in process.text.texts)


def _watches_by_loop(container: Container, program: Command) -> bool:
    """Whether a loop of its scripts, beside the program, looks at a log now and then, and ends the job where it stands
    still."""
    commands = container.commands
    done = -1
    for at, command in enumerate(commands):
        if at <= done or command.name not in progress.ENDING or command.certainty not in _IN_A_LOOP:
            continue
        if any(word.shown in ("-0", "-l", "-L") for word in command.words[1:2]):
            continue  # `kill -0` only asks
        first, done = _loop_around(commands, at)
        loop = commands[first : done + 1]
        if program in loop or not any(one.name == "sleep" and one.certainty == "repeated" for one in loop):
            continue
        start, end = loop[0].place, loop[-1].place
        said = [one.condition for one in loop]  # a function that it calls stands elsewhere
        if start.source is end.source:
            said.append(start.source.text[start.span.start : end.span.end])
        text = "\n".join(said)
        if progress.LOOKING.search(text) and not progress.NOT_PROGRESS.search(text):
            return True
    return False


_IN_A_LOOP = frozenset({"repeated", "conditional"})


def _loop_around(commands: list[Command], at: int) -> tuple[int, int]:
    """The first and the last of the commands around one that run in a loop or on a condition, as it does."""
    first = last = at
    while first > 0 and commands[first - 1].certainty in _IN_A_LOOP:
        first -= 1
    while last + 1 < len(commands) and commands[last + 1].certainty in _IN_A_LOOP:
        last += 1
    return first, last


def _all(role: Role) -> tuple[Container, ...]:
    return (*role.pod.containers, *role.pod.init_containers)


def _names(container: Container) -> Iterator[str]:
    """The names of a container and of the programs and scripts that it starts."""
    yield container.name
    for command in container.commands:
        for word in command.words[:4]:
            yield word.prefix.rpartition("/")[2][:80]
