"""The graph of the library: causes, components, incidents, symptoms and rules, laid out in columns.

The layout is worked out here, so that it is the same in every build and can be tested: `assets/graph.js` only draws it.
Words and rules are linked through incidents; an incident is linked to the words it is filed under and to the rules that
would have found something.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from docsite import rules
from docsite.library import SINGULAR, newest_first
from docsite.text import front
from kube_gaplint import incidents, registry

WIDTH = 1215
TOP, BOTTOM = 44, 12
_ROW = 9
"""How much lower each incident stands than the one before: every other one stands in the second half of the column."""
_COLUMNS = {"cause": 116, "component": 284, "incident": 446, "symptom": 808, "rule": 948}
"""Where the dot of each column's nodes stands; its label is left of it for causes and components, else right of it."""
_SECOND = 165
"""How far the second half of the incidents stands right of the first."""
_LOWEST = 800
"""Rules and components need that much, however few incidents there are."""
_CHIPS, _CHIP = 7, 37
_SWEEPS = 12


@dataclass(slots=True)
class Node:
    """One thing of the graph. `href` is its page, from the root of the site; `told` is what it is, in a sentence."""

    id: str
    kind: str
    label: str
    told: str
    href: str
    links: list[int] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


def nodes() -> list[Node]:
    """All nodes with their links and places."""
    found = _linked()
    height = height_of(found)
    _place(found, height)
    return found


def data() -> str:
    """The graph as JSON, as `graph.js` reads it."""
    found = nodes()
    return json.dumps(
        {
            "width": WIDTH,
            "height": height_of(found),
            "columns": [
                {"kind": kind, "title": title, "x": x}
                for (kind, x), title in zip(
                    _COLUMNS.items(), ("Causes", "Components", "Incidents", "Symptoms", "Rules"), strict=True
                )
            ],
            "families": _families(found),
            "nodes": [
                {
                    "id": node.id,
                    "kind": node.kind,
                    "label": node.label,
                    "told": node.told,
                    "href": node.href,
                    "links": node.links,
                    "x": round(node.x, 1),
                    "y": round(node.y, 1),
                }
                for node in found
            ],
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def page() -> str:
    count = len(newest_first())
    head = front(
        title="Graph of the incidents",
        description="How causes, components, symptoms, rules and incidents hang together",
        hide=["navigation", "toc"],
        search={"exclude": True},
    )
    return (
        f"{head}# Graph of the incidents\n\n"
        f"{count} incidents with their causes, components and symptoms, and the rules that would have found something. "
        "Point at a name, or walk with the arrow keys, to see what it is linked to; a click, or Enter, opens its page. "
        "What is typed below stays marked.\n\n"
        '<div id="gl-graph" class="gl-graph" data-graph="../graph.json" data-root="../../">\n'
        '<form class="gl-form"><label for="gl-pick">Show what is linked to</label>\n'
        '<input id="gl-pick" list="gl-names" type="search" autocomplete="off" placeholder="hang, nccl, NCCL001 …">\n'
        '<datalist id="gl-names"></datalist></form>\n'
        '<p class="gl-told" aria-live="polite"></p>\n'
        '<div class="gl-canvas"></div>\n'
        '<noscript><p>The graph is drawn by a script. The <a href="../">list of incidents</a> holds the same links.</p>'
        "</noscript>\n</div>\n"
    )


def _linked() -> list[Node]:
    found: list[Node] = []
    at: dict[tuple[str, str], int] = {}

    def add(kind: str, name: str, label: str, told: str, href: str) -> None:
        at[kind, name] = len(found)
        found.append(Node(f"{kind}:{name}", kind, label, told, href))

    library = newest_first()
    for facet in ("causes", "components", "symptoms"):
        kind = SINGULAR[facet]
        for word, definition in incidents.vocabulary()[facet].items():
            if any(word in getattr(one, facet) for one in library):
                add(kind, word, word, f"{word}: {definition}", f"incidents/?{facet}={word}")
    for row in registry.rules():
        if row.family != "GAP":
            add("rule", row.code, row.code, f"{row.code} {row.name}: {row.summary}", f"rules/{row.code}/")
    for one in library:
        add("incident", one.id, one.id, f"{one.title} ({one.organisation}, {one.year})", f"incidents/{one.id}/")
        here = at["incident", one.id]
        ends = [("cause", word) for word in one.causes] + [("component", word) for word in one.components]
        ends += [("symptom", word) for word in one.symptoms] + [("rule", code) for code in one.rules]
        for end in ends:
            found[here].links.append(at[end])
            found[at[end]].links.append(here)
    return found


def _of(found: Sequence[Node], kind: str) -> list[Node]:
    return [node for node in found if node.kind == kind]


def height_of(found: Sequence[Node]) -> int:
    return TOP + BOTTOM + max(_ROW * len(_of(found, "incident")), _LOWEST)


def _place(found: list[Node], height: int) -> None:
    """Places: rules by family, all others in the order that brings what is linked close together."""
    room = height - TOP - BOTTOM
    _place_rules(found, room)
    for kind in ("cause", "component", "incident", "symptom"):
        _spread(_of(found, kind), room)
    for _ in range(_SWEEPS):
        for kind in ("incident", "cause", "component", "symptom"):
            column = _of(found, kind)
            wanted = {
                id(node): sum(found[link].y for link in node.links) / len(node.links) if node.links else node.y
                for node in column
            }
            _spread(sorted(column, key=lambda node: (wanted[id(node)], node.id)), room)
    for number, node in enumerate(sorted(_of(found, "incident"), key=lambda node: node.y)):
        node.x += _SECOND * (number % 2)


def _spread(column: list[Node], room: float) -> None:
    for number, node in enumerate(column):
        node.x = float(_COLUMNS[node.kind])
        node.y = TOP + room * (number + 0.5) / len(column)


def _place_rules(found: list[Node], room: float) -> None:
    """Rules in rows of chips, by family."""
    families: dict[str, list[Node]] = {}
    for node in _of(found, "rule"):
        families.setdefault(node.label.rstrip("0123456789"), []).append(node)
    rows = sum(1.15 + -(-len(members) // _CHIPS) for members in families.values())
    step, at = room / rows, float(TOP)
    for family in (name for name in rules.FAMILIES if name in families):
        at += 1.15 * step
        for number, node in enumerate(families[family]):
            node.x = _COLUMNS["rule"] + _CHIP * (number % _CHIPS)
            node.y = at + step * (number // _CHIPS + 0.35)
        at += step * -(-len(families[family]) // _CHIPS)


def _families(found: Sequence[Node]) -> list[dict[str, object]]:
    """The headings above the rules."""
    first: dict[str, Node] = {}
    for node in _of(found, "rule"):
        first.setdefault(node.label.rstrip("0123456789"), node)
    return [
        {"label": family, "x": node.x, "y": round(node.y - 17, 1), "href": f"rules/#{family.lower()}"}
        for family, node in first.items()
    ]
