"""Lifecycle hooks of containers, and how long they surely take."""

from __future__ import annotations

from collections.abc import Iterable

from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.scheduling import action_of, verbatim_strings
from kube_gaplint.launch.start import start
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.pod import Hook
from kube_gaplint.model.setting import Set
from kube_gaplint.model.units import duration_seconds
from kube_gaplint.text.source import Files

_HARDLY_FAIL = frozenset({
    ":", "cd", "chmod", "date", "echo", "export", "kill", "logger", "ls", "mkdir", "printf", "pwd", "set", "sleep",
    "sync", "touch", "true",
})  # fmt: skip
"""Commands behind which `&&` goes on, and which `set -e` lets pass: a hook that cannot write its flag or signal the
program is broken in another way."""


def read_hook(container: Part, key: str, words: tuple[Word, ...], home: Environment, files: Files) -> Hook | None:
    """A hook. `words` are those of its exec action, `home` is the container's environment."""
    part = container.at("lifecycle", key)
    if not part.present or part.unknown:
        return None
    action, sleep = action_of(part), part.seconds("sleep", "seconds")
    seconds = None
    if action == "sleep" and isinstance(sleep, Set):
        seconds = sleep.value
    elif action == "exec" and words:
        started = start(words, home, files)
        seconds = None if started.unknown else _slept(started.commands)
    return Hook(action, verbatim_strings(part.at("exec", "command")), sleep, seconds, part.origin)


def _slept(commands: Iterable[Command]) -> float | None:
    """The seconds for which commands surely sleep, one after the other; None where none surely does."""
    total: float | None = None
    before: Command | None = None
    sure = True
    """Whether the command before surely runs."""
    for command in commands:
        passes = before is None or before.fallback or before.name in _HARDLY_FAIL
        if not passes and not _goes_on(command):
            break
        if command.certainty == "conditional":
            sure = sure and passes and before is not None and not before.fallback
        else:
            sure = command.certainty == "always"
        seconds = _seconds(command) if sure and not command.background else None
        if seconds is not None:
            total = (total or 0.0) + seconds
        before = command
    return total


def _goes_on(command: Command) -> bool:
    """Whether it runs also where the one before it failed: `set -e` is not in force."""
    return command.errexit is None or (isinstance(command.errexit, Set) and not command.errexit.value)


def _seconds(command: Command) -> float | None:
    if command.name != "sleep" or "timeout" in command.wrappers or command.options_open:
        return None
    given = [duration_seconds(text) if (text := word.known) is not None else None for word in command.words[1:]]
    known = [seconds for seconds in given if seconds is not None]
    return sum(known) if known and len(known) == len(given) else None
