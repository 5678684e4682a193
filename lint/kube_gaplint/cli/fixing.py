"""`--fix`, `--add-suppressions` and `--diff`: change the files as a report asks for, or show the changes as a patch."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint import discover, disk, fix
from kube_gaplint.cli import console
from kube_gaplint.cli.failure import Failure
from kube_gaplint.cli.inputs import lint
from kube_gaplint.engine import Request, selected_codes
from kube_gaplint.findings import Report, Severity
from kube_gaplint.report.escape import visible
from kube_gaplint.report.layout import Palette
from kube_gaplint.report.snippet import location
from kube_gaplint.report.words import count
from kube_gaplint.suppress import MetaCode, wrong_reason
from kube_gaplint.text.read import encode_like


class Edits(Struct):
    """The changes that are to be made, and what is told of them on standard error."""

    changes: list[fix.FileChange]
    told: list[str]

    def show(self, color: str) -> None:
        """Print the changes as a patch.

        A pipe gets it as it is, fit for `git apply`; on a terminal nothing in it may act.
        """
        for change in self.changes:
            patch = change.diff()
            if sys.stdout is not None and sys.stdout.isatty():
                patch = _for_terminal(patch, Palette(console.wants_color(color, sys.stdout)))
            console.write_out(patch)

    def make(self) -> None:
        """Change the files. Raises Failure for one that cannot be written."""
        for change in self.changes:
            try:
                fix.write(change)
            except OSError as problem:
                raise Failure(f"cannot write {change.path!r}: {problem.strerror}") from problem

    def tell(self) -> None:
        for line in self.told:
            console.note(f"gaplint: {line}")


def fixes(report: Report, request: Request, *, unsafe: bool, made: bool, quiet: bool) -> Edits:
    """The fixes of what a report shows. They are judged with all rules but the ignored ones, whatever is shown."""
    shown = [finding for finding in report.findings if finding.suppressed is None]
    wanted = {finding.fingerprint for finding in shown}  # one fix may make another possible
    gc.enable()  # each round of judging leaves a whole model behind
    plan = fix.FixPlan()
    if any(finding.fixable == "safe" or (unsafe and finding.fixable == "unsafe") for finding in shown):
        plan = fix.repair(wanted, _judge(request, quiet=quiet), unsafe=unsafe, codes=selected_codes(request))
    told = [
        f"{location(dropped.finding.place)}: {dropped.finding.code} is not fixed: {dropped.reason}"
        for dropped in plan.dropped
    ]
    return Edits(plan.changes, [*told, _sum(plan.changes, "fixed" if made else "would be fixed")])


def suppressions(report: Report, request: Request, reason: str, *, made: bool, quiet: bool) -> Edits:
    """Suppressions for what a report shows. Raises Failure for a reason that is none."""
    wrong = wrong_reason(reason)
    if wrong:
        raise Failure(f"--add-suppressions: this is no reason: {wrong}")
    wanted = {
        finding.fingerprint
        for finding in report.findings
        if finding.suppressed is None and finding.code not in _ABOUT_SUPPRESSIONS
    }
    done = fix.add_suppressions(wanted, _judge(request, quiet=quiet), reason) if wanted else fix.Suppressing()
    told = [
        f"{location(finding.place)}: {finding.code} is not suppressed: no comment can stand there, and no annotation"
        for finding in done.left
    ]
    return Edits(done.changes, [*told, _sum(done.changes, "suppressed" if made else "would be suppressed")])


_ABOUT_SUPPRESSIONS = frozenset(get_args(MetaCode))


def _sum(changes: list[fix.FileChange], done: str) -> str:
    findings = {finding.fingerprint for change in changes for finding in change.findings}
    return f"{count(len(findings), 'finding')} {done} in {count(len(changes), 'file')}."


def _judge(request: Request, *, quiet: bool) -> fix.Judge:
    """All findings, of all rules but the ignored ones, where some files hold other texts."""
    whole = replace(request, select=(), min_severity=min(Severity), baseline=None, changed=None, before=None)
    return lambda texts: lint_instead(whole, texts, quiet=quiet).findings


def lint_instead(request: Request, texts: Mapping[str, str], *, quiet: bool) -> Report:
    """The outcome of a run in which some files, by path, hold other texts."""
    instead: dict[str, bytes] = {}
    for path, text in texts.items():
        if request.stdin is not None and path == (request.stdin_filename or discover.STDIN):
            request = replace(request, stdin=encode_like(request.stdin, text))
        else:
            real = disk.real(path)
            instead[real] = encode_like(Path(real).read_bytes(), text)
    with disk.reading_instead(instead):
        return lint(request, quiet=quiet)


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
