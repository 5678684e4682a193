"""`gaplint incidents`: the incident library, searched by words and facets."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kube_gaplint import incidents, lazy_re, registry
from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.failure import did_you_mean
from kube_gaplint.cli.options import OUTPUT, color_option
from kube_gaplint.cli.types import CommaList, Grouped, GroupedCommand, Near, RuleList
from kube_gaplint.incident_search import Query, is_organisation, near_words, search
from kube_gaplint.report import library
from kube_gaplint.report.layout import Palette, hanging

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from kube_gaplint.incidents import Incident

_NARROW = "Narrow down"
_WIDEST = 140
_CARD = 100
_YEARS = lazy_re.compile(r"(\d{4})?(-)?(\d{4})?\Z", re.ASCII)

_EXAMPLES = """\
gaplint incidents                            all, with counts by facet
gaplint incidents watchdog                   a word anywhere; several words must all be there
gaplint incidents '"device plugin"'          a phrase
gaplint incidents --org meta --year 2023-    what Meta reported since 2023
gaplint incidents --symptom hang,no-restart --component nccl
gaplint incidents --rule CKPT003 --view card
gaplint incidents --words                    what the words of the facets stand for"""
_MATCHING = """\
Values of one option, with commas or repeated: any of them. Different options: all of them."""


class _Words(CommaList):
    """Words of one facet's vocabulary with commas between them; an unknown one is answered with the nearest."""

    name = "words"

    def __init__(self, facet: str) -> None:
        super().__init__("it names no word; `gaplint incidents --words` lists them.")
        self.facet = facet

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        words = tuple(word.lower() for word in super().convert(value, param, ctx))
        known = incidents.vocabulary()[self.facet]
        for word in words:
            if word not in known:
                near = did_you_mean(word, known) or f" There are {', '.join(known)}."
                self.fail(f"there is no {library.SINGULAR[self.facet]} {word!r}.{near}", param, ctx)
        return words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        del ctx, param
        before, comma, last = incomplete.rpartition(",")
        known = incidents.vocabulary()[self.facet].items()
        return [CompletionItem(f"{before}{comma}{word}", help=told) for word, told in known if word.startswith(last)]


class _Organisations(CommaList):
    """Organisations, by the beginning of one of their words, with commas between them."""

    name = "organisations"

    def __init__(self) -> None:
        super().__init__("it names no organisation.")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        names = super().convert(value, param, ctx)
        for name in names:
            if not any(is_organisation(name, incident) for incident in incidents.all_incidents()):
                near = did_you_mean(name.lower(), _organisation_words())
                self.fail(f"there is no incident of an organisation {name!r}.{near}", param, ctx)
        return names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        del ctx, param
        return [CompletionItem(word) for word in _organisation_words() if word.startswith(incomplete.lower())]


class _Years(click.ParamType[tuple[str, ...]]):
    """A year or a range of years: 2024, 2022-2024, 2023-."""

    name = "years"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        there = sorted({incident.year for incident in incidents.all_incidents()})
        match = _YEARS.match(str(value))
        if match is None or not (match[1] or match[3]) or (match[1] and match[3] and not match[2]):
            self.fail(f"{str(value)!r} is no year; give 2024, 2022-2024 or 2023-.", param, ctx)
        first = int(match[1] or there[0])
        last = int(match[3] or (there[-1] if match[2] else first))
        years = tuple(str(year) for year in there if first <= year <= last)
        if not years:
            self.fail(f"no incident is of {value}; there are some from {there[0]} to {there[-1]}.", param, ctx)
        return years

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        del ctx, param
        years = sorted({str(incident.year) for incident in incidents.all_incidents()})
        return [CompletionItem(year) for year in years if year.startswith(incomplete)]


def _facet(facet: str, told: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The option for a facet with a vocabulary."""
    return click.option(
        f"--{library.SINGULAR[facet]}",
        facet,
        cls=Grouped,
        group=_NARROW,
        type=_Words(facet),
        multiple=True,
        metavar="WORDS",
        help=told,
    )


@click.command(
    cls=GroupedCommand,
    context_settings=CONTEXT,
    after=(("Several values", _MATCHING), ("Examples", _EXAMPLES)),
)
@click.argument("query", nargs=-1, metavar="[QUERY]...")
@_facet("symptoms", "What was seen: hang, crash, lost-work, …")
@_facet("causes", "Why it could happen: hardware-fault, default-setting, …")
@_facet("components", "Where it happened: gpu, nccl, slurm, job-controller, …")
@_facet("factors", "What made it worse: long-save-interval, late-detection, …")
@click.option(
    "--org",
    "organisations",
    cls=Grouped,
    group=_NARROW,
    type=_Organisations(),
    multiple=True,
    metavar="NAMES",
    help="Whose report it is, by a word of the name: meta, 'hugging face', …",
)
@click.option(
    "--year",
    "years",
    cls=Grouped,
    group=_NARROW,
    type=_Years(),
    multiple=True,
    metavar="YEARS",
    help="A year or a range: 2024, 2022-2024, 2023-.",
)
@click.option(
    "--rule",
    "rules",
    cls=Grouped,
    group=_NARROW,
    type=RuleList(),
    multiple=True,
    metavar="RULES",
    help="Incidents in which these rules would have found something: codes, families or names.",
)
@click.option(
    "--view",
    cls=Grouped,
    group=OUTPUT,
    type=Near(("auto", "table", "card")),
    default="auto",
    metavar="VIEW",
    help="table, card (the whole of each), or auto (default): a card for a single hit, else a table.",
)
@click.option(
    "--format",
    "format_",
    cls=Grouped,
    group=OUTPUT,
    type=Near(("text", "json")),
    default="text",
    metavar="FORMAT",
    help="text (default) or json.",
)
@click.option(
    "--words", cls=Grouped, group=OUTPUT, is_flag=True, help="List the words of the facets with what they stand for."
)
@color_option
def command(query: tuple[str, ...], view: str, format_: str, words: bool, color: str, **facets: Any) -> int:
    """Search the public incidents that the rules stand on: what happened, why, and what a manifest would have shown.

    QUERY is words that must all occur in an incident; a word stands for all that begin with it. Without QUERY and
    options all incidents are listed.
    """
    palette = Palette(console.wants_color(color, sys.stdout))
    columns = min(console.width(), _WIDEST)
    if words:
        console.write_out(_text(_vocabulary_lines(columns, palette)))
        return 0
    chosen = {facet: tuple(value for values in given for value in values) for facet, given in facets.items()}
    chosen["rules"] = _codes(chosen["rules"])
    asked = Query(" ".join(query), chosen)
    found = search(asked)
    if format_ == "json":
        console.write_out(library.as_json(found, asked))
        return 0
    if view == "card" or (view == "auto" and len(found) == 1):
        line = "-" if console.is_ascii_only(sys.stdout) else "─"
        lines = library.card_lines(found, min(columns, _CARD), palette, line=line)
    else:
        lines = library.table_lines(found, columns, palette)
    if found:
        lines += ["", *library.count_lines(found, columns, palette)]
    console.write_out(_text(lines))
    if not found:
        _nothing(asked)
    return 0


def _codes(selectors: tuple[str, ...]) -> tuple[str, ...]:
    from kube_gaplint.cli.rules import unknown

    try:
        return tuple(sorted({code for selector in selectors for code in registry.resolve(selector)}))
    except registry.UnknownSelector as problem:
        raise unknown(problem) from problem


def _nothing(asked: Query) -> None:
    """Say on standard error that nothing matches, and what could be left out or was misspelt."""
    near = near_words(asked)
    console.note("gaplint: no incident matches.")
    if near:
        console.hint(f"did you mean {' '.join(near)}?")
    elif asked.words and any(asked.facets.values()):
        alone = len(search(Query(asked.words)))
        console.hint(f"{alone} match the words alone, without the other options")


def _organisation_words() -> list[str]:
    names = " ".join(incident.organisation for incident in incidents.all_incidents())
    return sorted({word.strip("(),/.").lower() for word in names.split() if len(word.strip("(),/.")) > 2})


def _vocabulary_lines(columns: int, palette: Palette) -> list[str]:
    found: tuple[Incident, ...] = incidents.all_incidents()
    lines: list[str] = []
    for facet, words in incidents.vocabulary().items():
        wide = max(map(len, words))
        lines += ["", palette.bold(f"--{library.SINGULAR[facet]}")]
        for word, told in words.items():
            number = sum(word in incident.facets()[facet] for incident in found)
            lines += hanging(f"{word:<{wide}}  {number:>3}  ", told, columns, indent=2)
    return lines[1:]


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
