"""One shell process while a script is followed: its state, what it has run, and under what conditions it runs now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint.launch.shared import Budget
from kube_gaplint.launch.shell_state import State
from kube_gaplint.model.command import Certainty, Command, Heredoc, Script, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.text.limits import SHELL_DEPTH
from kube_gaplint.text.source import Files

Flow: TypeAlias = Literal["", "exit", "return", "break"]
"""How a statement ends: the next one runs, the shell ends, the function or sourced file ends, the loop's round ends."""

MAX_DEPTH: Final = SHELL_DEPTH.most
"""Nesting of statements, calls, substitutions and scripts together that is followed."""

LOGIN_REASON: Final = "a login shell reads the image's profile"

_ORDER: Final[list[Certainty]] = ["always", "repeated", "conditional", "on-exit", "never-seen"]


def login_environment(environment: Environment) -> Environment:
    """The environment of a login shell: `/etc/profile` and its kin of the image run first and may set variables."""
    return environment.over({}, LOGIN_REASON)


Last: TypeAlias = "tuple[Command | Last, ...]"
"""The commands of which one runs last, as a tree whose parts are shared: behind an `if`, what stood before it and what
ran in its branches. A flat list would grow with every `if`."""


def either(*parts: Last) -> Last:
    """One of several may have run last."""
    different = tuple({id(part): part for part in parts if part}.values())
    return different[0] if len(different) == 1 else different


def commands_of(last: Last) -> list[Command]:
    """The commands of a tree, each once."""
    found: dict[int, Command] = {}
    seen: set[int] = set()
    stack = [last]
    while stack:
        for part in stack.pop():
            if isinstance(part, Command):
                found[id(part)] = part
            elif id(part) not in seen:
                seen.add(id(part))
                stack.append(part)
    return list(found.values())


def combined(outer: Certainty, inner: Certainty) -> Certainty:
    """The certainty of a command in a block of its own certainty."""
    return max(outer, inner, key=_ORDER.index)


class Shell(Struct, eq=False):
    """The process. `out` takes every command that it runs, those of nested scripts in their place."""

    state: State
    script: Script
    budget: Budget
    files: Files
    out: list[Command] = field(default_factory=list)
    certainty: Certainty = "always"
    expected: Certainty = "always"
    """The certainty where what only gets something ready (`facts.preparing`) succeeds."""
    condition: str = ""
    background: bool = False
    pipeline: tuple[int, int] = (0, 1)
    last: Last = ()
    """The commands that may have run last so far."""
    finals: Last = ()
    """Those that ran last on a path that has ended."""
    calls: list[str] = field(default_factory=list)
    """Functions that are being read, outermost first."""
    sourcing: list[str] = field(default_factory=list)
    locals: list[dict[str, object]] = field(default_factory=list)
    """For each function that is being read: the variables that it hides, with what they were."""
    waiting: list[Command] = field(default_factory=list)
    """Background commands that nothing has waited for yet."""
    exit_trap: Word | None = None
    handlers: dict[str, Word] = field(default_factory=dict)
    """The handler of each other signal."""
    input: Heredoc | None = None
    """What standard input holds, where that is known."""
    silent: bool = False
    """Inside a command substitution: commands go to `Script.inner`."""

    @contextmanager
    def under(self, certainty: Certainty, condition: str = "", expected: Certainty | None = None) -> Iterator[None]:
        """Commands of this block run only under a condition, or repeatedly."""
        before = (self.certainty, self.expected, self.condition)
        self.certainty = combined(self.certainty, certainty)
        self.expected = combined(self.expected, expected or certainty)
        self.condition = condition or self.condition
        try:
            yield
        finally:
            self.certainty, self.expected, self.condition = before

    def end_path(self) -> None:
        """The process ends here on this path."""
        self.finals = either(self.finals, self.last)
        self.last = ()
