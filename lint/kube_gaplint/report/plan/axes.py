"""Ranges and ticks of the checkpoint curve, which the terminal and the SVG draw alike.

The interval between saves is on a logarithmic axis, the share of time that is lost on a linear one from 0.
"""

from __future__ import annotations

import math

from msgspec import Struct

from kube_gaplint.model.plan import Curve
from kube_gaplint.model.scale import duration

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_ROUND = (
    *(1.0, 2.0, 5.0, 10.0, 20.0, 30.0),
    *(_MINUTE * n for n in (1, 2, 5, 10, 20, 30)),
    *(_HOUR * n for n in (1, 2, 4, 8, 12)),
    *(_DAY * n for n in (1, 2, 4, 7, 14, 30, 60, 120, 365)),
)
"""Durations that people think in."""
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
"""Distances between ticks of a share."""


class Axes(Struct, frozen=True):
    """The part of the curve that is drawn: intervals in seconds from `left` to `right`, shares from 0 to `top`."""

    left: float
    right: float
    top: float

    def along(self, interval: float) -> float:
        """Where an interval stands on the axis: 0 is its left end, 1 the right one."""
        return math.log(interval / self.left) / math.log(self.right / self.left)

    def at(self, part: float) -> float:
        """The interval at a part of the axis."""
        return self.left * math.exp(part * math.log(self.right / self.left))

    def intervals(self, apart: float) -> list[float]:
        """Ticks of the intervals: round durations, else powers of ten, no closer than a part of the axis."""
        inside = [tick for tick in _ROUND if self.left <= tick <= self.right]
        if len(inside) < 2:
            first, last = math.ceil(math.log10(self.left)), math.floor(math.log10(self.right))
            inside = [10.0**power for power in range(first, last + 1)]
        kept: list[float] = []
        for tick in inside:
            if not kept or self.along(tick) - self.along(kept[-1]) >= apart:
                kept.append(tick)
        return kept

    def shares(self) -> list[float]:
        """Ticks of the shares, from 0 to the top."""
        step = next((step for step in _STEPS if self.top / step <= 5.0001), self.top)
        return [step * n for n in range(round(self.top / step) + 1)]

    def share_shown(self, share: float) -> str:
        """A share at a tick: `2 %`, `0.5 %`."""
        return f"{100 * share:.{0 if share == 0 or self.top >= 0.05 else 1 if self.top >= 0.005 else 2}f} %"


def axes_of(curve: Curve) -> Axes:
    """Ranges that show the optimum, the flat range around it and today's interval."""
    left, right = curve.best / 12, curve.best * 12
    top = 3.0 * curve.lost(curve.best)
    if curve.now is not None:
        left, right = min(left, curve.now / 2), max(right, curve.now * 2)
        top = max(top, 1.15 * curve.lost(curve.now))
    return Axes(left, right, _rounded(top))


def _rounded(top: float) -> float:
    """The next share that ends on a tick."""
    for step in _STEPS:
        if top <= 5 * step:
            return min(1.0, math.ceil(top / step) * step)
    return 1.0


def percent(share: float) -> str:
    """`93.4 %`, `0.07 %`; never rounded up to all or down to nothing."""
    if share == 0:
        return "0 %"
    if share < 0.0001:
        return "<0.01 %"
    if share < 0.01:
        return f"{100 * share:.2f} %"
    shown = f"{100 * share:.1f} %"
    return ">99.9 %" if shown == "100.0 %" and share < 1 else shown


def interval_shown(seconds: float, step: float | None) -> str:
    """`94 min`, with steps where their time is known: `94 min (54 steps)`."""
    if step is None:
        return duration(seconds)
    steps = seconds / step
    return f"{duration(seconds)} ({'under 1 step' if steps < 1 else f'{steps:,.0f} steps'})"
