"""verdicts.tsv: what was judged, so that later versions are held to it.

One row is one judged finding, or one judged training workload without findings (severity `quiet`; its code is the rule
that it missed, if any). Rows hold facts: where, which rule, which object, right or wrong and why in the judge's own
words. Nothing of the repositories' text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

VERDICTS = Path(__file__).parent / "verdicts.tsv"
DRAWS = Path(__file__).parent / "draws.tsv"
QUIET = "quiet"
RIGHT, WRONG = "RIGHT", "WRONG"

Verdict: TypeAlias = Literal["", "RIGHT", "WRONG"]
Now: TypeAlias = Literal["", "there", "gone", "quiet", "found"]


class Row(Struct, frozen=True, kw_only=True):
    """One line of the table. Two rows with the same `key` are the same."""

    draw: str
    """The seed of the sample: by custom the commit of gaplint that was judged."""
    repository: str
    commit: str
    path: str
    line: int
    severity: str
    code: str
    object: str
    fingerprint: str
    stands_for: float = 1.0
    """How many findings of its rule in the judged corpus this one was drawn for."""
    verdict: Verdict = ""
    now: Now = ""
    """What the last `recheck` saw: a finding `there` or `gone`, a workload `quiet` or something `found` of it."""
    reason: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        missed = "" if self.severity == QUIET else self.code
        return (self.draw, self.repository, self.path, missed, self.fingerprint, str(self.line))


COLUMNS = Row.__struct_fields__


def read(path: Path) -> list[Row]:
    """The rows of a table; none where there is no file yet.

    Raises:
        SystemExit: the file is no such table; it says which line.
    """
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if tuple(next(table, ())) != COLUMNS:
            raise SystemExit(f"{path}:1: the columns must be {', '.join(COLUMNS)}")
        rows = []
        for cells in table:
            try:
                rows.append(msgspec.convert(dict(zip(COLUMNS, cells, strict=True)), Row, strict=False))
            except (ValueError, msgspec.ValidationError) as problem:
                raise SystemExit(f"{path}:{table.line_num}: {problem}") from None
        return rows


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write a table, in an order that makes a small diff."""
    ordered = sorted(rows, key=lambda row: (row.draw, row.severity == QUIET, row.repository.casefold(), *row.key))
    lines = ["\t".join(COLUMNS), *("\t".join(_cell(getattr(row, name)) for name in COLUMNS) for row in ordered)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def merged(rows: Sequence[Row], judged: Iterable[Row]) -> list[Row]:
    """The table with judged rows added; one that is there already is judged anew."""
    by_key = {row.key: row for row in rows}
    by_key.update((row.key, row) for row in judged)
    return list(by_key.values())


def by_draw(rows: Sequence[Row], draws: Mapping[str, str]) -> dict[str, list[Row]]:
    """The rows by draw, the newest first; draws that `draws` does not name come before all that it does."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.draw, []).append(row)
    age = {draw: number for number, draw in enumerate(draws, 1)}
    return dict(sorted(found.items(), key=lambda pair: -age.get(pair[0], len(age) + 1)))


def draws_of(path: Path) -> dict[str, str]:
    """What each draw was made of, the oldest first."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return dict(line.split("\t", 1) for line in lines)


def _cell(value: object) -> str:
    """A value without tabs, line ends or control characters, which names from outside may hold."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text).strip()
