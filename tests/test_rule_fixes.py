"""Every fix on every firing fixture: what it answers is gone, a second run changes nothing, a safe one adds nothing.

A finding that is not more severe may come to light in the place of the one that is mended.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fixture_files import fixtures
from kube_gaplint import fix
from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Finding, Severity

WITH_RULES = [path for path in fixtures("fires") if not path.parent.name.startswith("GAP")]


def findings(path: Path, *select: str) -> list[Finding]:
    return lint(Request(paths=(str(path),), select=select, min_severity=Severity.INFO)).findings


def copied(path: Path, folder: Path) -> Path:
    target = folder / path.name
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        shutil.copy(path, target)
    return target


@pytest.mark.parametrize("path", WITH_RULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_fix_answers_its_finding(path: Path, tmp_path: Path) -> None:
    code = path.parent.name
    target = copied(path, tmp_path)
    plan = fix.plan(findings(target, code), unsafe=True)
    for change in plan.changes:
        fix.write(change)
    answered = {(one.message, one.subject) for change in plan.changes for one in change.findings}
    after = findings(target, code)
    assert not answered & {(one.message, one.subject) for one in after}
    again = fix.plan(after, unsafe=True)
    assert not again.changes, [change.diff() for change in again.changes]


@pytest.mark.parametrize("path", WITH_RULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_safe_fix_adds_no_finding(path: Path, tmp_path: Path) -> None:
    code = path.parent.name
    target = copied(path, tmp_path)
    plan = fix.plan(findings(target, code), unsafe=False)
    if not plan.changes:
        return
    before = findings(target)
    for change in plan.changes:
        fix.write(change)
    after = findings(target)
    for least in Severity:
        assert sum(one.severity >= least for one in after) <= sum(one.severity >= least for one in before)
