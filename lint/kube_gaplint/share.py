"""What one of several processes judges of a run: a part of the objects and of the script files, in their order."""

from __future__ import annotations

import os

from msgspec import Struct

LEAST = 100
"""Objects and scripts from which on a second process pays for its start (measured: a fifth less at 100, a twelfth at
50, before the fork itself is paid for)."""
MOST = 8
"""Processes that `auto` uses at most: reading the files and putting findings in order stay with one."""


_RUN = 16
"""Neighbours that stay together: they often share scripts, which are read once by each process."""


class Share(Struct, frozen=True):
    """Every `of`-th run of neighbours, from the one numbered `at` on. The first share also judges what needs all
    workloads (node pools), or comes once."""

    at: int = 0
    of: int = 1

    @property
    def first(self) -> bool:
        return self.at == 0

    def has(self, number: int) -> bool:
        """Whether the thing of this number (an object, a script) belongs to the share."""
        return self.of == 1 or number // _RUN % self.of == self.at


ALL = Share()
"""The share of a run in one process."""


def jobs_for(wanted: int, things: int, least: int | None = None) -> int:
    """How many processes to use for so many things; 0 wanted means to choose. Below `least` (`LEAST`, where they
    are objects and scripts) a second one is not worth its start."""
    if not hasattr(os, "fork") or things < (LEAST if least is None else least):
        return 1
    return wanted or min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, MOST)
