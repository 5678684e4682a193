"""Builtin commands that change the shell: one function each, in a table by name.

A builtin gives the flow that it causes, or None where the command is handed on like any other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.launch import shell_emit, shell_files
from kube_gaplint.launch.shell_flow import ASSIGNMENT, CHANGED
from kube_gaplint.launch.shell_parameters import arguments, why_unknown
from kube_gaplint.launch.shell_process import Flow, either
from kube_gaplint.launch.shell_state import ARGUMENTS, DIRECTORY, PLACE, Variable
from kube_gaplint.launch.shell_text import NO_ELEMENTS, Elements, Hole, Value, word_value
from kube_gaplint.launch.shell_tokens import Token
from kube_gaplint.launch.shell_tree import Simple
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Origin, Unknown

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Walker

DECLARING: Final = frozenset(["export", "declare", "typeset", "readonly", "local"])
"""Builtins whose arguments are assignments, which are not split."""
_NAME: Final = lazy_re.compile(r"[A-Za-z_]\w*")
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


class Call(Struct, frozen=True):
    """A builtin as it is called."""

    walker: Walker
    words: list[Word]
    statement: Simple
    redirects: list[Token]

    def unknown(self, reason: str, word: Word, many: bool = False) -> Value:
        """A value that only a run would tell."""
        hole = Hole(
            Unknown(reason, Origin(word.place)), self.walker.source, self.statement.start, self.statement.end, many
        )
        return Value([hole])


Builtin: TypeAlias = "Callable[[Call], Flow | None]"


def declare(walker: Walker, name: str, tokens: Sequence[Token]) -> list[Word]:
    """`export`, `declare`, `typeset`, `readonly`, `local` with their assignments; gives the words of the command."""
    text = walker.source.text
    out = walker.words.words(tokens[0].start, tokens[0].end)
    export: bool | None = True if name == "export" else None
    local = name == "local" or (name in ("declare", "typeset") and bool(walker.shell.calls))
    array = functions = False
    for token in tokens[1:]:
        raw = text[token.start : token.end]
        if ASSIGNMENT.match(raw):
            out.append(walker.assign(token, export, local, declared=True))
            continue
        words = walker.words.words(token.start, token.end)
        out.extend(words)
        if raw[:1] in ("-", "+") and len(raw) > 1:
            on = raw[0] == "-"
            if "x" in raw:
                export = on
            if name == "export" and "n" in raw:
                export = False
            array = array or (on and ("a" in raw or "A" in raw))
            functions = functions or (on and ("f" in raw or "F" in raw or "p" in raw))
            local = local and "g" not in raw
        elif not functions:
            for word in words:
                _declare_word(walker, word, export, local, array)
    return out


def _declare_word(walker: Walker, word: Word, export: bool | None, local: bool, array: bool) -> None:
    """A bare name, or a `NAME=value` that only expansion brings about (`export "$PAIR"`, `export $(… )`)."""
    state, shell = walker.shell.state, walker.shell
    prefix = word.prefix
    assignment = re.match(r"([A-Za-z_]\w*)=", prefix)
    if assignment is not None:
        value = word_value(word.from_offset(assignment.end()))
        state.assign(assignment.group(1), Variable(value, None, export, Origin(word.place)))
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
        shell.locals[-1].setdefault(name, state.now(name))
        state.assign(name, Variable(None, NO_ELEMENTS if array else None, False, Origin(word.place)))
        return
    if before is None:
        if array:
            state.assign(name, Variable(None, NO_ELEMENTS, False, Origin(word.place)))
        elif export:
            reason = why_unknown(walker.words, name)
            place = word.place
            hole = Hole(Unknown(reason, Origin(place)), walker.source, 0, 0)
            state.assign(name, Variable(Value([hole]), None, True, Origin(place)))
        return
    if export is not None:
        state.assign(name, replace(before, exported=export))


def _set(call: Call) -> None:
    words, state = call.words, call.walker.shell.state
    at = 1
    while at < len(words):
        text = words[at].known
        if text is None or text[:1] not in ("-", "+") or text in ("--", "-"):
            break
        on, place = text[0] == "-", words[at].place
        at += 1
        for letter in text[1:]:
            if letter == "o" and at < len(words):
                state.set_option(words[at].known or "", on, place)
                at += 1
            elif letter in _OPTIONS:
                state.set_option(_OPTIONS[letter], on, place)
    if at < len(words):
        rest = words[at + 1 :] if words[at].known == "--" else words[at:]
        state.put(ARGUMENTS, Elements(word_value(word) for word in rest))


def _shift(call: Call) -> None:
    given = arguments(call.walker.words)
    count = call.words[1].known if len(call.words) > 1 else "1"
    left = None
    if given is not None and not given.many and count is not None and count.isdigit():
        left = given.without(int(count[:6]))
    call.walker.shell.state.put(ARGUMENTS, left)


def _unset(call: Call) -> None:
    state = call.walker.shell.state
    functions = False
    for word in call.words[1:]:
        name = word.known or ""
        if name.startswith("-"):
            functions = "f" in name
        elif functions:
            state.put(("function", name), None)
        elif _NAME.fullmatch(name):
            state.assign(name, Variable(None, None, False, Origin(word.place)))


def _cd(call: Call) -> None:
    state = call.walker.shell.state
    targets = [word for word in call.words[1:] if word.known not in ("-L", "-P", "-e", "--")]
    path = targets[0].known if targets and targets[0].known != "-" else None
    now, place = state.data.get(DIRECTORY), state.data.get(PLACE, "")
    if path is not None and not path.startswith("/"):
        place = posixpath.normpath(posixpath.join(place, path)) if isinstance(place, str) else None
    else:  # an absolute path is known; of another one only the folder of the repository may be
        place = targets[0].located if path is None and targets else None
    state.put(PLACE, place)
    if path is not None and path.startswith("/"):
        state.put(DIRECTORY, posixpath.normpath(path))
    elif path is not None and isinstance(now, str):
        state.put(DIRECTORY, posixpath.normpath(posixpath.join(now, path)))
    else:
        state.put(DIRECTORY, None)


def _popd(call: Call) -> None:
    call.walker.shell.state.put(DIRECTORY, None)
    call.walker.shell.state.put(PLACE, None)


def _source(call: Call) -> Flow:
    return shell_emit.source(call.walker, call.words, call.statement)


def _eval(call: Call) -> Flow | None:
    return shell_emit.evaluate(call.walker, call.words, call.statement)


def _exit(call: Call) -> Flow:
    walker, shell = call.walker, call.walker.shell
    before = shell.last
    command = shell_emit.emit(walker, call.words, call.redirects, call.statement, {})
    if not shell.silent:
        # `exit` and `exit $?` hand on the status of the command before
        status = walker.source.text[call.statement.start : call.statement.end]
        shell.last = (command,) if len(call.words) > 1 and "$" not in status else either(before, (command,))
        shell.end_path()
    return "exit"


def _return(call: Call) -> Flow:
    return "return" if call.walker.shell.calls or call.walker.shell.sourcing else "exit"


def _break(_call: Call) -> Flow:
    return "break"


def _exec(call: Call) -> Flow | None:
    if len(call.words) > 1:
        return None
    _, output = shell_files.redirections(call.walker, call.redirects, "exec", call.words)  # of the shell itself
    call.walker.script.output = output or call.walker.script.output
    return ""


def _trap(call: Call) -> None:
    walker, shell = call.walker, call.walker.shell
    given = [word for word in call.words[1:] if word.known != "--"]
    if len(given) < 2 or (given[0].prefix.startswith("-") and given[0].known != "-"):
        return
    handler, traps = given[0], walker.script.traps
    for word in given[1:]:
        name = (word.known or "").upper().removeprefix("SIG")
        name = _SIGNALS.get(name, name)
        if handler.known == "-":
            traps[:] = [trap for trap in traps if trap[0] != name]
        elif name:
            traps.append((name, handler.shown))
        if name == "EXIT":
            shell.exit_trap = handler if handler.known not in ("-", "") else None
        elif handler.known not in ("-", ""):
            shell.handlers[name] = handler
        else:
            shell.handlers.pop(name, None)


def _wait(call: Call) -> None:
    # `wait $PID` is taken to wait for what was started: which one that is only a run would tell
    for command in call.walker.shell.waiting:
        command.waited = True
    call.walker.shell.waiting.clear()


def _read(call: Call) -> None:
    many = call.words[0].known in ("mapfile", "readarray") or any(word.known == "-a" for word in call.words[1:])
    for word in call.words[1:]:
        name = word.known or ""
        if _NAME.fullmatch(name):
            value = call.unknown(f"{name} is read from input", word, many)
            fresh = call.walker.changed(name, value, word.place)
            if many:
                fresh = replace(fresh, value=None, elements=Elements((value,)))
            call.walker.shell.state.assign(name, fresh)


def _let(call: Call) -> None:
    for word in call.words[1:]:
        found = CHANGED.match(word.prefix)
        name = (found.group(1) or found.group(2)) if found is not None else ""
        if name:
            value = call.unknown(f"{name} is worked out in the script", word)
            call.walker.shell.state.assign(name, call.walker.changed(name, value, word.place))


def _printf(call: Call) -> None:
    if len(call.words) > 2 and call.words[1].known == "-v" and _NAME.fullmatch(name := call.words[2].known or ""):
        value = call.unknown(f"{name} is put together by printf", call.words[2])
        call.walker.shell.state.assign(name, call.walker.changed(name, value, call.words[2].place))


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
"""What a builtin does to the shell, by its name."""
