"""Builtin commands that change the shell: one function each, in a table by name.

A builtin gives the flow that it causes, or None where the command is handed on like any other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from kube_gaplint.launch.shell_state import ARGUMENTS, DIRECTORY, Variable
from kube_gaplint.launch.shell_text import Hole, Value, word_parts
from kube_gaplint.launch.shell_tokens import Token
from kube_gaplint.launch.shell_tree import Simple
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Origin, Unknown

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Flow, Walker

Builtin: TypeAlias = "Callable[[Walker, list[Word], Simple, list[Token]], Flow | None]"

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_OPTIONS: Final = {"e": "errexit", "a": "allexport", "x": "xtrace", "u": "nounset"}
_SIGNALS: Final = {
    "0": "EXIT",
    "1": "HUP",
    "2": "INT",
    "3": "QUIT",
    "9": "KILL",
    "10": "USR1",
    "12": "USR2",
    "15": "TERM",
}


def declare(walker: Walker, name: str, tokens: list[Token]) -> None:
    """`export`, `declare`, `typeset`, `readonly`, `local` with their assignments, which are not split."""
    text = walker.source.text
    state = walker.shell.state
    export: bool | None = True if name == "export" else None
    local = name == "local" or (name in ("declare", "typeset") and bool(walker.shell.calls))
    array = False
    for token in tokens[1:]:
        raw = text[token.start : token.end]
        if raw[:1] in "-+" and len(raw) > 1:
            if raw.startswith("-") and "x" in raw:
                export = True
            elif (raw.startswith("+") and "x" in raw) or (name == "export" and raw == "-n"):
                export = False
            array = array or (raw.startswith("-") and ("a" in raw or "A" in raw))
            if raw.startswith("-") and "f" in raw:
                return
            if "g" in raw:
                local = False
            continue
        found = re.match(r"([A-Za-z_]\w*)(\[[^\]\n]*\])?\+?=", raw)
        if found is not None:
            walker.assign(token, export, local)
            continue
        for word in walker.words.words(token.start, token.end):
            _declare_word(walker, word, export, local, array)
    del state


def _declare_word(walker: Walker, word: Word, export: bool | None, local: bool, array: bool) -> None:
    """A bare name, or a `NAME=value` that only expansion brings about (`export "$PAIR"`, `export $(… )`)."""
    state, shell = walker.shell.state, walker.shell
    prefix = word.prefix
    assignment = re.match(r"([A-Za-z_]\w*)=", prefix)
    if assignment is not None:
        parts = word_parts(word.from_offset(assignment.end()))
        state.assign(assignment.group(1), Variable(Value(parts), None, export, Origin(word.place)))
        return
    name = word.known
    if name is None:
        if export:
            unknown = next(piece for piece in word.pieces if isinstance(piece, Unknown))
            state.open(f"variables of unknown names are exported: {unknown.reason}")
        return
    if not _NAME.fullmatch(name):
        return
    before = state.variable(name)
    if local and shell.locals:
        shell.locals[-1].setdefault(name, state.data.get(name, before or Variable()))
        state.assign(name, Variable(None, () if array else None, False, Origin(word.place)))
        return
    if before is None:
        if array:
            state.assign(name, Variable(None, (), False, Origin(word.place)))
        elif export:
            reason = walker.words.why_unknown(name)
            place = word.place
            hole = Hole(Unknown(reason, Origin(place)), walker.source, 0, 0)
            state.assign(name, Variable(Value([hole]), None, True, Origin(place)))
        return
    if export is not None:
        state.assign(name, replace(before, exported=export))


def _set(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    state = walker.shell.state
    at = 1
    while at < len(words):
        text = words[at].known
        if text is None:
            break
        if text in ("--", "-"):
            at += 1
            if text == "--" or at < len(words):
                state.put(ARGUMENTS, [Value(word_parts(word)) for word in words[at:]])
            return None
        if text[:1] not in "-+" or len(text) < 2:
            break
        on = text[0] == "-"
        place = words[at].place
        at += 1
        for letter in text[1:]:
            if letter == "o" and at < len(words):
                name = words[at].known
                if name is not None:
                    state.set_option(name, on, place)
                at += 1
            elif letter in _OPTIONS:
                state.set_option(_OPTIONS[letter], on, place)
    if at < len(words):
        state.put(ARGUMENTS, [Value(word_parts(word)) for word in words[at:]])
    return None


def _shift(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    state = walker.shell.state
    arguments = walker.words.arguments()
    count = words[1].known if len(words) > 1 else "1"
    if arguments is not None:
        many = any(isinstance(part, Hole) and part.many for value in arguments for part in value.parts)
        if count is not None and count.isdigit() and not many:
            state.put(ARGUMENTS, arguments[int(count[:6]) :])
        else:
            state.put(ARGUMENTS, None)
    return None


def _unset(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    functions = False
    for word in words[1:]:
        name = word.known
        if name is None:
            continue
        if name.startswith("-"):
            functions = "f" in name
        elif functions:
            walker.shell.state.put(("function", name), None)
        elif _NAME.fullmatch(name):
            walker.shell.state.assign(name, Variable(None, None, False, Origin(word.place)))
    return None


def _cd(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    state = walker.shell.state
    targets = [word for word in words[1:] if word.known not in ("-L", "-P", "-e", "--")]
    path = targets[0].known if targets else None
    if path is not None and path != "-" and path.startswith("/"):
        state.put(DIRECTORY, posixpath.normpath(path))
    elif path is not None and path != "-" and isinstance(now := state.data.get(DIRECTORY), str):
        state.put(DIRECTORY, posixpath.normpath(posixpath.join(now, path)))
    else:
        state.put(DIRECTORY, None)
    return None


def _popd(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    walker.shell.state.put(DIRECTORY, None)
    return None


def _source(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    return walker.read_source(words, statement)


def _eval(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    return walker.read_eval(words, statement)


def _exit(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    shell = walker.shell
    before = shell.last
    command = walker.emit(words, redirects, statement, {})
    raw = walker.source.text[statement.start : statement.end]
    if shell.silent:
        return "exit"
    # `exit` and `exit $?` hand on the status of the command before
    shell.last = [command] if len(words) > 1 and "$" not in raw else [*before, command]
    shell.finals.extend(shell.last)
    shell.last = []
    return "exit"


def _return(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    return "return" if walker.shell.calls or walker.shell.sourcing else "exit"


def _break(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    return "break"


def _exec(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    if len(words) == 1:
        walker.read_documents(redirects, "exec", words)  # only redirections of the shell itself
        return ""
    return None


def _trap(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    shell = walker.shell
    arguments = [word for word in words[1:] if word.known not in ("--",)]
    if len(arguments) < 2 or (arguments[0].prefix.startswith("-") and arguments[0].known != "-"):
        return None
    handler = arguments[0]
    for word in arguments[1:]:
        name = (word.known or "").upper().removeprefix("SIG")
        name = _SIGNALS.get(name, name)
        if not name:
            continue
        if handler.known == "-":
            walker.script.traps[:] = [trap for trap in walker.script.traps if trap[0] != name]
            if name == "EXIT":
                shell.exit_trap = None
            continue
        walker.script.traps.append((name, handler.shown))
        if name == "EXIT":
            shell.exit_trap = handler if handler.known != "" else None
    return None


def _wait(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    # `wait $PID` is taken to wait for what was started: which one is not known without running
    for command in walker.shell.waiting:
        command.waited = True
    walker.shell.waiting.clear()
    return None


def _read(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    for word in words[1:]:
        name = word.known
        if name is not None and _NAME.fullmatch(name):
            unknown = Unknown(f"{name} is read from input", Origin(word.place))
            hole = Hole(unknown, walker.source, statement.start, statement.end)
            many = words[0].known in ("mapfile", "readarray") or any(w.known == "-a" for w in words[1:])
            hole = replace(hole, many=many)
            fresh = walker.changed(name, Value([hole]), word.place)
            walker.shell.state.assign(name, replace(fresh, value=None, elements=(Value([hole]),)) if many else fresh)
    return None


def _let(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    for word in words[1:]:
        found = re.match(r"([A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%]|<<|>>)?=)", word.prefix)
        if found is not None:
            name = found.group(1)
            unknown = Unknown(f"{name} is worked out in the script", Origin(word.place))
            value = Value([Hole(unknown, walker.source, statement.start, statement.end)])
            walker.shell.state.assign(name, walker.changed(name, value, word.place))
    return None


def _printf(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    if len(words) > 2 and words[1].known == "-v":
        _read(walker, [words[0], words[2]], statement, redirects)
    return None


def _module(walker: Walker, words: list[Word], statement: Simple, redirects: list[Token]) -> Flow | None:
    """Modules change paths; no variable that gaplint speaks of is known to come from them."""
    return None


BUILTINS: Final[dict[str, Builtin]] = {
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "cd": _cd,
    "pushd": _cd,
    "popd": _popd,
    "source": _source,
    ".": _source,
    "eval": _eval,
    "exit": _exit,
    "return": _return,
    "break": _break,
    "continue": _break,
    "exec": _exec,
    "trap": _trap,
    "wait": _wait,
    "read": _read,
    "mapfile": _read,
    "readarray": _read,
    "let": _let,
    "printf": _printf,
}
