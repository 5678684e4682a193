"""The limits of what is read, in one place; docs/limits.md is their page.

Whatever meets one is a finding (GAP002), never silence: what was left out may hold a gap. Those who read call `reached`
where they stop; a run listens by `heard_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from kube_gaplint.text.source import Place


class Limit(Struct, frozen=True):
    """How much of something is read. Real manifests stay far below."""

    of: str
    """What it bounds, as the documentation names it."""
    most: int
    unit: str
    says: str
    """What a finding says; `{most}` is the number with its unit."""

    @property
    def shown(self) -> str:
        """The number with its unit: `10 MiB`, `20,000 commands`."""
        if self.unit == "bytes" and self.most % 2**20 == 0:
            return f"{self.most // 2**20} MiB"
        return f"{self.most:,} {self.unit}"

    @property
    def message(self) -> str:
        return self.says.format(most=self.shown)


# Files and YAML

FILE = Limit("a file", 10 * 2**20, "bytes", "the file is larger than {most}: it was not read")
DEPTH = Limit("nesting of a document", 200, "levels", "it is nested more than {most} deep")
NODES = Limit("a file's mappings, lists and scalars", 250_000, "values", "it holds more than {most}")
EXPANSION = Limit(
    "what the aliases of a document add", 100_000, "values", "aliases such as `*a` expand to more than {most}"
)
BROKEN = Limit("broken documents in a file", 20, "documents", "more than {most} are broken: the rest was not read")
WRAPPING = Limit(
    "lists and objects within one another", 8, "levels", "objects are wrapped in objects more than {most} deep"
)
TEMPLATES = Limit(
    "pod templates in an object of an unknown kind",
    50,
    "templates",
    "it holds more than {most}: the others were not read",
)
PARTS = Limit(
    "an object of an unknown kind with pod templates",
    20_000,
    "values",
    "it holds more than {most}: pod templates may be left",
)
SUPPRESSIONS = Limit(
    "suppressed codes in a file", 2_000, "codes", "it suppresses more than {most}: the others are not suppressed"
)

# Programs

SCRIPT = Limit("a shell script", 2**18, "characters", "the script is longer than {most}: the rest was not followed")
COMMANDS = Limit(
    "commands that a container or batch script runs, those of functions and nested scripts included",
    20_000,
    "commands",
    "the script runs more than {most}: the rest was not followed",
)
PROGRAMS = Limit(
    "commands of a container that may start training",
    500,
    "commands",
    "it runs more than {most}: the rest was not looked at",
)
WORDS = Limit(
    "words that these commands have",
    80_000,
    "words",
    "the script's commands have more than {most}: the rest are not known",
)
EXPANDED = Limit(
    "text that its variables expand to",
    4_000_000,
    "characters",
    "the script's variables expand to more than {most}: the rest is not known",
)
SHELL_DEPTH = Limit(
    "nesting of statements, substitutions, calls and scripts",
    80,
    "levels",
    "the script is nested more than {most} deep: what lies deeper was not followed",
)
PYTHON = Limit("a Python program", 400_000, "characters", "the program is longer than {most}: it was not read")

# Kustomize

BUILD = Limit("a Kustomize build", 300_000, "values", "the build holds more than {most}: it was given up")
BUILDS = Limit(
    "all Kustomize builds of a run",
    3_000_000,
    "values",
    "all builds together hold more than {most}: this one was given up",
)
BUILD_OBJECTS = Limit(
    "objects of a Kustomize build", 5_000, "objects", "the build holds more than {most}: it was given up"
)
BUILD_STEPS = Limit(
    "objects that the instructions of a build look at",
    200_000,
    "objects",
    "the build's patches and other instructions look at more than {most}, each time counted: it was given up",
)
BASES = Limit(
    "kustomizations that include one another", 50, "levels", "kustomizations include one another more than {most} deep"
)


_Listener = Callable[[Place, str], None]
_listener: ContextVar[_Listener | None] = ContextVar("_listener", default=None)


def reached(limit: Limit, place: Place) -> None:
    """Say that a limit was met, and where."""
    tell(place, limit.message)


def tell(place: Place, message: str) -> None:
    """Say that something was left out at a place, in words."""
    listener = _listener.get()
    if listener is not None:
        listener(place, message)


@contextmanager
def heard_by(listener: _Listener) -> Iterator[None]:
    """Within it, `listener` hears of every limit that is met."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
