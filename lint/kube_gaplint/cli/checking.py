# ruff: noqa: PTH109
# Paths are strings here: pathlib is slow to import.
"""Linting as the command line asks for it, whoever has read its options."""

from __future__ import annotations

import os
import sys
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint import disk, registry, trace
from kube_gaplint.cli import console
from kube_gaplint.cli.app import EMPTY, FOUND
from kube_gaplint.cli.failure import Failure, Misuse
from kube_gaplint.cli.inputs import Inputs, lint, read, understood
from kube_gaplint.discover import within
from kube_gaplint.disk import one_line
from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report import FOR_PEOPLE, render
from kube_gaplint.report.options import IncidentView, RenderOptions, Understood
from kube_gaplint.report.words import closing_lines, is_empty
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.cli.fixing import Edits
    from kube_gaplint.cli.types import OutputFile
    from kube_gaplint.engine import Request
    from kube_gaplint.fix.desk import Reading
    from kube_gaplint.given import Given
    from kube_gaplint.revision import Before
    from kube_gaplint.rule import Rule


class Asked(Struct, frozen=True, kw_only=True):
    """The values of the options of `gaplint check`, by the names that click gives them."""

    inputs: Inputs
    select: tuple[tuple[str, ...], ...] = ()
    ignore: tuple[tuple[str, ...], ...] = ()
    incidents_: tuple[str, ...] = ()
    min_severity: str | None = None
    fail_on: str | None = None
    format_: str = "full"
    outputs: tuple[OutputFile, ...] = ()
    color: str = "auto"
    quiet: bool = False
    statistics: bool = False
    baseline: str = ""
    no_baseline: bool = False
    write_baseline: bool = False
    add_suppressions: str | None = None
    diff_base: str = ""
    changed: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    fail_if_empty: bool = False
    jobs: int = 0


def run(asked: Asked) -> int:
    """Lint, report and change files as asked, and return the exit code. Raises Failure."""
    inputs = asked.inputs
    _check_options(asked)
    concerned = None
    if asked.changed:
        inputs, concerned = _around(inputs)
    config = inputs.config
    selected = _rules_of(asked.incidents_) if asked.incidents_ else _names(asked.select)
    least = Severity.parse(asked.min_severity or ("info" if asked.incidents_ else config.min_severity) or "warning")
    failing = asked.fail_on or config.fail_on or "warning"
    if failing != "never":
        least = min(least, Severity.parse(failing))
    request = replace(
        inputs.request(),
        # What is selected here is wanted, whatever the configuration leaves out.
        select=selected or config.select,
        ignore=_names(asked.ignore) if selected else (*config.ignore, *_names(asked.ignore)),
        min_severity=least,
        severities=config.severities(),
        file_ignores=config.file_ignores(),
        today=date.today(),
        jobs=1 if _needs_nodes(asked) else asked.jobs,
    )
    if not asked.quiet:
        named = (*_names(asked.select), *_names(asked.ignore))
        for said in (*filter(None, map(registry.outdated, named)), *config.hints):
            console.hint(said)
    if asked.write_baseline or asked.baseline or config.baseline:
        from kube_gaplint.cli import accepting

        accepted = accepting.path_of(inputs, asked.baseline)
        if asked.write_baseline:
            return accepting.write(request, accepted, quiet=asked.quiet)
        if not asked.no_baseline:
            request = replace(request, baseline=accepting.read(accepted))
    if asked.diff_base:
        request = replace(request, before=_before(asked.diff_base, inputs.paths, quiet=asked.quiet))
    elif concerned is not None:
        request = replace(request, changed=concerned)
    report = lint(request, quiet=asked.quiet)
    if asked.fix or asked.diff or asked.add_suppressions is not None:
        edits = _edits_of(report, request, asked)
        if asked.diff:
            edits.show(asked.color)
        else:
            edits.make()
        if not asked.quiet:
            edits.tell()
        if asked.diff:
            return FOUND if edits.changes else 0
        if edits.changes:
            report = lint(request, quiet=asked.quiet)
    options = RenderOptions(
        width=console.width(),
        color=console.wants_color(asked.color, sys.stdout),
        ascii_only=console.is_ascii_only(sys.stdout),
        summary=not asked.quiet,
        statistics=asked.statistics,
        min_severity=least,
        incident=_incident,
        rule=_rule,
        edits=partial(_edits, {}),
        understood=lambda: _understood(inputs, request),
        folder=os.getcwd(),
        root=_repository_root(),
        jobs=asked.jobs,
    )
    in_files = replace(options, width=console.WIDTH_WITHOUT_TERMINAL, color=False, ascii_only=False)
    _write_files(asked.outputs, report, in_files)
    console.write_out(render(asked.format_, report, options))
    if asked.format_ not in FOR_PEOPLE:
        _tell(report, least, quiet=asked.quiet)
    if not (asked.outputs or asked.fix or asked.add_suppressions is not None or asked.diff_base or "-" in inputs.paths):
        trace.complete()  # only the disk was asked, and nothing was written but this report
    return _exit_code(report, failing, fail_if_empty=asked.fail_if_empty)


def _needs_nodes(asked: Asked) -> bool:
    """Whether edits are to be made: they need the nodes that were read, which stay with the process that read them."""
    formats = {asked.format_, *(output.format for output in asked.outputs)}
    return asked.fix or asked.diff or asked.add_suppressions is not None or "sarif" in formats


def _edits_of(report: Report, request: Request, asked: Asked) -> Edits:
    from kube_gaplint.cli import fixing

    made = not asked.diff
    if asked.add_suppressions is not None:
        return fixing.suppressions(report, request, asked.add_suppressions, made=made, quiet=asked.quiet)
    return fixing.fixes(report, request, unsafe=asked.unsafe_fixes, made=made, quiet=asked.quiet)


def _names(values: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(name for names in values for name in names)


_CONFLICTS = (
    ("--incident", "--select", "--incident selects the rules of an incident, --select names rules; give one of them."),
    ("--fix", "-", "--fix changes files, and standard input is none; --diff prints the changes instead."),
    ("--add-suppressions", "-", "--add-suppressions changes files, and standard input is none."),
    (
        "--add-suppressions",
        "--fix",
        "--add-suppressions lets findings be, --fix mends them; one at a time.",
    ),
    ("--add-suppressions", "--write-baseline", "both let all findings be; give one of them."),
    ("--write-baseline", "--fix", "--write-baseline accepts what is there, --fix mends it; one at a time."),
    ("--write-baseline", "--diff", "--write-baseline accepts what is there, --diff shows what would mend it."),
    ("--write-baseline", "--no-baseline", "--write-baseline writes the baseline that --no-baseline leaves alone."),
    ("--diff-base", "-", "--diff-base asks git what has changed, and standard input is in no repository."),
    ("--diff-base", "--write-baseline", "--write-baseline accepts all that is there; --diff-base shows a part of it."),
    ("--changed", "-", "--changed reads the repository around files, and standard input is in none."),
    ("--changed", "--diff-base", "--changed is told what has changed, --diff-base asks git; give one of them."),
    ("--changed", "--write-baseline", "--write-baseline accepts all that is there; --changed shows a part of it."),
    ("--baseline", "--no-baseline", "--baseline names what --no-baseline leaves alone; give one of them."),
)
"""Options that do not go together, and why."""


def _check_options(asked: Asked) -> None:
    given = {
        "-": "-" in asked.inputs.paths,
        "--select": asked.select,
        "--incident": asked.incidents_,
        "--fix": asked.fix,
        "--unsafe-fixes": asked.unsafe_fixes,
        "--diff": asked.diff,
        "--baseline": asked.baseline,
        "--no-baseline": asked.no_baseline,
        "--write-baseline": asked.write_baseline,
        "--add-suppressions": asked.add_suppressions is not None,
        "--diff-base": asked.diff_base,
        "--changed": asked.changed,
    }
    for one, other, why in _CONFLICTS:
        if given[one] and given[other]:
            raise Misuse(why)
    if asked.unsafe_fixes and not (asked.fix or asked.diff):
        raise Misuse("--unsafe-fixes needs --fix (to change the files) or --diff (to see the changes).")
    named = {disk.real(path) for path in asked.inputs.paths if path != "-"} if asked.outputs else set()
    seen: dict[str, OutputFile] = {}
    for output in asked.outputs:
        path = disk.real(str(output.path))
        first = seen.setdefault(path, output)
        if path in named:
            raise Misuse(f"{os.fspath(output.path)!r} is linted; give the report another file.")
        if first is not output:
            raise Misuse(f"two reports go to {os.fspath(output.path)!r}; give each its own file.")


def _around(inputs: Inputs) -> tuple[Inputs, Given]:
    """What to read for the sake of the given paths, and which findings then count. Raises Failure."""
    from kube_gaplint.given import Given, around

    for path in inputs.paths:
        if not disk.exists(disk.real(path)):
            raise Failure(f"{one_line(path)}: no such file or folder")
    return replace(inputs, paths=tuple(around(inputs.paths))), Given.of(inputs.paths)


def _before(revision: str, paths: tuple[str, ...], *, quiet: bool) -> Before:
    from kube_gaplint.revision import RevisionProblem, since

    try:
        before = since(revision, paths)
    except RevisionProblem as problem:
        raise Failure(str(problem)) from problem
    if before.note and not quiet:
        console.hint(before.note)
    return before


def _rules_of(identifiers: tuple[str, ...]) -> tuple[str, ...]:
    from kube_gaplint import incidents
    from kube_gaplint.cli.rules import of_incidents

    return of_incidents(filter(None, map(incidents.incident, identifiers)))


def _understood(inputs: Inputs, request: Request) -> Understood:
    """What was judged, read once more: the report alone holds nothing of where nothing was found."""
    from kube_gaplint.model.plan_inputs import plan_of
    from kube_gaplint.report.show.values import location_of

    reading = read(request)
    config = inputs.config
    plans = {
        location_of(workload.origin.place): plan_of(workload, config.profile, places=config.places)
        for workload in reading.model.workloads
        if workload.trains
    }
    return Understood(understood(reading), plans)


def _incident(identifier: str) -> IncidentView | None:
    from kube_gaplint import incidents

    return incidents.incident(identifier)


def _rule(code: str) -> Rule | None:
    try:
        return registry.load(code)
    except registry.UnknownSelector:
        return None


def _edits(readings: dict[str, Reading], finding: Finding) -> tuple[tuple[Place, str], ...]:
    """The edits that a finding's fix makes alone; `readings` keeps the files from one finding to the next."""
    from kube_gaplint import fix
    from kube_gaplint.text.edit import difference

    found = []
    for change in fix.plan([finding], unsafe=True, readings=readings).changes:
        edit = difference(change.source.text, change.new_text)
        found.append((Place(change.source, edit.span), edit.text))
    return tuple(found)


def _repository_root() -> str:
    """The folder from which a CI system names files: what it says, or the current folder."""
    here = os.getcwd()
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        said = os.environ.get(name, "")
        if said and within(here, os.path.normpath(said)):
            return said
    return here


def _write_files(outputs: tuple[OutputFile, ...], report: Report, options: RenderOptions) -> None:
    for output in outputs:
        try:
            console.write_file(output.path, render(output.format, report, options))
        except OSError as problem:
            message = f"cannot write {os.fspath(output.path)!r}: {problem.strerror}"
            raise Failure(message) from problem


def _tell(report: Report, least: Severity, *, quiet: bool) -> None:
    """What formats for programs leave out, on standard error."""
    for failed in report.errors:
        console.note(f"gaplint: {one_line(failed.path)} could not be read: {failed.reason}")
    if not quiet:
        for line in closing_lines(report, least):
            console.note(f"gaplint: {line}")


def _exit_code(report: Report, fail_on: str, *, fail_if_empty: bool) -> int:
    worst = report.worst()
    if worst is not None and fail_on != "never" and worst >= Severity.parse(fail_on):
        return FOUND
    return EMPTY if fail_if_empty and is_empty(report) else 0
