"""Shell text to tokens: words, operators, redirections and here-documents, with exact spans.

The bash grammar of tree-sitter gives the structure of a script, but it joins words across line ends, loses
here-document tails and gives up on a whole file for one unclosed `${`. So words are cut here, by the shell's own
rules, and the grammar sees a skeleton in which every word is a plain one (`skeleton`), of the same length, so that
offsets agree.

Nothing here recurses: nesting is kept on a list.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.launch.shell_reader import BLANK, DELIMITER, Reader

TokenKind: TypeAlias = Literal["word", "reserved", "operator", "newline", "redirect", "compound"]

_REDIRECT: Final = lazy_re.compile(r"(\d+|\{\w+\})?(&>>|&>|>>|>\||>&|<>|<&|<<<|<<-|<<|>|<)")
_OPERATOR: Final = lazy_re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()]")

_TIMED: Final = lazy_re.compile(r"time(?:[ \t]+-p)?[ \t]+(?=[({!]|\[\[|(?:if|for|while|until|case)\s)")
_RESERVED: Final = frozenset(
    ["if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function"]
).union(["{", "}", "!"])
_OPENERS: Final = frozenset(["if", "then", "elif", "else", "while", "until", "do", "{", "!"])
"""Reserved words after which a command begins."""
_CLOSERS: Final = frozenset(["fi", "done", "esac", "}"])


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
        text, limit = self.text, self.limit
        while self.at < limit:
            blank = BLANK.match(text, self.at, limit)
            if blank is not None:
                self.at = blank.end()
                continue
            c = text[self.at]
            if c == "\n":
                self.newline()
            elif c == "#":
                self.at = self.reader.line_end(self.at, limit)
            elif not self.redirect():
                operator = _OPERATOR.match(text, self.at, limit)
                if operator is not None and not self.compound():
                    self.operator(operator.group(), operator.end())
                elif operator is None and not self.compound():
                    self.word()
        return self.out

    def add(self, kind: TokenKind, start: int, end: int, text: str = "") -> Token:
        token = Token(kind, start, end, text)
        self.out.append(token)
        self.at = end
        return token

    def newline(self) -> None:
        before = self.out[-1] if self.out else None
        ends = before is not None and (
            before.kind in ("word", "redirect", "compound") or (before.kind == "reserved" and before.text in _CLOSERS)
        )
        if self.pattern or self.expect or self.head == "function":
            ends = False
        # the grammar sometimes runs on into the next line, so a line end that ends a command is shown to it as `;`
        self.add("newline", self.at, self.at + 1, ";" if ends else "\n")
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
                self.command = False
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

    def word(self) -> None:
        start = self.at
        if self.command and (timed := _TIMED.match(self.text, start, self.limit)) is not None:
            self.at = timed.end()  # `time { …; }`
            return
        end = self.reader.word_end(start, self.limit)
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


def skeleton(text: str, tokens: list[Token]) -> str:
    """The text with every word made plain, comments and bodies blanked, all offsets kept, ASCII only."""
    out: list[str] = []
    at = 0
    for token in tokens:
        if token.start > at:
            # `{ …; } fi` is right without a separator, but not to the grammar
            joined = token.kind == "reserved" and token.after_compound
            out.append((";" if joined else " ") + " " * (token.start - at - 1))
        length = token.end - token.start
        if token.kind in ("word", "compound"):
            out.append("w" * length)
        elif token.kind == "redirect":
            if token.after_compound and length > 1:
                out.append(">" + "w" * (length - 1))
            else:
                out.append("w" * length)
        elif token.text == "|&":
            out.append("| ")
        else:
            out.append(token.text)
        at = token.end
    out.append(" " * (len(text) - at))
    return "".join(out)
