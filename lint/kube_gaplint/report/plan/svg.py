"""The checkpoint curve as SVG: what is lost at each interval between saves, the optimum, and today's interval.

A file holds all that it needs: no script, no font, no address. Its colours follow the reader's light or dark mode. A
page takes `STYLE` into its own style sheet, and may give the variables `--gc-*` other values.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from kube_gaplint.model.plan import Curve, Plan
from kube_gaplint.model.scale import duration
from kube_gaplint.report.escape import encodable, visible
from kube_gaplint.report.plan.axes import Axes, axes_of, interval_shown, percent

WIDTH, HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 24.0, 62.0, 52.0
_WIDE, _HIGH = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
_POINTS = 160
_LETTER = 6.9
"""Width of a letter of a label, about."""
_CLOSE = 190.0
"""Points that are closer than this have their labels below one another."""

STYLE = """\
.gaplint-curve{--gc-paper:#ffffff;--gc-ink:#1f2328;--gc-soft:#59636e;--gc-grid:#d9dee4;--gc-line:#0969da;\
--gc-flat:#0969da1f;--gc-good:#1a7f37;--gc-fair:#bc7a00;\
--gc-bad:#cf222e;font:12px system-ui,-apple-system,"Segoe UI",sans-serif;\
max-width:100%;height:auto}
@media (prefers-color-scheme:dark){.gaplint-curve{--gc-paper:#0d1117;--gc-ink:#e6edf3;--gc-soft:#9198a1;\
--gc-grid:#30363d;--gc-line:#58a6ff;--gc-flat:#58a6ff26;--gc-good:#3fb950;--gc-fair:#e3b341;--gc-bad:#ff7b72}}
.gaplint-curve text{fill:var(--gc-soft)}
.gaplint-curve .gc-title{fill:var(--gc-ink);font-size:14px;font-weight:600}
.gaplint-curve .gc-label{fill:var(--gc-ink);font-weight:600;paint-order:stroke;stroke:var(--gc-paper);stroke-width:4px;\
stroke-linejoin:round}
.gaplint-curve .gc-grid{stroke:var(--gc-grid);stroke-width:1}
.gaplint-curve .gc-paper{fill:var(--gc-paper)}
.gaplint-curve .gc-flat{fill:var(--gc-flat)}
.gaplint-curve .gc-line{fill:none;stroke:var(--gc-line);stroke-width:2.5;stroke-linejoin:round}
.gaplint-curve .gc-part{fill:none;stroke:var(--gc-soft);stroke-width:1.2;stroke-dasharray:4 4}
.gaplint-curve .gc-dot{stroke:var(--gc-paper);stroke-width:2}
.gaplint-curve .gc-best{fill:var(--gc-line)}
.gaplint-curve .gc-good{fill:var(--gc-good)}
.gaplint-curve .gc-fair{fill:var(--gc-fair)}
.gaplint-curve .gc-bad{fill:var(--gc-bad)}"""


def checkpoint_curve(plan: Plan, *, inline: bool = True) -> str:
    """The curve of a plan as one `<svg>` element; empty where what it needs is not known.

    `inline`: for a page, which has `STYLE` in its style sheet and a background of its own. Else it is a whole file.
    """
    curve = plan.curve
    if curve is None:
        return ""
    title = escape(encodable(visible(plan.title or "Time between saves")))
    told = escape(_told(plan, curve))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gaplint-curve" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{told}">',
        f"<title>{title}</title>",
    ]
    if not inline:
        parts += [f"<style>{STYLE}</style>", f'<rect class="gc-paper" width="{WIDTH}" height="{HEIGHT}"/>']
    parts += [
        f'<text class="gc-title" x="16" y="24">{title}</text>',
        '<text x="16" y="42">share of time lost to saving, repeating lost work and starting again</text>',
        *_parts(plan, curve, axes_of(curve)),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _told(plan: Plan, curve: Curve) -> str:
    """The picture in words, for those who do not see it."""
    best = f"the least is lost with a save every {duration(curve.best)}: {percent(curve.lost(curve.best))}"
    if curve.now is None:
        return f"Share of time lost over the time between saves: {best}."
    now = f"now {duration(curve.now)}: {percent(curve.lost(curve.now))}"
    flat = f"at most {plan.within:.0%} above the least from {duration(curve.flat[0])} to {duration(curve.flat[1])}"
    return f"Share of time lost over the time between saves: {best}; {now}; {flat}."


def _parts(plan: Plan, curve: Curve, axes: Axes) -> list[str]:
    parts = []
    for share in axes.shares():
        y = _y(share, axes)
        parts.append(f'<line class="gc-grid" x1="{_LEFT:.1f}" x2="{_LEFT + _WIDE:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{axes.share_shown(share)}</text>')
    low, high = (min(max(edge, axes.left), axes.right) for edge in curve.flat)
    x, wide = _x(low, axes), _x(high, axes) - _x(low, axes)
    parts.append(f'<rect class="gc-flat" x="{x:.1f}" y="{_TOP:.1f}" width="{wide:.1f}" height="{_HIGH:.1f}"/>')
    parts.append(
        f'<text x="{x + wide / 2:.1f}" y="{_TOP + 14:.1f}" text-anchor="middle">'
        f"at most {100 * plan.within:g} % above the least</text>"
    )
    for interval in axes.intervals(0.09):
        x = _x(interval, axes)
        parts.append(
            f'<line class="gc-grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP + _HIGH:.1f}" y2="{_TOP + _HIGH + 5:.1f}"/>'
            f'<text x="{x:.1f}" y="{_TOP + _HIGH + 19:.1f}" text-anchor="middle">{duration(interval)}</text>'
        )
    parts.append(f'<text x="{_LEFT + _WIDE / 2:.1f}" y="{HEIGHT - 12}" text-anchor="middle">time between saves</text>')
    parts += _part(lambda t: curve.blocking / (t + curve.blocking), curve, axes, "saving", 1.0)
    parts += _part(lambda t: curve.lost(t) - curve.blocking / (t + curve.blocking), curve, axes, "failures", 0.0)
    parts.append(f'<path class="gc-line" d="{_path(curve.lost, axes)}"/>')
    parts += _points(curve, axes)
    return parts


def _part(share: Callable[[float], float], curve: Curve, axes: Axes, name: str, end: float) -> list[str]:
    """A thin line of what one cause alone takes, with its name at that end of the axis where it is small (0 or 1)."""
    path = _path(share, axes)
    if not path:
        return []
    parts = [f'<path class="gc-part" d="{path}"/>']
    y = _y(share(axes.at(end)), axes)
    if y - _y(curve.lost(axes.at(end)), axes) > 24:  # there is room between the two lines
        x, anchor = (_LEFT + 6, "start") if end == 0 else (_LEFT + _WIDE - 4, "end")
        parts.append(f'<text x="{x:.1f}" y="{y - 7:.1f}" text-anchor="{anchor}">{name}</text>')
    return parts


def _path(share: Callable[[float], float], axes: Axes) -> str:
    """The line of a share over all intervals, cut off at the top."""
    words: list[str] = []
    before: tuple[float, float] | None = None
    for number in range(_POINTS + 1):
        part = number / _POINTS
        value = share(axes.at(part))
        if before is not None and (value > axes.top) != (before[1] > axes.top):
            cut = before[0] + (part - before[0]) * (axes.top - before[1]) / (value - before[1])
            words.append(_to(cut, axes.top, axes, not words))
        if value <= axes.top:
            words.append(_to(part, value, axes, not words))
        before = part, value
    return " ".join(words)


def _to(part: float, share: float, axes: Axes, first: bool) -> str:
    return f"{'M' if first else 'L'}{_LEFT + part * _WIDE:.1f} {_y(share, axes):.1f}"


def _points(curve: Curve, axes: Axes) -> list[str]:
    """The optimum, with its numbers below the line, and today's interval.

    The numbers of today stand inside the bowl, or beside and below the line where the two points are close.
    """
    x, y = _x(curve.best, axes), _y(curve.lost(curve.best), axes)
    below = y + 22
    parts = []
    if curve.now is not None:
        at, height = _x(curve.now, axes), _y(curve.lost(curve.now), axes)
        parts.append(_dot(at, height, f"gc-{curve.verdict}"))
        later = curve.now > curve.best
        if abs(at - x) < _CLOSE:
            shift, below, anchor = (10 if later else -10), y + 38, "start" if later else "end"
            parts.append(_label(at + shift, height + 19, _numbers("now", curve, curve.now), anchor))
        else:
            parts.append(
                _label(at, max(height - 12, _TOP + 30), _numbers("now", curve, curve.now), "end" if later else "start")
            )
    parts.append(_dot(x, y, "gc-best"))
    under = below if below < _TOP + _HIGH - 6 else y - 34
    return [*parts, _label(x, under, _numbers("best", curve, curve.best), "middle")]


def _numbers(name: str, curve: Curve, interval: float) -> str:
    return f"{name}: {interval_shown(interval, curve.step)}, {percent(curve.lost(interval))} lost"


def _dot(x: float, y: float, kind: str) -> str:
    return f'<circle class="gc-dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    """A label beside its dot, kept inside the picture."""
    wide = len(text) * _LETTER
    before, after = {"start": (0.0, wide), "middle": (wide / 2, wide / 2), "end": (wide, 0.0)}[anchor]
    x = min(max(x, _LEFT + before + 4), _LEFT + _WIDE - after - 2)
    return f'<text class="gc-label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _x(interval: float, axes: Axes) -> float:
    return _LEFT + axes.along(interval) * _WIDE


def _y(share: float, axes: Axes) -> float:
    return _TOP + (1.0 - min(share, axes.top) / axes.top) * _HIGH
