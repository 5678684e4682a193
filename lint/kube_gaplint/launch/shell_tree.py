"""Statements of a script as plain objects that hold tokens."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint.launch.shell_reader import Reader
from kube_gaplint.launch.shell_tokens import Token

MAX_DEPTH: Final = 60
"""Nesting of compound commands that is followed; deeper ones are reported as not understood."""


class Simple(Struct, eq=False):
    """A simple command, `[[ … ]]` or `(( … ))`: its words and redirections in order."""

    tokens: list[Token]

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end


class Pipe(Struct, eq=False):
    """Commands joined by `|`."""

    start: int
    end: int
    items: list[Statement]


class Not(Struct, eq=False):
    """`! command`."""

    start: int
    end: int
    body: Statement


class Chain(Struct, eq=False):
    """Commands joined by `&&` and `||`: the operator stands before each but the first (there it is empty)."""

    start: int
    end: int
    items: list[tuple[str, Statement]]


class Block(Struct, eq=False):
    """Statements in order, each with whether it runs in the background."""

    start: int
    end: int
    items: list[tuple[Statement, bool]] = field(default_factory=list)


class Group(Struct, eq=False):
    """`{ … }`, or `( … )` (a subshell)."""

    start: int
    end: int
    body: Block
    subshell: bool


class If(Struct, eq=False):
    start: int
    end: int
    clauses: list[tuple[Block, Block]]
    otherwise: Block | None


LoopKind: TypeAlias = Literal["for", "while", "until", "count", "select"]


class Loop(Struct, eq=False):
    """`for`, `select`, `while`, `until`, and `for ((…))` (without a variable)."""

    start: int
    end: int
    kind: LoopKind
    variable: Token | None
    words: list[Token] | None
    """The list of a `for`; None for `for x` alone, which runs over the arguments."""
    condition: Block | None
    body: Block


class Case(Struct, eq=False):
    start: int
    end: int
    subject: Token | None
    items: list[tuple[list[Token], Block, str]]
    """Patterns, commands, and what ends them (`;;`, `;&`, `;;&`, or nothing)."""


class Function(Struct, eq=False):
    start: int
    end: int
    name: str
    body: Statement


class Redirected(Struct, eq=False):
    """A compound command with redirections."""

    start: int
    end: int
    body: Statement
    redirects: list[Token]


Statement: TypeAlias = "Simple | Pipe | Not | Chain | Block | Group | If | Loop | Case | Function | Redirected"


class Parsed(Struct, eq=False):
    """A script's statements, its reader, and the spans that were not understood."""

    reader: Reader
    body: Block
    tokens: list[Token]
    errors: list[tuple[int, int]]
    deep: tuple[int, int] | None = None
    """The first compound command that is nested too deeply, and left out."""
