"""Branches of a script: `&&`, `||`, `if`, `case`, and the conditions that can be decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from kube_gaplint import lazy_re
from kube_gaplint.facts.preparing import prepares
from kube_gaplint.launch.shell_arithmetic import glob_matches
from kube_gaplint.launch.shell_parameters import arithmetic_value
from kube_gaplint.launch.shell_process import MAX_DEPTH, Flow, Last, either
from kube_gaplint.launch.shell_reader import TEMPLATE
from kube_gaplint.launch.shell_state import Changes
from kube_gaplint.launch.shell_tests import decide
from kube_gaplint.launch.shell_text import EMPTY
from kube_gaplint.launch.shell_tokens import Token
from kube_gaplint.launch.shell_tree import Block, Case, Chain, Group, If, Not, Simple, Statement
from kube_gaplint.model.command import Certainty

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Walker

Items: TypeAlias = "Sequence[tuple[Statement, bool]]"
"""Statements in order, each with whether it runs in the background."""

ASSIGNMENT: Final = lazy_re.compile(r"([A-Za-z_]\w*)(\[[^\]\n]*\])?(\+?)=")
CHANGED: Final = lazy_re.compile(
    r"([A-Za-z_]\w*)\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
"""What an arithmetic text assigns."""
_ACTION: Final = lazy_re.compile(r"\{\{-?\s*(?:(if|range|with|else|end)\b|(/\*))")
_SUCCEED: Final = frozenset(
    ["true", ":", "echo", "export", "set", "shopt", "unset", "printf", "umask", "ulimit", "trap", "declare", "typeset"]
)
"""Commands whose success is taken for granted where it steers the flow."""


class Branches:
    """Branches of which one runs: their changes, how they end, and what may run last."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.entry = walker.shell.last
        self.changes: list[Changes] = []
        self.flows: list[Flow] = []
        self.last: list[Last] = []

    def add(
        self,
        run: Callable[[], Flow],
        condition: str,
        certainty: Certainty = "conditional",
        expected: Certainty | None = None,
    ) -> None:
        """Follow one branch under its condition."""
        shell = self.walker.shell
        shell.last = self.entry
        shell.state.begin()
        with shell.under(certainty, condition, expected):
            flow = run()
        changes = shell.state.rollback()
        self.flows.append(flow)
        if flow not in ("exit", "return"):
            self.changes.append(changes)
            self.last.append(shell.last)

    def none(self) -> None:
        """It may be that no branch runs."""
        self.changes.append({})
        self.flows.append("")
        self.last.append(self.entry)

    def end(self, start: int, end: int, because: str) -> Flow:
        """Go on behind the branches."""
        shell = self.walker.shell
        shell.state.merge(self.changes, self.walker.place(start, end), because)
        shell.last = either(*self.last)
        if self.flows and all(self.flows):
            return self.flows[0] if all(flow == self.flows[0] for flow in self.flows) else "exit"
        return ""


def run_chain(walker: Walker, chain: Chain) -> Flow:
    """`a && b || c`: what stands behind an operator may not run."""
    shell = walker.shell
    first = len(shell.out)
    flow = walker.run(chain.items[0][1])
    if flow:
        return flow
    verdict = succeeds(walker, chain.items[0][1])
    at = 1
    while at < len(chain.items):
        operator, statement = chain.items[at]
        if verdict is (operator == "&&") and isinstance(statement, Group) and _refuses(walker, statement.body):
            verdict = None
        if verdict is (operator == "&&"):  # it surely runs
            flow = walker.run(statement)
            if flow:
                return flow
            verdict = succeeds(walker, statement)
            at += 1
            continue
        # a run of && is one branch: each part comes after the one before it
        end = at + 1
        while operator == "&&" and end < len(chain.items) and chain.items[end][0] == "&&":
            end += 1
        group = [part for _, part in chain.items[at:end]]
        at = end
        if verdict is not None:
            continue  # it surely does not run
        before, mark = shell.last, len(shell.out)
        condition = walker.text(chain.start, group[0].start).removesuffix(operator).rstrip()
        branches = Branches(walker)
        before_it = chain.items[: end - 1]
        ready = operator == "&&" and all(sign != "||" and _prepares(walker, part) for sign, part in before_it)
        branches.add(partial(walker.run_all_of, group), condition, expected="always" if ready else None)
        if not ready or branches.flows[0]:
            branches.changes.append({})  # behind `mkdir -p x &&` it is meant to run
        if branches.flows[0] in ("exit", "return"):
            branches.last = [before]
        elif operator == "||":
            branches.last.append(before)
            for command in shell.out[first:mark]:
                command.fallback = True
            first = mark
        branches.flows.clear()
        how = "succeeds" if operator == "&&" else "fails"
        branches.end(group[0].start, group[-1].end, f"only if `{condition}` {how}")
    return ""


def _prepares(walker: Walker, statement: Statement) -> bool:
    """Whether a statement only gets something ready: what stands behind it and `&&` is meant to run."""
    if not isinstance(statement, Simple):
        return False
    words = [walker.source.text[token.start : token.end] for token in statement.tokens if token.kind == "word"]
    return prepares(words)


def run_if(walker: Walker, statement: If) -> Flow:
    """`if`, `elif`, `else`."""
    shell = walker.shell
    branches: Branches | None = None
    heading = ""
    for condition, body in statement.clauses:
        text = walker.text(condition.start, condition.end)
        first = len(shell.out)
        if branches is None:
            flow = walker.run_block(condition)
            if flow:
                return flow
        else:
            with shell.under("conditional", f"not {heading}"):
                walker.run_block(condition)
        for command in shell.out[first:]:
            command.fallback = True
        verdict = succeeds(walker, condition.items[0][0]) if len(condition.items) == 1 else None
        if verdict is False:
            continue
        if verdict is True and _refuses(walker, body):
            verdict = None
        if verdict is True and branches is None:
            return walker.run_block(body)
        if branches is None:
            branches, heading = Branches(walker), text
        branches.entry = shell.last
        branches.add(partial(walker.run_block, body), text)
        shell.last = branches.entry
        if verdict is True:
            return branches.end(statement.start, statement.end, f"in one branch of `if {heading}`")
    otherwise = statement.otherwise
    if branches is None:
        return walker.run_block(otherwise) if otherwise is not None else ""
    if otherwise is not None:
        branches.add(partial(walker.run_block, otherwise), f"not {heading}")
    else:
        branches.none()
    return branches.end(statement.start, statement.end, f"in one branch of `if {heading}`")


_REFUSAL = lazy_re.compile(r"exit[ \t]+[1-9]\d*[ \t;]*")


def _refuses(walker: Walker, body: Block) -> bool:
    """Whether a branch ends the script with an error. A script that surely comes there as it stands
    (`IMAGE=""`, then `if [ -z "$IMAGE" ]`) waits to be filled in, and what follows is what it is there for."""
    last = body.items[-1][0] if body.items else None
    return isinstance(last, Simple) and _REFUSAL.fullmatch(walker.text(last.start, last.end)) is not None


def run_case(walker: Walker, statement: Case) -> Flow:
    """`case`: where the subject is known, the branch that it takes."""
    at = statement.subject
    subject = walker.words.value(at.start, at.end) if at is not None else EMPTY
    known = subject.known()
    heading = walker.text(at.start, at.end) if at is not None else ""
    branches: Branches | None = None
    complete = False
    for patterns, body, _ in statement.items:
        verdict = matches(walker, known, patterns) if known is not None else None
        if verdict is False:
            continue
        if verdict is True and branches is None:
            return walker.run_block(body)
        texts = [walker.source.text[token.start : token.end] for token in patterns]
        branches = branches or Branches(walker)
        branches.add(partial(walker.run_block, body), f"case {heading} in {'|'.join(texts)}"[:80])
        if verdict is True or "*" in texts:
            complete = True
            break
    if branches is None:
        return ""
    if not complete:
        branches.none()
    return branches.end(statement.start, statement.end, f"in one branch of `case {heading}`")


def matches(walker: Walker, text: str, patterns: list[Token]) -> bool | None:
    """Whether one of the patterns matches; None where that is not computed."""
    verdict: bool | None = False
    for token in patterns:
        pattern = walker.words.value(token.start, token.end).known()
        raw = walker.source.text[token.start : token.end]
        if pattern is None or (any(c in raw for c in "'\"\\") and any(c in pattern for c in "*?[")):
            verdict = None
            continue
        found = glob_matches(text, pattern)
        if found:
            return True
        if found is None:
            verdict = None
    return verdict


# --- templates -----------------------------------------------------------------------------------------------------


def template_line(walker: Walker, statement: Statement) -> str:
    """What a line that is nothing but a template action does (`if`, `range`, `with`, `else`, `end`, or `text` where it
    stands for commands); empty for any other statement."""
    if not isinstance(statement, Simple) or len(statement.tokens) != 1:
        return ""
    raw = walker.source.text[statement.start : statement.end]
    if TEMPLATE.fullmatch(raw) is None:
        return ""
    found = _ACTION.match(raw)
    if found is None:
        return "text"
    return found.group(1) or "comment"


def run_templated(walker: Walker, items: Items) -> Flow:
    """Statements between which template actions stand: what `{{ if }}` brackets may not be there."""
    budget = walker.shell.budget
    if budget.depth > MAX_DEPTH:
        first = items[0][0] if items else None
        walker.too_deep(first.start if first else 0, first.end if first else 0)
        return ""
    budget.depth += 1
    try:
        return _templated(walker, items)
    finally:
        budget.depth -= 1


def _templated(walker: Walker, items: Items) -> Flow:
    at = 0
    while at < len(items):
        statement, background = items[at]
        action = template_line(walker, statement)
        if action in ("if", "range", "with"):
            bounds = _bounds(walker, items, at)
            heading = walker.text(statement.start, statement.end)
            branches = Branches(walker)
            for low, high in pairwise(bounds):
                branches.add(partial(run_templated, walker, items[low + 1 : high]), heading)
            if len(bounds) < 3:
                branches.none()
            end = items[min(bounds[-1], len(items) - 1)][0].end
            flow = branches.end(statement.start, end, f"in one branch of `{heading}`")
            if flow:
                return flow
            at = bounds[-1] + 1
            continue
        at += 1
        if action in ("else", "end", "comment"):
            continue
        if action == "text":
            walker.shell.state.open(f"`{walker.text(statement.start, statement.end, 40)}` stands for other commands")
        flow = walker.run_background(statement) if background else walker.run(statement)
        if flow:
            return flow
    return ""


def _bounds(walker: Walker, items: Items, start: int) -> list[int]:
    """The indexes of a template `if`, of its `else`s and of its `end` (or of the end of the list)."""
    out = [start]
    depth = 0
    for index in range(start + 1, len(items)):
        action = template_line(walker, items[index][0])
        if action in ("if", "range", "with"):
            depth += 1
        elif action == "end" and depth == 0:
            return [*out, index]
        elif action == "end":
            depth -= 1
        elif action == "else" and depth == 0:
            out.append(index)
    return [*out, len(items)]


# --- conditions ----------------------------------------------------------------------------------------------------


def succeeds(walker: Walker, statement: Statement) -> bool | None:
    """Whether a statement that was just run surely succeeds or fails; None where that is not known."""
    if isinstance(statement, Not):
        inner = succeeds(walker, statement.body)
        return None if inner is None else not inner
    if isinstance(statement, Chain):
        verdict: bool | None = None
        for operator, part in statement.items:
            needed = operator == "&&"
            if operator and verdict is (not needed):
                continue  # it does not run
            found = succeeds(walker, part)
            # `unknown && false` is false, `unknown || true` is true, all else that is unknown stays so
            verdict = found if not operator or verdict is not None or found is (not needed) else None
        return verdict
    if not isinstance(statement, Simple):
        return None
    text = walker.source.text
    if statement.tokens[0].kind == "compound":
        return _tested(walker, statement)
    words = [text[token.start : token.end] for token in statement.tokens if token.kind == "word"]
    if not words:
        return None
    if words[0] in ("[", "test"):
        return _tested(walker, statement)
    if words[0] == "false":
        return False
    if (words[0] in _SUCCEED or all(ASSIGNMENT.match(word) for word in words)) and ("function", words[0]) not in (
        walker.shell.state.data
    ):
        return True if not any("$(" in word or "`" in word for word in words) else None
    return None


def _tested(walker: Walker, statement: Simple) -> bool | None:
    """`[ … ]`, `test`, `[[ … ]]`, `(( … ))`. The words are expanded once more, without looking at substitutions."""
    words = walker.words
    before, words.substitute = words.substitute, None
    try:
        tokens = [token for token in statement.tokens if token.kind != "redirect"]
        if tokens[0].kind == "compound":
            return _compound_test(walker, tokens[0]) if len(tokens) == 1 else None
        return _plain_test(walker, tokens)
    finally:
        words.substitute = before


def _compound_test(walker: Walker, token: Token) -> bool | None:
    text = walker.source.text
    low, high = token.start + 2, token.end - 2
    if token.text == "((":
        if CHANGED.search(text, low, high):
            return None
        number = arithmetic_value(walker.words, text[low:high])
        return None if number is None else number != 0
    texts: list[str | None] = []
    for start, end in walker.parsed.reader.words(low, high):
        raw = text[start:end]
        if raw in ("&&", "||", "<", ">", "=~") or "(" in raw or ")" in raw:
            return None
        texts.append(walker.words.value(start, end).known())
    quoted = any(c in "\"'\\" for c in text[low:high])
    return decide(texts, patterns=True, quoted=quoted)


def _plain_test(walker: Walker, tokens: list[Token]) -> bool | None:
    arguments: list[str | None] = []
    for token in tokens[1:]:
        found = walker.words.words(token.start, token.end)
        if len(found) != 1 or found[0].multiple:
            # an unquoted variable that is empty or holds several words changes the meaning of `[`
            return None
        arguments.append(found[0].known)
    if walker.source.text[tokens[0].start : tokens[0].end] == "[":
        if not arguments or arguments[-1] != "]":
            return None
        arguments.pop()
    return decide(arguments, patterns=False, quoted=False)
