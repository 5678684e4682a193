"""Pages set for a terminal: a rule's page, written in Markdown, and an incident.

Of Markdown these are understood: headings, fenced blocks, lists, paragraphs, and links as `[text](address)`; what
else there is stays as it was written.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from kube_gaplint import lazy_re
from kube_gaplint.report.layout import Palette, hanging, wrapped

if TYPE_CHECKING:
    from kube_gaplint.incidents import Incident

_FENCE = lazy_re.compile(r"^\s*(```|~~~)")
_HEADING = lazy_re.compile(r"^(#+)\s+(.*)$")
_ITEM = lazy_re.compile(r"^(\s*)([-*]|\d+\.)\s+(.*)$")
_LINK = lazy_re.compile(r"\[([^\]]+)\]\((\S+?)\)")
_CODE = lazy_re.compile(r"`([^`]+)`")

VERIFICATION = {
    "full": "the primary source was read",
    "excerpt": "excerpts of the primary source were read",
    "abstract": "the abstract of the primary source was read",
    "secondary": "told by secondary sources",
}


EVIDENCE = {
    "direct": "Direct: an incident shows this very condition",
    "derived": "Derived: it follows from an incident and from how the software behaves",
    "thin": "Thin: it rests on a single report",
    "facts": "Facts: it follows from how the software reads the setting",
}
"""How much evidence a rule has, by its `evidence_kind`."""


def page_lines(page: str, columns: int, palette: Palette) -> list[str]:
    """A page of Markdown in lines."""
    lines: list[str] = []
    block: list[str] = []

    def close() -> None:
        if block:
            lines.extend(_block(block, columns, palette))
            block.clear()

    fenced = False
    for line in inspect.cleandoc(page).splitlines():
        if _FENCE.match(line):
            close()
            fenced = not fenced
        elif fenced:
            lines.append(f"    {palette.second(line)}" if line else "")
        elif heading := _HEADING.match(line):
            close()
            lines.append(palette.bold(heading[2]))
        elif not line.strip():
            close()
            lines.append("")
        else:
            if _ITEM.match(line):
                close()
            block.append(line)
    close()
    return lines


def _block(block: list[str], columns: int, palette: Palette) -> list[str]:
    """A paragraph or a list item, wrapped."""
    item = _ITEM.match(block[0])
    if item:
        text = _LINK.sub(r"\1 (\2)", " ".join([item[3], *(line.strip() for line in block[1:])]))
        lines = hanging(f"{item[2]} ", text, columns, indent=2 + len(item[1]))
    else:
        text = _LINK.sub(r"\1 (\2)", " ".join(line.strip() for line in block))
        lines = [f"  {line}" for line in wrapped(text, columns - 2)]
    return [_CODE.sub(lambda match: palette.second(f"`{match[1]}`"), line) for line in lines]


def incident_head(incident: Incident, columns: int, palette: Palette, *, indent: int = 0) -> list[str]:
    """An incident in short: id, title, who and when, the best source."""
    title = f"{incident.title} ({incident.organisation}, {incident.year})"
    first, *rest = hanging(f"{incident.id}  ", title, columns, indent=indent)
    lines = [first.replace(incident.id, palette.bold(incident.id), 1), *rest]
    return lines + [" " * (indent + len(incident.id) + 2) + address for _, address in incident.sources[:1]]


def incident_lines(incident: Incident, columns: int, palette: Palette) -> list[str]:
    """An incident's page."""
    when = " to ".join(incident.dates) or str(incident.year)
    lines = [f"{palette.bold(incident.id)}  {palette.dim(f'{incident.organisation}, {when}')}"]
    lines += [palette.bold(line) for line in wrapped(incident.title, columns)]
    for title, text in (
        ("What happened", incident.symptom),
        ("Trigger", incident.trigger),
        ("Cause", incident.cause),
        ("How it was found", incident.detection),
        ("What was done", incident.remediation),
        ("Afterwards", incident.follow_up),
        ("Lesson", incident.lesson),
        ("Note", incident.note),
    ):
        if text:
            lines += ["", palette.bold(title), *(f"  {line}" for line in wrapped(text, columns - 2))]
    if incident.visible:
        lines += ["", palette.bold("What a manifest would have shown")]
        for condition in incident.visible:
            rules = f" ({', '.join(condition.rules)})" if condition.rules else ""
            lines += hanging("- ", f"{condition.condition}{rules}", columns, indent=2)
            lines += [f"    {palette.dim(line)}" for line in wrapped(f"in: {condition.where}", columns - 4)]
    if incident.not_visible:
        lines += ["", palette.bold("What no manifest shows")]
        for text in incident.not_visible:
            lines += hanging("- ", text, columns, indent=2)
    lines += ["", palette.bold("Filed under")]
    for facet, words in (*incident.facets().items(), ("systems", incident.systems)):
        if words:
            lines += hanging(f"{facet:<12}", ", ".join(words), columns, indent=2)
    lines += ["", palette.bold("Sources")]
    for name, address in incident.sources:
        lines += [*hanging("- ", name, columns, indent=2), f"    {address}"]
    verified = VERIFICATION.get(incident.verification, incident.verification)
    return [*lines, *(f"  {palette.dim(line)}" for line in wrapped(f"Verification: {verified}.", columns - 2))]
