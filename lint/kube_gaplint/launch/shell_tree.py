"""The structure of a script: tree-sitter's bash grammar over a skeleton of plain words.

`parse` gives statements as plain objects that hold tokens. What the grammar does not understand is kept: commands
inside an error are read as commands of the enclosing block, and the error's span is reported.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint.launch.shell_reader import Reader
from kube_gaplint.launch.shell_tokens import Token, skeleton, tokens_of

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode
    from tree_sitter import Parser

MAX_DEPTH: Final = 60
"""Nesting of compound commands that is followed; deeper ones are reported as not understood."""


class Simple(Struct, eq=False):
    """A simple command, `[[ … ]]` or `(( … ))`: its words and redirections in order."""

    tokens: list[Token]

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end


class Pipe(Struct, eq=False):
    """Commands joined by `|`."""

    start: int
    end: int
    items: list[Statement]


class Not(Struct, eq=False):
    """`! command`."""

    start: int
    end: int
    body: Statement


class Chain(Struct, eq=False):
    """Commands joined by `&&` and `||`: the operator stands before each but the first (there it is empty)."""

    start: int
    end: int
    items: list[tuple[str, Statement]]


class Block(Struct, eq=False):
    """Statements in order, each with whether it runs in the background."""

    start: int
    end: int
    items: list[tuple[Statement, bool]] = field(default_factory=list)


class Group(Struct, eq=False):
    """`{ … }`, or `( … )` (a subshell)."""

    start: int
    end: int
    body: Block
    subshell: bool


class If(Struct, eq=False):
    start: int
    end: int
    clauses: list[tuple[Block, Block]]
    otherwise: Block | None


class Loop(Struct, eq=False):
    """`for`, `select`, `while`, `until`, and `for ((…))` (without a variable)."""

    start: int
    end: int
    kind: Literal["for", "while", "until", "count", "select"]
    variable: Token | None
    words: list[Token] | None
    """The list of a `for`; None for `for x` alone, which runs over the arguments."""
    condition: Block | None
    body: Block


class Case(Struct, eq=False):
    start: int
    end: int
    subject: Token | None
    items: list[tuple[list[Token], Block, str]]
    """Patterns, commands, and what ends them (`;;`, `;&`, `;;&`, or nothing)."""


class Function(Struct, eq=False):
    start: int
    end: int
    name: str
    body: Statement


class Redirected(Struct, eq=False):
    """A compound command with redirections."""

    start: int
    end: int
    body: Statement
    redirects: list[Token]


Statement: TypeAlias = "Simple | Pipe | Not | Chain | Block | Group | If | Loop | Case | Function | Redirected"


@cache
def _grammar() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class Parsed(Struct, eq=False):
    """A script's statements, its reader, and the spans that were not understood."""

    reader: Reader
    body: Block
    tokens: list[Token]
    errors: list[tuple[int, int]]


def parse(text: str, reader: Reader | None = None, start: int = 0, limit: int | None = None) -> Parsed:
    """The structure of `text[start:limit]`; offsets are those of the whole text."""
    reader = reader or Reader(text)
    known = len(reader.errors)
    tokens = tokens_of(reader, start, limit)
    plain = skeleton(text, tokens)
    if start or limit is not None:
        plain = plain[start:limit]
    builder = _Builder(text, tokens, start)
    if not tokens:
        body = Block(start, start)
    elif all(token.kind in ("word", "redirect", "newline", "compound") for token in tokens):
        body = builder.flat(0, len(tokens), start, start + len(plain))  # the usual one-liner needs no grammar
    else:
        tree = _grammar().parse(plain.encode("ascii", "replace"))
        body = builder.block(tree.root_node, 0)
    return Parsed(reader, body, tokens, [*reader.errors[known:], *builder.errors])


@lru_cache(maxsize=8)
def structure(text: str) -> Parsed:
    """The structure of a whole text for those who only look at it: questions on one script come one after the other,
    and reading it is the dear part."""
    return parse(text)


class _Builder:
    def __init__(self, text: str, tokens: list[Token], base: int) -> None:
        self.text = text
        self.tokens = tokens
        self.starts = [token.start for token in tokens]
        self.base = base
        self.errors: list[tuple[int, int]] = []

    def within(self, start: int, end: int) -> list[Token]:
        """The tokens between two offsets."""
        low = bisect_left(self.starts, start)
        high = bisect_left(self.starts, end, low)
        return self.tokens[low:high]

    def span(self, node: TreeNode) -> tuple[int, int]:
        return node.start_byte + self.base, node.end_byte + self.base

    def token_at(self, node: TreeNode) -> Token | None:
        at = bisect_left(self.starts, node.start_byte + self.base)
        return self.tokens[at] if at < len(self.tokens) and self.starts[at] == node.start_byte + self.base else None

    def flat(self, low: int, high: int, start: int, end: int) -> Block:
        """Commands that are only separated by line ends and operators, as a last resort and for plain one-liners."""
        block = Block(start, end)
        current: list[Token] = []
        for token in self.tokens[low:high]:
            if token.kind in ("word", "redirect", "compound"):
                current.append(token)
            elif current:
                block.items.append((Simple(current), token.text == "&"))
                current = []
        if current:
            block.items.append((Simple(current), False))
        return block

    # --- nodes -----------------------------------------------------------------------------------------------------

    def block(self, node: TreeNode, depth: int) -> Block:
        """The statements among the children of a node."""
        start, end = self.span(node)
        block = Block(start, end)
        self.fill(block, node.children, depth)
        return block

    def fill(self, block: Block, children: list[TreeNode], depth: int) -> None:
        for child in children:
            kind = child.type
            if kind == "&":
                if block.items:
                    block.items[-1] = (block.items[-1][0], True)
                continue
            if kind == "ERROR":
                self.errors.append(self.span(child))
            statement = self.statement(child, depth)
            if statement is not None:
                if isinstance(statement, Block):
                    block.items.extend(statement.items)
                else:
                    block.items.append((statement, False))

    def statement(self, node: TreeNode, depth: int) -> Statement | None:
        """The statement that a node holds; None for punctuation."""
        if node.is_missing:
            self.errors.append(self.span(node))
            return None
        build = _KINDS.get(node.type)
        if build is None:
            return None
        if depth > MAX_DEPTH:
            self.errors.append(self.span(node))
            return None
        return build(self, node, depth + 1)

    def simple(self, node: TreeNode, _depth: int) -> Statement | None:
        tokens = [t for t in self.within(*self.span(node)) if t.kind in ("word", "redirect", "compound")]
        if not tokens:
            return None
        if any(t.kind == "newline" for t in self.within(*self.span(node))):  # the grammar joined two lines
            return self.lines(node)
        return Simple(tokens)

    def lines(self, node: TreeNode) -> Statement:
        start, end = self.span(node)
        low, high = bisect_left(self.starts, start), bisect_left(self.starts, end)
        return self.flat(low, high, start, end)

    def error(self, node: TreeNode, depth: int) -> Statement | None:
        """What can be told of a part that the grammar gave up on: whole statements in it, else its lines."""
        start, end = self.span(node)
        block = Block(start, end)
        at = start
        for child in node.children:
            if child.type not in _KINDS or child.type == "word":
                continue
            statement = self.statement(child, depth)
            if statement is None:
                continue
            begins, ends = self.span(child)
            self.gap(block, at, begins)
            if isinstance(statement, Block):
                block.items.extend(statement.items)
            else:
                block.items.append((statement, False))
            at = ends
        self.gap(block, at, end)
        return block

    def gap(self, block: Block, start: int, end: int) -> None:
        low, high = bisect_left(self.starts, start), bisect_left(self.starts, end)
        if low < high:
            block.items.extend(self.flat(low, high, start, end).items)

    def redirected(self, node: TreeNode, depth: int) -> Statement | None:
        start, end = self.span(node)
        children = node.children
        body = next((s for c in children if (s := self.statement(c, depth)) is not None), None)
        redirects = [
            t for c in children if c.type == "file_redirect" for t in self.within(*self.span(c)) if t.kind == "redirect"
        ]
        if body is None:
            return Simple(redirects) if redirects else None
        if isinstance(body, Simple):
            return Simple(sorted([*body.tokens, *redirects], key=lambda t: t.start))
        return Redirected(start, end, body, redirects)

    def pipeline(self, node: TreeNode, depth: int) -> Statement | None:
        start, end = self.span(node)
        items: list[Statement] = []
        negated = False
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type == "pipeline":
                stack.extend(reversed(child.children))
                continue
            statement = self.statement(child, depth)
            if statement is None:
                continue
            if not items and isinstance(statement, Not):
                negated, statement = True, statement.body
            items.append(statement)
        if not items:
            return None
        whole: Statement = items[0] if len(items) == 1 else Pipe(start, end, items)
        return Not(start, end, whole) if negated else whole

    def negated(self, node: TreeNode, depth: int) -> Statement | None:
        body = next((s for c in node.children if (s := self.statement(c, depth)) is not None), None)
        return None if body is None else Not(*self.span(node), body)

    def chain(self, node: TreeNode, depth: int) -> Statement | None:
        start, end = self.span(node)
        parts: list[TreeNode] = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            if child.type == "list":
                stack.extend(reversed(child.children))
            else:
                parts.append(child)
        items: list[tuple[str, Statement]] = []
        operator = ""
        for part in parts:
            if part.type in ("&&", "||"):
                operator = part.type
                continue
            statement = self.statement(part, depth)
            if statement is not None:
                items.append((operator if items else "", statement))
        if not items:
            return None
        return items[0][1] if len(items) == 1 else Chain(start, end, items)

    def group(self, node: TreeNode, depth: int) -> Statement | None:
        return Group(*self.span(node), self.block(node, depth), node.type == "subshell")

    def branch(self, node: TreeNode, depth: int) -> Statement | None:
        start, end = self.span(node)
        clauses: list[tuple[Block, Block]] = []
        otherwise: Block | None = None
        condition, body = Block(start, start), Block(start, start)
        current = condition
        pending: list[TreeNode] = []

        def flush() -> None:
            parts = [child for child in pending if child.type in _KINDS]
            if parts:
                current.start, current.end = self.span(parts[0])[0], self.span(parts[-1])[1]
            self.fill(current, pending, depth)
            pending.clear()

        for child in node.children:
            if child.type == "then":
                flush()
                current = body
            elif child.type == "elif_clause":
                flush()
                clauses.append((condition, body))
                inner = self.branch(child, depth)
                assert isinstance(inner, If)
                condition, body = inner.clauses[0]
                current = Block(start, start)
            elif child.type == "else_clause":
                flush()
                otherwise = self.block(child, depth)
            else:
                pending.append(child)
        flush()
        clauses.append((condition, body))
        return If(start, end, clauses, otherwise)

    def loop(self, node: TreeNode, depth: int) -> Statement | None:
        start, end = self.span(node)
        first = node.children[0].type
        body = Block(start, end)
        before: list[TreeNode] = []
        for child in node.children[1:]:
            if child.type in ("do_group", "compound_statement"):
                body = self.block(child, depth)
                break
            before.append(child)
        if first in ("while", "until"):
            parts = [child for child in before if child.type in _KINDS]
            condition = Block(*((self.span(parts[0])[0], self.span(parts[-1])[1]) if parts else (start, start)))
            self.fill(condition, before, depth)
            return Loop(start, end, "while" if first == "while" else "until", None, None, condition, body)
        tokens = [t for t in self.within(start, body.start) if t.kind in ("word", "reserved", "compound")]
        if len(tokens) > 1 and tokens[1].kind == "compound":
            return Loop(start, end, "count", None, None, None, body)
        variable = tokens[1] if len(tokens) > 1 else None
        words = None
        if any(t.kind == "reserved" and t.text == "in" for t in tokens):
            words = [t for t in tokens[2:] if t.kind == "word"]
        return Loop(start, end, "select" if first == "select" else "for", variable, words, None, body)

    def case(self, node: TreeNode, depth: int) -> Statement | None:
        start, end = self.span(node)
        items: list[tuple[list[Token], Block, str]] = []
        subject: Token | None = None
        for child in node.children:
            if child.type == "case_item":
                patterns: list[Token] = []
                block = Block(*self.span(child))
                rest: list[TreeNode] = []
                ends = ""
                seen = False
                for part in child.children:
                    if not seen:
                        if part.type == ")":
                            seen = True
                        elif (token := self.token_at(part)) is not None and token.kind == "word":
                            patterns.append(token)
                    elif part.type in (";;", ";&", ";;&"):
                        ends = part.type
                    else:
                        rest.append(part)
                self.fill(block, rest, depth)
                items.append((patterns, block, ends))
            elif subject is None and (token := self.token_at(child)) is not None and token.kind == "word":
                subject = token
        return Case(start, end, subject, items)

    def function(self, node: TreeNode, depth: int) -> Statement | None:
        start, end = self.span(node)
        name = next((t for t in self.within(start, end) if t.kind == "word"), None)
        body: Statement | None = None
        redirects: list[Token] = []
        for child in node.children:
            if child.type == "file_redirect":
                redirects.extend(t for t in self.within(*self.span(child)) if t.kind == "redirect")
            elif child.type != "word" and body is None:
                body = self.statement(child, depth)
        if name is None or body is None:
            return None
        if redirects:
            body = Redirected(start, end, body, redirects)
        return Function(start, end, self.text[name.start : name.end], body)


_KINDS: Final = {
    "command": _Builder.simple,
    "test_command": _Builder.simple,
    "variable_assignment": _Builder.simple,
    "variable_assignments": _Builder.simple,
    "declaration_command": _Builder.simple,
    "unset_command": _Builder.simple,
    "redirected_statement": _Builder.redirected,
    "pipeline": _Builder.pipeline,
    "negated_command": _Builder.negated,
    "list": _Builder.chain,
    "subshell": _Builder.group,
    "compound_statement": _Builder.group,
    "if_statement": _Builder.branch,
    "for_statement": _Builder.loop,
    "c_style_for_statement": _Builder.loop,
    "while_statement": _Builder.loop,
    "case_statement": _Builder.case,
    "function_definition": _Builder.function,
    "ERROR": _Builder.error,
}
