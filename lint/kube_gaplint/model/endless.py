"""Containers that never end by themselves."""

from __future__ import annotations

from msgspec import Struct

from kube_gaplint.facts.endless import LONGEST_NAP, serves, serving_image
from kube_gaplint.model.command import Command
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.units import slept_seconds
from kube_gaplint.model.workload import Container

_NO_WORK = frozenset(
    {"echo", "printf", "cd", "export", "set", "trap", "mkdir", "chmod", "chown", "date", "hostname", "true", ":", "env",
     "whoami", "pwd", "ls", "cat", "sleep", "tail", "wait", "service", "ssh-keygen", "nvidia-smi", "exec", "test", "[",
     "kill"}
)  # fmt: skip
"""Commands that get something ready or look at it: a container that runs nothing else does no work."""
_NO_CHECK = frozenset({"echo", "printf", "date", "hostname", "true", ":", "sleep", "wait", "test", "["})
"""What a loop of naps may run beside them: one that also looks at something, again and again, watches it."""
_ENDS = frozenset({"kill", "pkill", "killall", "timeout"})
"""Commands that may end what runs in the background."""


class Endless(Struct, frozen=True):
    """What keeps a container running until it is stopped, in words, and where it is written."""

    what: str
    origin: Origin


def endless(container: Container) -> Endless | None:
    """The command of a container that surely runs for ever, or its image where the entry point serves."""
    if not container.commands:
        image = container.image
        no_command = container.entrypoint_unknown and not isinstance(container.command, Set)
        served = no_command and isinstance(image, Set) and serving_image(image.value)
        return Endless(image.value, image.origin) if served and isinstance(image, Set) else None
    found = [command for command in container.commands if not command.background and _for_ever(command)]
    if found:  # of a loop, the nap between its rounds
        return _named(next((command for command in found if command.name == "sleep"), found[0]))
    if any(command.name in _ENDS for command in container.commands):
        return None
    for command in container.commands:  # `tail -F log & wait`: a shell that waits hears a signal at once
        if command.background and command.waited and _for_ever(command):
            return _named(command)
    return None


def _named(command: Command) -> Endless:
    return Endless(" ".join(word.shown for word in command.words)[:60], Origin(command.words[0].place))


def only_waits(container: Container) -> Endless | None:
    """What a container waits with that does nothing else: `sleep infinity`, `tail -f /dev/null`.

    A loop that runs a check between its naps (`nvidia-smi`) watches the devices or proves that they are there.
    """
    if not container.commands or any(_does_something(command) for command in container.commands):
        return None
    return endless(container)


def _does_something(command: Command) -> bool:
    return command.name not in (_NO_CHECK if command.expected == "repeated" else _NO_WORK)


def _for_ever(command: Command) -> bool:
    if command.expected in ("conditional", "on-exit", "never-seen"):
        return False
    words = [word.known or "" for word in command.words]
    if command.expected == "repeated":
        return command.unending
    if command.name == "sleep":
        return any(sleeps_on(text) for text in words[1:])
    return "timeout" not in command.wrappers and serves(command.name, [word.prefix for word in command.words[1:]])


def sleeps_on(text: str) -> bool:
    """Whether `sleep` is told to last until somebody has come and gone (`infinity`, `7d`)."""
    return text in ("infinity", "inf") or (slept_seconds(text, 14) or 0.0) > LONGEST_NAP
