"""Widths, wrapping and colours of text on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec import Struct

from kube_gaplint.findings import Severity


def width_of(text: str) -> int:
    """How many columns a terminal gives to a text (wide characters take two, combining marks none)."""
    return len(text) if text.isascii() else sum(map(_columns, text))


@lru_cache(maxsize=1024)
def _columns(character: str) -> int:
    if character.isascii():
        return 1
    import unicodedata  # most reports are without

    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, columns: int) -> str:
    """The text, filled up with spaces."""
    return text + " " * (columns - width_of(text))


def shortened(text: str, columns: int, mark: str) -> str:
    """The text, cut in its middle where it is wider than that."""
    if width_of(text) <= columns:
        return text
    keep = max(columns - width_of(mark), 0)
    head = keep - keep // 2
    return _first(text, head) + mark + _first(text[::-1], keep - head)[::-1]


def _first(text: str, columns: int) -> str:
    used = 0
    for at, character in enumerate(text):
        used += _columns(character)
        if used > columns:
            return text[:at]
    return text


def wrapped(text: str, columns: int) -> list[str]:
    """The text in lines of at most so many columns, broken at spaces. A word that is wider than a line is broken,
    save an address, which has to stay whole to be of use."""
    columns = max(columns, 10)
    if not text.isascii():
        return _broken(text, columns, width_of)
    text = " ".join(text.split())
    lines: list[str] = []
    at = 0
    while len(text) - at > columns:
        space = text.rfind(" ", at, at + columns + 1)
        if space < 0:  # a word that is wider than a line
            return lines + _broken(text[at:], columns, len)
        lines.append(text[at:space])
        at = space + 1
    return [*lines, text[at:]]


def _broken(text: str, columns: int, width: Callable[[str], int]) -> list[str]:
    """`wrapped`, word by word."""
    lines: list[str] = []
    line = ""
    used = 0
    for whole in text.split():
        word, wide = whole, width(whole)
        if line and used + 1 + wide > columns:
            lines.append(line)
            line, used = "", 0
        while wide > columns and "://" not in word:
            head = _first(word, columns)
            lines.append(head)
            word = word[len(head) :]
            wide = width(word)
        line, used = (f"{line} {word}", used + 1 + wide) if line else (word, wide)
    if line:
        lines.append(line)
    return lines or [""]


def hanging(label: str, text: str, columns: int, *, indent: int = 0) -> list[str]:
    """A label with its text beside it; further lines stand below the text."""
    start = indent + width_of(label)
    lines = wrapped(text, columns - start)
    return [" " * indent + label + lines[0], *(" " * start + line for line in lines[1:])]


def table(rows: Iterable[tuple[str, ...]], *, gap: int = 2, right: frozenset[int] = frozenset()) -> list[str]:
    """Rows with aligned columns; the columns in `right` are aligned to the right."""
    rows = list(rows)
    if not rows:
        return []
    widths = [max(width_of(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            " " * (wide - width_of(cell)) + cell if i in right else padded(cell, wide)
            for i, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((" " * gap).join(cells).rstrip())
    return lines


class Palette(Struct, frozen=True):
    """The colours of a report; none where `on` is false."""

    on: bool = False

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text

    def bold(self, text: str) -> str:
        return self._in("1", text)

    def dim(self, text: str) -> str:
        return self._in("2", text)

    def frame(self, text: str) -> str:
        return self._in("34", text)

    def second(self, text: str) -> str:
        return self._in("36", text)

    def good(self, text: str) -> str:
        return self._in("32", text)

    def bad(self, text: str) -> str:
        return self._in("31", text)

    def severity(self, severity: Severity, text: str) -> str:
        return self._in({Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}[severity], text)


class Glyphs(Struct, frozen=True):
    """The characters that draw frames and marks."""

    rule: str
    top: str
    side: str
    branch: str
    bottom: str
    gap: str
    span: str
    thick: str
    under: str
    under2: str
    cut: str


BOX = Glyphs("─", "╭─", "│", "├─", "╰─", "┆", "┃", "┃", "━", "─", "…")
ASCII = Glyphs("-", "-->", "|", ":::", "", ":", ">", ">", "^", "-", "...")
