"""Precision with its uncertainty.

The interval is Wilson's score interval at 95 %, which stays honest near 100 % and with few items. Of weighted items it
is taken with the effective number of items, (Σw)² / Σw² (Kish), since a few heavy items tell less than many light ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from accuracy.verdicts import RIGHT, Row

Z95 = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""


class Share(Struct, frozen=True):
    """A share of judged items that are right, and the interval that holds the true one with 95 %."""

    right: float
    items: float

    @property
    def value(self) -> float:
        return self.right / self.items if self.items else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval."""
        if not self.items:
            return 0.0, 1.0
        n, p = self.items, self.value
        middle = p + Z95**2 / (2 * n)
        half = Z95 * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n**2))
        scale = 1 + Z95**2 / n
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def plain(rows: Iterable[Row]) -> Share:
    """The share of the sample: every rule counts alike."""
    verdicts = [row.verdict == RIGHT for row in rows]
    return Share(sum(verdicts), len(verdicts))


def weighted(rows: Sequence[Row]) -> Share:
    """The share of all findings in the corpus, by what each judged one stands for."""
    total = sum(row.stands_for for row in rows)
    if not total:
        return Share(0, 0)
    effective = total**2 / sum(row.stands_for**2 for row in rows)
    right = sum(row.stands_for for row in rows if row.verdict == RIGHT) / total
    return Share(right * effective, effective)


def percent(share: Share) -> str:
    """`96 % (92–98)`"""
    low, high = share.interval
    return f"{share.value:.0%} ({100 * low:.0f}–{100 * high:.0f})".replace("%", " %") if share.items else "–"
