"""`--fix` and `--diff`: make the fixes of a report in the files, or show them as a patch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from kube_gaplint import discover, fix
from kube_gaplint.cli import console
from kube_gaplint.cli.inputs import lint
from kube_gaplint.engine import Request, selected_codes
from kube_gaplint.findings import Report, Severity
from kube_gaplint.report.escape import visible
from kube_gaplint.report.layout import Palette
from kube_gaplint.report.snippet import location
from kube_gaplint.report.words import count
from kube_gaplint.text.read import encode_like


def show(report: Report, request: Request, *, unsafe: bool, quiet: bool, color: str) -> bool:
    """Print what would change; whether anything would.

    A pipe gets the patch as it is, fit for `git apply`; on a terminal nothing in it may act.
    """
    plan = _plan(report, request, unsafe=unsafe)
    for change in plan.changes:
        patch = change.diff()
        if sys.stdout is not None and sys.stdout.isatty():
            patch = _for_terminal(patch, Palette(console.wants_color(color, sys.stdout)))
        console.write_out(patch)
    _tell(plan, "would be fixed", quiet=quiet)
    return bool(plan.changes)


def make(report: Report, request: Request, *, unsafe: bool, quiet: bool) -> bool:
    """Change the files; whether any was changed. Raises ClickException for a file that cannot be written."""
    plan = _plan(report, request, unsafe=unsafe)
    for change in plan.changes:
        try:
            fix.write(change)
        except OSError as problem:
            raise click.ClickException(f"cannot write {change.path!r}: {problem.strerror}") from problem
    _tell(plan, "fixed", quiet=quiet)
    return bool(plan.changes)


def _plan(report: Report, request: Request, *, unsafe: bool) -> fix.FixPlan:
    """The fixes of what the report shows. They are judged with all rules but the ignored ones, whatever is shown."""
    wanted = {
        finding.fingerprint
        for finding in report.findings
        if finding.suppressed is None and (finding.fixable == "safe" or (unsafe and finding.fixable == "unsafe"))
    }
    if not wanted:
        return fix.FixPlan()
    whole = replace(request, select=(), min_severity=min(Severity), baseline=None, changed=None)
    return fix.repair(
        wanted, lambda texts: lint_instead(whole, texts).findings, unsafe=unsafe, codes=selected_codes(request)
    )


def lint_instead(request: Request, texts: Mapping[str, str]) -> Report:
    """The outcome of a run in which some files, by path, hold other texts."""
    instead: dict[str, bytes] = {}
    for path, text in texts.items():
        if request.stdin is not None and path == (request.stdin_filename or discover.STDIN):
            request = replace(request, stdin=encode_like(request.stdin, text))
        else:
            real = os.path.realpath(path)
            instead[real] = encode_like(Path(real).read_bytes(), text)
    with discover.reading_instead(instead):
        return lint(request)


def _for_terminal(patch: str, palette: Palette) -> str:
    lines = []
    for line in patch.split("\n"):
        shown = visible(line.removesuffix("\r").replace("\t", "    "))
        if line.startswith(("---", "+++")):
            shown = palette.bold(shown)
        elif line.startswith("+"):
            shown = palette.good(shown)
        elif line.startswith("-"):
            shown = palette.bad(shown)
        elif line.startswith("@@"):
            shown = palette.second(shown)
        lines.append(shown)
    return "\n".join(lines)


def _tell(plan: fix.FixPlan, done: str, *, quiet: bool) -> None:
    if quiet:
        return
    for dropped in plan.dropped:
        finding = dropped.finding
        console.note(f"gaplint: {location(finding.place)}: {finding.code} is not fixed: {dropped.reason}")
    fixed = {id(finding) for change in plan.changes for finding in change.findings}
    console.note(f"gaplint: {count(len(fixed), 'finding')} {done} in {count(len(plan.changes), 'file')}.")
