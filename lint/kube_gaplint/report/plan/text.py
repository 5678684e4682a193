"""A plan for people: its figures in sections, with sources and formulas, and the curve."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kube_gaplint.model.plan import Plan
from kube_gaplint.report.escape import guarded, visible
from kube_gaplint.report.layout import Palette, padded, width_of, wrapped
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.plan import chart
from kube_gaplint.report.plan.rows import Row, headlines, place, sections

_WIDEST = 110
_LABEL = 30
_VALUE = 10


def render(plans: list[Plan], options: RenderOptions) -> str:
    """All plans, one under the other. Without box characters in the encoding there is no curve."""
    lines: list[str] = []
    for plan in plans:
        if lines:
            lines.append("")
        lines += _plan(plan, options)
    return "".join(f"{guarded(line)}\n" for line in lines)


def lacks_plot(plans: list[Plan], options: RenderOptions) -> bool:
    """Whether a curve is missing because the library that draws it is not installed."""
    from importlib.util import find_spec

    return not options.ascii_only and any(plan.curve for plan in plans) and find_spec("plotille") is None


def _plan(plan: Plan, options: RenderOptions) -> Iterator[str]:
    palette, columns = Palette(options.color), min(options.width, _WIDEST)
    if plan.title:
        at = f" ({place(plan.home)})" if plan.home is not None else ""
        title, at = (visible(part, ascii_only=options.ascii_only) for part in (plan.title, at))
        yield palette.bold(title) + palette.dim(at)
    for sentence in headlines(plan):
        yield from wrapped(visible(sentence, ascii_only=options.ascii_only), columns)
    for section in sections(plan):
        yield palette.frame(section.title)
        for row, rows in _alike(section.rows):
            if len(rows) > 2:
                labels = ", ".join(one.label for one in rows)
                text = visible(f"{labels}: {row.value}", ascii_only=options.ascii_only)
                yield from (f"  {palette.dim(line)}" for line in wrapped(text, columns - 2))
            else:
                for one in rows:
                    yield from _row(one, columns, palette, options.ascii_only)
    for note in plan.notes:
        first, *rest = wrapped(visible(note, ascii_only=options.ascii_only), columns - 8)
        yield f"  Note: {first}"
        yield from (f"        {line}" for line in rest)
    if plan.curve is not None and not options.ascii_only:
        try:
            lines = chart.chart_lines(plan.curve, columns, options.color)
        except chart.PlotMissing:
            return
        yield ""
        yield from lines


def _alike(rows: tuple[Row, ...]) -> Iterator[tuple[Row, list[Row]]]:
    """Rows that follow one another and are unknown for the same reason; others by themselves."""
    for _, group in groupby(rows, lambda row: row.value if row.tone == "unknown" else id(row)):
        alike = list(group)
        yield alike[0], alike


def _row(row: Row, columns: int, palette: Palette, ascii_only: bool) -> Iterator[str]:
    """A label, its value, and behind it the source, which goes on below where it is too long."""
    value, source = (visible(text, ascii_only=ascii_only) for text in (row.value, row.source))
    room = columns - _LABEL - 2
    paint = {"good": palette.good, "bad": palette.bad, "unknown": palette.dim}.get(row.tone, str)
    values = wrapped(value, room)
    beside = max(width_of(values[-1]), _VALUE if len(values) == 1 else 0) + 2
    sources = wrapped(source, room) if source and row.tone != "unknown" else []
    last = paint(values[-1])
    if sources and beside + width_of(source) <= room:
        last += " " * (beside - width_of(values[-1])) + palette.dim(source)
        sources = []
    lines = [*map(paint, values[:-1]), last, *map(palette.dim, sources)]
    yield f"  {padded(row.label, _LABEL)}{lines[0]}"
    yield from (f"{'':{_LABEL + 2}}{line}" for line in lines[1:])
