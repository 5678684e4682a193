"""The incident library for people and programs: a table, cards, counts by facet, and JSON.

`library.schema.json` beside this module describes the JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from kube_gaplint import __version__, incidents
from kube_gaplint.incident_search import COUNTED, Query, counts
from kube_gaplint.report.escape import json_text
from kube_gaplint.report.layout import Palette, hanging, padded, width_of, wrapped
from kube_gaplint.report.page import incident_lines
from kube_gaplint.report.words import count

if TYPE_CHECKING:
    from kube_gaplint.incidents import Incident

SINGULAR = dict(zip(COUNTED, ("symptom", "cause", "component", "factor", "rule", "org", "year"), strict=True))
"""What a facet is called on the command line."""
_MOST = {"rules": 12, "organisations": 8}
"""Of facets with many values only so many are counted for people."""


def table_lines(found: Sequence[Incident], columns: int, palette: Palette) -> list[str]:
    """Id, year and title, one incident after the other, the title wrapped beside them."""
    if not found:
        return []
    first = max(width_of(incident.id) for incident in found)
    start = first + 8
    lines = []
    for incident in found:
        title, *more = wrapped(f"{incident.title} ({incident.organisation})", columns - start)
        lines.append(f"{palette.bold(padded(incident.id, first))}  {palette.dim(str(incident.year))}  {title}")
        lines += [" " * start + line for line in more]
    return lines


def card_lines(found: Sequence[Incident], columns: int, palette: Palette, *, line: str) -> list[str]:
    """The page of each incident; `line` is the character that parts them."""
    lines: list[str] = []
    for incident in found:
        if lines:
            lines += ["", palette.frame(line * columns), ""]
        lines += incident_lines(incident, columns, palette)
    return lines


def count_lines(found: Sequence[Incident], columns: int, palette: Palette) -> list[str]:
    """How many incidents these are, and how many of them each value of each facet has."""
    lines = [palette.bold(f"{len(found):,} of {count(len(incidents.ids()), 'incident')}")]
    for facet, values in counts(found).items():
        if values:
            shown = [f"{value} {number}" for value, number in values[: _MOST.get(facet)]]
            more = len(values) - len(shown)
            if more:
                shown.append(f"{more} more")
            between = "; " if facet == "organisations" else ", "  # their names have commas
            lines += hanging(f"{SINGULAR[facet]:<11}", between.join(shown), columns, indent=2)
    return lines


def as_json(found: Sequence[Incident], query: Query) -> str:
    """One document, in pure ASCII."""
    data = {
        "version": 1,
        "tool": {"name": "gaplint", "version": __version__},
        "query": {"words": query.words, **{facet: list(query.facets.get(facet, ())) for facet in COUNTED}},
        "total": len(incidents.ids()),
        "facets": {facet: dict(values) for facet, values in counts(found).items()},
        "incidents": [incident_data(incident) for incident in found],
    }
    return json_text(data, indent=2)


def incident_data(incident: Incident) -> dict[str, Any]:
    """An incident as plain data, with all its fields and the codes of its rules."""
    data: dict[str, Any] = msgspec.to_builtins(incident)
    data["sources"] = [{"title": title, "address": address} for title, address in incident.sources]
    return data | {"rules": list(incident.rules)}
