"""`gaplint check`: lint files and folders."""

from __future__ import annotations

import os
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from kube_gaplint import registry
from kube_gaplint.__main__ import version
from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT, EMPTY, FOUND
from kube_gaplint.cli.inputs import Inputs, lint, read, understood, with_inputs
from kube_gaplint.cli.options import OUTPUT, color_option
from kube_gaplint.cli.types import (
    File,
    FormatAndFile,
    Grouped,
    GroupedCommand,
    IncidentId,
    Jobs,
    Near,
    OutputFile,
    RuleList,
)
from kube_gaplint.disk import one_line
from kube_gaplint.facts.candidates import BASELINE_NAME
from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report import FOR_PEOPLE, FORMATS, render
from kube_gaplint.report.options import IncidentView, RenderOptions, Understood
from kube_gaplint.report.words import closing_lines, is_empty
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.engine import Request
    from kube_gaplint.given import Given
    from kube_gaplint.revision import Before
    from kube_gaplint.rule import Rule

_SEVERITIES = ("error", "warning", "info")
_SELECTION = "What is reported"
_FIXES = "Fixes"
_ADOPTION = "Living with findings"
_INPUT = "Input"

_EXAMPLES = """\
gaplint train/ nodes/               lint two folders
helm template . | gaplint -         lint what a cluster would get
gaplint --select NCCL,CKPT .        two families of rules
gaplint --min-severity info .       show notes, too
gaplint --diff .                    show what --fix would change
gaplint --format github .           annotate a pull request
gaplint --output json=out.json .    report on the terminal, JSON in a file
gaplint explain NCCL001             why a rule exists, with its incident"""
_EXIT_CODES = """\
0    nothing at or above --fail-on
1    findings (or --diff would change something)
2    the run itself is wrong: usage, an unknown code, a missing path, a crash
3    nothing to check, with --fail-if-empty
130  interrupted
141  whoever read the report went away (| head)"""


def _names(values: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(name for names in values for name in names)


def _tell_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        console.write_out(f"{version()}\n")
        context.exit()


@click.command(
    cls=GroupedCommand,
    context_settings=CONTEXT,
    after=(("Examples", _EXAMPLES), ("Exit codes", _EXIT_CODES)),
)
@click.option(
    "--select",
    cls=Grouped,
    group=_SELECTION,
    type=RuleList(),
    multiple=True,
    metavar="RULES",
    help="Only these rules: codes, families (NCCL) or names, with commas; instead of the configuration's. Repeatable.",
)
@click.option(
    "--ignore",
    cls=Grouped,
    group=_SELECTION,
    type=RuleList(),
    multiple=True,
    metavar="RULES",
    help="All but these rules. Repeatable.",
)
@click.option(
    "--incident",
    "incidents_",
    cls=Grouped,
    group=_SELECTION,
    type=IncidentId(),
    multiple=True,
    metavar="ID",
    help="Only the rules that would have found something in this incident (IL-0125), their notes included. "
    "Repeatable; `gaplint incidents` lists all incidents.",
)
@click.option(
    "--min-severity",
    cls=Grouped,
    group=_SELECTION,
    type=Near(_SEVERITIES),
    metavar="SEVERITY",
    help="Show findings from here up: error, warning (default) or info. The summary counts what is hidden.",
)
@click.option(
    "--fail-on",
    cls=Grouped,
    group=_SELECTION,
    type=Near((*_SEVERITIES, "never")),
    metavar="SEVERITY",
    help="Exit with 1 from here up: error, warning (default), info or never.",
)
@click.option(
    "--format",
    "format_",
    cls=Grouped,
    group=OUTPUT,
    type=Near(FORMATS),
    default="full",
    metavar="FORMAT",
    help=f"Format on standard output: {', '.join(FORMATS)}. Default: full.",
)
@click.option(
    "--output",
    "outputs",
    cls=Grouped,
    group=OUTPUT,
    type=FormatAndFile(FORMATS),
    multiple=True,
    metavar="FORMAT=FILE",
    help="Write a report to a file as well. Repeatable.",
)
@color_option
@click.option("-q", "--quiet", cls=Grouped, group=OUTPUT, is_flag=True, help="Findings only: no summary, no hints.")
@click.option(
    "--statistics",
    cls=Grouped,
    group=OUTPUT,
    is_flag=True,
    help="Add counts by rule and by kind of workload (formats full and concise).",
)
@click.option(
    "--baseline",
    cls=Grouped,
    group=_ADOPTION,
    type=File(),
    metavar="FILE",
    default="",
    help="Findings in FILE are accepted: they do not count.",
)
@click.option("--no-baseline", cls=Grouped, group=_ADOPTION, is_flag=True, help="Leave the configured baseline alone.")
@click.option(
    "--write-baseline",
    cls=Grouped,
    group=_ADOPTION,
    is_flag=True,
    help=f"Accept all findings: write them to the baseline (default: {BASELINE_NAME}), and take out what is gone.",
)
@click.option(
    "--add-suppressions",
    cls=Grouped,
    group=_ADOPTION,
    metavar="REASON",
    help="Write a comment (or annotation) at every finding that suppresses it for REASON; with --diff only show them.",
)
@click.option(
    "--diff-base",
    cls=Grouped,
    group=_ADOPTION,
    metavar="REV",
    default="",
    help="Only findings that were not there where the branch left REV (a branch, tag or commit).",
)
@click.option(
    "--changed",
    cls=Grouped,
    group=_ADOPTION,
    is_flag=True,
    help="The paths are files that change, as hooks name them: read the repository around them, and report only "
    "findings with a place in them: also those of workloads that refer to them.",
)
@click.option(
    "--fix", cls=Grouped, group=_FIXES, is_flag=True, help="Make the safe fixes in the files, then report what remains."
)
@click.option(
    "--unsafe-fixes",
    cls=Grouped,
    group=_FIXES,
    is_flag=True,
    help="With --fix or --diff: also fixes that a person must look at.",
)
@click.option(
    "--diff",
    cls=Grouped,
    group=_FIXES,
    is_flag=True,
    help="Print what --fix would change as a patch, change nothing; exit 1 when it would.",
)
@click.option(
    "--fail-if-empty", cls=Grouped, group=_INPUT, is_flag=True, help="Exit with 3 when there was nothing to judge."
)
@click.option(
    "--jobs",
    cls=Grouped,
    group=_INPUT,
    type=Jobs(),
    default="auto",
    metavar="N",
    help="Processes to use; auto (default) chooses. The result is the same whatever the number.",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Show the versions of gaplint and its rules, and exit.",
)
@with_inputs
def command(
    inputs: Inputs,
    select: tuple[tuple[str, ...], ...],
    ignore: tuple[tuple[str, ...], ...],
    incidents_: tuple[str, ...],
    min_severity: str | None,
    fail_on: str | None,
    format_: str,
    outputs: tuple[OutputFile, ...],
    color: str,
    quiet: bool,
    statistics: bool,
    baseline: str,
    no_baseline: bool,
    write_baseline: bool,
    add_suppressions: str | None,
    diff_base: str,
    changed: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    fail_if_empty: bool,
    jobs: int,
) -> int:
    """Find what will hang a GPU training run, lose its work or leave it dead, in its manifests, before it starts.

    PATH is a file or a folder; without one it is the current folder, and `-` is standard input.
    """
    given = {
        "-": "-" in inputs.paths,
        "--select": bool(select),
        "--incident": bool(incidents_),
        "--fix": fix,
        "--unsafe-fixes": unsafe_fixes,
        "--diff": diff,
        "--baseline": baseline,
        "--no-baseline": no_baseline,
        "--write-baseline": write_baseline,
        "--add-suppressions": add_suppressions is not None,
        "--diff-base": diff_base,
        "--changed": changed,
    }
    _check_options({name for name, value in given.items() if value}, outputs, inputs.paths)
    concerned = None
    if changed:
        inputs, concerned = _around(inputs)
    config = inputs.config
    formats = {format_, *(output.format for output in outputs)}
    selected = _rules_of(incidents_) if incidents_ else _names(select)
    least = Severity.parse(min_severity or ("info" if incidents_ else config.min_severity) or "warning")
    failing = fail_on or config.fail_on or "warning"
    if failing != "never":
        least = min(least, Severity.parse(failing))
    request = replace(
        inputs.request(),
        # What is selected here is wanted, whatever the configuration leaves out.
        select=selected or config.select,
        ignore=_names(ignore) if selected else (*config.ignore, *_names(ignore)),
        min_severity=least,
        severities=config.severities(),
        file_ignores=config.file_ignores(),
        today=date.today(),
        # Edits need the nodes that were read, which stay with the process that read them.
        jobs=1 if fix or diff or add_suppressions is not None or "sarif" in formats else jobs,
    )
    if not quiet:
        for said in (*filter(None, map(registry.outdated, (*_names(select), *_names(ignore)))), *config.hints):
            console.hint(said)
    if write_baseline or baseline or config.baseline:
        from kube_gaplint.cli import accepting

        accepted = accepting.path_of(inputs, baseline)
        if write_baseline:
            return accepting.write(request, accepted, quiet=quiet)
        if not no_baseline:
            request = replace(request, baseline=accepting.read(accepted))
    if diff_base:
        request = replace(request, before=_before(diff_base, inputs.paths, quiet=quiet))
    elif concerned is not None:
        request = replace(request, changed=concerned)
    report = lint(request)
    if fix or diff or add_suppressions is not None:
        from kube_gaplint.cli import fixing

        if add_suppressions is not None:
            edits = fixing.suppressions(report, request, add_suppressions, made=not diff)
        else:
            edits = fixing.fixes(report, request, unsafe=unsafe_fixes, made=not diff)
        if diff:
            edits.show(color)
        else:
            edits.make()
        if not quiet:
            edits.tell()
        if diff:
            return FOUND if edits.changes else 0
        if edits.changes:
            report = lint(request)
    options = RenderOptions(
        width=console.width(),
        color=console.wants_color(color, sys.stdout),
        ascii_only=console.is_ascii_only(sys.stdout),
        summary=not quiet,
        statistics=statistics,
        min_severity=least,
        incident=_incident,
        rule=_rule,
        edits=_edits,
        understood=lambda: _understood(inputs, request),
        folder=str(Path.cwd()),
        root=_repository_root(),
    )
    _write_files(outputs, report, replace(options, width=console.WIDTH_WITHOUT_TERMINAL, color=False, ascii_only=False))
    console.write_out(render(format_, report, options))
    if format_ not in FOR_PEOPLE:
        _tell(report, least, quiet=quiet)
    return _exit_code(report, failing, fail_if_empty=fail_if_empty)


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


def _check_options(given: set[str], outputs: tuple[OutputFile, ...], paths: tuple[str, ...]) -> None:
    for one, other, why in _CONFLICTS:
        if one in given and other in given:
            raise click.UsageError(why)
    if "--unsafe-fixes" in given and not given & {"--fix", "--diff"}:
        raise click.UsageError("--unsafe-fixes needs --fix (to change the files) or --diff (to see the changes).")
    named = {Path(path).resolve() for path in paths if path != "-"}
    seen: dict[Path, OutputFile] = {}
    for output in outputs:
        first = seen.setdefault(output.path.resolve(), output)
        if output.path.resolve() in named:
            raise click.UsageError(f"{os.fspath(output.path)!r} is linted; give the report another file.")
        if first is not output:
            raise click.UsageError(f"two reports go to {os.fspath(output.path)!r}; give each its own file.")


def _around(inputs: Inputs) -> tuple[Inputs, Given]:
    """What to read for the sake of the given paths, and which findings then count. Raises ClickException."""
    from kube_gaplint.given import Given, around

    for path in inputs.paths:
        if not Path(path).exists():
            raise click.ClickException(f"{one_line(path)}: no such file or folder")
    return replace(inputs, paths=tuple(around(inputs.paths))), Given.of(inputs.paths)


def _before(revision: str, paths: tuple[str, ...], *, quiet: bool) -> Before:
    from kube_gaplint.revision import RevisionProblem, since

    try:
        before = since(revision, paths)
    except RevisionProblem as problem:
        raise click.ClickException(str(problem)) from problem
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


def _edits(finding: Finding) -> tuple[tuple[Place, str], ...]:
    from kube_gaplint import fix
    from kube_gaplint.text.edit import difference

    found = []
    for change in fix.plan([finding], unsafe=True).changes:
        edit = difference(change.source.text, change.new_text)
        found.append((Place(change.source, edit.span), edit.text))
    return tuple(found)


def _repository_root() -> str:
    """The folder from which a CI system names files: what it says, or the current folder."""
    here = Path.cwd()
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        said = os.environ.get(name, "")
        if said and here.is_relative_to(said):
            return said
    return str(here)


def _write_files(outputs: tuple[OutputFile, ...], report: Report, options: RenderOptions) -> None:
    for output in outputs:
        try:
            console.write_file(output.path, render(output.format, report, options))
        except OSError as problem:
            message = f"cannot write {os.fspath(output.path)!r}: {problem.strerror}"
            raise click.ClickException(message) from problem


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
