"""The text of a scalar with a place for every character.

Scripts stand in YAML scalars of all styles. A word of such a script must be shown, and edited, where it stands in the
file: behind the indentation of a block text, across the line ends of a folded one, or among the escapes of a quoted
one. The parser keeps no such table, so the scalar is read again here, by libyaml's rules.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice

from kube_gaplint import lazy_re
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.source import Place, Source, Span

_BREAK = r"(?:\r\n|[\r\n\x85\u2028\u2029])"
_LINE = lazy_re.compile(rf"([^\r\n\x85\u2028\u2029]*)({_BREAK}|\Z)")
_BLOCK_HEADER = lazy_re.compile(rf"[|>][-+0-9]*[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?(?:{_BREAK}|\Z)")
_PLAIN_END = lazy_re.compile(r"[\r\n\x85\u2028\u2029]")
_SINGLE_END = lazy_re.compile(r"[\r\n\x85\u2028\u2029']")
_DOUBLE_END = lazy_re.compile(r"[\r\n\x85\u2028\u2029\\]")
"""Where a run of characters ends that stand in text and file alike."""
_MOST_SEGMENTS = 200_000
"""Beyond this a text is not followed any more: no script has so many lines or escapes."""
_BLANKS = lazy_re.compile(r"[ \t\r\n\x85\u2028\u2029]+")
_LINE_BREAK = lazy_re.compile(_BREAK)
_ESCAPED_BREAK = lazy_re.compile(rf"\\{_BREAK}[ \t\r\n\x85\u2028\u2029]*")
_ESCAPE = lazy_re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.S)
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip


class ScalarText:
    """A scalar's text; `place` gives the span in the file that wrote a range of it.

    The text is cut into segments. In a straight one the characters of text and file are the same; any other stands
    for some characters of the file as a whole: an escape, a line fold, a `\\r\\n`.
    """

    __slots__ = ("_file", "_lengths", "_starts", "exact", "node")

    def __init__(self, node: Scalar, segments: _Segments, *, exact: bool) -> None:
        self.node = node
        self.exact = exact
        """False where the text could not be followed character by character: then any range is the whole scalar."""
        self._starts = segments.starts
        self._file = segments.file
        self._lengths = segments.lengths

    @property
    def text(self) -> str:
        return self.node.text

    @property
    def source(self) -> Source:
        return self.node.source

    def place(self, start: int, end: int) -> Place:
        """Where `text[start:end]` stands. An empty range is a point between two characters."""
        if not self.exact:
            return self.node.place
        length = len(self.node.text)
        start = max(0, min(start, length))
        end = max(start, min(end, length))
        first = self._before(start)
        last = self._after(end) if end > start else first
        return Place(self.node.source, Span(first, max(first, last)))

    def offset(self, at: int) -> int | None:
        """The text offset of the character that the file writes at an offset, or of the text's end.

        None outside the text, and for what is no character of its own: indentation, the inside of an escape.
        """
        if not self.exact:
            return None
        if at == self._after(len(self.node.text)):
            return len(self.node.text)
        index = bisect_right(self._file, at) - 1
        if index < 0:
            return None
        inside = at - self._file[index]
        if inside < self._lengths[index] and (inside == 0 or self._straight(index)):
            return self._starts[index] + inside
        if inside == self._lengths[index] and index + 1 < len(self._starts):
            return self._starts[index + 1]  # the end of a line, before the indentation of the next
        return None

    def straight(self, start: int, end: int) -> bool:
        """Whether the file shows `text[start:end]` character by character as it is, without escapes and folds."""
        place = self.place(start, end)
        return self.exact and place.text == self.node.text[start:end]

    def _before(self, offset: int) -> int:
        """File offset where the character at a text offset begins (for the text's end: where the last one ends)."""
        if offset == len(self.node.text):
            return self._after(offset)
        index = bisect_right(self._starts, offset) - 1
        inside = offset - self._starts[index]
        return self._file[index] + (inside if self._straight(index) else 0)

    def _after(self, offset: int) -> int:
        """File offset where the character before a text offset ends."""
        if offset == 0 or not self._starts:
            return self._file[0] if self._file else self.node.span.start
        index = bisect_right(self._starts, offset - 1) - 1
        inside = offset - self._starts[index]
        return self._file[index] + (inside if self._straight(index) else self._lengths[index])

    def _straight(self, index: int) -> bool:
        following = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.node.text)
        return following - self._starts[index] == self._lengths[index]


class _Segments:
    """Segments while they are gathered: text offset, file offset and length in the file of each."""

    __slots__ = ("file", "lengths", "pieces", "size", "starts", "straight")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.file: list[int] = []
        self.lengths: list[int] = []
        self.pieces: list[str] = []
        self.size = 0
        self.straight = False
        """Whether the last segment is a straight one, which may grow."""

    def add(self, piece: str, at: int, length: int) -> None:
        """Text `piece` is written by `length` characters of the file from `at` on."""
        if not piece:
            return
        if self.straight and length == len(piece) and self.file[-1] + self.lengths[-1] == at:
            self.lengths[-1] += length
            self.pieces.append(piece)
            self.size += length
            return
        self.straight = length == len(piece)
        self.starts.append(self.size)
        self.file.append(at)
        self.lengths.append(length)
        self.pieces.append(piece)
        self.size += len(piece)


def scalar_text(node: Scalar) -> ScalarText:
    """The scalar's text with places.

    Should the scalar not be followed exactly (a parser of other rules, a stand-in that no file holds), every range
    has the whole scalar as its place.
    """
    segments = _Segments()
    written = node.source.text[node.span.start : node.span.end]
    if written == node.text:  # a word, or a whole file that a generator took in
        segments.add(written, node.span.start, len(written))
    elif node.style == "plain":
        _flow(node, segments, node.span.start, node.span.end, _PLAIN_END)
    elif node.style == "single":
        _flow(node, segments, node.span.start + 1, node.span.end - 1, _SINGLE_END)
    elif node.style == "double":
        _flow(node, segments, node.span.start + 1, node.span.end - 1, _DOUBLE_END)
    else:
        _block(node, segments)
    return ScalarText(node, segments, exact="".join(segments.pieces) == node.text)


def _unified(line_break: str) -> str:
    """A line break as libyaml hands it on."""
    return line_break if line_break in ("\u2028", "\u2029") else "\n"


def _flow(node: Scalar, segments: _Segments, at: int, end: int, run_end: re.Pattern[str]) -> None:
    """Plain and quoted scalars: runs of characters, escapes, and blanks that fold around a line break."""
    text = node.source.text
    while at < end and len(segments.starts) < _MOST_SEGMENTS:
        match = run_end.search(text, at, end)
        stop = end if match is None else match.start()
        run = text[at:stop]
        if match is None or match[0] in "'\\":
            segments.add(run, at, len(run))
            at = stop
            if match is None:
                return
            if match[0] == "'":
                segments.add("'", at, 2)
                at += 2
            else:
                at = _escape(text, segments, at, end)
            continue
        kept = run.rstrip(" \t")
        segments.add(kept, at, len(kept))
        at += len(kept)
        blanks = _BLANKS.match(text, at, end)
        assert blanks is not None
        _fold(segments, blanks[0], at, skipping=False)
        at = blanks.end()


def _escape(text: str, segments: _Segments, at: int, end: int) -> int:
    match = _ESCAPED_BREAK.match(text, at, end)
    if match is not None:
        # The line break itself vanishes, and so do the blanks after it; further empty lines count.
        first = re.match(_BREAK, text[at + 1 : at + 3])
        skip = 1 + (first.end() if first is not None else 1)
        _fold(segments, match[0][skip:], at + skip, skipping=True)
        return match.end()
    match = _ESCAPE.match(text, at, end)
    if match is None:
        return end
    code = match[0][1:]
    if len(code) > 1:
        number = int(code[1:], 16)
        segments.add(chr(number) if number < 0x110000 else "", at, len(match[0]))
    else:
        segments.add(_ESCAPES.get(code, code), at, 2)
    return match.end()


def _fold(segments: _Segments, blanks: str, at: int, *, skipping: bool) -> None:
    """Blanks within a flow scalar: kept as they are within a line, folded where they hold a line break.

    `skipping`: a line break went before, escaped.
    """
    breaks = list(islice(_LINE_BREAK.finditer(blanks), _MOST_SEGMENTS))
    if not breaks:
        if not skipping:
            segments.add(blanks, at, len(blanks))
        return
    if not skipping:
        first = breaks.pop(0)
        kept = _unified(first[0])
        if kept != "\n":
            segments.add(kept, at + first.start(), 1)
        elif not breaks:
            segments.add(" ", at, len(blanks))
            return
    for match in breaks:
        segments.add(_unified(match[0]), at + match.start(), len(match[0]))


def _block(node: Scalar, segments: _Segments) -> None:
    """Literal and folded scalars. The scalar's own text tells where it ends, so chomping needs no rule of its own."""
    text = node.source.text
    header = _BLOCK_HEADER.match(text, node.span.start)
    if header is None:
        return
    indent = _indentation(node, header.end())
    wanted = len(node.text)
    folds = node.style == "folded"
    at = header.end()
    # The break of the last line with content, where it is not yet known what becomes of it: text, offset, length.
    leading: tuple[str, int, int] | None = None
    blank_before = False
    empty: list[tuple[str, int, int]] = []
    while segments.size < wanted and len(segments.starts) < _MOST_SEGMENTS:
        match = _LINE.match(text, at)
        if match is None or (at >= len(text) and not match[0]):
            _close(segments, leading, empty, wanted)
            return
        line, line_break = match[1], match[2]
        spaces = len(line) - len(line.lstrip(" "))
        content = line[min(spaces, indent) :]
        start = at + len(line) - len(content)
        ended = (_unified(line_break), match.end() - len(line_break), len(line_break)) if line_break else None
        at = match.end()
        if not content and ended is not None:
            empty.append(ended)
            continue
        if spaces < indent or not content:
            _close(segments, leading, empty, wanted)
            return
        blank = content[:1] in (" ", "\t")
        if folds and leading is not None and leading[0] == "\n" and not blank_before and not blank:
            if not empty:
                segments.add(" ", leading[1], start - leading[1])
        elif leading is not None:
            segments.add(*leading)
        for piece in empty:
            segments.add(*piece)
        empty = []
        blank_before = blank
        segments.add(content, start, len(content))
        leading = ended


def _close(
    segments: _Segments,
    leading: tuple[str, int, int] | None,
    empty: list[tuple[str, int, int]],
    wanted: int,
) -> None:
    """The line breaks at the end, as many as chomping left."""
    for piece in ([] if leading is None else [leading]) + empty:
        if segments.size < wanted:
            segments.add(*piece)


def _indentation(node: Scalar, at: int) -> int:
    """How deep the text of a block scalar is indented.

    With an explicit indicator the text's first lines may begin with blanks of their own; the difference between the
    line in the file and the line of the text tells the indentation in every case.
    """
    text = node.source.text
    lines = re.split(r"[\n\u2028\u2029]", node.text)
    first = next((line for line in lines if line.strip(" ")), None)
    if first is not None:
        own = len(first) - len(first.lstrip(" "))
        while True:
            match = _LINE.match(text, at)
            if match is None or at >= len(text):
                return 0
            if match[1].strip(" "):
                return max(0, len(match[1]) - len(match[1].lstrip(" ")) - own)
            at = match.end()
    # Only blanks and breaks: line by line, the first with blanks left tells.
    for line in lines:
        match = _LINE.match(text, at)
        if match is None:
            return 0
        if line:
            return max(0, len(match[1]) - len(line))
        at = match.end()
    # Nothing but breaks: no blank line is deeper than the indentation.
    return len(text)
