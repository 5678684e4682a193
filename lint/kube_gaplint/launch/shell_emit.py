"""Commands that run, and the scripts that they start: handed on in order, with what holds where they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kube_gaplint.facts.shell_names import CLOSED_EVALS, sourced_harmless
from kube_gaplint.launch import shell_files
from kube_gaplint.launch.shared import Budget
from kube_gaplint.launch.shell_calls import Invocation, base_name, direct_script, invocation, peel_wrappers
from kube_gaplint.launch.shell_output import output
from kube_gaplint.launch.shell_parser import parse
from kube_gaplint.launch.shell_process import MAX_DEPTH, Flow, Shell, combined, commands_of, login_environment
from kube_gaplint.launch.shell_state import ARGUMENTS, DIRECTORY, PLACE, SOURCE, ZERO, State
from kube_gaplint.launch.shell_text import Atom, Elements, TracedText, Value, joined, word_text, word_value
from kube_gaplint.launch.shell_tokens import Token
from kube_gaplint.launch.shell_tree import Simple
from kube_gaplint.model.command import Command, Pipeline, Script, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.limits import COMMANDS, EXPANDED, SHELL_DEPTH, WORDS
from kube_gaplint.text.source import Files, PlacedText

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Prefix, Walker

_INTERNAL: Final = frozenset(
    ["export", "declare", "typeset", "readonly", "local", "set", "unset", "shift", "trap", "cd", "read", "exit", "wait"]
)
"""Builtins that start nothing."""
_NESTED: Final = 5
"""What a nested script counts in nesting."""
COST_OF_READING: Final = 40
"""What a nested script costs in commands, besides its own: each text is read anew."""
_SOURCED: Final = 10
"""Files that may source one another."""


def read(
    text: PlacedText,
    environment: Environment,
    call: Invocation,
    *,
    files: Files,
    budget: Budget,
    parent: Script | None = None,
    started_by: Command | None = None,
    directory: Setting[str] | None = None,
) -> Script:
    """Follow one script in a new shell process."""
    from kube_gaplint.launch.shell_walk import Walker

    if call.login:
        environment = login_environment(environment)
    state = State(environment)
    script = Script(text, call.shell, parent=parent, depth=0 if parent is None else parent.depth + 1)
    script.form, script.started_by = call.kind, started_by
    start = text.place(0, 0) if text.text else environment.home.place
    for name in ("errexit", "pipefail", "allexport"):
        state.set_option(name, call.options.get(name, False), start)
    if call.arguments is not None:
        state.put(ARGUMENTS, Elements(word_value(word) for word in call.arguments))
    if call.zero is not None:
        state.put(ZERO, word_value(call.zero))
    if directory is not None:
        state.put(DIRECTORY, directory.value if isinstance(directory, Set) else None)
        if isinstance(directory, Unknown):
            state.put(PLACE, directory.path)
    process = Shell(state, script, budget, files)
    walker = Walker(process, script, text)
    walker.run_text()
    if budget.spent:
        budget.over(WORDS if budget.words < 0 else EXPANDED, start)
    process.end_path()
    if not process.finals or not all(command.is_exec for command in commands_of(process.finals)):
        walker.run_exit_trap()
    for command in commands_of(process.finals):
        command.is_last = True
    script.commands = process.out
    script.exports = state.exports()
    if process.handlers:
        walker.run_handlers()
    return script


# --- commands ------------------------------------------------------------------------------------------------------


def emit(
    walker: Walker, words: Sequence[Word], redirects: Sequence[Token], statement: Simple, prefix: Prefix
) -> Command:
    """Hand on one command that runs; what it starts as a shell is read as well."""
    shell, state = walker.shell, walker.shell.state
    name = base_name(words[0])
    # what the shell does itself gets no environment of its own: to work one out after each `export` is dear
    environment = state.environment if name in _INTERNAL else state.child()
    if prefix:
        environment = environment.over({key: value.setting(origin) for key, (value, origin) in prefix.items()})
    heredoc = writes = None
    if redirects or name == "tee":
        heredoc, writes = shell_files.redirections(walker, redirects, name, words)
    place = walker.place(statement.start, statement.end)
    index, length = shell.pipeline
    command = Command(
        tuple(words),
        environment,
        place,
        walker.script,
        shell.certainty,
        shell.condition,
        Pipeline(index, length, state.option("pipefail") if length > 1 else None),
        shell.background,
        not shell.background,
        redirected=bool(redirects),
        writes=writes,
        errexit=state.option("errexit"),
        options_open=any(word.multiple for word in words[1:]),
        stdin=heredoc or shell.input,
        evaluated=walker.evaluated,
        expected=shell.expected,
    )
    if DIRECTORY in state.data:
        known = state.data[DIRECTORY]
        origin = Origin(place, "derived")
        place_known = state.data.get(PLACE)
        command.directory = (
            Set(known, origin)
            if isinstance(known, str)
            else Unknown(
                "`cd` goes somewhere unknown", origin, path=place_known if isinstance(place_known, str) else None
            )
        )
    command = peel_wrappers(command)
    if shell.silent:
        walker.script.inner.append(command)
        return command
    nested = _started(walker, command)
    if nested is not None:
        _adopt_all(walker, nested, command)
    else:
        _append(walker, command)
        shell.last = (command,)
    return command


def _append(walker: Walker, command: Command) -> None:
    walker.shell.out.append(command)
    if walker.script is not walker.shell.script:
        walker.script.commands.append(command)


def _started(walker: Walker, command: Command) -> Script | None:
    """The script that a command starts, followed; None for a program, or where the text is not known."""
    call = invocation(command.words)
    text: PlacedText | None = None
    if call is None:
        call, text = direct_script(command, lambda _path: shell_files.find_word(walker, command.words[0]))
        if call is not None and text is None and call.word is not None:
            walker.script.unseen.append(call.word)
    elif call.kind == "string" and call.word is not None:
        text = readable(call.word)
    elif call.kind == "file" and call.word is not None:
        text = shell_files.find_word(walker, call.word)
        if text is None and call.word.known is None:
            text = shell_files.written_by(walker.script, call.word)
        if text is None:
            walker.script.unseen.append(call.word)
    elif command.stdin is not None:
        text = command.stdin.text
    if text is None or call is None:
        return None
    if starts_itself(text, walker.script):
        return None
    budget = walker.shell.budget
    if budget.depth > MAX_DEPTH - 2 * _NESTED:
        budget.over(SHELL_DEPTH, command.place)
        return None
    if budget.spent or budget.commands < 0:
        return None
    budget.commands -= COST_OF_READING
    budget.depth += _NESTED
    try:
        return read(
            text,
            command.environment,
            call,
            files=lambda path: shell_files.find(walker, path),
            budget=budget,
            parent=walker.script,
            started_by=command,
            directory=command.directory,
        )
    finally:
        budget.depth -= _NESTED


def starts_itself(text: PlacedText, parent: Script | None) -> bool:
    """Whether a text is that of the script that starts it, or of one around that."""
    while parent is not None:
        if parent.text is text or (parent.text.text == text.text and parent.text.place(0, 0) == text.place(0, 0)):
            return True
        parent = parent.parent
    return False


def readable(word: Word) -> PlacedText | None:
    """The text of a `bash -c` word; None where nothing of it is known."""
    return None if all(isinstance(piece, Unknown) for piece in word.pieces) else word_text(word)


def _adopt_all(walker: Walker, nested: Script, command: Command) -> None:
    """Take the commands of a nested script over."""
    last: list[Command] = []
    for inner in nested.commands:
        if inner.is_last:
            last.append(inner)
            inner.is_last = False
        adopt(inner, command)
        _append(walker, inner)
    walker.shell.last = tuple(last)


def adopt(inner: Command, outer: Command) -> None:
    """Give a command of a nested script what holds for the command that started the script."""
    inner.certainty = combined(outer.certainty, inner.certainty)
    inner.expected = combined(outer.expected, inner.expected)
    inner.condition = inner.condition or outer.condition
    if outer.background:
        inner.background, inner.waited = True, outer.waited
    if inner.pipeline.length == 1:
        inner.pipeline = outer.pipeline
    inner.fallback = inner.fallback or outer.fallback
    inner.redirected = inner.redirected or outer.redirected
    inner.writes = inner.writes or outer.writes
    inner.wrappers = (*outer.wrappers, *inner.wrappers)


# --- text that is read in the same process -------------------------------------------------------------------------


def source(walker: Walker, words: Sequence[Word], statement: Simple) -> Flow:
    """`source FILE`: read it in this shell, or go on with an open environment."""
    from kube_gaplint.launch.shell_walk import Walker as NewWalker

    shell, state = walker.shell, walker.shell.state
    if len(words) < 2:
        return ""
    word = words[1]
    text = shell_files.find_word(walker, word)
    path = word.known or word.located or (word.shown if text is not None else None)
    if text is not None and path and path not in shell.sourcing and len(shell.sourcing) < _SOURCED:
        script = Script(text, walker.script.shell, parent=walker.script, depth=walker.script.depth + 1, form="source")
        shell.sourcing.append(path)
        before = state.data.get(ARGUMENTS)
        if len(words) > 2:
            state.put(ARGUMENTS, Elements(word_value(each) for each in words[2:]))
        around = state.data.get(SOURCE)
        state.put(SOURCE, word_value(word))
        flow = NewWalker(shell, script, text).run_text()
        if len(words) > 2:
            state.put(ARGUMENTS, before)
        state.put(SOURCE, around)
        shell.sourcing.pop()
        walker.script.errors.extend(script.errors)
        walker.script.reads.update(script.reads)
        walker.script.sources.extend(script.sources)
        walker.script.traps.extend(script.traps)
        walker.script.heredocs.extend(script.heredocs)
        return "" if flow == "return" else flow
    tail = word.pieces[-1]
    if isinstance(tail, str) and (path is not None or "/" in tail) and sourced_harmless(tail):
        return ""
    walker.script.sources.append(word)
    shown = walker.text(statement.start, statement.end, 60)
    state.open(f"`{shown}` may set variables: {word.shown} is not visible")
    return ""


def evaluate(walker: Walker, words: Sequence[Word], statement: Simple) -> Flow | None:
    """`eval`: read the text in this shell; an unknown text opens the environment."""
    from kube_gaplint.launch.shell_walk import Walker as NewWalker

    shell = walker.shell
    arguments = [word for word in words[1:] if word.known != "--"]
    text = joined(arguments)
    if text is None:
        return ""
    if shell.budget.depth > MAX_DEPTH - _NESTED:
        walker.too_deep(statement.start, statement.end)
        return ""
    shell.budget.commands -= COST_OF_READING
    if isinstance(arguments[0].pieces[0], Unknown):
        raw = walker.source.text[statement.start : statement.end]
        if CLOSED_EVALS.search(raw):
            return ""
        shell.state.open(f"`{walker.text(statement.start, statement.end, 60)}` runs a text that is not known")
        if readable(arguments[0]) is None and len(arguments) == 1:
            return None
    inner = NewWalker(shell, walker.script, text)
    items = inner.parsed.body.items
    if len(items) == 1 and isinstance(items[0][0], Simple) and not items[0][1]:
        inner.evaluated = walker.evaluated or walker.place(statement.start, statement.end)
    return inner.run_text()


def substitute(walker: Walker, start: int, end: int, quoted: bool) -> Value | None:
    """The output of `$( … )` where it is plain to see; its commands are noted either way. `quoted`: it stands between
    backticks, where a backslash takes the meaning from `$`, a backtick and itself."""
    from kube_gaplint.launch.shell_walk import Walker as NewWalker

    shell, budget = walker.shell, walker.shell.budget
    budget.commands -= 1
    if budget.depth > MAX_DEPTH:
        budget.over(SHELL_DEPTH, walker.place(start, end))
        return None
    if budget.commands < 0:
        budget.over(COMMANDS, walker.place(start, end))
        return None
    text = walker.source.text
    saved = (walker.parsed, shell.silent, shell.last, shell.pipeline, shell.input, shell.finals)
    shell.silent, shell.pipeline, shell.input, shell.finals = True, (0, 1), None, ()
    first = len(walker.script.inner)
    budget.depth += 1
    shell.state.begin()
    try:
        if quoted and "\\" in text[start:end]:
            inner = NewWalker(shell, walker.script, _unquoted(walker.source, start, end))
        else:
            inner = walker
            walker.parsed = parse(text, walker.parsed.reader, start, end)
        inner.run_block(inner.parsed.body)
        return output(inner, inner.parsed.body, walker.script.inner[first:])
    finally:
        shell.state.rollback()
        budget.depth -= 1
        walker.parsed, shell.silent, shell.last, shell.pipeline, shell.input, shell.finals = saved


def _unquoted(source: PlacedText, start: int, end: int) -> TracedText:
    """The inside of backticks without the backslashes that protect it from them."""
    atoms: list[Atom] = []
    at = start
    for found in re.compile(r"\\([$`\\])").finditer(source.text, start, end):
        if found.start() > at:
            atoms.append(Atom(source.text[at : found.start()], source, at, found.start()))
        atoms.append(Atom(found.group(1), source, found.start(), found.end()))
        at = found.end()
    if at < end:
        atoms.append(Atom(source.text[at:end], source, at, end))
    return TracedText(atoms)
