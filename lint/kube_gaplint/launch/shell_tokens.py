"""Shell text to tokens: words, operators, redirections and here-documents, with exact spans.

The bash grammar of tree-sitter gives the structure of a script, but it joins words across line ends, loses
here-document tails and gives up on a whole file for one unclosed `${`. So words are cut here, by the shell's own
rules, and the grammar sees a skeleton in which every word is a plain one (`skeleton`), of the same length, so that
offsets agree.

Nothing here recurses: nesting is kept on a list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

TokenKind: TypeAlias = Literal["word", "reserved", "operator", "newline", "redirect", "compound"]

_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_PLAIN: Final = re.compile(r"[^ \t\r\n\\'\"`$;&|<>(){]+")
_REDIRECT: Final = re.compile(r"(\d+|\{\w+\})?(&>>|&>|>>|>\||>&|<>|<&|<<<|<<-|<<|>|<)")
_OPERATOR: Final = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()]")
_TEMPLATE: Final = re.compile(r"\{\{(?!\{)[^\n{}]*\}\}")
_ARRAY_HEAD: Final = re.compile(r"[A-Za-z_]\w*(?:\[[^\]\n]*\])?\+?=$")
_DELIMITER: Final = re.compile(r"(?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s;&|<>()'\"\\])+")
_DULL: Final = {
    '"': re.compile(r'[^"\\$`]+'),
    "`": re.compile(r"[^`\\]+"),
    "(": re.compile(r"[^\"'\\$`()#<>\n]+"),
    "((": re.compile(r'[^"\\$`()]+'),
    "{": re.compile(r"[^\"'\\$`}]+"),
    "q": re.compile(r'[^"\\$`}]+'),
    "[": re.compile(r'[^"\\$`()\]]+'),
}
"""What may be passed over inside each kind of bracket or quotation."""
_NAME: Final = re.compile(r"[A-Za-z_]\w*$")

_RESERVED: Final = frozenset(
    ["if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function"]
    + ["{", "}", "!"]
)
_OPENERS: Final = frozenset(["if", "then", "elif", "else", "while", "until", "do", "{", "!"])
"""Reserved words after which a command begins."""
_CLOSERS: Final = frozenset(["fi", "done", "esac", "}"])


@dataclass(slots=True, eq=False)
class Document:
    """The body of a here-document, or of a here-string (`text` is then the word)."""

    start: int
    end: int
    expanded: bool
    strip_tabs: bool
    string: bool = False


@dataclass(slots=True, eq=False)
class Token:
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


@dataclass(slots=True, eq=False)
class Lexed:
    """The tokens of a text, and the spans that could not be read."""

    tokens: list[Token]
    errors: list[tuple[int, int]]


@dataclass(slots=True, eq=False)
class Reader:
    """Cuts one text. The ends of quotes and brackets are remembered, so that nesting is scanned once."""

    text: str
    errors: list[tuple[int, int]] = field(default_factory=list)
    _ends: dict[int, int] = field(default_factory=dict)
    """The offset of an opening quote or bracket to the offset after its end; -1 for one that is never closed."""
    _limit: int = 0

    # --- quotes and brackets ---------------------------------------------------------------------------------------

    def closing(self, start: int, limit: int) -> int:
        """The offset after the end of what opens at `start` (`"`, a backtick, `$(`, `${`, `(` …), -1 if none."""
        found = self._ends.get(start)
        if found is not None and found <= limit:
            return found
        self._scan(start, limit)
        return self._ends[start]

    def _scan(self, start: int, limit: int) -> None:
        text, ends = self.text, self._ends
        stack: list[tuple[str, int]] = []
        pending: list[tuple[int, bool, str]] = []
        at = start
        while True:
            mode, _ = stack[-1] if stack else ("", 0)
            if mode:
                dull = _DULL[mode].match(text, at, limit)
                if dull is not None:
                    at = dull.end()
            if at >= limit:
                for _, opened in stack:
                    ends[opened] = -1
                ends.setdefault(start, -1)
                return
            c = text[at]
            # what opens something
            opens = ""
            width = 1
            if c == "\\" and mode:
                at += 2
                continue
            if mode == "`":
                if c == "`":
                    ends[stack.pop()[1]] = at + 1
                    if not stack:
                        return
                at += 1
                continue
            if c == "$" and at + 1 < limit:
                follow = text[at + 1]
                if follow == "(":
                    opens, width = ("((", 3) if text.startswith("((", at + 1) else ("(", 2)
                elif follow == "{":
                    opens, width = "{", 2
                elif follow == "[" and mode != '"':
                    opens, width = "[", 2
                elif follow == "'" and mode not in ('"', "q"):
                    at = self._ansi_end(at, limit)
                    continue
            elif c == '"' and mode != '"':
                opens = '"'
            elif c == "`":
                opens = "`"
            elif c in "<>" and mode == "(" and text.startswith("(", at + 1):
                opens, width = "(", 2
            elif c == "(" and mode in ("", "(", "((", "[") and not opens:
                opens = "((" if mode == "((" else "("
            if opens:
                if opens == "{" and (mode in ('"', "q")):
                    opens = "q"
                stack.append((opens, at))
                if width == 3:  # $(( is closed by two brackets
                    stack.append(("((", at + 2))
                at += width
                continue
            # what closes something
            closed = (
                (c == '"' and mode == '"')
                or (c == ")" and mode in ("(", "(("))
                or (c == "}" and mode in ("{", "q"))
                or (c == "]" and mode == "[")
            )
            if closed:
                at += 1
                ends[stack.pop()[1]] = at
                if not stack:
                    return
                continue
            if c == "'" and mode in ("(", "{"):
                found = text.find("'", at + 1, limit)
                at = limit if found < 0 else found + 1
                continue
            if mode == "(":
                if c == "#" and text[at - 1] in " \t\n;&|(":
                    found = text.find("\n", at, limit)
                    at = limit if found < 0 else found
                    continue
                if c == "<" and text.startswith("<<", at) and not text.startswith("<<<", at):
                    tabs = text.startswith("<<-", at)
                    blank = _BLANK.match(text, at + 2 + tabs, limit)
                    delimiter = _DELIMITER.match(text, blank.end() if blank else at + 2 + tabs, limit)
                    if delimiter:
                        pending.append((len(stack), tabs, delimiter.group()))
                        at = delimiter.end()
                        continue
                if c == "<" and text.startswith("<<<", at):
                    at += 3
                    continue
                if c == "\n" and pending:
                    at += 1
                    for _, tabs, delimiter_text in pending:
                        at = self._body(at, limit, delimiter_text, tabs)[1]
                    pending.clear()
                    continue
            at += 1

    def _ansi_end(self, at: int, limit: int) -> int:
        """The offset after `$'…'` that begins at `at`; the limit where it is not closed."""
        at += 2
        while at < limit:
            if self.text[at] == "\\":
                at += 2
            elif self.text[at] == "'":
                return at + 1
            else:
                at += 1
        return limit

    def _body(self, at: int, limit: int, delimiter: str, tabs: bool) -> tuple[int, int]:
        """The end of a here-document's body that begins at `at`, and the offset where reading goes on."""
        plain = unquoted_delimiter(delimiter)
        pattern = re.compile(rf"^{chr(9) + '*' if tabs else ''}{re.escape(plain)}\r?$", re.MULTILINE)
        found = pattern.search(self.text, at, limit)
        if found is None:
            return limit, limit
        return found.start(), found.end()

    def line_end(self, at: int, limit: int) -> int:
        found = self.text.find("\n", at, limit)
        return limit if found < 0 else found

    def quote_end(self, at: int, limit: int) -> int:
        """The offset after a quotation or bracket that opens at `at`. One that is never closed is an error; it is
        taken to end with the line, so that the rest of the script is still read."""
        c = self.text[at]
        if c == "'":
            found = self.text.find("'", at + 1, limit) + 1
        else:
            found = self.closing(at, limit)
        if found > 0:
            return found
        end = self.line_end(at, limit)
        if end > at + 1 and self.text[end - 1] == "\r":
            end -= 1
        self.errors.append((at, end))
        return end

    # --- words -----------------------------------------------------------------------------------------------------

    def word_end(self, start: int, limit: int) -> int:
        """The offset after the word that begins at `start` (at least one character, if any is there)."""
        text = self.text
        at = start
        while at < limit:
            plain = _PLAIN.match(text, at, limit)
            if plain is not None:
                at = plain.end()
                if at >= limit:
                    break
            c = text[at]
            if c in " \t\r\n;&|)":
                break
            if c == "\\":
                if text.startswith("\\\r\n", at):
                    at += 3
                else:
                    at = min(at + 2, limit)
            elif c in "'\"`":
                at = self.quote_end(at, limit)
            elif c == "$":
                at = self._dollar_end(at, limit)
            elif c == "{":
                template = _TEMPLATE.match(text, at, limit)
                at = template.end() if template else at + 1
            elif c in "<>":
                if text.startswith("(", at + 1) and self.closing(at + 1, limit) > 0:
                    at = self.closing(at + 1, limit)
                else:
                    break
            elif c == "(":
                array = at - start < 200 and _ARRAY_HEAD.match(text[start:at])
                glob = at > start and text[at - 1] in "?*+@!"
                if (array or glob) and self.closing(at, limit) > 0:
                    at = self.closing(at, limit)
                    if array:
                        break
                else:
                    break
        return at

    def _dollar_end(self, at: int, limit: int) -> int:
        follow = self.text[at + 1] if at + 1 < limit else ""
        if follow == "'":
            return self._ansi_end(at, limit)
        if follow == '"':
            return self.quote_end(at + 1, limit)
        if follow in ("(", "{", "["):
            end = self.closing(at, limit)
            if end > 0:
                return end
            if follow != "[":
                self.errors.append((at, min(at + 2, limit)))
            return at + 2 if follow == "{" else at + 1
        return at + 1

    # --- tokens ----------------------------------------------------------------------------------------------------

    def words(self, start: int, limit: int) -> list[tuple[int, int]]:
        """The spans of the words between two offsets, line ends and comments passed over: inside an array."""
        out: list[tuple[int, int]] = []
        text = self.text
        at = start
        while at < limit:
            c = text[at]
            if c in " \t\r\n":
                at += 1
            elif text.startswith("\\\n", at) or text.startswith("\\\r\n", at):
                at += 2
            elif c == "#":
                at = self.line_end(at, limit)
            else:
                end = self.word_end(at, limit)
                if end > at:
                    out.append((at, end))
                at = max(end, at + 1)
        return out

    def tokens(self, start: int = 0, limit: int | None = None) -> Lexed:
        """The tokens of `text[start:limit]`."""
        self._limit = len(self.text) if limit is None else limit
        return _Tokens(self, start, self._limit).run()


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

    def run(self) -> Lexed:
        text, limit = self.text, self.limit
        while self.at < limit:
            blank = _BLANK.match(text, self.at, limit)
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
        return Lexed(self.out, self.reader.errors)

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
            end, after = self.reader._body(self.at, self.limit, delimiter, tabs)
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
        blank = _BLANK.match(text, found.end(), self.limit)
        target = blank.end() if blank is not None else found.end()
        end = self.reader.word_end(target, self.limit)
        if operator in ("<<", "<<-"):
            delimiter = _DELIMITER.match(text, target, self.limit)
            end = delimiter.end() if delimiter is not None else target
        if end == target:
            end = target = found.end()
            self.reader.errors.append((found.start(), found.end()))
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
        self.reader.errors.append((self.at, self.at + 2))
        return False

    def word(self) -> None:
        start = self.at
        end = self.reader.word_end(start, self.limit)
        if end == start:  # nothing that a word may begin with: never stand still
            self.reader.errors.append((start, start + 1))
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


def unquoted_delimiter(delimiter: str) -> str:
    """The word that ends a here-document, without the quotes around it."""
    return re.sub(r"\\(.)|['\"]", lambda found: found.group(1) or "", delimiter)


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


def is_name(text: str) -> bool:
    """Whether a text can be the name of a variable."""
    return _NAME.match(text) is not None
