"""`gaplint rules`: the rules that exist."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from kube_gaplint import registry
from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.failure import Failure
from kube_gaplint.cli.options import OUTPUT, color_option
from kube_gaplint.cli.types import Grouped, GroupedCommand, Near, RuleName
from kube_gaplint.report.escape import json_text, visible
from kube_gaplint.report.layout import Palette, padded, width_of, wrapped

if TYPE_CHECKING:
    from kube_gaplint.incidents import Incident

_EXAMPLES = """\
gaplint rules                   all rules
gaplint rules CKPT SLURM001     a family and one rule
gaplint rules --format json     for programs"""


@click.command(cls=GroupedCommand, context_settings=CONTEXT, after=(("Examples", _EXAMPLES),))
@click.argument("selectors", nargs=-1, type=RuleName(), metavar="[RULE]...")
@click.option(
    "--format",
    "format_",
    cls=Grouped,
    group=OUTPUT,
    type=Near(("table", "json")),
    default="table",
    metavar="FORMAT",
    help="table (default) or json.",
)
@color_option
def command(selectors: tuple[str, ...], format_: str, color: str) -> int:
    """List the rules: all, or those that RULE names (a code, a family such as NCCL, or a name)."""
    rows = chosen(selectors)
    if format_ == "json":
        data = [
            {
                "code": row.code,
                "name": row.name,
                "severity": str(row.severity),
                "family": row.family,
                "tier": row.tier,
                "summary": row.summary,
            }
            for row in rows
        ]
        console.write_out(json_text(data, indent=2))
        return 0
    console.write_out(rule_table(rows, color=console.wants_color(color, sys.stdout)))
    return 0


def chosen(selectors: tuple[str, ...]) -> list[registry.RuleInfo]:
    """The rows that the selectors stand for, by code; all without a selector. Raises Failure."""
    try:
        codes = {code for selector in selectors for code in registry.resolve(selector)}
    except registry.UnknownSelector as problem:
        raise unknown(problem) from problem
    return [row for row in registry.rules() if not selectors or row.code in codes]


def of_incidents(incidents: Iterable[Incident]) -> tuple[str, ...]:
    """The codes of the rules that would have found something in these incidents. Raises Failure for none."""
    found = list(incidents)
    codes = {code for incident in found for code in incident.rules}
    if not codes:
        raise Failure(
            f"no manifest would have shown {' or '.join(incident.id for incident in found)}; "
            f"`gaplint explain {found[0].id}` says what happened"
        )
    return tuple(sorted(codes))


def unknown(problem: registry.UnknownSelector, what: str = "rule or family") -> Failure:
    """The answer to a name that nothing has."""
    near = f" Did you mean {' or '.join(problem.suggestions)}?" if problem.suggestions else ""
    return Failure(f"there is no {what} {visible(problem.text)!r}.{near} `gaplint rules` lists all rules.")


def rule_table(rows: list[registry.RuleInfo], *, color: bool) -> str:
    """Code, name, severity and first sentence, wrapped to the terminal."""
    palette = Palette(color)
    columns = min(console.width(), 140)
    code = max((width_of(row.code) for row in rows), default=0)
    name = max((width_of(row.name) for row in rows), default=0)
    lines = []
    for row in rows:
        head = f"{padded(row.code, code)}  {palette.severity(row.severity, padded(str(row.severity), 7))}  "
        used = code + 2 + 7 + 2
        room = columns - used - name - 2
        if room >= 36:  # the sentence stands beside the name
            first, *rest = wrapped(row.summary, room)
            lines.append(f"{head}{palette.bold(padded(row.name, name))}  {first}")
            lines += [" " * (used + name + 2) + line for line in rest]
        else:
            lines.append(f"{head}{palette.bold(row.name)}")
            lines += [" " * used + line for line in wrapped(row.summary, columns - used)]
    return "".join(f"{line}\n" for line in lines)
