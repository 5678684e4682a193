"""Control flow of a script, followed symbolically: which commands run, with what words, under what conditions.

A `Walker` reads one text in one shell process (`Shell`); functions, sourced files and `eval` run in the same process,
`bash …` in a new one. Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final
from weakref import ref

from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.facts.shell_names import given_because
from kube_gaplint.launch import shell_builtins, shell_emit, shell_files, shell_flow, shell_loops
from kube_gaplint.launch.shell_arithmetic import names as arithmetic_names
from kube_gaplint.launch.shell_flow import ASSIGNMENT, CHANGED
from kube_gaplint.launch.shell_parameters import arithmetic_value, why_unknown
from kube_gaplint.launch.shell_parser import readable_part, structure
from kube_gaplint.launch.shell_process import MAX_DEPTH, Flow, Last, Shell, either
from kube_gaplint.launch.shell_state import ARGUMENTS, Body, Variable
from kube_gaplint.launch.shell_text import (
    NO_ELEMENTS,
    Elements,
    Hole,
    Ref,
    SliceText,
    Value,
    flatten,
    word_text,
    word_value,
)
from kube_gaplint.launch.shell_tokens import Token
from kube_gaplint.launch.shell_tree import (
    Block,
    Case,
    Chain,
    Function,
    Group,
    If,
    Loop,
    Not,
    Pipe,
    Redirected,
    Simple,
    Statement,
)
from kube_gaplint.launch.shell_words import Expander
from kube_gaplint.model.command import Command, Heredoc, Script, Word
from kube_gaplint.model.setting import Origin, Set, Unknown
from kube_gaplint.text.limits import COMMANDS, SCRIPT, SHELL_DEPTH
from kube_gaplint.text.source import Place, PlacedText

_TOO_DEEP: Final = "the script is nested too deeply to follow"

_PASSED_ON: Final = lazy_re.compile(r"\b([A-Za-z_]\w*)=")
_LOGGING: Final = frozenset(["echo", "printf", ":"])

Prefix = Mapping[str, tuple[Value, Origin]]
"""Assignments in front of a command: they hold for it alone."""


class Walker:
    """One text in a shell process."""

    def __init__(self, shell: Shell, script: Script, source: PlacedText) -> None:
        self.shell = shell
        self.script = script
        self.source = source
        self.evaluated: Place | None = None
        """Of the one command that an `eval` runs: where that stands in the script."""
        text = source.text
        limit = readable_part(text)
        if limit is not None:
            self.script.errors.append(self.source.place(limit, limit))
            self.shell.state.open("the script is longer than what is read of it")
            self.shell.budget.over(SCRIPT, self.source.place(limit, limit))
        self.parsed = structure(text)
        if self.parsed.deep is not None:
            self.too_deep(*self.parsed.deep)
        self.script.errors.extend(self.place(start, end) for start, end in self.parsed.errors)
        itself = ref(self)  # a walker that held itself would stay in memory (see `collector`)

        def substitute(start: int, end: int, quoted: bool) -> Value | None:
            walker = itself()
            assert walker is not None, "its words are expanded while it walks"
            return shell_emit.substitute(walker, start, end, quoted)

        self.words = Expander(
            self.source,
            self.parsed.reader,
            self.shell.state,
            self.shell.budget,
            self.script.reads,
            substitute,
        )

    def too_deep(self, start: int, end: int) -> None:
        """What stands there is left out: it may do anything."""
        self.shell.state.open(_TOO_DEEP)
        self.shell.budget.over(SHELL_DEPTH, self.place(start, end))

    @cached_property
    def assigned(self) -> list[shell_loops.Assigned]:
        """Every assignment in the text, by offset."""
        return shell_loops.assignments(self)

    @cached_property
    def templated(self) -> bool:
        """Whether template actions stand in the text."""
        return "{{" in self.source.text

    def text(self, start: int, end: int, limit: int = 80) -> str:
        """Source text on one line, for conditions and messages."""
        text = " ".join(self.source.text[start : min(end, start + 4 * limit)].split())
        return text if len(text) <= limit else text[: limit - 1] + "…"

    def place(self, start: int, end: int) -> Place:
        return self.source.place(start, end)

    # --- statements ------------------------------------------------------------------------------------------------

    def run_text(self) -> Flow:
        """Read the whole text."""
        return self.run_block(self.parsed.body) if self.source.text else ""

    def run_exit_trap(self) -> None:
        """Read the handler of EXIT as what runs at the end."""
        word = self.shell.exit_trap
        if word is None or self.shell.budget.depth > MAX_DEPTH:
            return
        self.shell.exit_trap = None
        last = self.shell.last
        with self.shell.under("on-exit", "trap EXIT"):
            Walker(self.shell, self.script, word_text(word)).run_text()
        self.shell.last = last

    def run_handlers(self) -> None:
        """Read the handlers of signals, apart from what the script runs by itself."""
        shell = self.shell
        first, last = len(shell.out), shell.last
        for name, word in list(shell.handlers.items()):
            with shell.under("on-exit", f"trap {name}"):
                Walker(shell, self.script, word_text(word)).run_text()
        self.script.handlers.extend(shell.out[first:])
        del shell.out[first:]
        shell.last = last

    def run(self, statement: Statement) -> Flow:
        budget = self.shell.budget
        if budget.depth > MAX_DEPTH:
            self.too_deep(statement.start, statement.end)
            return ""
        budget.depth += 1
        try:
            return _RUN[type(statement)](self, statement)
        finally:
            budget.depth -= 1

    def run_block(self, block: Block) -> Flow:
        if self.templated:
            return shell_flow.run_templated(self, block.items)
        for statement, background in block.items:
            flow = self.run_background(statement) if background else self.run(statement)
            if flow:
                return flow
        return ""

    def run_all_of(self, statements: Sequence[Statement]) -> Flow:
        for statement in statements:
            flow = self.run(statement)
            if flow:
                return flow
        return ""

    def run_background(self, statement: Statement) -> Flow:
        """A background command runs in a shell of its own."""
        shell = self.shell
        first = len(shell.out)
        before, shell.background = shell.background, True
        self.run_subshell(statement)
        shell.background = before
        started = shell.out[first:]
        for command in started:
            command.background = True
            command.waited = False
        shell.waiting.extend(started)
        shell.last = ()
        return ""

    def run_subshell(self, statement: Statement) -> None:
        """Run a statement whose changes are lost afterwards, and whose `exit` ends only itself."""
        shell = self.shell
        finals, shell.finals = shell.finals, ()
        shell.state.begin()
        try:
            self.run(statement)
        finally:
            shell.state.rollback()
        shell.last = either(shell.finals, shell.last)
        shell.finals = finals

    def run_group(self, group: Group) -> Flow:
        if not group.subshell:
            return self.run_block(group.body)
        self.run_subshell(group.body)
        return ""

    def run_not(self, statement: Not) -> Flow:
        first = len(self.shell.out)
        flow = self.run(statement.body)
        for command in self.shell.out[first:]:
            command.fallback = True
        return flow

    def run_redirected(self, statement: Redirected) -> Flow:
        shell = self.shell
        heredoc, writes = shell_files.redirections(self, statement.redirects, "", [])
        before = shell.input
        shell.input = heredoc or before
        first = len(shell.out)
        flow = self.run(statement.body)
        shell.input = before
        for command in shell.out[first:]:
            command.redirected = True
            command.writes = command.writes or writes
        return flow

    def run_pipe(self, pipe: Pipe) -> Flow:
        shell = self.shell
        before, outer_input = shell.pipeline, shell.input
        last: list[Last] = []
        for index, item in enumerate(pipe.items):
            shell.pipeline = (index, len(pipe.items))
            shell.last = ()
            first = len(shell.out)
            self.run_subshell(item)
            shell.input = self._written(item, shell.out[first:])
            last.append(shell.last)
        shell.pipeline, shell.input = before, outer_input
        shell.last = either(*last)
        return ""

    @staticmethod
    def _written(item: Statement, commands: list[Command]) -> Heredoc | None:
        """What one part of a pipe surely writes to the next: `cat <<EOF`, `echo text`."""
        if not isinstance(item, Simple) or len(commands) != 1:
            return None
        command = commands[0]
        if command.name == "cat" and len(command.words) == 1:
            return command.stdin
        text = shell_files.echoed(command.words[1:]) if command.name == "echo" else None
        return Heredoc(text, True, "echo", "") if text is not None else None

    # --- functions -------------------------------------------------------------------------------------------------

    def define(self, function: Function) -> Flow:
        self.shell.state.put(("function", function.name), Body(function.body, self))
        return ""

    def call(self, name: str, words: Sequence[Word], prefix: Prefix, redirects: Sequence[Token]) -> Flow:
        """A function is read where it is called."""
        shell, state = self.shell, self.shell.state
        body = state.data.get(("function", name))
        if not isinstance(body, Body) or not isinstance(body.owner, Walker):
            return ""
        heredoc, _ = shell_files.redirections(self, redirects, name, words)
        if name in shell.calls:
            return ""  # it calls itself: once is enough to see what it runs
        saved = {key: state.now(key) for key in prefix}
        for key, (value, origin) in prefix.items():
            state.assign(key, Variable(value, None, True, origin))
        before, arguments = shell.input, state.data.get(ARGUMENTS)
        shell.input = heredoc or before
        state.put(ARGUMENTS, Elements(word_value(word) for word in words[1:]))
        shell.calls.append(name)
        shell.locals.append({})
        flow = body.owner.run(body.statement)
        for local, old in shell.locals.pop().items():
            state.put(local, old)
        shell.calls.pop()
        state.put(ARGUMENTS, arguments)
        shell.input = before
        for key, variable in saved.items():
            state.put(key, variable)
        return "" if flow == "return" else flow

    # --- simple commands -------------------------------------------------------------------------------------------

    def run_simple(self, statement: Simple) -> Flow:
        shell, state = self.shell, self.shell.state
        shell.budget.commands -= 1
        if shell.budget.commands < 0:
            state.open("the script runs more commands than are followed")
            shell.budget.over(COMMANDS, self.place(statement.start, statement.end))
            return ""
        text = self.source.text
        tokens: list[Token] = []
        redirects: list[Token] = []
        for token in statement.tokens:
            if token.kind == "word":
                tokens.append(token)
            elif token.kind == "redirect":
                redirects.append(token)
            else:
                self._compound(token)
        at = 0
        while at < len(tokens) and ASSIGNMENT.match(text, tokens[at].start, tokens[at].end):
            at += 1
        rest = tokens[at:]
        head = text[rest[0].start : rest[0].end] if rest else ""
        if head in shell_builtins.DECLARING and ("function", head) not in state.data:
            words = shell_builtins.declare(self, head, rest)
            shell_emit.emit(self, words, redirects, statement, {})
            return ""
        words = self._command_words(rest, shown=head in _LOGGING and not redirects)
        if not words:
            for token in tokens[:at]:
                self.assign(token)
            shell_files.redirections(self, redirects, "", [])
            return ""
        prefix = self._prefix(tokens[:at])
        name = words[0].known or ""
        while name in ("builtin", "command") and len(words) > 1 and not words[1].prefix.startswith("-"):
            words = words[1:]
            name = words[0].known or ""
        if isinstance(state.data.get(("function", name)), Body):
            return self.call(name, words, prefix, redirects)
        builtin = shell_builtins.BUILTINS.get(name)
        if builtin is not None:
            flow = builtin(shell_builtins.Call(self, words, statement, redirects))
            if flow is not None:
                return flow
        shell_emit.emit(self, words, redirects, statement, prefix)
        if name == "exec" and not shell.silent:
            shell.end_path()
            return "exit"
        return ""

    def _command_words(self, tokens: Sequence[Token], *, shown: bool) -> list[Word]:
        """The words of a command. `shown`: they go to the log, unless a pipe or a substitution takes them."""
        text, shell = self.source.text, self.shell
        logged = shown and shell.pipeline[1] == 1 and not shell.silent
        out: list[Word] = []
        for token in tokens:
            if shell.budget.spent:
                out.extend(self.words.words(token.start, tokens[-1].end))  # one unknown word for the rest
                break
            if text.find("$", token.start, token.end) < 0:
                out.extend(self.words.words(token.start, token.end))
                continue
            with self.words.handing_on(None if logged else _PASSED_ON.findall(text, token.start, token.end)):
                out.extend(self.words.words(token.start, token.end))
        return out

    def _prefix(self, tokens: Sequence[Token]) -> dict[str, tuple[Value, Origin]]:
        """The assignments before a command."""
        out: dict[str, tuple[Value, Origin]] = {}
        text = self.source.text
        for token in tokens:
            found = ASSIGNMENT.match(text, token.start, token.end)
            if found is not None and not found.group(2) and text[found.end() : found.end() + 1] != "(":
                with self.words.handing_on((found.group(1),)):
                    value = self.words.value(found.end(), token.end)
                out[found.group(1)] = (value, Origin(self.place(token.start, token.end)))
        return out

    def assign(
        self, token: Token, exported: bool | None = None, local: bool = False, *, declared: bool = False
    ) -> Word:
        """`NAME=value`, `NAME+=value`, `NAME=(…)`, `NAME[i]=value`; for a `declared` one, gives the word that the
        command (`export`) sees."""
        text = self.source.text
        found = ASSIGNMENT.match(text, token.start, token.end)
        assert found is not None
        state, shell = self.shell.state, self.shell
        name, index, plus = found.group(1), found.group(2), bool(found.group(3))
        place = self.place(token.start, token.end)
        before = state.variable(name)
        at = found.end()
        word = Word((text[token.start : token.end],), place, False, SliceText(self.source, token.start, token.end))
        if text[at : at + 1] == "(" and text[token.end - 1] == ")":
            flag = exported if exported is not None else before.exported if before is not None else False
            fresh = Variable(None, self._array(name, token, at, plus, before), flag, Origin(place))
        elif index is not None:
            elements = self._element(name, index[1:-1], plus, self.words.value(at, token.end), before, token)
            fresh = Variable(None, elements, False, Origin(place))
        else:
            with self.words.handing_on((name,)):
                value = self.words.value(at, token.end)
            if declared:
                word = self._assignment_word(text[token.start : at], value, word)
            if plus:
                old = before.scalar if before is not None else None
                if before is None and (state.open_because or given_because(name)):
                    old = self.unknown_value(why_unknown(self.words, name), token)
                if old is not None:
                    value = Value([Ref(old, self.source, token.start, at), *value.parts])
            if before is not None and before.elements is not None:
                fresh = replace(before, elements=before.elements.changed(0, value), origin=Origin(place))
            else:
                fresh = self.changed(name, value, place)
            if exported is not None:
                fresh = replace(fresh, exported=exported)
        if local and shell.locals:
            shell.locals[-1].setdefault(name, state.now(name))
        state.assign(name, fresh)
        return word

    def _assignment_word(self, head: str, value: Value, raw: Word) -> Word:
        """`NAME=value` as one word."""
        known = value.known()
        if known is not None:
            return Word((head + known,), raw.place)
        pieces: list[str | Unknown] = [head]
        if self.shell.budget.spend(value.size):
            pieces.extend(atom.text if atom.hole is None else atom.hole.unknown for atom in flatten(value))
        else:
            pieces.append(value.unknown() or Unknown("not known"))
        return Word(tuple(pieces), raw.place)

    def _array(self, name: str, token: Token, at: int, plus: bool, before: Variable | None) -> Elements:
        low, high = at + 1, token.end - 1
        text = self.source.text
        first = next(iter(self.parsed.reader.words(low, high)), (low, low))
        if re.match(r"\[[^\]]*\]\+?=", text[first[0] : first[1]]):
            unknown = Unknown(f"{name} is an array with keys", Origin(self.place(token.start, token.end)))
            return Elements((Value([Hole(unknown, self.source, token.start, token.end, many=True)]),))
        elements = self.words.array(low, high)
        if not plus:
            return elements
        if before is None:
            because = self.shell.state.open_because
            return Elements((self.unknown_value(because, token, True), *elements)) if because else elements
        return before.all_elements.joined(elements)

    def _element(
        self, name: str, index: str, plus: bool, value: Value, before: Variable | None, token: Token
    ) -> Elements:
        """The elements of an array of which one is set (`A[1]=x`)."""
        elements = before.all_elements if before is not None else NO_ELEMENTS
        number = arithmetic_value(self.words, index)
        if plus or number is None or not 0 <= number <= len(elements) or elements.many:
            return Elements((self.unknown_value(f"single elements of {name} are set", token, many=True),))
        return elements.changed(number, value)

    def changed(self, name: str, value: Value, place: Place) -> Variable:
        """A new value for a variable that keeps whether it is exported."""
        before = self.shell.state.variable(name)
        exported = before.exported if before is not None else False
        option = self.shell.state.option("allexport")
        if isinstance(option, Set):
            exported = exported or option.value
        elif option is not None and not exported:
            exported = None
        return Variable(value, None, exported, Origin(place))

    def unknown_value(self, reason: str, token: Token, many: bool = False) -> Value:
        """A value of which nothing is known."""
        unknown = Unknown(reason, Origin(self.place(token.start, token.end)))
        return Value([Hole(unknown, self.source, token.start, token.start, many)])

    def _compound(self, token: Token) -> None:
        """`(( … ))` may set variables; `[[ … ]]` reads them."""
        text = self.source.text
        low, high = token.start + 2, token.end - 2
        if token.text == "[[":
            for start, end in self.parsed.reader.words(low, high):
                if "$" in text[start:end]:
                    self.words.value(start, end)
            return
        self.script.reads.update(arithmetic_names(text[low:high]))
        plain = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=(?!=)([^,]*)", text[low:high])
        for found in CHANGED.finditer(text, low, high):
            name = found.group(1) or found.group(2)
            number = arithmetic_value(self.words, plain.group(2)) if plain is not None else None
            if number is not None:
                value = self.words.computed(str(number), token.start, token.end)
            else:
                value = self.unknown_value(f"{name} is worked out in the script", token)
            self.shell.state.assign(name, self.changed(name, value, self.place(token.start, token.end)))


_RUN: Final[dict[type, Callable[[Any, Any], Flow]]] = {
    Simple: Walker.run_simple,
    Pipe: Walker.run_pipe,
    Not: Walker.run_not,
    Chain: shell_flow.run_chain,
    Block: Walker.run_block,
    Group: Walker.run_group,
    If: shell_flow.run_if,
    Loop: shell_loops.run_loop,
    Case: shell_flow.run_case,
    Function: Walker.define,
    Redirected: Walker.run_redirected,
}
