"""Parts of the trees that workloads, processes and other views share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kube_gaplint.facts.variables import variable
from kube_gaplint.report.show.shape import Environment, Location, Named, Noted, Object, Unresolved, Value
from kube_gaplint.report.show.tree import Branch, Row, Run
from kube_gaplint.report.show.words import Places, by_reason


def heading(owner: Object, location: Location, part: str = "") -> list[Run]:
    """The title of an object: kind and name, with API version and place."""
    name = f"{owner.namespace}/{owner.name}" if owner.namespace else owner.name
    words = f"{owner.kind} {name}".rstrip() + (f", {part}" if part else "")
    version = f"{owner.api_version}, " if owner.api_version else ""
    return [(words, "title"), (f" ({version}{location.file}:{location.line})", "where")]


def listed(items: Iterable[Noted], places: Places) -> list[Run]:
    """Several things on one line."""
    runs: list[Run] = []
    for item in items:
        runs += [(", " if runs else "", ""), (item.what, ""), *places.at(item.location)]
    return runs


def table(label: str, values: list[Named], places: Places) -> list[Row]:
    """Values one below another, under a label; nothing where there are none."""
    if not values:
        return []
    return [Row(label, [], [Row(one.name, places.value(one.value)) for one in values])]


def amounts(label: str, values: list[Named], places: Places) -> list[Row]:
    """Values on one line, under a label; nothing where there are none."""
    if not values:
        return []
    runs: list[Run] = []
    for one in values:
        runs += [(", " if runs else "", ""), (f"{one.name} ", ""), *places.value(one.value)]
    return [Row(label, runs)]


def unknown_row(value: Value, names: list[str], places: Places) -> Row:
    """What is unknown for one reason, be it one value or several."""
    if len(names) == 1:
        return Row(names[0], places.unknown(value))
    return Row("", [(", ".join(names), ""), (": ", ""), *places.unknown(value)])


def not_seen(notes: Sequence[str], unresolved: Sequence[Unresolved], places: Places) -> list[Branch]:
    """The branch for what could not be seen; a note that says the same as an unresolved reference is enough."""
    rows = [Row("", [(note, "")]) for note in notes]
    said = set(notes)
    for one in unresolved:
        if f"the {one.what} is not in the given paths" not in said:
            rows.append(Row("", [(f"{one.what}: {one.reason}", ""), *places.at(one.location)]))
    return [Branch([("not seen", "unknown")], rows)] if rows else []


def given(places: Places, *rows: tuple[str, Value, Callable[[Any], str]]) -> Iterator[Row]:
    """Rows for values that are there."""
    for label, value, form in rows:
        if value.state != "absent":
            yield Row(label, places.value(value, form))


def variables(environment: Environment, places: Places) -> list[Row]:
    """Variables with a known value one a line, the others by the reason why theirs is not known.

    Those that decide how a run fails come first.
    """
    known, unknown = by_reason(environment.variables)
    known.sort(key=lambda one: variable(one.name) is None)
    rows = [Row(one.name, places.value(one.value, absent="unset")) for one in known]
    return rows + [unknown_row(value, names, places) for value, names in unknown]
