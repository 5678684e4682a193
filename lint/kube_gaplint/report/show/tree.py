"""A tree of labelled lines for a terminal: wrapping, branches, colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint.report.escape import guarded, visible
from kube_gaplint.report.layout import Palette, width_of

Style: TypeAlias = Literal["", "title", "label", "where", "unknown", "good"]
Run: TypeAlias = tuple[str, Style]
"""A piece of text with its style. The text may come from outside; it is made harmless when it is drawn."""

NARROWEST = 16
"""Columns that a text gets at least, whatever the width and the depth."""


class Row(Struct):
    """One line of a branch: a label and what stands beside it. `sub` rows stand below it, further in."""

    label: str
    text: list[Run]
    sub: list[Row] = field(default_factory=list)


class Branch(Struct):
    """A part of the tree: its title, its rows, and the branches below it."""

    title: list[Run]
    rows: list[Row] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)


class Marks(Struct, frozen=True):
    """The characters that draw branches, three columns each."""

    branch: str
    last: str
    side: str


LINES = Marks("├─ ", "╰─ ", "│  ")
PLAIN = Marks("|- ", "`- ", "|  ")


class Pen:
    """Draws trees at one width."""

    def __init__(self, width: int, palette: Palette, *, ascii_only: bool = False) -> None:
        self.width = width
        self.palette = palette
        self.ascii_only = ascii_only
        self.marks = PLAIN if ascii_only else LINES

    def draw(self, branch: Branch) -> Iterator[str]:
        """The lines of a whole tree. Each is safe to print, whatever the names and values in it."""
        for line in self._branch(branch, "", ""):
            yield guarded(line.rstrip())

    def text(self, runs: list[Run]) -> Iterator[str]:
        """A paragraph without a branch."""
        for line in self._wrapped(runs, self.width):
            yield guarded(line.rstrip())

    def line(self, text: str, style: Style) -> str:
        """A line that stays whole, however long: a command to copy is of no use in pieces."""
        return guarded(self._paint(self._safe(text), style))

    def _branch(self, branch: Branch, first: str, rest: str) -> Iterator[str]:
        columns = self.width - width_of(rest) - len(self.marks.side)
        for at, line in enumerate(self._wrapped(branch.title, columns)):
            yield self._edge(first if at == 0 else rest + self._side(branch)) + line
        edge = rest + self._side(branch)
        yield from self._rows(branch.rows, edge, 0)
        for at, below in enumerate(branch.branches):
            is_last = at == len(branch.branches) - 1
            mark, side = (self.marks.last, "   ") if is_last else (self.marks.branch, self.marks.side)
            yield from self._branch(below, rest + mark, rest + side)

    def _side(self, branch: Branch) -> str:
        return self.marks.side if branch.branches else "   "

    def _edge(self, edge: str) -> str:
        return self.palette.frame(edge) if edge.strip() else edge

    def _rows(self, rows: list[Row], edge: str, indent: int) -> Iterator[str]:
        """Rows with their texts in one column. A label that is too wide for it stands on a line of its own where its
        text does not fit beside it; a text without a label takes the whole width."""
        room = self.width - width_of(edge)
        names = [self._safe(row.label) for row in rows]
        column = max((wide for name in names if (wide := width_of(name)) <= room * 2 // 5), default=0)
        for row, name in zip(rows, names, strict=True):
            wide = width_of(name)
            beside = self._paint(name, "label")
            start = indent + (0 if not name else max(wide, column) + 2)
            lines = self._wrapped(row.text, max(room - start, NARROWEST))
            if name and ((wide > column and len(lines) > 1) or start + NARROWEST > room):
                for piece in self._wrapped([(row.label, "label")], max(room - indent, NARROWEST)):
                    yield f"{self._edge(edge)}{' ' * indent}{piece}"
                beside, wide, start = "", 0, indent + 4
                lines = self._wrapped(row.text, max(room - start, NARROWEST))
            head = " " * indent + beside + " " * (start - indent - wide)
            for at, line in enumerate(lines):
                yield f"{self._edge(edge)}{' ' * start if at else head}{line}"
            yield from self._rows(row.sub, edge, indent + 2)

    def _wrapped(self, runs: list[Run], columns: int) -> list[str]:
        """Runs in lines of at most so many columns, broken at spaces; a word wider than a line is broken too."""
        columns = max(columns, NARROWEST)
        lines: list[list[Run]] = [[]]
        used = 0
        for word in self._words(runs):
            wide = sum(width_of(text) for text, _ in word)
            gap = 1 if used else 0
            if used and used + gap + wide > columns:
                lines.append([])
                used = gap = 0
            if gap:
                lines[-1].append((" ", ""))
                used += gap
            for whole, style in word:
                text = whole
                while width_of(text) > columns - used:
                    head = _head(text, columns - used)
                    lines[-1].append((head, style))
                    lines.append([])
                    text, used = text[len(head) :], 0
                lines[-1].append((text, style))
                used += width_of(text)
        return ["".join(self._paint(text, style) for text, style in _joined(line)) for line in lines]

    def _words(self, runs: list[Run]) -> Iterator[list[Run]]:
        """What stands between spaces; a word may be in several styles."""
        word: list[Run] = []
        for whole, style in runs:
            for at, text in enumerate(self._safe(whole).split(" ")):
                if at and word:
                    yield word
                    word = []
                if text:
                    word.append((text, style))
        if word:
            yield word

    def _safe(self, text: str) -> str:
        return visible(text, ascii_only=self.ascii_only)

    def _paint(self, text: str, style: Style) -> str:
        paint = {
            "title": self.palette.bold,
            "label": self.palette.second,
            "where": self.palette.dim,
            "unknown": self.palette.bad,
            "good": self.palette.good,
        }.get(style)
        return text if paint is None else paint(text)


def _joined(runs: list[Run]) -> list[Run]:
    """Runs of one style as one, so that a line carries few colour codes."""
    out: list[Run] = []
    for text, style in runs:
        if out and (out[-1][1] == style or (text == " " and out[-1][1])):
            out[-1] = (out[-1][0] + text, out[-1][1])
        else:
            out.append((text, style))
    return out


_BREAKS = "/,;=|&?"


def _head(word: str, columns: int) -> str:
    """The beginning of a word that fits, up to a character that it may be broken after, where one is near."""
    used = fits = 0
    for character in word:
        used += width_of(character)
        if used > columns:
            break
        fits += 1
    cut = max(word.rfind(character, fits * 2 // 3, fits) for character in _BREAKS) + 1
    return word[: cut or max(fits, 1 if columns >= NARROWEST else 0)]
