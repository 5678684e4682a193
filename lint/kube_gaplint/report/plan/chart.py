"""The checkpoint curve in the terminal, drawn with Braille dots by plotille."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kube_gaplint.model.plan import Curve
from kube_gaplint.model.scale import duration
from kube_gaplint.report.plan.axes import Axes, axes_of

if TYPE_CHECKING:
    from plotille import Canvas

_HIGH = 12
_GUTTER = 8
_WIDEST = 76


class PlotMissing(Exception):
    """plotille is not installed."""


def chart_lines(curve: Curve, columns: int, color: bool) -> list[str]:
    """The curve with its axes, at most so many columns wide. Raises PlotMissing."""
    try:
        from plotille import Canvas
    except ImportError as error:
        raise PlotMissing from error
    axes = axes_of(curve)
    wide = max(20, min(columns - _GUTTER - 4, _WIDEST))
    canvas = Canvas(wide, _HIGH, 0.0, 0.0, 1.0, axes.top, mode="names")
    dots = wide * 2

    def tinted(name: str) -> str | None:
        return name if color else None

    before: tuple[float, float] | None = None
    for number in range(dots + 1):
        part = number / dots
        share = curve.lost(axes.at(part))
        if before is not None and max(share, before[1]) <= axes.top:
            canvas.line(*before, part, share, color=tinted("blue"))
        before = part, share
    if curve.now is not None:
        _mark(canvas, axes, curve, curve.now, "now", tinted("red"))
    _mark(canvas, axes, curve, curve.best, "best", tinted("green"))
    labels = {round((1 - share / axes.top) * (_HIGH - 1)): axes.share_shown(share) for share in axes.shares()}
    lines = ["  share of time lost"]
    for number, row in enumerate(str(canvas.plot()).splitlines()):
        lines.append(f"{labels.get(number, ''):>{_GUTTER}} │{row.replace(chr(0x2800), ' ').rstrip()}")
    return [*lines, f"{'':>{_GUTTER}} └{'─' * wide}", _ticks(axes, wide)]


def _mark(canvas: Canvas, axes: Axes, curve: Curve, interval: float, name: str, tint: str | None) -> None:
    """A cross on the line with its name: above the line for today, below it for the best."""
    part, share = axes.along(interval), curve.lost(interval)
    row = axes.top / _HIGH
    where = share + 1.2 * row if name == "now" else share - 1.2 * row
    if not 0 <= where < axes.top:
        where = share - 1.2 * row if name == "now" else share + 1.2 * row
    start = min(max(part - len(name) / 2 / canvas.width, 0.0), 1.0 - (len(name) + 0.5) / canvas.width)
    canvas.text(start, where, name, color=tint)
    canvas.text(min(part, 1.0 - 0.6 / canvas.width), min(share, axes.top * 0.999), "●", color=tint)


def _ticks(axes: Axes, wide: int) -> str:
    """The labels below the axis."""
    line = [" "] * (wide + 8)
    for interval in axes.intervals(10 / wide):
        label = duration(interval)
        start = max(round(axes.along(interval) * wide) - len(label) // 2, 0)
        if start + len(label) <= len(line) and all(
            mark == " " for mark in line[max(start - 1, 0) : start + len(label)]
        ):
            line[start : start + len(label)] = label
    return f"{'':>{_GUTTER}}  {''.join(line).rstrip()}"
