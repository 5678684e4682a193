"""Edits inside scripts: a script file, or a script that stands in a scalar of a manifest."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.fix.desk import Draft, OpenFile, Refused
from kube_gaplint.fix.expected import Expected
from kube_gaplint.text.edit import Edit, Tree, apply
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import ScalarText, scalar_text
from kube_gaplint.text.source import Span, line_start_before

if TYPE_CHECKING:
    import tree_sitter

_BLANKS = lazy_re.compile(r"[ \t]*")
_LINE_END = lazy_re.compile(r"[^\r\n]*")
_GOES_ON = lazy_re.compile(r"[^\s;&|()<>]")
_REMARK = lazy_re.compile(r"[ \t]*#(?!!|SBATCH)")
_WHOLE = lazy_re.compile(r"""(?:[^'"`\\\r\n]|'[^'\r\n]*'|"(?:[^"\\\r\n]|\\.)*")*""")
"""A line that is a command by itself: all quotes are closed, and nothing continues it."""
_ONLY_THIS = lazy_re.compile(r"(?:export[ \t]+|#SBATCH[ \t]+)?")


class Script(Struct, frozen=True):
    """A script as it stands in a file now. `scalar` holds it in a manifest; None where the file is the script."""

    file: OpenFile
    tree: Tree | None
    scalar: Scalar | None
    placed: ScalarText | None

    @classmethod
    def around(cls, file: OpenFile, span: Span) -> Script:
        """The script that holds a span of the present text. Raises Refused where there is none."""
        if not file.is_yaml:
            return cls(file, None, None, None)
        tree = file.tree_at(span.start)
        scalar = None if tree is None else tree.scalar_around(span)
        if tree is None or scalar is None:
            raise Refused("the place is no text that could be edited")
        if tree.repeated(scalar):
            raise Refused("an alias repeats the text")
        placed = scalar_text(scalar)
        if not placed.exact:
            raise Refused("the text cannot be followed character by character")
        return cls(file, tree, scalar, placed)

    @property
    def text(self) -> str:
        return self.file.text if self.scalar is None else self.scalar.text

    def word(self, span: Span) -> str:
        """A word as the file shows it. Raises Refused where the file writes it with escapes or folds."""
        if self.placed is not None and self.placed.offset(span.start) is None:
            raise Refused("the file writes the place with escapes")
        start, end = self._offsets(span)
        if self.text[start:end] != self.file.text[span.start : span.end]:
            raise Refused("the file writes the place with escapes")
        return self.text[start:end]

    def replace(self, span: Span, text: str) -> Draft:
        """Put another text in place of a word."""
        self.word(span)
        return self._draft([(span, self._escaped(text), text)])

    def add_words(self, span: Span, words: tuple[str, ...]) -> Draft:
        """Add words behind a word. Raises Refused where it does not end with the span."""
        text = "".join(f" {shlex.quote(word)}" for word in words)
        end, shown = span.end, self.file.text
        last = len(shown) if self.scalar is None else inside_quotes(self.scalar).end
        if end < last and shown[end] in "'\"":
            if shown[span.start - 1] == shown[end]:
                end += 1  # the quotes of the word
            else:
                last = end  # those of a text that lists options
        if _GOES_ON.match(shown, end, last):
            raise Refused("the word goes on")
        return self._draft([(Span(end, end), self._escaped(text), text)])

    def add_comment_before(self, span: Span, comment: str) -> Draft:
        """Add a comment in front of the line on which a command begins. Raises Refused where it would be none there."""
        return self._line_before(span, comment, is_comment=True)

    def add_line_before(self, span: Span, line: str) -> Draft:
        """Add a line in front of the one on which a command begins, and of the comments right above it; behind no `\\`
        that continues the one before."""
        return self._line_before(span, line)

    def _line_before(self, span: Span, line: str, *, is_comment: bool = False) -> Draft:
        start = self._line_start(span.start)
        while self._continues(start):
            start = self._line_start(start - 1)
        while not is_comment and start > self._first:
            above = self._line_start(start - 1)
            if not _REMARK.match(self.file.text, above, start) or (self.scalar is not None and above <= self._first):
                break
            start = above
        self._wants_lines(Span(start, span.end))
        blanks = self._blanks(start)
        own = blanks[self._indentation(start) :]
        newline = self.file.source.newline
        anchor = start + len(blanks) - len(own)
        if is_comment:
            at = self._offset(anchor)
            if not _is_comment(f"{self.text[:at]}{own}{line}\n{self.text[at:]}", at + len(own)):
                raise Refused("a comment would become part of the program there")
        return self._draft([(Span(start, start), f"{blanks}{line}{newline}", f"{own}{line}\n")], anchor=anchor)

    def add_line_after(self, span: Span, line: str, behind: tuple[str, ...] = (), beside: str = "") -> Draft:
        """Add a line behind the one on which a span ends, indented as that one.

        Lines that follow and begin with one of `behind` stay in front of it. With `beside`, so do lines that begin with
        that and follow behind an empty one; where there are none, an empty line sets the new one apart.
        """
        self._wants_lines(span)
        text = self.file.text
        start = self._line_start(span.end)
        blanks = self._blanks(start)
        end = self._lines_behind(self._line_end(span.end), tuple(blanks + word for word in behind))
        apart = ""
        if beside:
            siblings = self._lines_behind(end, (blanks + beside,), commands=True)
            apart = self.file.source.newline if siblings == end else ""
            end = siblings
        if text[end - 1 : end] == "\\":
            raise Refused("the line before goes on")
        own = blanks[self._indentation(start) :]
        newline = self.file.source.newline
        shown, meant = f"{newline}{blanks}{line}", f"\n{own}{line}"
        return self._draft([(Span(end, end), apart + shown, f"\n{meant}" if apart else meant)])

    def _lines_behind(self, end: int, words: tuple[str, ...], *, commands: bool = False) -> int:
        """The end of the last of the lines that follow a line end and begin with one of some words.

        `commands`: they may follow behind an empty line, and each is a whole command.
        """
        text = self.file.text
        last = len(text) if self.scalar is None else self.scalar.span.end
        empty = commands
        while words:
            following = self._next_line(end)
            if empty and following < last and not text[following : self._line_end(following)].strip():
                following = self._next_line(self._line_end(following))
            empty = False
            if following >= last or not text.startswith(words, following):
                break
            line_end = self._line_end(following)
            if commands and not _WHOLE.fullmatch(text, following, line_end):
                break
            end = line_end
        return end

    def _next_line(self, end: int) -> int:
        return end + (2 if self.file.text[end : end + 2] == "\r\n" else 1)

    def remove(self, span: Span) -> Draft:
        """Take a word out, with its line where nothing else stands on it."""
        self.word(span)
        text = self.file.text
        start = self._line_start(span.start)
        blanks = self._blanks(start)
        line_end = self._line_end(span.end)
        alone = _ONLY_THIS.fullmatch(text, start + len(blanks), span.start) and not text[span.end : line_end].strip()
        if alone and not self._continues(start) and self._line_by_line:
            end = line_end
            end += 2 if text[end : end + 2] == "\r\n" else 1
            if end <= len(text):
                inner = start + self._indentation(start)
                first = self._offset(inner)
                last = first + self.text[first:].find("\n") + 1
                return self._draft_text([Edit(Span(start, end), "")], [(first, last, "")])
        before = span.start
        while before > start and text[before - 1] in " \t":
            before -= 1
        if before == span.start or before <= start:
            raise Refused("the command would be gone with it")
        return self._draft([(Span(before, span.end), "", "")])

    # Below the surface

    @property
    def _line_by_line(self) -> bool:
        return self.scalar is None or self.scalar.style == "literal"

    def _wants_lines(self, span: Span) -> None:
        if not self._line_by_line:
            raise Refused("the script does not stand line by line in the file")
        if self.scalar is not None and self._line_start(span.start) <= self.scalar.span.start:
            raise Refused("the script does not stand line by line in the file")

    def _line_start(self, offset: int) -> int:
        text = self.file.text
        return line_start_before(text, offset)

    def _line_end(self, offset: int) -> int:
        match = _LINE_END.match(self.file.text, offset)
        assert match is not None
        return match.end()

    def _blanks(self, start: int) -> str:
        match = _BLANKS.match(self.file.text, start)
        assert match is not None
        return match[0]

    def _continues(self, start: int) -> bool:
        """Whether the line before goes on in the one that begins at `start`."""
        return self.file.text[:start].rstrip("\r\n")[-1:] == "\\" and start > self._first

    @property
    def _first(self) -> int:
        return 0 if self.scalar is None else self.scalar.span.start

    def _indentation(self, start: int) -> int:
        """How many blanks at the start of a line belong to the manifest, not to the script."""
        if self.placed is None:
            return 0
        blanks = len(self._blanks(start))
        first = self._offset(start + blanks)
        own = first - (self.text.rfind("\n", 0, first) + 1)
        if self.text[first - own : first].strip() or own > blanks:
            raise Refused("the indentation of the script is not clear")
        return blanks - own

    def _offset(self, at: int) -> int:
        if self.placed is None:
            return at
        offset = self.placed.offset(at)
        if offset is None:
            raise Refused("the place is not found in the text of the script")
        return offset

    def _offsets(self, span: Span) -> tuple[int, int]:
        if self.placed is None:
            return span.start, span.end
        start = self._offset(span.start)
        # The end is where the last character ends: the next one may stand behind an indentation.
        last = self.placed.offset(span.end - 1) if span.end > span.start else start - 1
        if last is None:
            raise Refused("the file writes the place with escapes")
        return start, last + 1

    def _escaped(self, text: str) -> str:
        if self.scalar is None:
            return text
        if self.scalar.style == "single":
            return text.replace("'", "''")
        if self.scalar.style == "double":
            return text.replace("\\", "\\\\").replace('"', '\\"')
        return text

    def _draft(self, parts: list[tuple[Span, str, str]], anchor: int | None = None) -> Draft:
        """Edits given as (span, what the file gets, what the script gets)."""
        edits, changes = [], []
        for span, shown, text in parts:
            edits.append(Edit(span, shown))
            if span.start < span.end:
                start, end = self._offsets(span)
            elif anchor is not None:
                start = end = self._offset(anchor)
            else:  # an insertion behind a character
                start = end = self._offsets(Span(span.start - 1, span.start))[1]
            changes.append((start, end, text))
        return self._draft_text(edits, changes)

    def _draft_text(self, edits: list[Edit], changes: list[tuple[int, int, str]]) -> Draft:
        new = apply(self.text, [Edit(Span(start, end), text) for start, end, text in changes])
        if _syntax_errors(new) > _syntax_errors(self.text):
            raise Refused("the script would no longer be understood")
        scalar, tree = self.scalar, self.tree
        if scalar is None or tree is None:
            return Draft(self.file, tuple(edits))

        def change(expected: Expected) -> None:
            for start, end, text in changes:
                expected.edit_text(scalar, start, end, text)

        made: Callable[[Expected], None] = change
        return Draft(self.file, tuple(edits), ((tree, made),))


def inside_quotes(scalar: Scalar) -> Span:
    """The place of a scalar without the quotes around it."""
    quotes = 1 if scalar.style in ("single", "double") else 0
    return Span(scalar.span.start + quotes, scalar.span.end - quotes)


def _parsed(text: str) -> tree_sitter.Tree:
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    return parser.parse(text.encode("utf-8", "surrogatepass"))


def _is_comment(text: str, at: int) -> bool:
    """Whether a comment begins at an offset of a shell script."""
    start = len(text[:at].encode("utf-8", "surrogatepass"))
    node = _parsed(text).root_node.descendant_for_byte_range(start, start + 1)
    return node is not None and node.type == "comment" and node.start_byte == start


def _syntax_errors(text: str) -> int:
    """How many places of a shell script the grammar does not understand."""
    cursor = _parsed(text).walk()
    count = 0
    while True:
        node = cursor.node
        assert node is not None
        count += node.is_error or node.is_missing
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return count
