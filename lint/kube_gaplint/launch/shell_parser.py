"""The grammar of a script: tokens to statements.

The tokens know already which words are reserved, so one pass with one token of look-ahead is enough, and it is linear
for any text. What does not fit is passed over and its span reported; the commands around it are read all the same,
those inside a compound command that is never closed too.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

from kube_gaplint.launch.shell_reader import Reader
from kube_gaplint.launch.shell_tokens import Token, tokens_of
from kube_gaplint.launch.shell_tree import (
    MAX_DEPTH,
    Block,
    Case,
    Chain,
    Function,
    Group,
    If,
    Loop,
    LoopKind,
    Not,
    Parsed,
    Pipe,
    Redirected,
    Simple,
    Statement,
)
from kube_gaplint.text.limits import SCRIPT

_PARTS: Final = frozenset(["word", "redirect", "compound"])
"""Tokens of simple commands."""
_ITEM_ENDS: Final = (";;", ";&", ";;&")
_CLOSED_BY: Final = {"if": "fi", "do": "done", "case": "esac", "{": "}", "(": ")"}


def parse(text: str, reader: Reader | None = None, start: int = 0, limit: int | None = None) -> Parsed:
    """The structure of `text[start:limit]`; offsets are those of the whole text."""
    reader = reader or Reader(text)
    end = len(text) if limit is None else limit
    known = len(reader.errors)
    tokens = tokens_of(reader, start, end)
    parser = _Parser(text, tokens, end)
    body = Block(start, end)
    parser.fill(body)
    return Parsed(reader, body, tokens, [*reader.errors[known:], *parser.errors], parser.deep)


class _Kept:
    """The structures of the last texts, up to so many characters of text."""

    def __init__(self, characters: int) -> None:
        self.left = characters
        self.found: OrderedDict[str, Parsed] = OrderedDict()

    def get(self, text: str) -> Parsed:
        known = self.found.get(text)
        if known is not None:
            self.found.move_to_end(text)
            return known
        parsed = self.found[text] = parse(text, limit=readable_part(text))
        self.left -= len(text)
        while self.left < 0 and len(self.found) > 1:
            oldest, _ = self.found.popitem(last=False)
            self.left += len(oldest)
        return parsed


_kept: Final = _Kept(1 << 19)


def structure(text: str) -> Parsed:
    """The structure of a text, as far as it is read, one for all who look at it: questions on one script come one
    after the other, and cutting it into tokens is the dear part."""
    return _kept.get(text)


def readable_part(text: str) -> int | None:
    """Where to stop reading a text that is too long: after a whole line; None where it is not."""
    return None if len(text) <= SCRIPT.most else text.rfind("\n", 0, SCRIPT.most) + 1 or SCRIPT.most


class _Parser:
    """One pass over the tokens. `at` is the next one; a token of kind "end" stands behind the last."""

    def __init__(self, text: str, tokens: list[Token], end: int) -> None:
        self.text = text
        self.tokens = [*tokens, Token("end", end, end)]
        self.at = 0
        self.errors: list[tuple[int, int]] = []
        self.deep: tuple[int, int] | None = None
        """The first compound command that was passed over because it is nested too deeply."""
        self.depth = 0
        self.waiting: Counter[str] = Counter()
        """The tokens that the compound commands in hand wait for."""

    def error(self, token: Token) -> None:
        self.errors.append((token.start, token.end))

    @property
    def end(self) -> int:
        """Where the last token that was taken ends."""
        return self.tokens[self.at - 1].end

    def pass_separators(self, *also: str) -> None:
        while self.tokens[self.at].kind == "newline" or self.tokens[self.at].text in also:
            self.at += 1

    # --- lists of commands -----------------------------------------------------------------------------------------

    def fill(self, block: Block, *stops: str) -> str:
        """Read commands into a block up to one of these tokens and take it; empty where it is missing, because the
        text ends or something comes that a compound command further out waits for."""
        tokens, waiting = self.tokens, self.waiting
        waiting.update(stops)
        while True:
            token = tokens[self.at]
            text = token.text
            if token.kind == "newline" or text == ";":
                self.at += 1
                continue
            if token.kind == "end" or waiting.get(text):
                break
            before = self.at
            statement = self.chain()
            if statement is not None:
                self.add(block, statement)
            elif self.at == before:  # nothing begins with it
                self.error(token)
                self.at += 1
        waiting.subtract(stops)
        if text not in stops:
            return ""
        self.at += 1
        return text

    def add(self, block: Block, statement: Statement) -> None:
        """Put a statement into a block, and look at what stands behind it."""
        token = self.tokens[self.at]
        background = token.text == "&"
        if background:
            self.at += 1
        elif token.kind in _PARTS or token.text == "(":
            self.error(token)
            self.at += token.text == "("
        block.items.append((statement, background))

    def chain(self) -> Statement | None:
        """Pipelines joined by `&&` and `||`; None where no command begins."""
        first = self.pipeline()
        if first is None or self.tokens[self.at].text not in ("&&", "||"):
            return first
        items = [("", first)]
        while (token := self.tokens[self.at]).text in ("&&", "||"):
            self.at += 1
            self.pass_separators()
            following = self.pipeline()
            if following is None:
                self.error(token)
            else:
                items.append((token.text, following))
        return first if len(items) == 1 else Chain(first.start, items[-1][1].end, items)

    def pipeline(self) -> Statement | None:
        """Commands joined by `|`, or one; None where none begins."""
        before, start = self.at, self.tokens[self.at].start
        while self.tokens[self.at].text == "!":
            self.at += 1
        marks = self.at - before
        whole = self.command()
        if whole is None:
            if not marks:
                return None
            whole = Block(self.end, self.end)  # `!` alone is a pipeline too
        if self.tokens[self.at].text in ("|", "|&"):
            items = [whole]
            while (token := self.tokens[self.at]).text in ("|", "|&"):
                self.at += 1
                self.pass_separators()
                following = self.command()
                if following is None:
                    self.error(token)
                else:
                    items.append(following)
            if len(items) > 1:
                whole = Pipe(start, items[-1].end, items)
        return Not(start, whole.end, whole) if marks % 2 else whole

    # --- commands --------------------------------------------------------------------------------------------------

    def command(self) -> Statement | None:
        """A simple command, a compound one with its redirections, or a function; None where none begins."""
        token = self.tokens[self.at]
        if token.kind in _PARTS:
            return self.simple()
        body = self.compound()
        if body is None or isinstance(body, Function):
            return body
        redirects = self.redirects()
        return Redirected(body.start, self.end, body, redirects) if redirects else body

    def simple(self) -> Statement | None:
        tokens, start = self.tokens, self.at
        at = start + 1
        while tokens[at].kind in _PARTS:
            at += 1
        self.at = at
        parts = tokens[start:at]
        if tokens[at].text == "(" and tokens[at + 1].text == ")" and len(parts) == 1 and parts[0].kind == "word":
            self.at += 2
            return self.function_body(parts[0].start, parts[0])
        return Simple(parts)

    def redirects(self) -> list[Token]:
        """The redirections that come next."""
        start = self.at
        while self.tokens[self.at].kind == "redirect":
            self.at += 1
        return self.tokens[start : self.at]

    def compound(self) -> Statement | None:
        """What a reserved word or a bracket begins; None for any other token, and for what is nested too deeply."""
        token = self.tokens[self.at]
        build = _COMPOUND.get(token.text)
        if build is None:
            return None
        if self.depth >= MAX_DEPTH:
            self.pass_over()
            self.deep = self.deep or (token.start, self.end)
            return None
        self.depth += 1
        self.at += 1
        statement = build(self, token)
        self.depth -= 1
        return statement

    def pass_over(self) -> None:
        """Go behind a compound command without a look inside."""
        open_ones: list[str] = []
        while (token := self.tokens[self.at]).kind != "end":
            self.at += 1
            if token.text in _CLOSED_BY:
                open_ones.append(_CLOSED_BY[token.text])
            elif open_ones and token.text == open_ones[-1]:
                open_ones.pop()
                if not open_ones:
                    return

    def group(self, token: Token) -> Group:
        """`{ … }` and `( … )`."""
        body = Block(token.start, token.end)
        if not self.fill(body, _CLOSED_BY[token.text]):
            self.error(token)
        body.end = self.end
        return Group(body.start, body.end, body, token.text == "(")

    def branches(self, token: Token) -> If:
        clauses: list[tuple[Block, Block]] = []
        otherwise: Block | None = None
        begin, stop = token, "elif"
        while stop == "elif":
            condition, body = Block(begin.start, begin.start), Block(begin.start, begin.start)
            stop = self.fill(condition, "then", "elif", "else", "fi")
            if stop == "then":
                stop = self.fill(body, "elif", "else", "fi")
            clauses.append((_fitted(condition), _fitted(body)))
            begin = self.tokens[self.at - 1]
        if stop == "else":
            otherwise = Block(begin.start, begin.end)
            stop = self.fill(otherwise, "fi")
            otherwise.end = self.end
        if not stop:
            self.error(token)
        return If(token.start, self.end, clauses, otherwise)

    def loop(self, token: Token) -> Loop:
        """`while`, `until`, `for`, `select`."""
        tokens = self.tokens
        condition = None
        head: list[Token] = []
        if token.text in ("while", "until"):
            condition = Block(token.start, token.start)
            begins = self.fill(condition, "do", "done") == "do"
            _fitted(condition)
            self.at -= begins
        else:
            while tokens[self.at].kind in ("word", "compound") or tokens[self.at].text == "in":
                head.append(tokens[self.at])
                self.at += 1
            self.pass_separators(";")
        body = Block(token.start, self.end)
        first = tokens[self.at]
        stop = "}" if first.text == "{" and condition is None else "done" if first.text == "do" else ""
        if stop:
            self.at += 1
            body.start = first.start
            stop = self.fill(body, stop)
            body.end = self.end
        if not stop:
            self.error(token)
        if condition is not None:
            return Loop(token.start, self.end, _KINDS[token.text], None, None, condition, body)
        if head and head[0].kind == "compound":
            return Loop(token.start, self.end, "count", None, None, None, body)
        words = [one for one in head[1:] if one.kind == "word"] if any(one.text == "in" for one in head) else None
        return Loop(token.start, self.end, _KINDS[token.text], head[0] if head else None, words, None, body)

    def case(self, token: Token) -> Case:
        tokens = self.tokens
        subject = tokens[self.at] if tokens[self.at].kind == "word" else None
        self.at += subject is not None
        self.pass_separators()
        self.at += tokens[self.at].text == "in"
        items: list[tuple[list[Token], Block, str]] = []
        stop = ";;"
        while stop in _ITEM_ENDS:
            self.pass_separators(";")
            first = tokens[self.at]
            if first.text == "esac":
                self.at += 1
                stop = "esac"
                break
            self.at += first.text == "("
            patterns: list[Token] = []
            while tokens[self.at].kind == "word" or tokens[self.at].text == "|":
                if tokens[self.at].kind == "word":
                    patterns.append(tokens[self.at])
                self.at += 1
            if tokens[self.at].text != ")":
                self.error(tokens[self.at])
            else:
                self.at += 1
            block = Block(first.start, first.end)
            stop = self.fill(block, *_ITEM_ENDS, "esac")
            block.end = self.end
            items.append((patterns, block, stop if stop in _ITEM_ENDS else ""))
        if stop != "esac":
            self.error(token)
        return Case(token.start, self.end, subject, items)

    def function(self, token: Token) -> Function | None:
        """`function name`, with or without brackets."""
        name = self.tokens[self.at]
        if name.kind != "word":
            self.error(token)
            return None
        self.at += 1
        if self.tokens[self.at].text == "(" and self.tokens[self.at + 1].text == ")":
            self.at += 2
        return self.function_body(token.start, name)

    def function_body(self, start: int, name: Token) -> Function | None:
        self.pass_separators()
        body = Simple([self.tokens[self.at]]) if self.tokens[self.at].kind == "compound" else self.compound()
        if body is None:
            self.error(name)
            return None
        if isinstance(body, Simple):
            self.at += 1
        redirects = self.redirects()
        if redirects:
            body = Redirected(start, self.end, body, redirects)
        return Function(start, self.end, self.text[name.start : name.end], body)


def _fitted(block: Block) -> Block:
    """The block with the span of its commands, where it has some."""
    if block.items:
        block.start, block.end = block.items[0][0].start, block.items[-1][0].end
    return block


_KINDS: Final[dict[str, LoopKind]] = {"for": "for", "select": "select", "while": "while", "until": "until"}
_COMPOUND: Final[dict[str, Callable[[_Parser, Token], Statement | None]]] = {
    "{": _Parser.group,
    "(": _Parser.group,
    "if": _Parser.branches,
    "for": _Parser.loop,
    "select": _Parser.loop,
    "while": _Parser.loop,
    "until": _Parser.loop,
    "case": _Parser.case,
    "function": _Parser.function,
}
