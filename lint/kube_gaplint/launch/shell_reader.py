"""Quotes, brackets and words of shell text: where each ends.

Nothing here recurses: nesting is kept on a list, and every end that was found is remembered, so that deep nesting is
scanned once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from kube_gaplint import lazy_re

BLANK: Final = lazy_re.compile(r"(?:[ \t\r]|\\\r?\n)+")
"""Blanks and line continuations between words."""
TEMPLATE: Final = lazy_re.compile(r"\{\{(?!\{)[^\n{}]*\}\}")
"""A template expression (`{{ .Values.x }}`), which no shell knows: it counts as part of a word."""
DELIMITER: Final = lazy_re.compile(r"(?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s;&|<>()'\"\\])+")
"""The word after `<<`."""
_PLAIN: Final = lazy_re.compile(r"[^ \t\r\n\\'\"`$;&|<>(){]+")
SIMPLE_WORD: Final = r"""(?>
  [^ \t\r\n\\'"`$;&|<>(){]++
| '[^']*+'
| "(?>[^"\\$`]++|\\.|\$\{[^"'\\$`}]*+\}|\$(?![({]))*+"
| \$[A-Za-z_0-9@*\#?!-]
| \$\{[^"'\\$`}]*+\}
| \\[^\r\n]
)++(?=[ \t\r\n;|)]|&(?!>)|\Z)"""
"""A word in which nothing is nested (verbose, for `.` as any character). Nine words of ten are like that, and a single
match finds their end; all others are walked character by character."""
_SIMPLE_WORD: Final = lazy_re.compile(SIMPLE_WORD, re.VERBOSE | re.DOTALL)
_SIMPLE_END: Final = lazy_re.compile(
    r"""\$\{[^"'\\$`}]*+\} | "(?>[^"\\$`]++|\\.|\$\{[^"'\\$`}]*+\}|\$(?![({]))*+" """, re.VERBOSE | re.DOTALL
)
"""`${…}` and `"…"` in which nothing is nested."""
_ARRAY_HEAD: Final = lazy_re.compile(r"[A-Za-z_]\w*(?:\[[^\]\n]*\])?\+?=$")
_DULL: Final[dict[str, re.Pattern[str]]] = {
    '"': lazy_re.compile(r'[^"\\$`]+'),
    "`": lazy_re.compile(r"[^`\\]+"),
    "(": lazy_re.compile(r"[^\"'\\$`()#<>\n]+"),
    "((": lazy_re.compile(r'[^"\\$`()]+'),
    "{": lazy_re.compile(r"[^\"'\\$`}]+"),
    "q": lazy_re.compile(r'[^"\\$`}]+'),
    "[": lazy_re.compile(r'[^"\\$`()\]]+'),
}
"""What may be passed over inside each kind of bracket or quotation: `q` is `${` inside quotes, `case` a `case` inside
`$(`."""
_DULL["case"] = _DULL["("]
_CLOSES: Final = {'"': '"', "`": "`", "(": ")", "((": ")", "{": "}", "q": "}", "[": "]"}
_CODE: Final = frozenset(["(", "case"])
"""Where commands stand."""
_QUOTES_COUNT: Final = frozenset(["", "(", "case", "{", "[", "(("])
"""Where a single quote is one."""
_CASE: Final = lazy_re.compile(r"(?:[(;&|\n{]|\b(?:do|then|else|in)\b)[ \t]*(case(?=\s)|esac\b)")
_MAX_ERRORS: Final = 1000


class Reader(Struct, eq=False):
    """Cuts one text. The ends of quotes and brackets are remembered, so that nesting is scanned once."""

    text: str
    errors: list[tuple[int, int]] = field(default_factory=list)
    _ends: dict[int, int] = field(default_factory=dict)
    """The offset of an opening quote or bracket to the offset after its end; -1 for one that is never closed."""

    def error(self, start: int, end: int) -> None:
        """Note a span that is not understood (no more than a thousand: a hostile text has one a character)."""
        if len(self.errors) < _MAX_ERRORS:
            self.errors.append((start, end))

    # --- quotes and brackets ---------------------------------------------------------------------------------------

    def closing(self, start: int, limit: int) -> int:
        """The offset after the end of what opens at `start` (`"`, a backtick, `$(`, `${`, `(` …), -1 if none."""
        found = self._ends.get(start)
        if found is not None and found <= limit:
            return found
        simple = _SIMPLE_END.match(self.text, start, limit)
        if simple is not None:
            return simple.end()
        self._scan(start, limit)
        return self._ends[start]

    def _scan(self, start: int, limit: int) -> None:
        """Find the end of what opens at `start`, and on the way the ends of all that opens inside."""
        text, ends = self.text, self._ends
        stack: list[tuple[str, int]] = []
        bodies: list[tuple[str, bool]] = []  # here-documents that begin after the next line end
        at = start
        while True:
            mode = stack[-1][0] if stack else ""
            dull = _DULL[mode].match(text, at, limit) if mode else None
            if dull is not None:
                at = self._pass_over(stack, at, dull.end()) if mode in _CODE else dull.end()
                mode = stack[-1][0]
            if at >= limit:
                for _, opened in stack:
                    ends[opened] = -1
                ends.setdefault(start, -1)
                return
            c = text[at]
            opens, width = self._opening(c, mode, at)
            if c == "\\" and mode:
                at += 2
            elif c == _CLOSES.get(mode):
                at += 1
                ends[stack.pop()[1]] = at
                if not stack:
                    return
            elif opens:
                stack.append((opens, at))
                if width == 3:  # $(( is closed by two brackets
                    stack.append(("((", at + 2))
                at += width
            elif c == "$" and mode in _QUOTES_COUNT and text.startswith("'", at + 1):
                at = self.ansi_end(at, limit)
            elif c == "'" and mode in _QUOTES_COUNT:
                found = text.find("'", at + 1, limit)
                at = limit if found < 0 else found + 1
            elif mode in _CODE:
                at = self._code(at, limit, bodies)
            else:
                at += 1

    def _opening(self, c: str, mode: str, at: int) -> tuple[str, int]:
        """The bracket or quotation that opens at an offset, and the length of its opening; ("", 0) for none."""
        text = self.text
        if mode == "`":
            return "", 0
        if c == "$":
            if text.startswith("((", at + 1):
                return "((", 3
            if text.startswith("(", at + 1):
                return "(", 2
            if text.startswith("{", at + 1):
                return ("q" if mode in ('"', "q") else "{"), 2
            return ("[", 2) if text.startswith("[", at + 1) and mode != '"' else ("", 0)
        if c == "`" or (c == '"' and mode != '"'):
            return c, 1
        if c == "(" and mode in ("", "(", "((", "[", "case"):
            return ("((" if mode == "((" else "("), 1
        if c in "<>" and mode in _CODE and text.startswith("(", at + 1):
            return "(", 2
        return "", 0

    def _pass_over(self, stack: list[tuple[str, int]], at: int, end: int) -> int:
        """Commands without quotes or brackets: only `case` and `esac` count in them, since the `)` of a pattern closes
        nothing. The offset where reading goes on."""
        chunk = self.text[at:end]
        if "case" not in chunk and "esac" not in chunk:
            return end
        found = _CASE.search(self.text, max(0, at - 1), end)
        if found is None:
            return end
        if found.group(1) == "case":
            stack.append(("case", found.start(1)))
        elif stack[-1][0] == "case":
            stack.pop()
        return found.end()

    def _code(self, at: int, limit: int, bodies: list[tuple[str, bool]]) -> int:
        """Comments and here-documents inside `$( … )`; the offset where reading goes on."""
        text = self.text
        c = text[at]
        if c == "#" and text[at - 1] in " \t\n;&|(":
            return self.line_end(at, limit)
        if text.startswith("<<<", at):
            return at + 3
        if text.startswith("<<", at):
            tabs = text.startswith("<<-", at)
            begins = at + 2 + tabs
            blank = BLANK.match(text, begins, limit)
            delimiter = DELIMITER.match(text, blank.end() if blank else begins, limit)
            if delimiter is not None:
                bodies.append((delimiter.group(), tabs))
                return delimiter.end()
        if c == "\n" and bodies:
            at += 1
            for word, tabs in bodies:
                at = self.body(at, limit, word, tabs)[1]
            bodies.clear()
            return at
        return at + 1

    def ansi_end(self, at: int, limit: int) -> int:
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

    def body(self, at: int, limit: int, delimiter: str, tabs: bool) -> tuple[int, int]:
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
        found = self.text.find("'", at + 1, limit) + 1 if c == "'" else self.closing(at, limit)
        if found > 0:
            return found
        end = self.line_end(at, limit)
        if end > at + 1 and self.text[end - 1] == "\r":
            end -= 1
        self.error(at, end)
        return end

    # --- words -----------------------------------------------------------------------------------------------------

    def word_end(self, start: int, limit: int) -> int:
        """The offset after the word that begins at `start` (at least one character, if any is there)."""
        simple = _SIMPLE_WORD.match(self.text, start, limit)
        return simple.end() if simple is not None else self.nested_word_end(start, limit)

    def nested_word_end(self, start: int, limit: int) -> int:
        """The same for a word that is no `SIMPLE_WORD`."""
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
                template = TEMPLATE.match(text, at, limit)
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
            return self.ansi_end(at, limit)
        if follow == '"':
            return self.quote_end(at + 1, limit)
        if follow in ("(", "{", "["):
            end = self.closing(at, limit)
            if end > 0:
                return end
            if follow != "[":
                self.error(at, min(at + 2, limit))
            return at + 2 if follow == "{" else at + 1
        return at + 1

    # --- tokens ----------------------------------------------------------------------------------------------------

    def words(self, start: int, limit: int) -> Iterator[tuple[int, int]]:
        """The spans of the words between two offsets, line ends and comments passed over: inside an array."""
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
                    yield at, end
                at = max(end, at + 1)


def unquoted_delimiter(delimiter: str) -> str:
    """The word that ends a here-document, without the quotes around it."""
    return re.sub(r"\\(.)|['\"]", lambda found: found.group(1) or "", delimiter)
