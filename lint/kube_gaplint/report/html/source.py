"""The source lines of a finding as HTML: the lines that the report for a terminal shows, with the spans marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kube_gaplint.findings import Finding
from kube_gaplint.report.html.markup import Content, Html, place, scrolling, tag
from kube_gaplint.report.snippet import (
    WHOLE_LINES,
    Mark,
    SourceLine,
    focus_of,
    grouped_marks,
    lines_to_show,
    location,
)
from kube_gaplint.report.words import count


def frames(finding: Finding) -> Html:
    """The places of a finding, one table a file."""
    groups, rest = grouped_marks(finding)
    shown = [_frame(marks) for marks in groups]
    more = tag("p", f"and {count(rest, 'more place')}", class_="more") if rest else None
    return tag("div", shown, more, class_="source")


def _frame(marks: Sequence[Mark]) -> Html:
    source = marks[0].place.source
    rows: list[Html] = []
    previous = 0
    for number in lines_to_show(marks)[0]:
        if previous and number > previous + 1:
            rows.append(tag("tr", tag("td", "⋮", class_="number"), tag("td"), class_="gap"))
        previous = number
        line = SourceLine.read(source, number, focus_of(marks, number))
        rows.append(
            tag("tr", tag("td", str(number), class_="number"), tag("td", tag("code", _marked(line, number, marks))))
        )
        rows += [
            tag("tr", tag("td", class_="number"), tag("td", label), class_="label")
            for mark in marks
            if mark.start.line == number and (label := _label(mark))
        ]
    return tag(
        "div",
        place(location(marks[0].place)),
        scrolling("Source lines", tag("table", rows, class_="lines")),
        class_="frame",
    )


def _label(mark: Mark) -> Content:
    """What is said of a place below its first line; None where there is nothing to say."""
    hidden = mark.last - mark.start.line
    more = f"and {count(hidden, 'more line')}" if hidden >= WHOLE_LINES else ""
    words = "; ".join(filter(None, (mark.label, more)))
    return tag("span", words, class_="first" if mark.primary else "second") if words else None


def _marked(line: SourceLine, number: int, marks: Sequence[Mark]) -> list[Html]:
    """The cells of a line, those of a place in a mark of its own; the finding's own place wins."""
    classes = [""] * len(line.cells)
    for mark in sorted(marks, key=lambda one: one.primary):
        start, end, last = mark.start, mark.end, mark.last
        if last - start.line >= WHOLE_LINES:
            last = start.line
        if not start.line <= number <= last:
            continue
        begin = start.column - 1 - line.skipped if number == start.line else line.indent
        stop = end.column - 1 - line.skipped if number == end.line else len(line.cells)
        stop = max(stop, begin + 1)
        for at in range(max(begin, 0), min(stop, len(line.cells))):
            classes[at] = "first" if mark.primary else "second"
    parts: list[Html] = [tag("span", "…", class_="cut")] if line.skipped else []
    at = 0
    for kind, group in groupby(classes):
        width = len([*group])
        text = "".join(line.cells[at : at + width])
        parts.append(tag("mark", text, class_=kind) if kind else tag("span", text))
        at += width
    return [*parts, tag("span", "…", class_="cut")] if line.more else parts
