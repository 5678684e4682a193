"""`--fix` and `--diff`: make the fixes of a report in the files, or show them as a patch."""

from __future__ import annotations

import click

from kube_gaplint import fix
from kube_gaplint.cli import console
from kube_gaplint.findings import Report
from kube_gaplint.report.words import count


def show(report: Report, *, unsafe: bool, quiet: bool) -> bool:
    """Print what would change; whether anything would."""
    plan = fix.plan(report.findings, unsafe=unsafe)
    for change in plan.changes:
        console.write_out(change.diff())
    _tell(plan, "would change", quiet=quiet)
    return bool(plan.changes)


def make(report: Report, *, unsafe: bool, quiet: bool) -> bool:
    """Change the files; whether any was changed. Raises ClickException for a file that cannot be written."""
    plan = fix.plan(report.findings, unsafe=unsafe)
    for change in plan.changes:
        try:
            fix.write(change)
        except OSError as problem:
            raise click.ClickException(f"cannot write {change.path!r}: {problem.strerror}") from problem
    _tell(plan, "changed", quiet=quiet)
    return bool(plan.changes)


def _tell(plan: fix.FixPlan, done: str, *, quiet: bool) -> None:
    if quiet:
        return
    for dropped in plan.dropped:
        finding = dropped.finding
        console.note(f"gaplint: {finding.place!r}: {finding.code} is not fixed: {dropped.reason}")
    console.note(f"gaplint: {count(len(plan.changes), 'file')} {done}.")
