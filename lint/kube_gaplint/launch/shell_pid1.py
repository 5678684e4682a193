"""Whether a shell stays between the container's runtime and the program: then the program gets no SIGTERM.

A shell that stays waits for its child and hands no signal on. What a shell replaces itself by was measured with
bash 5.2.15 and dash 0.5.12: bash runs the last command of a `-c` string in its own place where that is a simple
command without redirection and nothing, not even a blank line, comes after it; dash never does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from kube_gaplint import lazy_re
from kube_gaplint.launch.shell_parser import structure
from kube_gaplint.launch.shell_tree import Block, Chain, Simple, Statement
from kube_gaplint.model.command import Command, Script, ShellHold, ShellInFront
from kube_gaplint.text.source import PlacedText

REPLACES: Final[dict[str, bool | None]] = {"bash": True, "dash": False, "sh": None}
"""Whether a shell runs the last simple command of a `-c` string in its own place. `sh` is dash on Debian and Ubuntu,
bash on the RHEL family, so that is not known; neither is it for shells that are not in the table."""

SAYS: Final = frozenset({"echo", "printf", ":", "true", "logger", "date", "exit", "sleep"})
"""What a handler may run without telling the program anything."""

BY_EXEC: Final[frozenset[ShellHold]] = frozenset({"redirected", "file", "text", "dash"})
"""What `exec` in front of the last command ends."""

_KILLS: Final = lazy_re.compile(r"\bp?kill(?:all)?\b")


def shell_stays_pid1(script: Script, command: Command | None = None) -> bool | None:
    """Whether a shell stays in front of a command of a script (by default: of those that run last).

    True: the shell, or the one that started it, stays and hands no signal on. False: the program takes its place.
    None: that depends on the shell, or on the path through the script.
    """
    commands = [command] if command is not None else [each for each in script.commands if each.is_last]
    verdicts = {_stays(each) for each in commands}
    if not verdicts:
        return True
    return verdicts.pop() if len(verdicts) == 1 else None


def shell_in_front(command: Command, sh: str = "") -> ShellInFront | None:
    """The innermost shell that surely stays in front of a command; None where none does, where that is not known, and
    where a trap hands SIGTERM on. `sh` is the shell of that name in the image (dash, bash), empty where not known."""
    found: ShellInFront | None = None
    for script, each in _levels(command):
        trapped = _answers_stop(script)
        if trapped and each.background:
            return None
        hold = _hold(script, each, sh)
        if found is None and hold is not None and hold != "unknown":
            after, suffices = _after(script, each), hold in BY_EXEC and _may_exec(script, each)
            found = ShellInFront(script.shell, hold, each, after, deaf_trap=trapped, exec_suffices=suffices)
    return found


def _after(script: Script, command: Command) -> Command | None:
    """The command that stands next in a script, those of handlers left out."""
    end = command.place.span.end
    for each in script.commands:
        for level, own in _levels(each):
            if level is script and own.certainty != "on-exit" and own.place.span.start >= end:
                return own
    return None


def _may_exec(script: Script, command: Command) -> bool:
    """Whether the shell has nothing left to do once the command runs."""
    if command.certainty == "repeated" or command.wrappers or script.traps or not command.words:
        return False
    last = _last_simple(structure(script.text.text).body)
    if last is None or script.text.place(last.start, last.end) != command.place:
        return False
    return command.words[0].place.span.start == command.place.span.start


def _stays(command: Command) -> bool | None:
    """Whether one of the shells in front of a command stays."""
    holds = {_hold(script, each) for script, each in _levels(command)}
    if holds - {None, "unknown"}:
        return True
    return None if "unknown" in holds else False


def _levels(command: Command) -> Iterator[tuple[Script, Command]]:
    """The scripts in front of a command, innermost first, each with its command that leads to it."""
    script = command.script
    while script is not None:
        yield script, command
        while script is not None and script.form == "source":
            script = script.parent
        started_by = script.started_by if script is not None else None
        if started_by is None:
            return
        command, script = started_by, started_by.script


def _hold(script: Script, command: Command, sh: str = "") -> ShellHold | Literal["unknown"] | None:
    """Why the shell that reads a script stays when it runs a command; None where the command takes its place."""
    if command.is_exec:
        return None
    marks: tuple[tuple[ShellHold, bool], ...] = (
        ("background", command.background),
        ("pipe", command.pipeline.length > 1),
        ("fallback", command.fallback),
        ("redirected", command.redirected),
        ("time", "time" in command.wrappers),
        ("trap", any(handler for _, handler in script.traps)),
    )
    for why, there in marks:
        if there:
            return why
    behind: ShellHold | None = "file" if script.form != "string" else _ending(script.text, command)
    if behind is not None:
        return behind if command.is_last or _after(script, command) is None else "later"
    replaces = REPLACES.get(sh if script.shell == "sh" and sh else script.shell)
    if replaces is None:
        return "unknown"
    return None if replaces else "dash"


def _answers_stop(script: Script) -> bool:
    """Whether a handler of SIGTERM, or one at the exit, may tell the program to stop."""
    if any(signal == "TERM" and handler for signal, handler in script.traps):
        names = {command.name for command in script.handlers}
        if not names or not names <= SAYS:
            return True
    return any(signal in ("EXIT", "0") and _KILLS.search(handler) for signal, handler in script.traps)


def _ending(text: PlacedText, command: Command) -> Literal["compound", "text"] | None:
    """What keeps bash from running the last command of a `-c` string in its own place; None where nothing does."""
    parsed = structure(text.text)
    last = _last_simple(parsed.body)
    if last is None or any(token.kind != "word" for token in last.tokens):
        return "compound"
    if text.place(last.start, last.end) != command.place:
        return "compound"
    # one line end may follow (a block scalar has it), a comment on the same line too; a further line may not
    return "text" if text.text[last.end :].partition("\n")[2] else None


def _last_simple(block: Block) -> Simple | None:
    """The simple command that a block ends with, alone or behind `&&`/`||`; None for anything else."""
    if not block.items:
        return None
    statement: Statement
    statement, background = block.items[-1]
    if background:
        return None
    if isinstance(statement, Chain):
        statement = statement.items[-1][1]
    return statement if isinstance(statement, Simple) else None
