"""Whether a shell stays between the container's runtime and the program: then the program gets no SIGTERM.

A shell that stays waits for its child and hands no signal on. What a shell replaces itself by was measured with
bash 5.2.15 and dash 0.5.12: bash runs the last command of a `-c` string in its own place where that is a simple
command without redirection and nothing, not even a blank line, comes after it; dash never does.
"""

from __future__ import annotations

from typing import Final

from kube_gaplint.launch.shell_tree import Block, Chain, Simple, Statement, parse
from kube_gaplint.model.command import Command, Script
from kube_gaplint.text.source import PlacedText

REPLACES: Final[dict[str, bool | None]] = {"bash": True, "dash": False, "sh": None}
"""Whether a shell runs the last simple command of a `-c` string in its own place. `sh` is dash on Debian and Ubuntu,
bash on the RHEL family, so that is not known; neither is it for shells that are not in the table."""


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


def _stays(command: Command) -> bool | None:
    """Whether one of the shells in front of a command stays."""
    verdict: bool | None = False
    script = command.script
    while script is not None:
        here = _stays_in(script, command)
        if here is True:
            return True
        verdict = None if here is None else verdict
        while script is not None and script.form == "source":
            script = script.parent
        started_by = script.started_by if script is not None else None
        if started_by is None or started_by.script is None:
            break
        command, script = started_by, started_by.script
    return verdict


def _stays_in(script: Script, command: Command) -> bool | None:
    """Whether the shell that reads a script stays when it runs a command."""
    if command.is_exec:
        return False
    if command.background or command.pipeline.length > 1 or command.redirected or command.fallback:
        return True
    if script.form != "string" or any(handler for _, handler in script.traps) or "time" in command.wrappers:
        return True
    if not _ends_with(script.text, command):
        return True
    replaces = REPLACES.get(script.shell)
    return None if replaces is None else not replaces


def _ends_with(text: PlacedText, command: Command) -> bool:
    """Whether a `-c` string ends with a command, as far as bash looks: on its last line, in no compound command."""
    parsed = parse(text.text)
    last = _last_simple(parsed.body)
    if last is None or any(token.kind != "word" for token in last.tokens):
        return False
    if text.place(last.start, last.end) != command.place:
        return False
    # one line end may follow (a block scalar has it), a comment on the same line too; a further line may not
    return not text.text[last.end :].partition("\n")[2]


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
