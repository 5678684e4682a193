"""Plain values in words: numbers, amounts, durations, and where each value comes from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.model.scale import duration
from kube_gaplint.report.show.shape import Location, Named, Plain, Reference, Value
from kube_gaplint.report.show.tree import Run

Format: TypeAlias = Callable[[Plain], str]

_LONGEST = 300
"""Characters of a value that are shown; its length is told where it is longer."""
_DEFAULT = lazy_re.compile(r"(?:'s|(?<=s)') default\b(?: for|:)?")
_CAPITAL = lazy_re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def text(value: Plain) -> str:
    """A value as people read it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(text(item) for item in value) if value else "none"
    if isinstance(value, dict):
        return amount(value)
    if not value or value != value.strip():
        return f'"{value}"'
    return cut(value)


def cut(value: str) -> str:
    """A text of bearable length."""
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}… ({len(value):,} characters)"


def amount(value: dict[str, Plain]) -> str:
    """`500 steps`, `1 epoch`."""
    number, unit = value.get("amount"), str(value.get("unit", ""))
    if unit == "fraction" and isinstance(number, int | float):
        return f"{100 * number:g} % of the run"
    return f"{text(number)} {unit[:-1] if number == 1 and unit.endswith('s') else unit}"


def seconds(value: Plain) -> str:
    """`600 s (10 min)`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text(value)
    return f"{value:,g} s" if abs(value) < 120 else f"{value:,} s ({duration(float(value))})"


def days(value: Plain) -> str:
    """`4.17 days`."""
    if not isinstance(value, int | float):
        return text(value)
    return "1 day" if value == 1 else f"{value:,.3g} days"


def times(value: Plain) -> str:
    """A number of restarts."""
    if value == "unbounded":
        return "without bound"
    if value == 0:
        return "never"
    return "once" if value == 1 else f"{text(value)} times"


def failures(value: Plain) -> str:
    """A restart budget of the whole."""
    if value == "unbounded":
        return "any number of failures"
    if value == 0:
        return "no failure"
    return "1 failure" if value == 1 else f"{text(value)} failures"


def words_of(argv: Plain) -> str:
    """A command line; a script in it is told by its length."""
    if not isinstance(argv, list):
        return text(argv)
    return " ".join(_word(str(word)) for word in argv) or "none"


def _word(word: str) -> str:
    lines = word.strip().count("\n")
    if lines:
        return f"<a script of {lines + 1:,} lines>"
    word = cut(word)
    return f"'{word}'" if not word or re.search(r"\s", word) else word


def spaced(name: str) -> str:
    """A name of the JSON in words: `killOnBadExit` is `kill on bad exit`."""
    return _CAPITAL.sub(" ", name).lower() if name.isidentifier() and not name.isupper() else name


class Places(Struct):
    """How places are called below one object: its own file by its last name, other files by their path.

    Places of the object and its parts as a whole say nothing about a value and are left out.
    """

    file: str
    whole: set[Location] = field(default_factory=set)
    _told: dict[str, set[Location]] = field(default_factory=dict)
    """Where each reference stands that was named before, by its note."""

    def name(self, location: Location) -> str:
        own = posixpath.basename(self.file.replace("\\", "/"))
        if location.file == self.file:
            return f"{own}:{location.line}"
        return f"./{location.file}:{location.line}" if location.file == own else f"{location.file}:{location.line}"

    def add(self, *locations: Location | None) -> None:
        self.whole.update(location for location in locations if location is not None)

    # Values

    def value(self, value: Value, form: Format = text, absent: str = "none") -> list[Run]:
        """A value with where it comes from: `8 (job.yaml:12)`, `Never (default: Kubernetes)`, `unknown: …`."""
        if value.state == "unknown":
            return self.unknown(value)
        if value.state == "absent":
            said = absent if not value.note else f"{absent} ({value.note})"
            return [(said, "")]
        shown: Run = ("hidden, it looks like a credential", "where") if value.hidden else (form(value.value), "")
        return [shown, *self.source(value)]

    def unknown(self, value: Value) -> list[Run]:
        known = f", it begins with {cut(value.prefix.strip())}" if value.prefix.strip() else ""
        return [("unknown", "unknown"), (f": {cut(value.reason)}{known}", ""), *self.source(value)]

    def source(self, value: Value) -> list[Run]:
        """Where a value comes from, in brackets; empty where there is nothing to say."""
        parts: list[str] = []
        at = value.location
        if value.via == "default":
            parts.append(f"default: {_owner(value.note)}" if value.note else "default")
            at = None
        elif value.via == "injected":
            parts.append(f"injected by {value.note}" if value.note else "injected")
        elif value.via == "derived":
            parts.append(f"derived: {value.note}" if value.note else "derived")
        elif value.note:
            parts.append(value.note)
        if at is not None and at not in self.whole:
            parts.append(self.name(at))
        parts.extend(map(self.way, value.through))
        return [(f" ({', '.join(parts)})", "where")] if parts else []

    def way(self, one: Reference) -> str:
        """A reference on the way to a value, with its place the first time, and where others are named alike."""
        told = self._told.setdefault(one.note, set())
        known = told == {one.location}
        told.add(one.location)
        return f"through {one.note}" if known else f"through {one.note} at {self.name(one.location)}"

    def at(self, location: Location | None) -> list[Run]:
        """A place in brackets."""
        return [] if location is None or location in self.whole else [(f" ({self.name(location)})", "where")]


def _owner(note: str) -> str:
    """`Kubernetes' default` is `Kubernetes`, after the word default."""
    found = _DEFAULT.search(note)
    if found is None:
        return note.removesuffix(" by default")
    rest = note[found.end() :].lstrip(" ,")
    return f"{note[: found.start()]}{', ' if rest else ''}{rest}"


def by_reason(values: Iterable[Named]) -> tuple[list[Named], list[tuple[Value, list[str]]]]:
    """The values apart from those that are unknown, and these by their reason and place, with their names."""
    seen: dict[tuple[object, ...], tuple[Value, list[str]]] = {}
    rest = []
    for one in values:
        value = one.value
        if value.state != "unknown" or value.prefix:
            rest.append(one)
            continue
        key = (value.reason, value.via, value.note, value.location, value.through)
        seen.setdefault(key, (value, []))[1].append(one.name)
    return rest, list(seen.values())
