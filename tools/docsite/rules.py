"""A page for each rule, from its module's docstring, and the pages that list them."""

from __future__ import annotations

import inspect
import re
from functools import cache

from docsite import addresses
from docsite.text import escaped, front, relisted, with_links
from kube_gaplint import incidents, registry
from kube_gaplint.report.page import EVIDENCE, VERIFICATION
from kube_gaplint.rule import Rule

FAMILIES = {
    "NCCL": "Collectives and their timeouts",
    "CKPT": "Checkpoints",
    "RETRY": "Restarts and their budgets",
    "STOP": "Stopping in time",
    "EVICT": "Eviction and preemption",
    "GPU": "GPUs, memory and devices",
    "NET": "Networks and rendezvous",
    "SCHED": "Scheduling",
    "DATA": "Data and its storage",
    "IMG": "Images",
    "NODE": "Nodes and their upgrades",
    "SLURM": "Slurm",
    "GAP": "gaplint itself",
}
"""Families of rules by the letters of their codes, in the order of the site."""
_LEVELS = ("error", "warning", "info")


@cache
def all_rules() -> dict[str, list[Rule]]:
    """The rules by family. Raises ValueError for a family without a title."""
    found: dict[str, list[Rule]] = {family: [] for family in FAMILIES}
    for row in registry.rules():
        if row.family not in found:
            raise ValueError(f"family {row.family} has no title in {__name__}.FAMILIES")
        found[row.family].append(registry.load(row.code))
    return found


@cache
def codes() -> frozenset[str]:
    return frozenset(row.code for row in registry.rules())


def linked(markdown: str, page: str) -> str:
    """Markdown whose codes of rules lead to their pages, except on a rule's own."""
    return with_links(
        markdown,
        lambda code: (
            addresses.relative(addresses.rule(code), page) if code in codes() and addresses.rule(code) != page else None
        ),
    )


def pages() -> dict[str, str]:
    """All pages about rules."""
    found = {addresses.rule(rule.code): _page(rule) for rules in all_rules().values() for rule in rules}
    return {"rules/index.md": _index(), **found}


def navigation() -> list[object]:
    """The part of the navigation that leads to rules."""
    families: list[object] = [
        {f"{family}: {title}": [{rule.code: addresses.rule(rule.code)} for rule in all_rules()[family]]}
        for family, title in FAMILIES.items()
    ]
    return ["rules/index.md", *families]


def view_of(rule: Rule) -> str:
    """What a rule looks at, in words: `training process`."""
    name = rule.view.__name__
    return {"Batch": "batch script", "object": ""}.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _index() -> str:
    number = len(codes())
    lines = [
        front(title="Rules", description=f"The {number} rules of gaplint by family"),
        "# Rules\n",
        f"{number} rules. An *error* will hang a run or lose its work when a common fault comes; a *warning* depends "
        "on a default or a choice that incidents show to be costly; *info* is advice, hidden unless asked for with "
        "`--min-severity info`. The severity of one finding may be lower or higher than that of its rule, as its page "
        "says.\n",
    ]
    for family, title in FAMILIES.items():
        lines += [f"## {title} {{ #{family.lower()} }}\n", f"`gaplint --select {family}`\n"]
        lines += ["| Rule | Severity | What it finds |", "|---|---|---|"]
        for rule in all_rules()[family]:
            link = f"[{rule.code}]({rule.code}.md)"
            lines.append(f"| {link}<br>{rule.name} | {badge(str(rule.severity))} | {escaped(rule.summary)} |")
        lines.append("")
    return "\n".join(lines)


def badge(severity: str) -> str:
    return f'<span class="gl-badge gl-{severity}">{severity}</span>'


def _page(rule: Rule) -> str:
    page = addresses.rule(rule.code)
    family = registry.info(rule.code).family
    body = inspect.cleandoc(rule.page)
    summary, _, rest = body.partition("\n")
    parts = [
        front(title=f"{rule.code} {rule.name}", description=summary),
        f"# {rule.code} <small>{rule.name}</small>\n",
        f"{badge(str(rule.severity))} · family [{family}](index.md#{family.lower()}) · since {rule.since}"
        + (f" · looks at: {view_of(rule)}" if view_of(rule) else "")
        + "\n{ .gl-facts }\n",
        f"**{linked(summary, page)}**\n",
        linked(relisted(rest), page),
        _evidence(rule, page),
        _silence(rule),
    ]
    return "\n".join(parts)


def _evidence(rule: Rule, page: str) -> str:
    lines = ["\n## Evidence\n", f"{EVIDENCE[rule.evidence_kind]}.\n"] if rule.evidence or rule.sources else []
    for identifier in rule.evidence:
        found = incidents.incident(identifier)
        if found is not None:
            lines.append(_incident(found, page))
    for identifier in rule.sources:
        source = incidents.document(identifier)
        if source is None:  # a source in words
            lines.append(f"- {escaped(identifier)}")
        else:
            says = f": {escaped(source.says)}" if source.says else ""
            read = VERIFICATION.get(source.verification)
            note = f" ({read})" if read else ""
            lines.append(f"- [{escaped(source.title)}]({source.address}){says}{note}")
    others = [one for one in incidents.for_rule(rule.code) if one.id not in rule.evidence]
    if others:
        lines += ["\n### Other incidents in which it would have found something\n"]
        lines += [_incident(one, page) for one in others]
    if rule.evidence or others:
        lines.append(f"\n[These incidents in the library](../incidents/index.md?rules={rule.code})")
    return relisted("\n".join(lines))


def _incident(found: incidents.Incident, page: str) -> str:
    link = f"[{escaped(found.title)}]({addresses.relative(addresses.incident(found.id), page)})"
    lesson = f"  \n  {linked(escaped(found.lesson), page)}" if found.lesson else ""
    return f"- {link} ({escaped(found.organisation)}, {found.year}){lesson}"


def _silence(rule: Rule) -> str:
    before = sorted(old for old, now in registry.former().items() if now == rule.code)
    former = f"\nIt was called {', '.join(f'`{name}`' for name in before)} before.\n" if before else ""
    return (
        "\n## Letting it be\n\nWith a reason, on the line of the finding or the line above:\n\n"
        f"```yaml\n# gaplint: ignore[{rule.code}] until=2027-06-30 why this is right here\n```\n\n"
        f"For good, in the configuration: `ignore: [{rule.code}]`. More: [living with gaplint](../adoption.md).\n"
        f"{former}"
    )
