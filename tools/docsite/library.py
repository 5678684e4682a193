"""The incident library: a page for each incident, and the list that a reader narrows down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

from docsite import addresses, replays, rules
from docsite.text import escaped, front, relisted
from kube_gaplint import incidents
from kube_gaplint.incidents import FACETS, Incident
from kube_gaplint.report.page import VERIFICATION

SINGULAR = {"symptoms": "symptom", "causes": "cause", "components": "component", "factors": "factor"}
TITLES = {
    "symptoms": "What was seen",
    "causes": "Why it could happen",
    "components": "Where it happened",
    "factors": "What made it worse",
}
_STORY = (
    ("Symptom", "symptom"),
    ("Trigger", "trigger"),
    ("Cause", "cause"),
    ("How it was found", "detection"),
    ("What was done", "remediation"),
    ("Afterwards", "follow_up"),
    ("Lesson", "lesson"),
    ("Note", "note"),
)


@cache
def newest_first() -> tuple[Incident, ...]:
    return tuple(sorted(incidents.all_incidents(), key=lambda one: (-one.year, one.id.lower())))


def pages(root: Path) -> dict[str, str]:
    """All pages about incidents but the graph."""
    found = {addresses.incident(one.id): _page(one, root) for one in newest_first()}
    return {"incidents/index.md": _index(), **found}


def navigation() -> list[object]:
    """The part of the navigation that leads to incidents, by year."""
    years: dict[int, list[object]] = {}
    for one in newest_first():
        years.setdefault(one.year, []).append({one.id: addresses.incident(one.id)})
    return ["incidents/index.md", "incidents/graph.md", *({str(year): listed} for year, listed in years.items())]


def search_page(facet: str, word: str) -> str:
    """The list of incidents that are filed under a word, from another page of the library."""
    return f"index.md?{facet}={word}"


# One incident


def _page(one: Incident, root: Path) -> str:
    page = addresses.incident(one.id)
    when = " to ".join(one.dates) if one.dates else str(one.year)
    parts = [
        front(title=f"{one.id}: {one.title}", description=one.lesson or one.symptom),
        f"# {escaped(one.title)}\n",
        f"`{one.id}` · {escaped(one.organisation)} · {when}\n{{ .gl-facts }}\n",
        _filed(one),
    ]
    parts.append("## What happened\n")
    for title, field in _STORY:
        text = getattr(one, field)
        if text:
            parts.append(f"{title}\n:   {rules.linked(escaped(text), page)}\n")
    parts += [_visible(one, page), _not_visible(one), replays.shown(one.id, root, page), _sources(one)]
    return "\n".join(part for part in parts if part)


def _filed(one: Incident) -> str:
    """The words that it is filed under, each leading to its like."""
    definitions = incidents.vocabulary()
    lines = []
    for facet, words in one.facets().items():
        told = definitions[facet]
        chips = " ".join(
            f'[{word}]({search_page(facet, word)}){{ .gl-chip .gl-{facet} title="{_quoted(told[word])}" }}'
            for word in words
        )
        if chips:
            lines.append(f"{TITLES[facet]}: {chips}  ")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return escape(text).replace("{", "&#123;").replace("}", "&#125;")


def _visible(one: Incident, page: str) -> str:
    if not one.visible:
        return "## What a manifest would have shown\n\nNothing: see below.\n"
    rows = ["## What a manifest would have shown\n", "| Condition | Where | Rules |", "|---|---|---|"]
    for condition in one.visible:
        links = ", ".join(rules.linked(code, page) for code in condition.rules) or "none yet"
        rows.append(f"| {escaped(condition.condition)} | {escaped(condition.where)} | {links} |")
    check = f"`gaplint explain {one.id} --check .` says of each condition whether your files show it."
    return "\n".join(rows) + f"\n\n{check}\n"


def _not_visible(one: Incident) -> str:
    if not one.not_visible:
        return ""
    return "## What no manifest shows\n\n" + "".join(f"- {escaped(text)}\n" for text in one.not_visible)


def _sources(one: Incident) -> str:
    lines = [f"- [{escaped(title)}]({address})\n" for title, address in one.sources]
    read = VERIFICATION.get(one.verification, one.verification)
    return "## Sources\n\n" + "".join(lines) + f"\nThe figures are the reports' own; {read}.\n"


# The list


def _index() -> str:
    found = newest_first()
    head = front(
        title="Incidents",
        description="Public reports of what failures cost training runs",
        hide=["navigation", "toc"],
        search={"exclude": True},
    )
    return (
        f"{head}# Incidents\n\n"
        f"{len(found)} public reports of training runs that hung, lost work or stayed dead: what happened, why, and "
        "what a manifest would have shown. [The graph](graph.md) shows how they hang together; "
        "[`gaplint incidents`](../commands.md#incidents) searches them in the terminal.\n\n"
        f'<div id="gl-library" class="gl-library">\n{_form(found)}\n<div>\n'
        '<p class="gl-count"><output for="gl-query" aria-live="polite">'
        f'{len(found)} incidents</output> <button type="button" hidden>Show all</button></p>\n'
        f'<ul class="gl-list">\n{"".join(map(_entry, found))}</ul>\n</div>\n</div>\n'
    )


def _form(found: Iterable[Incident]) -> str:
    found = [*found]
    facets = "".join(
        _facet(facet, TITLES[facet], Counter(word for one in found for word in getattr(one, facet)), definitions)
        for facet, definitions in incidents.vocabulary().items()
    )
    years = Counter(str(one.year) for one in found)
    codes = sorted({code for one in found for code in one.rules})
    options = "".join(f'<option value="{code}">{code}</option>' for code in codes)
    return (
        '<form class="gl-form" role="search">\n'
        '<label for="gl-query">Search</label>\n'
        '<input id="gl-query" name="q" type="search" autocomplete="off" placeholder="hang nccl, checkpoint, meta …">\n'
        '<label for="gl-rules">A rule would have found something</label>\n'
        f'<select id="gl-rules" name="rules"><option value="">any</option>{options}</select>\n'
        f"{facets}{_facet('years', 'Year', years, dict.fromkeys(sorted(years, reverse=True), ''))}"
        "</form>"
    )


def _facet(name: str, title: str, counts: Counter[str], definitions: dict[str, str]) -> str:
    words = [word for word in definitions if counts[word]]
    if name != "years":
        words.sort(key=lambda word: (-counts[word], word))
    choices = "".join(
        f'<label title="{escape(definitions[word])}"><input type="checkbox" name="{name}" value="{escape(word)}"> '
        f'<span>{escape(word)}</span> <span class="gl-number">{counts[word]}</span></label>\n'
        for word in words
    )
    opened = " open" if name in ("symptoms", "causes") else ""
    group = f"<fieldset><legend>{title}</legend>\n{choices}</fieldset>"
    return f"<details{opened}><summary>{title}</summary>\n{group}</details>\n"


def _entry(one: Incident) -> str:
    data = {**one.facets(), "rules": one.rules, "years": (str(one.year),)}
    attributes = "".join(f' data-{name}="{escape(" ".join(words))}"' for name, words in data.items())
    chips = "".join(
        f'<span class="gl-chip gl-{facet}">{word}</span> ' for facet in ("symptoms", "causes") for word in data[facet]
    )
    return (
        f'<li{attributes} data-text="{escape(_words_of(one))}">\n'
        f'<a href="{one.id}/">{escape(one.title)}</a>\n'
        f'<p class="gl-facts">{one.id} · {escape(one.organisation)} · {one.year}</p>\n'
        f"<p>{_code(one.symptom)}</p>\n<p>{chips}</p></li>\n"
    )


def _code(text: str) -> str:
    """Plain text as HTML, code in backticks as such."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 and at < len(parts) - 1 else part for at, part in enumerate(parts))


def _words_of(one: Incident) -> str:
    """All that a search looks through."""
    story = (getattr(one, field) for _, field in _STORY)
    shown = (f"{condition.condition} {condition.where}" for condition in one.visible)
    filed = (word for words in one.facets().values() for word in words)
    return " ".join([one.id, one.title, one.organisation, *story, *shown, *filed, *one.systems, *one.rules]).lower()


def not_visible() -> str:
    """What no manifest shows, as the incidents tell it: a list for the page about that."""
    lines = []
    for one in newest_first():
        for text in one.not_visible:
            lines.append(f"- {escaped(text)} ([{one.id}]({addresses.incident(one.id)}))")
    return relisted("\n".join(lines))


assert set(SINGULAR) == set(FACETS) == set(TITLES), "a facet of the library has no title on the site"
