"""`gaplint explain`: the page of a rule, or an incident."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kube_gaplint import registry
from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.rules import rule_table, unknown
from kube_gaplint.cli.types import Grouped, GroupedCommand, Near
from kube_gaplint.report.layout import Palette, hanging
from kube_gaplint.report.page import page_lines

if TYPE_CHECKING:
    from kube_gaplint.rule import Rule

_EXAMPLES = """\
gaplint explain NCCL001                    by code
gaplint explain async-error-handling       by name
gaplint explain IL-0125                    an incident
gaplint explain CKPT                       the rules of a family"""
_WIDEST = 100
_EVIDENCE = {
    "direct": "an incident shows this very condition",
    "derived": "it follows from an incident and from how the software behaves",
    "thin": "one report, not confirmed elsewhere",
    "facts": "it follows from how the software reads the setting",
}


@click.command(cls=GroupedCommand, context_settings=CONTEXT, after=(("Examples", _EXAMPLES),))
@click.argument("topics", nargs=-1, required=True, metavar="CODE|NAME|INCIDENT...")
@click.option(
    "--color",
    cls=Grouped,
    group="Output",
    type=Near(("auto", "always", "never")),
    default="auto",
    metavar="WHEN",
    help="auto (default; NO_COLOR switches it off), always or never.",
)
def command(topics: tuple[str, ...], color: str) -> int:
    """Show what a rule flags, why it hurts, a bad and a good example, and when to keep things as they are."""
    palette = Palette(console.wants_color(color, sys.stdout))
    columns = min(console.width(), _WIDEST)
    texts = [_page(topic, columns, palette) for topic in topics]
    console.write_out("\n".join(texts))
    return 0


def _page(topic: str, columns: int, palette: Palette) -> str:
    if registry.incident(topic) is not None:
        return "".join(f"{line}\n" for line in incident_lines(topic, columns, palette))
    try:
        codes = registry.resolve(topic)
    except registry.UnknownSelector as problem:
        raise unknown(problem, "rule, family or incident") from problem
    if len(codes) > 1 or codes[0] != topic.upper() != registry.info(codes[0]).name.upper():
        return rule_table([registry.info(code) for code in codes], color=palette.on)
    return "".join(f"{line}\n" for line in rule_lines(registry.load(codes[0]), columns, palette))


def rule_lines(rule: Rule, columns: int, palette: Palette) -> list[str]:
    """A rule's page with its head and its evidence."""
    head = palette.severity(rule.severity, f"{rule.code} {rule.name}")
    lines = [f"{head}  {palette.dim(f'{rule.severity}, since {rule.since}')}", ""]
    lines += page_lines(rule.page, columns, palette)
    lines += ["", palette.bold("Evidence"), *hanging("", _EVIDENCE[rule.evidence_kind], columns, indent=2)]
    for identifier in rule.evidence:
        lines += incident_lines(identifier, columns, palette, indent=2)
    for source in rule.sources:
        lines += hanging("- ", source, columns, indent=2)
    return lines


def incident_lines(identifier: str, columns: int, palette: Palette, *, indent: int = 0) -> list[str]:
    """An incident: what happened, to whom, and where it can be read."""
    incident = registry.incident(identifier)
    if incident is None:
        return [f"{'':{indent}}- {identifier}"]
    title = f"{incident.title} ({incident.organisation}, {incident.year})"
    first, *rest = hanging(f"{incident.id} ", title, columns, indent=indent)
    lines = [first.replace(incident.id, palette.bold(incident.id), 1), *rest]
    for name, address in incident.sources:
        lines += hanging("- ", f"{name} {address}", columns, indent=indent + 2)
    return lines
