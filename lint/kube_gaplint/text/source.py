"""Source texts and places in them.

Everything that gaplint says points at a `Place`: a span of characters in one `Source`. Offsets count characters of
the decoded text, so they serve edits directly; lines and columns are derived, and only when something is shown.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate, count
from operator import add
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable


class Span(Struct, frozen=True, order=True, gc=False):
    """A half-open range of character offsets: `text[start:end]`."""

    start: int
    end: int


class Position(Struct, frozen=True, order=True, gc=False):
    """A place as editors count it: both numbers start at 1."""

    line: int
    column: int


def line_start_before(text: str, offset: int) -> int:
    """Where the line begins that holds an offset; `\\n` and `\\r` end lines."""
    start = text.rfind("\n", 0, offset) + 1
    return max(start, text.rfind("\r", start, offset) + 1)


_CHUNK = 1 << 20
"""Characters whose lines are counted at once."""


class Source(Struct, eq=False):
    """One decoded text: a file, or standard input.

    `path` is what the user is shown (relative where the user gave a relative path). `text` keeps the file's own line
    ends; a byte-order mark is not part of it.
    """

    path: str
    text: str
    _line_starts: array[int] = field(default_factory=lambda: array("I"))

    def _starts(self) -> array[int]:
        starts = self._line_starts
        if not starts:
            text = self.text
            # Old Macintosh line ends count only where there are no others.
            end = "\r" if "\n" not in text and "\r" in text else "\n"
            starts.append(0)
            for base in range(0, len(text), _CHUNK):  # split at once, 10 MB of short lines would take 500 MB
                lines = text[base : base + _CHUNK].split(end)
                lines.pop()
                starts.extend(map(add, accumulate(map(len, lines)), count(base + 1)))
        return starts

    def position(self, offset: int) -> Position:
        """Line and column of a character offset; an offset beyond the end is the end."""
        starts = self._starts()
        offset = max(0, min(offset, len(self.text)))
        row = bisect_right(starts, offset) - 1
        return Position(row + 1, offset - starts[row] + 1)

    def line_span(self, line: int) -> Span:
        """The span of a line (from 1), without its line end; an empty span at the end for a line beyond it."""
        starts = self._starts()
        if line > len(starts):
            return Span(len(self.text), len(self.text))
        start = starts[line - 1]
        end = starts[line] if line < len(starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return Span(start, end)

    @property
    def line_count(self) -> int:
        return len(self._starts())

    @property
    def newline(self) -> str:
        """The line end that this text uses: that of its first line, `\\n` where it has none."""
        at = self.text.find("\n")
        if at < 0:
            return "\r" if "\r" in self.text else "\n"
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"


class Place(Struct, frozen=True, gc=False):
    """A span in a source."""

    source: Source
    span: Span

    @property
    def start(self) -> Position:
        return self.source.position(self.span.start)

    @property
    def end(self) -> Position:
        return self.source.position(self.span.end)

    @property
    def text(self) -> str:
        return self.source.text[self.span.start : self.span.end]

    def __repr__(self) -> str:
        return f"{self.source.path}:{self.start.line}:{self.start.column}"


class PlacedText(Protocol):
    """A text whose every character has a place in some source: a script file, or a script inside a YAML scalar."""

    @property
    def text(self) -> str:
        """The text as a program sees it (after YAML unescaping and folding)."""
        ...

    def place(self, start: int, end: int) -> Place:
        """Where `text[start:end]` stands in its source."""
        ...


Files: TypeAlias = "Callable[[str], PlacedText | None]"
"""The text of a file by the path at which whoever asks sees it; None where it is not known."""


def no_files(_path: str) -> PlacedText | None:
    """`Files` that knows none."""
    return None


class WholeText(Struct, frozen=True):
    """A source that is itself the program text, such as a batch script file."""

    source: Source

    @property
    def text(self) -> str:
        return self.source.text

    def place(self, start: int, end: int) -> Place:
        return Place(self.source, Span(start, end))
