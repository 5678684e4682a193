"""docs/accuracy.md: the numbers between its markers are made from verdicts.tsv and census.tsv."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from accuracy import census, verdicts
from accuracy.census import OTHER, Count
from accuracy.estimate import percent, plain, weighted
from accuracy.verdicts import QUIET, WRONG, Row

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"


def precision(rows: Sequence[Row], _counts: Sequence[Count]) -> Iterator[str]:
    """One table a draw, newest first: all, by severity, by family."""
    draws = verdicts.draws_of(verdicts.DRAWS)
    judged = [row for row in rows if row.verdict and row.severity != QUIET]
    if not judged:
        yield "Nothing has been judged yet."
    for draw, members in verdicts.by_draw(judged, draws).items():
        repositories = len({row.repository for row in members})
        drawn = f"; drawn from {draws[draw]}" if draw in draws else ""
        yield f"Findings of version `{draw[:12]}`, in {repositories} repositories{drawn}:"
        yield ""
        yield "| findings | judged | right | precision (95 % interval) | weighted by frequency |"
        yield "| --- | ---: | ---: | ---: | ---: |"
        yield _line("all errors and warnings", members)
        for severity in ("error", "warning"):
            yield _line(f"{severity}s", [row for row in members if row.severity == severity])
        for family in sorted({_family(row.code) for row in members}):
            yield _line(family, [row for row in members if _family(row.code) == family])
        yield ""


def _line(title: str, rows: Sequence[Row]) -> str:
    share = plain(rows)
    return f"| {title} | {len(rows)} | {share.right} | {percent(share)} | {percent(weighted(rows))} |"


def _family(code: str) -> str:
    return code.rstrip("0123456789")


def missed(rows: Sequence[Row], _counts: Sequence[Count]) -> Iterator[str]:
    """The judged quiet workloads, a line a draw."""
    judged = [row for row in rows if row.verdict and row.severity == QUIET]
    if not judged:
        yield "Nothing has been judged yet."
        return
    yield "| version | quiet workloads judged | rightly quiet | share (95 % interval) | missed |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for draw, members in verdicts.by_draw(judged, verdicts.draws_of(verdicts.DRAWS)).items():
        share = plain(members)
        codes = Counter(row.code for row in members if row.verdict == WRONG)
        named = ", ".join(f"{code} {number}×" for code, number in sorted(codes.items())) or "nothing"
        yield f"| `{draw[:12]}` | {len(members)} | {share.right} | {percent(share)} | {named} |"


def wrong(rows: Sequence[Row], _counts: Sequence[Count]) -> Iterator[str]:
    """Every wrong verdict, and whether gaplint still says so."""
    faults = [row for row in rows if row.verdict == WRONG]
    if not faults:
        yield "None has been met yet."
        return
    yield "| rule | where | why it was wrong | now |"
    yield "| --- | --- | --- | --- |"
    for row in faults:
        now = NOW[row.now]
        kind = f"{row.code} (missed)" if row.severity == QUIET else row.code
        yield f"| {kind} | {as_text(f'{row.repository} {row.path}:{row.line}')} | {as_text(row.reason)} | {now} |"


NOW = {"": "not looked at", "there": "still there", "gone": "mended", "found": "mended", "quiet": "still missed"}


def density(_rows: Sequence[Row], counts: Sequence[Count]) -> Iterator[str]:
    """Findings per workload by class."""
    if not counts:
        yield "Nothing has been counted yet."
        return
    repositories = {count.repository for count in counts}
    yield f"{len(repositories)} repositories, {sum(count.workloads for count in counts):,} workloads:"
    yield ""
    yield "| class | workloads | without a finding | errors | warnings | a workload | median | infos |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for one in census.densities(counts):
        if one.purpose == OTHER:
            yield f"| other objects | – | – | {one.errors:,} | {one.warnings:,} | – | – | {one.infos:,} |"
            continue
        share = f"{one.quiet / one.workloads:.0%}".replace("%", " %")
        yield (
            f"| {one.purpose} | {one.workloads:,} | {share} | {one.errors:,} | {one.warnings:,} | {one.mean:.2f} "
            f"| {one.median:g} | {one.infos:,} |"
        )


BLOCKS: dict[str, Callable[[Sequence[Row], Sequence[Count]], Iterator[str]]] = {
    "precision": precision,
    "missed": missed,
    "density": density,
    "wrong": wrong,
}


def renewed(text: str, rows: Sequence[Row], counts: Sequence[Count]) -> str:
    """The page's text with its numbers made anew.

    Raises:
        SystemExit: a block has no markers.
    """
    for name, block in BLOCKS.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"the page must hold {begin} and {end} once")
        body = _joined(block(rows, counts))
        head, _, rest = text.partition(begin)
        _, _, tail = rest.partition(end)
        text = f"{head}{begin}\n{body}\n{end}{tail}"
    return text


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines).strip()


def as_text(text: str) -> str:
    """Text from outside on one line, with nothing that Markdown reads; fit for a cell of a table."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))
