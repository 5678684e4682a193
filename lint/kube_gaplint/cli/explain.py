"""`gaplint explain`: the page of a rule, or an incident."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kube_gaplint import incidents, registry
from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.rules import rule_table, unknown
from kube_gaplint.cli.types import Grouped, GroupedCommand, Near
from kube_gaplint.report.layout import Palette, hanging, wrapped
from kube_gaplint.report.page import incident_head, incident_lines, page_lines

if TYPE_CHECKING:
    from kube_gaplint.rule import Rule

_EXAMPLES = """\
gaplint explain NCCL001                    by code
gaplint explain async-error-handling       by name
gaplint explain IL-0125                    an incident
gaplint explain CKPT                       the rules of a family"""
_WIDEST = 100
_EVIDENCE = {
    "direct": "Direct: an incident shows this very condition",
    "derived": "Derived: it follows from an incident and from how the software behaves",
    "thin": "Thin: it rests on a single report",
    "facts": "Facts: it follows from how the software reads the setting",
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
    incident = incidents.incident(topic)
    if incident is not None:
        return _text(incident_lines(incident, columns, palette))
    try:
        codes = registry.resolve(topic)
    except registry.UnknownSelector as problem:
        raise unknown(problem, "rule, family or incident") from problem
    rows = [registry.info(code) for code in codes]
    if topic.upper() == rows[0].family:
        return rule_table(rows, color=palette.on)
    return _text(rule_lines(registry.load(codes[0]), columns, palette))


def rule_lines(rule: Rule, columns: int, palette: Palette) -> list[str]:
    """A rule's page with its head and its evidence."""
    head = palette.severity(rule.severity, f"{rule.code} {rule.name}")
    lines = [f"{head}  {palette.dim(f'{rule.severity}, since {rule.since}')}"]
    lines += page_lines(rule.page, columns, palette)
    lines += ["", palette.bold("Evidence")]
    lines += [f"  {line}" for line in wrapped(f"{_EVIDENCE[rule.evidence_kind]}.", columns - 2)]
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
