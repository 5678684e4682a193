"""What one of several processes judges of a run: a part of the objects and of the script files, in their order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from msgspec import Struct

T = TypeVar("T")

SECTIONS = 4
"""Into how many sections the views of a run are put, so that the order does not depend on the shares."""

LEAST = 400
"""Objects and scripts from which on a second process pays for its start (measured: some 60 ms)."""
MOST = 8
"""Processes that `auto` uses at most: reading the files and putting findings in order stay with one."""

_JUDGED = 3.4
"""What it costs to understand a workload whole and to judge it, as a multiple of reading just its pods (measured)."""


class Share(Struct, frozen=True):
    """The things from the fraction `begin` to the fraction `end` of each list. `first` is the share that also judges
    what needs all workloads (node pools), or comes once."""

    begin: float = 0.0
    end: float = 1.0
    first: bool = True

    @property
    def whole(self) -> bool:
        return self.begin == 0.0 and self.end == 1.0

    def bounds(self, count: int) -> range:
        """The indexes of a list of `count` things that belong to this share."""
        return range(round(self.begin * count), round(self.end * count))

    def of(self, things: Sequence[T]) -> Sequence[T]:
        at = self.bounds(len(things))
        return things[at.start : at.stop]


ALL = Share()
"""The share of a run in one process."""


def jobs_for(wanted: int, things: int) -> int:
    """How many processes to use for so many objects and scripts; 0 wanted means to choose."""
    if not hasattr(os, "fork") or things < LEAST:
        return 1
    return wanted or min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, MOST)


def shares(number: int, *, all_seen_by_first: bool) -> list[Share]:
    """So many shares of about equal work; the first is smaller where it must also see the workloads of all others."""
    first = 1.0 / number
    if all_seen_by_first:
        # first share: its own judged, all others read; every other share: an equal part of the rest, judged.
        others = _JUDGED / (number - 1)
        first = max((others - 1.0) / (others - 1.0 + _JUDGED), 0.0)
    rest = (1.0 - first) / (number - 1)
    cuts = [0.0, *(first + rest * at for at in range(number - 1)), 1.0]
    return [Share(begin, end, first=at == 0) for at, (begin, end) in enumerate(pairwise(cuts))]
