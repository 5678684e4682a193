"""`gaplint explain`: the page of a rule, or an incident."""

from __future__ import annotations

import sys
from datetime import date
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from kube_gaplint import incidents, registry
from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT, FOUND
from kube_gaplint.cli.failure import Failure, Misuse
from kube_gaplint.cli.inputs import Inputs, lint
from kube_gaplint.cli.options import color_option, with_config
from kube_gaplint.cli.rules import of_incidents, rule_table, unknown
from kube_gaplint.cli.types import File, Grouped, GroupedCommand, RuleName, incident_items
from kube_gaplint.findings import Report, Severity
from kube_gaplint.incidents import Incident
from kube_gaplint.report.layout import Palette, hanging, wrapped
from kube_gaplint.report.page import EVIDENCE, incident_head, incident_lines, page_lines
from kube_gaplint.report.same_gap import has_gap, same_gap_lines

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from kube_gaplint.rule import Rule

_EXAMPLES = """\
gaplint explain NCCL001                    by code
gaplint explain async-error-handling       by name
gaplint explain CKPT                       the rules of a family
gaplint explain IL-0125                    an incident
gaplint explain IL-0125 --check train/     whether these files have the same gap"""
_WIDEST = 100


class _Topic(RuleName):
    """A rule by code, name or family, or an incident."""

    name = "topic"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [*super().shell_complete(ctx, param, incomplete), *incident_items(incomplete)]


@click.command(cls=GroupedCommand, context_settings=CONTEXT, after=(("Examples", _EXAMPLES),))
@click.argument("topics", nargs=-1, required=True, type=_Topic(), metavar="CODE|NAME|INCIDENT...")
@click.option(
    "--check",
    "paths",
    cls=Grouped,
    group="Input",
    type=File(),
    multiple=True,
    metavar="PATH",
    help="Say of each condition of an incident whether this file or folder shows it; exit with 1 when it shows one. "
    "Repeatable; `-` is standard input.",
)
@with_config
@color_option
def command(topics: tuple[str, ...], paths: tuple[str, ...], config_path: str, isolated: bool, color: str) -> int:
    """Show what a rule flags, why it hurts, a bad and a good example, and when to keep things as they are; or what
    happened in an incident, and what a manifest would have shown.
    """
    palette = Palette(console.wants_color(color, sys.stdout))
    columns = min(console.width(), _WIDEST)
    found = [_found(topic) for topic in topics]
    report = _looked(found, Inputs(paths, config_path=config_path, isolated=isolated))
    console.write_out("\n".join(_page(what, report, columns, palette) for what in found))
    alike = report is not None and any(isinstance(what, Incident) and has_gap(what, report) for what in found)
    return FOUND if alike else 0


def _found(topic: str) -> Incident | list[registry.RuleInfo]:
    """The incident or the rules of that name. Raises Failure."""
    incident = incidents.incident(topic)
    if incident is not None:
        return incident
    try:
        codes = registry.resolve(topic)
        if not codes:
            raise Failure(f"{registry.outdated(topic)}.")
        return [registry.info(code) for code in codes]
    except registry.UnknownSelector as problem:
        near = [*problem.suggestions, *incidents.near(topic)]
        raise unknown(registry.UnknownSelector(topic, near), "rule, family or incident") from problem


def _looked(found: list[Incident | list[registry.RuleInfo]], inputs: Inputs) -> Report | None:
    """What the rules of the incidents find in the paths; None where no path is given. Raises Failure."""
    if not inputs.paths:
        if inputs.config_path or inputs.isolated:
            raise Misuse("--config and --isolated say how --check PATH reads; give it, too.")
        return None
    for what in found:
        if not isinstance(what, Incident):
            raise Misuse(f"--check goes with incidents; for a rule: gaplint --select {what[0].code} PATH")
    request = replace(
        inputs.request(),
        select=of_incidents([what for what in found if isinstance(what, Incident)]),
        min_severity=Severity.INFO,
        file_ignores=inputs.config.file_ignores(),
        today=date.today(),
    )
    return lint(request)


def _page(what: Incident | list[registry.RuleInfo], report: Report | None, columns: int, palette: Palette) -> str:
    if isinstance(what, Incident):
        lines = incident_lines(what, columns, palette)
        if report is not None:
            ascii_only = console.is_ascii_only(sys.stdout)
            lines += ["", *same_gap_lines(what, report, columns, palette, ascii_only=ascii_only)]
        return _text(lines)
    if len(what) > 1:
        return rule_table(what, color=palette.on)
    return _text(rule_lines(registry.load(what[0].code), columns, palette))


def rule_lines(rule: Rule, columns: int, palette: Palette) -> list[str]:
    """A rule's page with its head and its evidence."""
    head = palette.severity(rule.severity, f"{rule.code} {rule.name}")
    lines = [f"{head}  {palette.dim(f'{rule.severity}, since {rule.since}')}"]
    lines += page_lines(rule.page, columns, palette)
    lines += ["", palette.bold("Evidence")]
    lines += [f"  {line}" for line in wrapped(f"{EVIDENCE[rule.evidence_kind]}.", columns - 2)]
    for identifier in rule.evidence:
        incident = incidents.incident(identifier)
        lines += [f"  {identifier}"] if incident is None else incident_head(incident, columns, palette, indent=2)
    for identifier in rule.sources:
        document = incidents.document(identifier)
        if document is None:
            lines += hanging("", identifier, columns, indent=2)
        else:
            lines += [*hanging("", document.title, columns, indent=2), f"    {document.address}"]
    return lines


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
