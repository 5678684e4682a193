"""Fixes: from what findings propose to edited files.

`plan` turns the changes of findings into edits, makes all that agree with one another, and checks by reading the
result again that nothing else changed. `repair` judges the result as well, so that no fix leaves its gap or brings up
another. `write` puts a file in place, or `FileChange.diff` shows it as a patch.
"""

from __future__ import annotations

from kube_gaplint.fix.files import FileChange, Stale, write
from kube_gaplint.fix.plan import Dropped, FixPlan, plan
from kube_gaplint.fix.repair import Judge, repair
from kube_gaplint.fix.suppressing import Suppressing, add_suppressions

__all__ = [
    "Dropped",
    "FileChange",
    "FixPlan",
    "Judge",
    "Stale",
    "Suppressing",
    "add_suppressions",
    "plan",
    "repair",
    "write",
]
