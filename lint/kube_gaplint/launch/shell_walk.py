"""Control flow of a script, followed symbolically: which commands run, with what words, under what conditions.

One `Shell` is one shell process (functions, sourced files and `eval` run in it); a `Walker` is one text that the
process reads. Nothing is executed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from kube_gaplint.facts.shell_names import CLOSED_EVALS, given_because, sourced_harmless
from kube_gaplint.launch import shell_builtins
from kube_gaplint.launch.shell_arithmetic import glob_matches
from kube_gaplint.launch.shell_arithmetic import names as arithmetic_names
from kube_gaplint.launch.shell_calls import Invocation, base_name, invocation, peel_wrappers
from kube_gaplint.launch.shell_state import ARGUMENTS, DIRECTORY, Body, Budget, Changes, State, Variable
from kube_gaplint.launch.shell_text import (
    HOLE,
    Atom,
    FixedText,
    Hole,
    Ref,
    Run,
    TracedText,
    Value,
    flatten,
    joined,
    make_word,
    word_parts,
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
    Parsed,
    Pipe,
    Redirected,
    Simple,
    Statement,
    parse,
)
from kube_gaplint.launch.shell_words import Expander
from kube_gaplint.model.command import Certainty, Command, Heredoc, Pipeline, Script, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Place, PlacedText

Files: TypeAlias = Callable[[str], "PlacedText | None"]
Flow: TypeAlias = Literal["", "exit", "return", "break"]

MAX_TEXT: Final = 1 << 20
"""Characters of one script that are read."""
MAX_DEPTH: Final = 80
"""Nesting of statements, calls and nested scripts together."""

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(\[[^\]\n]*\])?(\+?)=")
_CHANGED: Final = re.compile(r"([A-Za-z_]\w*)\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)")
_PASSED_ON: Final = re.compile(r"\b([A-Za-z_]\w*)=")
_LOGGING: Final = frozenset(["echo", "printf", ":"])
_DECLARING: Final = frozenset(["export", "declare", "typeset", "readonly", "local"])

LOGIN_REASON: Final = "a login shell reads the image's profile"


def login_environment(environment: Environment) -> Environment:
    """The environment of a login shell: `/etc/profile` and its kin of the image run first and may set variables."""
    return environment.over({}, LOGIN_REASON)


def no_files(path: str) -> PlacedText | None:
    """`Files` that knows none."""
    return None


@dataclass(slots=True, eq=False)
class Shell:
    """One shell process while it is followed."""

    state: State
    script: Script
    budget: Budget
    files: Files
    out: list[Command] = field(default_factory=list)
    certainty: Certainty = "always"
    condition: str = ""
    background: bool = False
    pipeline: tuple[int, int] = (0, 1)
    last: list[Command] = field(default_factory=list)
    """The commands that may have run last so far."""
    finals: list[Command] = field(default_factory=list)
    """Those that ran last on a path that has ended."""
    calls: list[str] = field(default_factory=list)
    sourcing: list[str] = field(default_factory=list)
    locals: list[dict[str, object]] = field(default_factory=list)
    waiting: list[Command] = field(default_factory=list)
    """Background commands that nothing has waited for yet."""
    exit_trap: Word | None = None
    input: Heredoc | None = None
    """What the command before in a pipe writes, where it is known."""
    silent: bool = False
    """Inside a command substitution: commands go to `Script.inner`."""

    @contextmanager
    def under(self, certainty: Certainty, condition: str = "") -> Iterator[None]:
        """Commands of this block run only under a condition, or repeatedly."""
        before = (self.certainty, self.condition)
        self.certainty = combined(self.certainty, certainty)
        self.condition = condition or self.condition
        try:
            yield
        finally:
            self.certainty, self.condition = before


_ORDER: Final[list[Certainty]] = ["always", "repeated", "conditional", "on-exit", "never-seen"]


def combined(outer: Certainty, inner: Certainty) -> Certainty:
    """The certainty of a command in a block of its own certainty."""
    return max(outer, inner, key=_ORDER.index)


def read(
    text: PlacedText,
    environment: Environment,
    *,
    shell: str,
    arguments: tuple[Word, ...] | None,
    zero: Word | None,
    files: Files,
    options: dict[str, bool],
    parent: Script | None,
    budget: Budget,
    directory: Setting[str] | None,
) -> Script:
    """Follow one script in a new shell process."""
    state = State(environment)
    script = Script(text, shell, parent=parent, depth=0 if parent is None else parent.depth + 1)
    process = Shell(state, script, budget, files)
    start = text.place(0, 0) if text.text else environment.home.place
    for name in ("errexit", "pipefail", "allexport"):
        state.set_option(name, options.get(name, False), start)
    if arguments is not None:
        state.put(ARGUMENTS, [word_value(word, word_text(word), 0, 0) for word in arguments])
    if zero is not None:
        state.put(("state", "zero"), word_value(zero, word_text(zero), 0, 0))
    if isinstance(directory, Set):
        state.put(DIRECTORY, directory.value)
    elif isinstance(directory, Unknown):
        state.put(DIRECTORY, None)
    walker = Walker(process, script, text)
    walker.run_all()
    process.finals.extend(process.last)
    if not process.finals or not all(command.is_exec for command in process.finals):
        walker.run_exit_trap()
    for command in process.finals:
        command.is_last = True
    script.commands = process.out
    script.exports = {**environment.variables, **state.exports()}
    return script


@dataclass(slots=True, eq=False)
class Walker:
    """One text in a shell process."""

    shell: Shell
    script: Script
    source: PlacedText
    parsed: Parsed = field(init=False)
    words: Expander = field(init=False)
    output_file: Word | None = None
    """The file that the command in hand is redirected to."""
    _assigned: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text = self.source.text
        if len(text) > MAX_TEXT:
            cut = text.rfind("\n", 0, MAX_TEXT) + 1 or MAX_TEXT
            self.script.errors.append(self.source.place(cut, cut))
            self.shell.state.open("the script is longer than what is read of it")
            self.parsed = parse(text, limit=cut)
        else:
            self.parsed = parse(text)
        for start, end in self.parsed.errors:
            self.script.errors.append(self.source.place(start, end))
        self.words = Expander(
            self.source,
            self.parsed.reader,
            self.shell.state,
            self.shell.budget,
            self.substitute,
            self.script.reads,
            given_because,
        )

    @contextmanager
    def handing_on(self, names: Container[str] | None) -> Iterator[None]:
        """What is expanded meanwhile is no use of these names (`export X=${X:-1}`, `mpirun -x X=$X`); None: of any."""
        reads = self.words.reads
        self.words.reads = found = set[str]()
        try:
            yield
        finally:
            self.words.reads = reads
            if names is not None:
                reads.update(name for name in found if name not in names)

    # --- blocks ----------------------------------------------------------------------------------------------------

    def run_all(self) -> Flow:
        return self.run_block(self.parsed.body)

    def run_exit_trap(self) -> None:
        """Read the handler of EXIT as what runs at the end."""
        word = self.shell.exit_trap
        if word is None or self.shell.budget.depth > MAX_DEPTH:
            return
        self.shell.exit_trap = None
        last = self.shell.last
        with self.shell.under("on-exit", "trap EXIT"):
            Walker(self.shell, self.script, word_text(word)).run_all()
        self.shell.last = last

    def run_block(self, block: Block) -> Flow:
        for statement, background in block.items:
            flow = self.run_background(statement) if background else self.run(statement)
            if flow:
                return flow
        return ""

    def run(self, statement: Statement) -> Flow:
        budget = self.shell.budget
        if budget.depth > MAX_DEPTH:
            self.script.errors.append(self.source.place(statement.start, statement.end))
            self.shell.state.open("the script is nested too deeply to follow")
            return ""
        budget.depth += 1
        try:
            return _RUN[type(statement)](self, statement)
        finally:
            budget.depth -= 1

    def text(self, start: int, end: int, limit: int = 80) -> str:
        """Source text on one line, for conditions and messages."""
        text = " ".join(self.source.text[start:end].split())
        return text if len(text) <= limit else text[: limit - 1] + "…"

    def place(self, start: int, end: int) -> Place:
        return self.source.place(start, end)

    def run_background(self, statement: Statement) -> Flow:
        """A background command runs in a shell of its own."""
        shell = self.shell
        first = len(shell.out)
        before, shell.background = shell.background, True
        self.in_subshell(statement)
        shell.background = before
        started = shell.out[first:]
        for command in started:
            command.background = True
            command.waited = False
        shell.waiting.extend(started)
        shell.last = []
        return ""

    def in_subshell(self, statement: Statement) -> Flow:
        """Run a statement whose changes are lost afterwards."""
        state = self.shell.state
        state.begin()
        try:
            flow = self.run(statement)
        finally:
            state.rollback()
        return flow

    def branch(self, run: Callable[[], Flow]) -> tuple[Changes | None, Flow]:
        """Run something that may or may not happen; its changes, None where it never comes back."""
        self.shell.state.begin()
        flow = run()
        changes = self.shell.state.rollback()
        return (None if flow in ("exit", "return") else changes), flow

    # --- lists -----------------------------------------------------------------------------------------------------

    def run_group(self, group: Group) -> Flow:
        if not group.subshell:
            return self.run_block(group.body)
        self.in_subshell(group.body)
        return ""

    def run_not(self, statement: Not) -> Flow:
        first = len(self.shell.out)
        flow = self.run(statement.body)
        for command in self.shell.out[first:]:
            command.fallback = True
        return flow

    def run_redirected(self, statement: Redirected) -> Flow:
        shell = self.shell
        heredoc = self.read_documents(statement.redirects, "", [])
        before = shell.input
        shell.input = heredoc or before
        first = len(shell.out)
        flow = self.run(statement.body)
        shell.input = before
        for command in shell.out[first:]:
            command.redirected = True
        return flow

    def run_pipe(self, pipe: Pipe) -> Flow:
        shell = self.shell
        before, outer_input = shell.pipeline, shell.input
        last: list[Command] = []
        length = len(pipe.items)
        for index, item in enumerate(pipe.items):
            shell.pipeline = (index, length)
            shell.last = []
            first = len(shell.out)
            self.in_subshell(item)
            shell.input = self.written(item, shell.out[first:])
            last.extend(shell.last)
        shell.pipeline, shell.input = before, outer_input
        shell.last = last
        return ""

    def written(self, item: Statement, commands: list[Command]) -> Heredoc | None:
        """What one part of a pipe surely writes to the next: `cat <<EOF`, `echo text`."""
        if not isinstance(item, Simple) or len(commands) != 1:
            return None
        command = commands[0]
        if command.name == "cat" and command.stdin is not None and len(command.words) == 1:
            return command.stdin
        if command.name == "echo":
            text = echoed(command.words[1:])
            if text is not None:
                return Heredoc(text, True, "echo", "")
        return None

    def run_chain(self, chain: Chain) -> Flow:
        """`a && b || c`: what stands behind an operator may not run."""
        shell, state = self.shell, self.shell.state
        first = len(shell.out)
        flow = self.run(chain.items[0][1])
        if flow:
            return flow
        certain = self.succeeds(chain.items[0][1])
        at = 1
        while at < len(chain.items):
            operator, statement = chain.items[at]
            condition = self.text(chain.start, chain.items[at - 1][1].end)
            if operator == "&&":
                if certain is True:
                    flow = self.run(statement)
                    if flow:
                        return flow
                    certain = self.succeeds(statement)
                    at += 1
                    continue
                # a run of && is one branch: each part comes after the one before it
                end = at
                while end < len(chain.items) and chain.items[end][0] == "&&":
                    end += 1
                if certain is False:
                    at = end
                    continue
                group = chain.items[at:end]
                place = self.place(chain.items[at - 1][1].start, statement.end)

                def follow(group: list[tuple[str, Statement]] = group, condition: str = condition) -> Flow:
                    with shell.under("conditional", condition):
                        for _, part in group:
                            result = self.run(part)
                            if result:
                                return result
                    return ""

                before = shell.last
                changes, ended = self.branch(follow)
                if ended in ("exit", "return"):
                    shell.last = before
                state.merge([{}] if changes is None else [{}, changes], place, f"only if `{condition}` succeeds")
                certain = None
                at = end
                continue
            if certain is True:
                at += 1
                continue
            place = self.place(chain.items[at - 1][1].start, statement.end)
            before = list(shell.last)
            mark = len(shell.out)

            def otherwise(statement: Statement = statement, condition: str = condition) -> Flow:
                with shell.under("conditional", condition):
                    return self.run(statement)

            changes, ended = self.branch(otherwise)
            if ended in ("exit", "return"):
                shell.last = before
            else:
                for command in shell.out[first:mark]:
                    command.fallback = True
                shell.last = before + shell.last
            if certain is False and changes is not None:
                state.apply(changes)
                certain = self.succeeds(statement)
            else:
                state.merge([{}] if changes is None else [{}, changes], place, f"only if `{condition}` fails")
                certain = None
            at += 1
        return ""

    def succeeds(self, statement: Statement) -> bool | None:
        """Whether a statement that was just run surely succeeds or fails; None where that is not known."""
        if not isinstance(statement, Simple):
            if isinstance(statement, Not):
                inner = self.succeeds(statement.body)
                return None if inner is None else not inner
            return None
        if statement.tokens[0].kind == "compound" or self.source.text.startswith("[", statement.start):
            return self.decide_simple(statement)
        words = [token for token in statement.tokens if token.kind == "word"]
        if not words:
            return None
        text = self.source.text
        names = [text[token.start : token.end] for token in words]
        if all(_ASSIGNMENT.match(name) for name in names):
            return True if not any("$(" in name or "`" in name for name in names) else None
        name = names[0]
        if name in (
            "true",
            ":",
            "echo",
            "export",
            "set",
            "shopt",
            "unset",
            "printf",
            "umask",
            "ulimit",
            "trap",
            "declare",
        ):
            return True if not any("$(" in name or "`" in name for name in names) else None
        if name == "test":
            return self.decide_simple(statement)
        return False if name == "false" else None

    # --- conditions ------------------------------------------------------------------------------------------------

    def decide_simple(self, statement: Simple) -> bool | None:
        from kube_gaplint.launch.shell_tests import decide

        tokens = [token for token in statement.tokens if token.kind != "redirect"]
        if len(tokens) == 1 and tokens[0].kind == "compound":
            token = tokens[0]
            if token.text == "((":
                number = self.words._number(self.source.text[token.start + 2 : token.end - 2])
                if _CHANGED.search(self.source.text, token.start, token.end):
                    return None
                return None if number is None else number != 0
            spans = self.parsed.reader.words(token.start + 2, token.end - 2)
            texts: list[str | None] = []
            for start, end in spans:
                raw = self.source.text[start:end]
                if raw in ("&&", "||", "!", "(", ")", "<", ">", "=~") or "(" in raw:
                    return None
                texts.append(self.words.value(start, end).known())
            quoted = any(c in self.source.text[token.start : token.end] for c in "\"'\\")
            return decide(texts, patterns=True, quoted=quoted)
        arguments: list[str | None] = []
        for token in tokens[1:]:
            found = self.words.words(token.start, token.end)
            if len(found) != 1 or found[0].multiple:
                # an unquoted variable that is empty or holds several words changes the meaning of `[`
                value = self.words.value(token.start, token.end).known() if len(found) == 0 else None
                if value is None:
                    arguments.append(None)
                    continue
                return None
            arguments.append(found[0].known)
        first = self.source.text[tokens[0].start : tokens[0].end]
        if first == "[":
            if not arguments or arguments[-1] != "]":
                return None
            arguments.pop()
        return decide(arguments, patterns=False, quoted=False)

    def run_if(self, statement: If) -> Flow:
        shell, state = self.shell, self.shell.state
        branches: list[Changes] = []
        ends: list[Command] = []
        flows: list[Flow] = []
        conditions: list[str] = []
        nested = 0
        settled = False
        entry = shell.last
        for condition, body in statement.clauses:
            text = self.text(condition.start, condition.end)
            first = len(shell.out)
            if nested:
                with shell.under("conditional", conditions[-1]):
                    flow = self.run_block(condition)
            else:
                flow = self.run_block(condition)
            for command in shell.out[first:]:
                command.fallback = True
            if flow and not nested:
                return flow
            verdict = self.succeeds(condition.items[0][0]) if len(condition.items) == 1 else None
            conditions.append(text)
            entry = shell.last
            if verdict is False:
                continue
            if verdict is True and not nested:
                return self.run_block(body)
            nested += 1

            def follow(body: Block = body, text: str = text) -> Flow:
                with shell.under("conditional", text):
                    return self.run_block(body)

            changes, ended = self.branch(follow)
            flows.append(ended)
            if changes is not None:
                branches.append(changes)
                ends.extend(shell.last)
            shell.last = entry
            if verdict is True:
                settled = True
                break
        if not settled:
            if statement.otherwise is not None:
                if not nested:
                    return self.run_block(statement.otherwise)
                otherwise = statement.otherwise
                negated = f"not {conditions[-1]}" if len(conditions) == 1 else f"else of {conditions[0]}"

                def follow_else() -> Flow:
                    with shell.under("conditional", negated):
                        return self.run_block(otherwise)

                changes, ended = self.branch(follow_else)
                flows.append(ended)
                if changes is not None:
                    branches.append(changes)
                    ends.extend(shell.last)
            else:
                branches.append({})
                ends.extend(entry)
                flows.append("")
        place = self.place(statement.start, statement.end)
        state.merge(branches, place, f"in one branch of `if {conditions[0]}`" if conditions else "in one branch")
        shell.last = ends
        if flows and all(flows):
            return flows[0] if all(flow == flows[0] for flow in flows) else "exit"
        return ""

    def run_case(self, statement: Case) -> Flow:
        shell, state = self.shell, self.shell.state
        subject = self.words.value(statement.subject.start, statement.subject.end) if statement.subject else Value()
        known = subject.known()
        shown = self.text(statement.subject.start, statement.subject.end) if statement.subject else ""
        branches: list[Changes] = []
        flows: list[Flow] = []
        ends: list[Command] = []
        entry = shell.last
        complete = False
        for patterns, body, _ in statement.items:
            verdict: bool | None = None
            texts = [self.source.text[token.start : token.end] for token in patterns]
            if known is not None:
                verdict = self.matches(known, patterns)
                if verdict is False:
                    continue
            if verdict is True and not branches and not flows:
                return self.run_block(body)
            everything = "*" in texts

            def follow(body: Block = body, texts: list[str] = texts) -> Flow:
                with shell.under("conditional", f"case {shown} in {'|'.join(texts)}"[:80]):
                    return self.run_block(body)

            shell.last = entry
            changes, ended = self.branch(follow)
            flows.append(ended)
            if changes is not None:
                branches.append(changes)
                ends.extend(shell.last)
            if verdict is True or everything:
                complete = True
                break
        if not complete:
            branches.append({})
            flows.append("")
            ends.extend(entry)
        shell.last = ends
        state.merge(branches, self.place(statement.start, statement.end), f"in one branch of `case {shown}`")
        return flows[0] if all(flows) else ""

    def matches(self, text: str, patterns: list[Token]) -> bool | None:
        """Whether one of the patterns matches; None where that is not computed."""
        verdict: bool | None = False
        for token in patterns:
            pattern = self.words.value(token.start, token.end).known()
            raw = self.source.text[token.start : token.end]
            if pattern is None or (any(c in raw for c in "'\"\\") and any(c in pattern for c in "*?[")):
                verdict = None
                continue
            found = glob_matches(text, pattern)
            if found:
                return True
            if found is None:
                verdict = None
        return verdict

    # --- loops -----------------------------------------------------------------------------------------------------

    def run_loop(self, loop: Loop) -> Flow:
        shell, state = self.shell, self.shell.state
        if loop.kind in ("for", "select"):
            return self.run_for(loop)
        condition = self.text(loop.condition.start, loop.condition.end) if loop.condition else "for ((…))"
        self.forget(loop.condition, loop.body)
        with shell.under("repeated", condition):
            if loop.condition is not None:
                flow = self.run_block(loop.condition)
                if flow == "exit":
                    return flow
            before = shell.last
            changes, ended = self.branch(lambda: self.run_block(loop.body))
        shell.last = before + shell.last if ended != "exit" else before
        endless = (
            loop.condition is not None
            and len(loop.condition.items) == 1
            and self.succeeds(loop.condition.items[0][0]) is (loop.kind == "while")
        )
        place = self.place(loop.start, loop.end)
        if endless and changes is not None:
            state.apply(changes)
        else:
            state.merge([{}] if changes is None else [{}, changes], place, f"in a loop over `{condition}`")
        if endless and ended in ("exit", "return"):
            return ended
        return ""

    def run_for(self, loop: Loop) -> Flow:
        shell, state = self.shell, self.shell.state
        name = self.source.text[loop.variable.start : loop.variable.end] if loop.variable else ""
        words: list[Word] | None = None
        values: list[Value] | None
        if loop.words is None:
            values = self.words.arguments()
        else:
            words = [word for token in loop.words for word in self.words.words(token.start, token.end)]
            values = [Value(word_parts(word)) for word in words]
        open_list = values is None or any(part for value in values for part in value.parts if isinstance(part, Hole))
        place = self.place(loop.start, loop.end)
        if values is not None and not values and not open_list:
            return ""
        if values is not None and len(values) == 1 and not open_list and loop.kind == "for":
            state.assign(name, self.changed(name, values[0], self.place_of_variable(loop)))
            return self.loop_flow(self.run_block(loop.body))
        self.forget(loop.body)
        shown = self.text(loop.start, loop.body.start)
        reason = f"it takes the values of `{shown}`"
        origin = Origin(self.place_of_variable(loop))
        if name:
            at = loop.variable or None
            start, end = (at.start, at.end) if at else (loop.start, loop.start)
            value = Value([Hole(Unknown(reason, origin), self.source, start, end)])
            state.assign(name, self.changed(name, value, origin.place))
        with shell.under("repeated", shown):
            before = shell.last
            changes, ended = self.branch(lambda: self.run_block(loop.body))
        shell.last = before + shell.last if ended != "exit" else before
        if open_list or changes is None:
            state.merge([{}] if changes is None else [{}, changes], place, f"in a loop `{shown}`")
        else:
            state.apply(changes)
        return ""

    @staticmethod
    def loop_flow(flow: Flow) -> Flow:
        return "" if flow == "break" else flow

    def place_of_variable(self, loop: Loop) -> Place:
        at = loop.variable
        return self.place(at.start, at.end) if at is not None else self.place(loop.start, loop.start)

    def changed(self, name: str, value: Value, place: Place) -> Variable:
        """A new value for a variable that keeps whether it is exported."""
        before = self.shell.state.variable(name)
        exported = before.exported if before is not None else False
        option = self.shell.state.option("allexport")
        if not isinstance(option, Set) or option.value:
            exported = True if isinstance(option, Set) else exported or None
        return Variable(value, None, exported, Origin(place))

    def forget(self, *blocks: Block | None) -> None:
        """Before a loop: a variable that its body assigns is not known in it, but for what it begins with where the
        body only appends."""
        state = self.shell.state
        names: dict[str, str] = {}
        for block in blocks:
            if block is not None:
                for name, way in self.assigned_in(block.start, block.end, set()).items():
                    names[name] = way if names.get(name, way) == way else "set"
        for name, way in names.items():
            variable = state.variable(name)
            if variable is None or (variable.value is None and variable.elements is None):
                if variable is None and way != "set":
                    continue
                if variable is None:
                    continue
            origin = variable.origin or state.environment.home
            unknown = Unknown(f"{name} is changed in a loop", origin)
            fixed = FixedText("", origin.place)
            hole = Hole(unknown, fixed, 0, 0, many=way == "extend", cut_before=way in ("append", "extend"))
            if way == "extend" and variable.elements is not None:
                fresh = replace(variable, elements=(*variable.elements, Value([hole])))
            elif way == "append" and variable.value is not None:
                fresh = replace(variable, value=Value([Ref(variable.value, fixed, 0, 0), hole]), setting=None)
            else:
                fresh = replace(variable, value=Value([hole]), elements=None, setting=None)
            state.assign(name, fresh)

    def assigned_in(self, start: int, end: int, seen: set[str]) -> dict[str, str]:
        """Names that the commands between two offsets assign, and how: "append" (blank and more text), "extend" (an
        array) or "set"."""
        out: dict[str, str] = {}
        text = self.source.text

        def note(name: str, way: str) -> None:
            out[name] = way if out.get(name, way) == way else "set"

        reading = False
        for token in self.parsed.tokens:
            if token.start < start:
                continue
            if token.start >= end:
                break
            if token.kind == "compound" and token.text == "((":
                for found in _CHANGED.finditer(text, token.start, token.end):
                    note(found.group(1) or found.group(2), "set")
                continue
            if token.kind in ("newline", "operator"):
                reading = False
                continue
            if token.kind != "word":
                continue
            raw = text[token.start : min(token.end, token.start + 200)]
            assignment = _ASSIGNMENT.match(raw)
            if assignment is not None:
                note(assignment.group(1), self.way(assignment, raw))
            elif raw in ("read", "mapfile", "readarray", "let", "unset", "getopts"):
                reading = True
            elif reading and re.fullmatch(r"[A-Za-z_]\w*", raw):
                note(raw, "set")
            else:
                body = self.shell.state.data.get(("function", raw))
                if isinstance(body, Body) and raw not in seen and isinstance(body.owner, Walker):
                    seen.add(raw)
                    inner = body.owner.assigned_in(body.statement.start, body.statement.end, seen)
                    for name, way in inner.items():
                        note(name, way)
        return out

    @staticmethod
    def way(assignment: re.Match[str], raw: str) -> str:
        name = assignment.group(1)
        rest = raw[assignment.end() :]
        if assignment.group(3):
            if rest.startswith("("):
                return "extend"
            return "append" if rest.lstrip("\"'")[:1] in (" ", "\t", "\n") else "set"
        again = re.match(rf'"?\$(?:{name}\b|\{{{name}\}})(?:\s|\\\n)', rest)
        if again is not None:
            return "append"
        return "extend" if re.match(rf'\(\s*"?\$\{{{name}\[@\]\}}"?\s', rest) else "set"

    # --- functions -------------------------------------------------------------------------------------------------

    def define(self, function: Function) -> Flow:
        self.shell.state.put(("function", function.name), Body(function.body, self))
        return ""

    def call(self, name: str, body: Body, arguments: list[Value]) -> Flow:
        """A function is read where it is called."""
        shell, state = self.shell, self.shell.state
        owner = body.owner
        if name in shell.calls or len(shell.calls) > 20 or not isinstance(owner, Walker):
            return ""
        before = state.data.get(ARGUMENTS)
        state.put(ARGUMENTS, arguments)
        shell.calls.append(name)
        shell.locals.append({})
        flow = owner.run(body.statement)
        for local, value in shell.locals.pop().items():
            state.put(local, value)
        shell.calls.pop()
        state.put(ARGUMENTS, before)
        return "" if flow == "return" else flow

    # --- simple commands -------------------------------------------------------------------------------------------

    def run_simple(self, statement: Simple) -> Flow:
        shell, state = self.shell, self.shell.state
        shell.budget.commands -= 1
        if shell.budget.commands < 0:
            state.open("the script runs more commands than are followed")
            return ""
        text = self.source.text
        tokens = statement.tokens
        words = [token for token in tokens if token.kind == "word"]
        redirects = [token for token in tokens if token.kind == "redirect"]
        for token in tokens:
            if token.kind == "compound":
                self.compound(token)
        if not words:
            if not any(token.kind == "compound" for token in tokens):
                self.read_documents(redirects, "", [])
            return ""
        at = 0
        while at < len(words) and _ASSIGNMENT.match(text, words[at].start, words[at].end):
            at += 1
        assignments, rest = words[:at], words[at:]
        if rest:
            head = text[rest[0].start : rest[0].end]
            if head in _DECLARING and ("function", head) not in state.data:
                shell_builtins.declare(self, head, rest)
                self.emit(self.plain(rest), redirects, statement, {})
                return ""
        expanded = self.expanded(rest, shown=not redirects)
        if not expanded:
            for token in assignments:
                self.assign(token)
            self.read_documents(redirects, "", [])
            if assignments or rest:
                return ""
            return ""
        prefix: dict[str, tuple[Value, Origin]] = {}
        for token in assignments:
            found = _ASSIGNMENT.match(text, token.start, token.end)
            if found is not None and not found.group(2) and text[found.end() : found.end() + 1] != "(":
                with self.handing_on((found.group(1),)):
                    value = self.words.value(found.end(), token.end)
                prefix[found.group(1)] = (value, Origin(self.place(token.start, token.end)))
        name = expanded[0].known or ""
        while name in ("builtin", "command") and len(expanded) > 1 and not expanded[1].prefix.startswith("-"):
            expanded = expanded[1:]
            name = expanded[0].known or ""
        body = state.data.get(("function", name))
        if isinstance(body, Body):
            return self.call_function(name, body, expanded[1:], prefix, redirects)
        builtin = shell_builtins.BUILTINS.get(name)
        if builtin is not None:
            flow = builtin(self, expanded, statement, redirects)
            if flow is not None:
                return flow
        self.emit(expanded, redirects, statement, prefix)
        return "exit" if name == "exec" and len(expanded) > 1 and not shell.silent else ""

    def expanded(self, tokens: list[Token], *, shown: bool) -> list[Word]:
        """The words of a command. `shown`: what `echo` prints goes to the log alone."""
        text, shell = self.source.text, self.shell
        head = text[tokens[0].start : tokens[0].end] if tokens else ""
        logs = shown and head in _LOGGING and shell.pipeline[1] == 1 and not shell.silent
        out: list[Word] = []
        for token in tokens:
            with self.handing_on(None if logs else _PASSED_ON.findall(text, token.start, token.end)):
                out.extend(self.words.words(token.start, token.end))
        return out

    def plain(self, tokens: list[Token]) -> list[Word]:
        """The words of a declaration as they are written: they are not split."""
        out: list[Word] = []
        for token in tokens:
            with self.handing_on(_PASSED_ON.findall(self.source.text, token.start, token.end)):
                atoms = list(flatten(self.words.value(token.start, token.end)))
            out.append(make_word(atoms, self.place(token.start, token.end)))
        return out

    def call_function(
        self,
        name: str,
        body: Body,
        words: list[Word],
        prefix: dict[str, tuple[Value, Origin]],
        redirects: list[Token],
    ) -> Flow:
        state = self.shell.state
        saved = {key: state.data.get(key, state.variable(key)) for key in prefix}
        for key, (value, origin) in prefix.items():
            state.assign(key, Variable(value, None, True, origin))
        heredoc = self.read_documents(redirects, name, words)
        before = self.shell.input
        self.shell.input = heredoc or before
        flow = self.call(name, body, [Value(word_parts(word)) for word in words])
        self.shell.input = before
        for key, old in saved.items():
            state.put(key, old if isinstance(old, Variable) else Variable())
        return flow

    def assign(self, token: Token, exported: bool | None = None, local: bool = False) -> None:
        """`NAME=value`, `NAME+=value`, `NAME=(…)`, `NAME[i]=value`."""
        text = self.source.text
        found = _ASSIGNMENT.match(text, token.start, token.end)
        if found is None:
            return
        shell, state = self.shell, self.shell.state
        name, index, plus = found.group(1), found.group(2), bool(found.group(3))
        place = self.place(token.start, token.end)
        before = state.variable(name)
        value_at = found.end()
        if text[value_at : value_at + 1] == "(" and text[token.end - 1] == ")":
            elements = self.words.array(value_at + 1, token.end - 1)
            if any(text[low : low + 1] == "[" for low, _ in self.parsed.reader.words(value_at + 1, token.end - 1)):
                unknown = Unknown(f"{name} is an array with keys", Origin(place))
                elements = (Value([Hole(unknown, self.source, token.start, token.end, many=True)]),)
            if plus and before is not None:
                old = before.elements if before.elements is not None else (before.value,) if before.value else ()
                elements = (*old, *elements)
            elif plus and before is None and state.open_because:
                elements = (self.unknown_value(state.open_because, token, many=True), *elements)
            flag = exported if exported is not None else before.exported if before is not None else False
            fresh = Variable(None, elements, flag, Origin(place))
        elif index is not None:
            unknown = Unknown(f"single elements of {name} are set", Origin(place))
            hole = Hole(unknown, self.source, token.start, token.end, many=True)
            fresh = Variable(None, (Value([hole]),), False, Origin(place))
        else:
            with self.handing_on((name,)):
                value = self.words.value(value_at, token.end)
            if plus:
                old_value = before.scalar if before is not None else None
                if before is None:
                    old_value = self.unknown_value(self.words.why_unknown(name), token)
                    if not state.open_because and not given_because(name):
                        old_value = None
                if old_value is not None:
                    value = Value([Ref(old_value, self.source, token.start, value_at), *value.parts])
            if before is not None and before.elements is not None:
                elements = (value, *before.elements[1:])
                fresh = Variable(None, elements, before.exported, Origin(place))
            else:
                fresh = self.changed(name, value, place)
            if exported is not None:
                fresh = replace(fresh, exported=exported)
        if local and shell.locals:
            shell.locals[-1].setdefault(name, state.data.get(name, before or Variable()))
        state.assign(name, fresh)

    def unknown_value(self, reason: str, token: Token, many: bool = False) -> Value:
        unknown = Unknown(reason, Origin(self.place(token.start, token.end)))
        return Value([Hole(unknown, self.source, token.start, token.start, many)])

    def compound(self, token: Token) -> None:
        """`(( … ))` may set variables; `[[ … ]]` reads them."""
        text = self.source.text
        if token.text == "((":
            for name in arithmetic_names(text[token.start : token.end]):
                self.script.reads.add(name)
            found = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=(?!=)(.*)", text[token.start + 2 : token.end - 2], re.DOTALL)
            for change in _CHANGED.finditer(text, token.start, token.end):
                name = change.group(1) or change.group(2)
                number = self.words._number(found.group(2)) if found is not None and found.group(1) == name else None
                place = self.place(token.start, token.end)
                if number is not None:
                    value = Value([Run(str(number), self.source, token.start, token.end)])
                else:
                    value = self.unknown_value(f"{name} is worked out in the script", token)
                self.shell.state.assign(name, self.changed(name, value, place))
            return
        for start, end in self.parsed.reader.words(token.start + 2, token.end - 2):
            if "$" in text[start:end]:
                self.words.value(start, end)

    # --- redirections ----------------------------------------------------------------------------------------------

    def read_documents(self, redirects: list[Token], name: str, words: list[Word]) -> Heredoc | None:
        """Here-documents of a command, and the files that it surely writes."""
        heredoc: Heredoc | None = None
        target = ""
        append = False
        self.output_file = None
        for token in redirects:
            document = token.document
            if document is not None:
                if document.string:
                    body: PlacedText = TracedText(list(flatten(self.words.value(document.start, document.end))))
                else:
                    body = self.words.document(document.start, document.end, document.strip_tabs, document.expanded)
                heredoc = Heredoc(body, document.expanded, name, "")
                self.script.heredocs.append(heredoc)
            elif token.operator in (">", ">>", ">|", "&>") and token.descriptor in ("", "1"):
                found = self.words.words(*token.target)
                target = (found[0].known or "") if len(found) == 1 else ""
                self.output_file = found[0] if len(found) == 1 else None
                append = token.operator == ">>"
            elif token.operator in ("<", "<&"):
                found = self.words.words(*token.target)
                path = (found[0].known or "") if len(found) == 1 else ""
                content = self.file(path) if path and token.operator == "<" else None
                if content is not None:
                    heredoc = Heredoc(content, True, name, "")
            else:
                self.words.value(*token.target)
        if name == "tee" and heredoc is None:
            heredoc = self.shell.input
        if name == "tee" and not target or (name == "tee" and target == "/dev/null"):
            names = [word.known for word in words[1:] if word.known and not word.known.startswith("-")]
            target = names[0] or "" if names else ""
            append = any(word.known in ("-a", "--append") for word in words[1:])
        if name in ("cat", "tee", "") and heredoc is not None and target:
            heredoc.target = target
            self.write(target, heredoc.text, append)
        elif name == "echo" and target and target != "/dev/null":
            text = echoed(words[1:])
            if text is not None:
                self.write(target, text, append)
        return heredoc

    def write(self, path: str, text: PlacedText, append: bool) -> None:
        """Remember what a script writes into a file."""
        key = ("file", self.absolute(path))
        if append:
            before = self.shell.state.data.get(key)
            if not isinstance(before, TracedText):
                return
            atoms = [
                *flatten(Value([Run(before.text, before, 0, len(before.text))])),
                *flatten(Value([Run(text.text, text, 0, len(text.text))])),
            ]
            self.shell.state.put(key, TracedText(atoms))
        else:
            self.shell.state.put(key, text)

    def absolute(self, path: str) -> str:
        """A path as the process sees it: joined to the working directory where that is known."""
        directory = self.shell.state.data.get(DIRECTORY)
        if isinstance(directory, str) and not path.startswith("/"):
            path = posixpath.join(directory, path)
        return posixpath.normpath(path) if path else path

    def file(self, path: str) -> PlacedText | None:
        """The text of a file: written by the script before, or known from outside."""
        absolute = self.absolute(path)
        written = self.shell.state.data.get(("file", absolute))
        if written is not None and hasattr(written, "text"):
            return written  # type: ignore[return-value]
        found = self.shell.files(absolute)
        return found if found is not None or absolute == path else self.shell.files(path)

    # --- emission --------------------------------------------------------------------------------------------------

    def emit(
        self,
        words: list[Word],
        redirects: list[Token],
        statement: Simple,
        prefix: dict[str, tuple[Value, Origin]],
    ) -> Command:
        """Hand on one command that runs; what it starts as a shell is read as well."""
        shell, state = self.shell, self.shell.state
        environment = state.child()
        if prefix:
            environment = environment.over({name: value.setting(origin) for name, (value, origin) in prefix.items()})
        heredoc = self.read_documents(redirects, base_name(words[0]), words)
        index, length = shell.pipeline
        pipefail = state.option("pipefail") if length > 1 else None
        directory: Setting[str] | None = None
        if DIRECTORY in state.data:
            known = state.data[DIRECTORY]
            place = self.place(statement.start, statement.end)
            directory = (
                Set(known, Origin(place, "derived"))
                if isinstance(known, str)
                else Unknown("`cd` goes somewhere unknown")
            )
        command = Command(
            tuple(words),
            environment,
            self.place(statement.start, statement.end),
            self.script,
            shell.certainty,
            shell.condition,
            Pipeline(index, length, pipefail),
            shell.background,
            not shell.background,
            redirected=bool(redirects),
            writes=self.output_file,
            errexit=state.option("errexit"),
            options_open=any(word.multiple for word in words[1:]),
            directory=directory,
            stdin=heredoc or shell.input,
        )
        command = peel_wrappers(command)
        if shell.silent:
            self.script.inner.append(command)
            return command
        call = invocation(command.words)
        if call is not None:
            nested = self.nested(call, command)
            if nested is not None:
                self.adopt(nested, command)
                return command
        else:
            self.direct_script(command)
            if command.script is not self.script:
                return command
        self.append(command)
        shell.last = [command]
        return command

    def append(self, command: Command) -> None:
        shell = self.shell
        shell.out.append(command)
        if self.script is not shell.script:
            self.script.commands.append(command)

    def nested(self, call: Invocation, command: Command) -> Script | None:
        """The script that a shell command reads, followed; None where its text is not known."""
        text: PlacedText | None = None
        if call.kind == "string" and call.word is not None:
            text = readable(call.word)
        elif call.kind == "file" and call.word is not None:
            path = call.word.known
            text = self.file(path) if path else None
            if text is None:
                self.script.unseen.append(call.word)
        elif call.kind == "stdin" and command.stdin is not None:
            text = command.stdin.text
        if text is None:
            return None
        return self.follow(text, call, command)

    def direct_script(self, command: Command) -> None:
        """A script file that is started by its name (`./run.sh`)."""
        path = command.words[0].known
        if not path or "/" not in path:
            return
        text = self.file(path)
        if text is None:
            if path.rsplit(".", 1)[-1] in ("sh", "bash"):
                self.script.unseen.append(command.words[0])
            return
        head = text.text[:200].split("\n", 1)[0]
        if head.startswith("#!") and not re.search(r"\b(?:ba|da|z|k|a)?sh\b", head):
            return
        shell, options = shebang(text.text)
        call = Invocation(shell, "file", command.words[0], command.words[0], command.words[1:], options)
        nested = self.follow(text, call, command)
        if nested is not None:
            self.adopt(nested, command)
            command.script = nested

    def follow(self, text: PlacedText, call: Invocation, command: Command) -> Script | None:
        shell = self.shell
        ancestor: Script | None = self.script
        while ancestor is not None:
            if ancestor.text is text:
                return None  # it starts itself
            ancestor = ancestor.parent
        if shell.budget.depth > MAX_DEPTH - 10:
            return None
        environment = login_environment(command.environment) if call.login else command.environment
        shell.budget.depth += 5
        try:
            return read(
                text,
                environment,
                shell=call.shell,
                arguments=call.arguments,
                zero=call.zero,
                files=self.file,
                options=call.options,
                parent=self.script,
                budget=shell.budget,
                directory=command.directory,
            )
        finally:
            shell.budget.depth -= 5

    def adopt(self, nested: Script, command: Command) -> None:
        """Take the commands of a nested script over, with what holds for the command that started it."""
        last: list[Command] = []
        for inner in nested.commands:
            if inner.is_last:
                last.append(inner)
                inner.is_last = False
            adopt_command(inner, command)
            self.append(inner)
        self.shell.last = last

    # --- command substitution --------------------------------------------------------------------------------------

    def substitute(self, start: int, end: int) -> Value | None:
        """The output of `$( … )` where it is plain to see; its commands are noted either way."""
        from kube_gaplint.launch.shell_output import output

        shell = self.shell
        if shell.budget.depth > MAX_DEPTH or shell.budget.commands < 0:
            return None
        parsed = parse(self.source.text, self.parsed.reader, start, end)
        budget = shell.budget
        budget.depth += 1
        silent, shell.silent = shell.silent, True
        last, pipeline, input_ = shell.last, shell.pipeline, shell.input
        shell.pipeline, shell.input = (0, 1), None
        tokens, self.parsed = self.parsed, parsed
        first = len(self.script.inner)
        shell.state.begin()
        try:
            self.run_block(parsed.body)
            commands = self.script.inner[first:]
            return output(self, parsed.body, commands)
        finally:
            shell.state.rollback()
            self.parsed = tokens
            shell.silent, shell.last, shell.pipeline, shell.input = silent, last, pipeline, input_
            budget.depth -= 1

    # --- shared by the builtins ------------------------------------------------------------------------------------

    def read_source(self, words: list[Word], statement: Simple) -> Flow:
        """`source FILE`: read it in this shell, or go on with an open environment."""
        shell, state = self.shell, self.shell.state
        if len(words) < 2:
            return ""
        word = words[1]
        path = word.known
        text = self.file(path) if path else None
        if text is not None and path is not None and path not in shell.sourcing and len(shell.sourcing) < 10:
            sub = Script(text, self.script.shell, parent=self.script, depth=self.script.depth + 1)
            shell.sourcing.append(path)
            before = state.data.get(ARGUMENTS)
            if len(words) > 2:
                state.put(ARGUMENTS, [Value(word_parts(w)) for w in words[2:]])
            flow = Walker(shell, sub, text).run_all()
            if len(words) > 2:
                state.put(ARGUMENTS, before)
            shell.sourcing.pop()
            self.script.errors.extend(sub.errors)
            self.script.reads.update(sub.reads)
            return "" if flow == "return" else flow
        if path is not None and sourced_harmless(path):
            return ""
        tail = word.pieces[-1]
        if isinstance(tail, str) and sourced_harmless("x/" + tail.lstrip("/")) and "/" in tail:
            return ""
        self.script.sources.append(word)
        shown = self.text(statement.start, statement.end, 60)
        state.open(f"`{shown}` may set variables: {word.shown} is not visible")
        return ""

    def read_eval(self, words: list[Word], statement: Simple) -> Flow:
        """`eval`: read the text in this shell, or go on with an open environment."""
        raw = self.source.text[statement.start : statement.end]
        arguments = [word for word in words[1:] if word.known != "--"]
        text = joined(arguments)
        if text is None:
            return ""
        begins = arguments[0].pieces[0]
        if isinstance(begins, Unknown):
            found = re.search(r"\$\(|`", raw)
            if found is None or not CLOSED_EVALS.search(raw[found.start() :]):
                self.shell.state.open(f"`{self.text(statement.start, statement.end, 60)}` runs an unknown text")
            return ""
        if self.shell.budget.depth > MAX_DEPTH - 5:
            return ""
        return Walker(self.shell, self.script, text).run_all()


def adopt_command(inner: Command, outer: Command) -> None:
    """Give a command of a nested script what holds for the command that started the script."""
    inner.certainty = combined(outer.certainty, inner.certainty)
    inner.condition = inner.condition or outer.condition
    if outer.background:
        inner.background, inner.waited = True, outer.waited
    if inner.pipeline.length == 1:
        inner.pipeline = outer.pipeline
    inner.fallback = inner.fallback or outer.fallback
    inner.redirected = inner.redirected or outer.redirected
    inner.wrappers = (*outer.wrappers, *inner.wrappers)


def readable(word: Word) -> PlacedText | None:
    """The text of a `bash -c` word; None where nothing of it is known."""
    if all(isinstance(piece, Unknown) for piece in word.pieces):
        return None
    return word_text(word)


def shebang(text: str) -> tuple[str, dict[str, bool]]:
    """The shell and its options by the `#!` line; bash without one."""
    line = text[:200].split("\n", 1)[0].strip()
    if not line.startswith("#!"):
        return "bash", {}
    words = line[2:].split()
    if words and words[0].rsplit("/", 1)[-1] == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    options: dict[str, bool] = {}
    letters = {"e": "errexit", "a": "allexport"}
    for word in words[1:]:
        if word.startswith("-") and not word.startswith("--"):
            for letter in word[1:]:
                if letter in letters:
                    options[letters[letter]] = True
        if word == "pipefail":
            options["pipefail"] = True
    return (words[0].rsplit("/", 1)[-1] if words else "bash"), options


def echoed(words: tuple[Word, ...] | list[Word]) -> TracedText | None:
    """What `echo` writes; None with options or escapes that change it, or unknown words."""
    if words and words[0].prefix.startswith("-"):
        if words[0].known != "-e" or any("\\" in (word.known or "\\") for word in words[1:]):
            return None
        words = words[1:]
    if any(word.multiple for word in words):
        return None
    text = joined(list(words))
    atoms: list[Atom] = []
    if text is not None:
        atoms.extend(flatten(Value([Run(text.text, text, 0, len(text.text))])))
        if isinstance(text, TracedText) and text.holes:
            return None
        atoms.append(Atom("\n", FixedText("\n", words[-1].place), 0, 1))
    return TracedText(atoms) if atoms else None


_RUN: Final[dict[type, Callable[[Walker, object], Flow]]] = {
    Simple: Walker.run_simple,
    Pipe: Walker.run_pipe,
    Not: Walker.run_not,
    Chain: Walker.run_chain,
    Block: Walker.run_block,
    Group: Walker.run_group,
    If: Walker.run_if,
    Loop: Walker.run_loop,
    Case: Walker.run_case,
    Function: Walker.define,
    Redirected: Walker.run_redirected,
}  # type: ignore[dict-item]
__all__ = ["HOLE", "Files", "Shell", "Walker", "login_environment", "no_files", "read"]
