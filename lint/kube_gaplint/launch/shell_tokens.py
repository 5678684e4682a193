"""Shell text to tokens: words, operators, redirections and here-documents, with exact spans.

Words are cut by the shell's own rules, also in a text with mistakes: a quote that is never closed ends with its line.

Nothing here recurses: nesting is kept on a list.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.launch.shell_reader import BLANK, DELIMITER, SIMPLE_WORD, Reader

TokenKind: TypeAlias = Literal["word", "reserved", "operator", "newline", "redirect", "compound", "end"]

_REDIRECT: Final = lazy_re.compile(r"(\d+|\{\w+\})?(&>>|&>|>>|>\||>&|<>|<&|<<<|<<-|<<|>|<)")
_OPERATOR: Final = lazy_re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()]")
_NEXT: Final = lazy_re.compile(
    rf"""(?:[ \t\r]|\\\r?\n)*+
    (?: \#[^\n]*+ | ({SIMPLE_WORD}) | (\n) | (;;&|;;|;&|;|&&|\|\||\|&|\||&(?!>)|\)|\((?!\()) )?""",
    re.VERBOSE | re.DOTALL,
)
"""Blanks and what comes after them: a comment, a word (1), a line end (2), an operator (3), or something that takes a
closer look: a redirection, `((`, a word with something nested in it."""

_TIMED: Final = lazy_re.compile(r"time(?:[ \t]+-p)?[ \t]+(?=[({!]|\[\[|(?:if|for|while|until|case)\s)")
_RESERVED: Final = frozenset(
    ["if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function"]
).union(["{", "}", "!"])
_OPENERS: Final = frozenset(["if", "then", "elif", "else", "while", "until", "do", "{", "!"])
"""Reserved words after which a command begins."""
_CLOSERS: Final = frozenset(["fi", "done", "esac", "}"])
_SPECIAL: Final = _RESERVED | {"[[", "time"}
"""Words that mean something where a command begins."""


class Document(Struct, eq=False):
    """The body of a here-document, or of a here-string (`text` is then the word)."""

    start: int
    end: int
    expanded: bool
    strip_tabs: bool
    string: bool = False


class Token(Struct, eq=False):
    """One token; `start` and `end` are offsets in the text."""

    kind: TokenKind
    start: int
    end: int
    text: str = ""
    """Operators and reserved words: what they are. `compound`: `[[` or `((`."""
    operator: str = ""
    """For a redirection: `>`, `>>`, `<<` …"""
    descriptor: str = ""
    target: tuple[int, int] = (0, 0)
    """For a redirection: the span of the word that follows."""
    document: Document | None = None
    after_compound: bool = False
    """A redirection of the compound command, or a reserved word, right after the end of a compound command."""


class _Tokens:
    """One pass over a text: where a command begins decides what is a reserved word."""

    def __init__(self, reader: Reader, start: int, limit: int) -> None:
        self.reader = reader
        self.text = reader.text
        self.at = start
        self.limit = limit
        self.out: list[Token] = []
        self.pending: list[tuple[Token, str, bool]] = []
        self.command = True  # a command may begin here
        self.closed = False  # a compound command ended right before
        self.expect = ""  # "name" after for/select/case/function, then "in"
        self.head = ""
        self.pattern = False  # a case pattern is read
        self.cases = 0
        self.no_test_end = False

    def run(self) -> list[Token]:
        text, limit, out = self.text, self.limit, self.out
        at = self.at
        while at < limit:
            found = _NEXT.match(text, at, limit)
            assert found is not None  # it matches nothing as well
            which = found.lastindex
            if which == 1:
                start, at = found.span(1)
                special = self.pattern or self.expect or self.head == "function"
                if special or (self.command and text[start:at] in _SPECIAL):
                    self.at = start
                    if not self.compound():
                        self.word(at)
                    at = self.at
                else:
                    out.append(Token("word", start, at))
                    self.command = self.closed = False
                continue
            if which is None:
                at = found.end()
                if at < limit and text[at] != "\n":
                    self.at = at
                    self.nested()
                    at = self.at
                continue
            self.at, at = found.span(which)
            if which == 2:
                self.newline()
                at = self.at
            else:
                self.operator(found[3], at)
        return out

    def nested(self) -> None:
        """What takes a closer look."""
        if not self.redirect() and not self.compound():
            operator = _OPERATOR.match(self.text, self.at, self.limit)
            if operator is not None:
                self.operator(operator.group(), operator.end())
            else:
                self.word(self.reader.nested_word_end(self.at, self.limit))

    def add(self, kind: TokenKind, start: int, end: int, text: str = "") -> Token:
        token = Token(kind, start, end, text)
        self.out.append(token)
        self.at = end
        return token

    def newline(self) -> None:
        self.add("newline", self.at, self.at + 1)
        for token, delimiter, tabs in self.pending:
            end, after = self.reader.body(self.at, self.limit, delimiter, tabs)
            expanded = not any(c in delimiter for c in "'\"\\")
            token.document = Document(self.at, end, expanded, tabs)
            self.at = after
        self.pending.clear()
        self.command = not self.pattern and self.expect != "in"
        self.closed = False
        if self.expect != "in":
            self.expect = self.head = ""

    def operator(self, text: str, end: int) -> None:
        self.add("operator", self.at, end, text)
        self.closed = False
        if text == "(" and self.pattern:
            return
        if text == ")" and self.pattern:
            self.pattern = False
            self.command = True
            return
        if text == "|" and self.pattern:
            return
        if text in (";;", ";&", ";;&") and self.cases:
            self.pattern = True
            self.command = False
            return
        self.command = True
        self.expect = ""
        if text == ")":
            self.closed = not (len(self.out) > 1 and self.out[-2].text == "(")  # `f()` ends nothing

    def redirect(self) -> bool:
        text = self.text
        if text[self.at] not in "0123456789{<>&":
            return False
        found = _REDIRECT.match(text, self.at, self.limit)
        if found is None:
            return False
        operator = found.group(2)
        if operator in ("<", ">") and text.startswith("(", found.end()):
            return False  # a process substitution
        blank = BLANK.match(text, found.end(), self.limit)
        target = blank.end() if blank is not None else found.end()
        end = self.reader.word_end(target, self.limit)
        if operator in ("<<", "<<-"):
            delimiter = DELIMITER.match(text, target, self.limit)
            end = delimiter.end() if delimiter is not None else target
        if end == target:
            end = target = found.end()
            self.reader.error(found.start(), found.end())
        token = self.add("redirect", found.start(), end)
        token.operator, token.descriptor, token.target = operator, found.group(1) or "", (target, end)
        token.after_compound = self.closed
        self.command = self.command and self.closed
        if operator in ("<<", "<<-") and end > target:
            self.pending.append((token, text[target:end], operator == "<<-"))
        elif operator == "<<<":
            token.document = Document(target, end, True, False, string=True)
        return True

    def compound(self) -> bool:
        """Read `(( … ))` and `[[ … ]]` whole where a command begins."""
        text = self.text
        if text.startswith("((", self.at) and (self.command or self.head == "for"):
            end = self.reader.closing(self.at, self.limit)
            if end > 0 and text[end - 2 : end] == "))" and self.reader.closing(self.at + 1, self.limit) == end - 1:
                self.add("compound", self.at, end, "((")
                self.command = self.head == "for"
                self.expect = ""
                self.head = ""
                return True
        if (
            self.command
            and text.startswith("[[", self.at)
            and text[self.at + 2 : self.at + 3] in (" ", "\t", "\n", "\\")
        ):
            return self.test()
        return False

    def test(self) -> bool:
        if self.no_test_end:
            return False
        text, limit = self.text, self.limit
        at = self.at + 2
        while at < limit:
            c = text[at]
            if c in " \t\r\n;&|<>()":
                at += 1
                continue
            end = self.reader.word_end(at, limit)
            if text[at:end] == "]]":
                self.add("compound", self.at, end, "[[")
                self.command = False
                self.closed = False
                return True
            at = max(end, at + 1)
        self.no_test_end = True
        self.reader.error(self.at, self.at + 2)
        return False

    def word(self, end: int) -> None:
        """A word from here to an offset."""
        start = self.at
        if self.command and (timed := _TIMED.match(self.text, start, self.limit)) is not None:
            self.at = timed.end()  # `time { …; }`
            return
        if end == start:  # nothing that a word may begin with: never stand still
            self.reader.error(start, start + 1)
            self.at = start + 1
            return
        text = self.text[start:end] if end - start <= 8 else ""
        if self.pattern:
            if text == "esac":
                self.add("reserved", start, end, text)
                self.cases -= 1
                self.pattern = False
                self.closed = True
                self.command = True
            else:
                self.add("word", start, end)
            return
        if self.expect == "name":
            self.add("word", start, end)
            self.expect = "in" if self.head != "function" else ""
            self.command = self.head == "function"
            return
        if self.head == "function":
            self.head = ""
        if self.expect == "in" and text in ("in", "do"):
            self.add("reserved", start, end, text)
            self.expect = ""
            if self.head == "case":
                self.pattern = True
                self.cases += 1
            self.command = text == "do"
            self.head = ""
            return
        if self.command and text in _RESERVED:
            joined = self.closed
            self.add("reserved", start, end, text).after_compound = joined
            self.closed = text in _CLOSERS
            if text == "esac" and self.cases:
                self.cases -= 1
            self.command = text in _OPENERS or self.closed
            if text in ("for", "select", "case", "function"):
                self.expect = "name"
                self.head = text
                if text == "for":
                    self.command = False
            return
        self.add("word", start, end)
        self.command = False
        self.closed = False


def tokens_of(reader: Reader, start: int = 0, limit: int | None = None) -> list[Token]:
    """The tokens of a reader's text between two offsets."""
    return _Tokens(reader, start, len(reader.text) if limit is None else limit).run()
