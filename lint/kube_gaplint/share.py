"""What one of several processes judges of a run: a part of the objects and of the scripts, in their order."""

from __future__ import annotations

import os
from collections.abc import Iterable

LEAST = 100
"""Objects and scripts from which on a second process pays for its start (measured: a fifth less at 100, a twelfth at
50, before the fork itself is paid for)."""
MOST = 8
"""Processes that `auto` uses at most: reading the files and putting findings in order stay with one."""


_RUN = 16
"""Neighbours that stay together: they often share scripts, which are read once by each process."""


class Share:
    """What one process takes of the objects and scripts of a run, asked for in their order: it takes the next run of
    neighbours, of those that nobody has, when it is through with its last one.

    The first share also judges what needs all workloads (node pools), or comes once.
    """

    def __init__(self, runs: Iterable[int] | None = None, *, first: bool = True) -> None:
        """`runs`: numbers of runs of neighbours, ascending, which other processes take from as well (see
        `pool.Tickets`). None stands for all."""
        self.first = first
        self.taken: list[int] = []
        """The runs that this process took."""
        self._runs = None if runs is None else iter(runs)

    def has(self, number: int) -> bool:
        """Whether the thing of this number (an object, a script) belongs to the share. Numbers must not go down."""
        if self._runs is None:
            return True
        run = number // _RUN
        while not self.taken or self.taken[-1] < run:
            self.taken.append(next(self._runs, _END))
        return self.taken[-1] == run


ALL = Share()
"""The share of a run in one process."""
_END = 1 << 60
"""Stands behind the last run that there is."""


def runs(things: int) -> int:
    """How many runs of neighbours so many things make."""
    return -(-things // _RUN)


def jobs_for(wanted: int, things: int, least: int | None = None) -> int:
    """How many processes to use for so many things; 0 wanted means to choose. Below `least` (`LEAST`, where they
    are objects and scripts) a second one is not worth its start."""
    if not hasattr(os, "fork") or things < (LEAST if least is None else least):
        return 1
    return wanted or min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, MOST)
