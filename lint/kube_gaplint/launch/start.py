"""What an argument list starts: a program, a shell with a string or a script, behind any number of wrappers.

The reader of shell scripts is 20 modules, and most containers start a program: it is imported for a script.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import collector, lazy_re
from kube_gaplint.launch.shared import Budget, in_directory
from kube_gaplint.launch.shell_calls import Invocation, base_name, direct_script, invocation, peel_wrappers
from kube_gaplint.model.command import Command, Script, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Setting, Unknown
from kube_gaplint.text.limits import COMMANDS
from kube_gaplint.text.source import Files, Place, PlacedText, Span, no_files

__all__ = ["Started", "nested", "peel_wrappers", "start"]

_SCRIPT_NAME: Final = lazy_re.needing(
    ("sh", "entry"), r".*\.(?:sh|bash|zsh|ksh)$|(?:.*/)?(?:docker-)?entry-?point(?:\.\w+)?$"
)
MAX_NESTING: Final = 8


class Started(Struct, eq=False):
    """What runs. `commands` are in order, those of nested scripts in their place; `scripts` outermost first.

    `unknown` is not empty where what starts is not seen: it completes "unknown, because …".
    """

    commands: list[Command] = field(default_factory=list)
    scripts: list[Script] = field(default_factory=list)
    unknown: str = ""


def start(
    words: tuple[Word, ...],
    environment: Environment,
    files: Files = no_files,
    *,
    directory: Setting[str] | None = None,
    budget: Budget | None = None,
) -> Started:
    """What a container's command and args run. `environment` is the container's, all of it exported; `files` gives
    the text of a file at the path where the container sees it; `directory` is the container's workingDir. `budget` is
    what may still be read for the container; enough for one command by default."""
    if not words:
        return Started(unknown="the image's entry point is not visible")
    place = spanning(words)
    command = Command(
        words, environment, place, is_last=True, directory=directory, options_open=any(w.multiple for w in words[1:])
    )
    return _started(peel_wrappers(command), files, None, budget or Budget())


def nested(
    command: Command,
    words: tuple[Word, ...],
    files: Files = no_files,
    budget: Budget | None = None,
    *,
    here: bool = False,
) -> Started | None:
    """What `words`, the rest of a command behind a launcher (`srun … bash -c "…"`), run; None where they start no
    script that can be read, so that the caller goes on with the words themselves.

    The commands get the environment of `command` (its exports), and what holds for it: certainty, pipeline,
    background. `here`: the launcher looks for a script by its bare name in the working directory too.
    """
    inner = replace(command, words=words, options_open=any(word.multiple for word in words[1:]), wrappers=())
    found = _started(peel_wrappers(inner), files, command.script, budget or Budget(), here=here)
    if not found.scripts:
        return None
    from kube_gaplint.launch.shell_emit import adopt

    for each in found.commands:
        last = each.is_last
        adopt(each, command)
        each.is_last = last and command.is_last
    return found


def _started(command: Command, files: Files, parent: Script | None, budget: Budget, *, here: bool = False) -> Started:
    if parent is not None and parent.depth > MAX_NESTING:
        return Started([command], [], "scripts are nested too deeply to follow")
    words = command.words
    call = invocation(words)
    text: PlacedText | None = None

    def find(path: str) -> PlacedText | None:
        return in_directory(files, path, command.directory)

    if call is None:
        call, text = direct_script(command, find, here=here)
        if text is None:
            reason = _hidden(words[0])
            return Started([command], [], reason)
    elif call.kind == "string" and call.word is not None:
        from kube_gaplint.launch.shell_emit import readable

        text = readable(call.word)
        if text is None:
            return Started([command], [], _reason(call.word))
    elif call.kind == "file" and call.word is not None:
        path = call.word.located
        text = find(path) if path else None
        if text is None and parent is not None:
            from kube_gaplint.launch.shell_files import written_by

            text = written_by(parent, call.word)
        if text is None:
            return Started([command], [], unseen(call.word))
    elif command.stdin is not None:
        text = command.stdin.text
    else:
        return Started([command], [], f"`{base_name(words[0])}` reads its commands from standard input")
    if text is None or call is None:
        return Started([command])
    from kube_gaplint.launch.shell_emit import COST_OF_READING, starts_itself

    if starts_itself(text, parent):
        return Started([command], [], "a script that starts itself is not followed")
    if budget.spent or budget.commands < 0:
        budget.over(COMMANDS, command.place)
        return Started([command], [], "there is more to follow than is followed")
    budget.commands -= COST_OF_READING
    return _read(text, call, command, files, parent, budget)


def _hidden(word: Word) -> str:
    """Why a program that is no shell hides what it starts; empty for a plain program."""
    path = word.known
    if path is None:
        return _reason(word)
    return unseen(word) if _SCRIPT_NAME.match(path) else ""


def _reason(word: Word) -> str:
    return next((piece.reason for piece in word.pieces if isinstance(piece, Unknown)), "")


def unseen(word: Word) -> str:
    """Why a script file is not read."""
    path = word.known
    if path is None:
        return f"the script {word.shown} is not known"
    return f"{path} is in the image"


def _read(
    text: PlacedText, call: Invocation, command: Command, files: Files, parent: Script | None, budget: Budget
) -> Started:
    from kube_gaplint.launch.shell_emit import read

    with collector.kept_out():  # the budget bounds how many objects there are
        script = read(
            text,
            command.environment,
            call,
            files=files,
            budget=budget,
            parent=parent,
            started_by=command,
            directory=command.directory,
        )
    for inner in script.commands:
        inner.wrappers = (*command.wrappers, *inner.wrappers)
    scripts = [script]
    for inner in script.commands:
        if inner.script is not None and inner.script not in scripts:
            scripts.append(inner.script)
    unknown = ""
    if script.unseen:
        # only what the script ends with counts: a helper script that is not seen does not hide the program
        hidden = {id(word) for word in script.unseen}
        for inner in script.commands:
            if inner.is_last and any(id(word) in hidden for word in inner.words):
                unknown = unseen(next(word for word in inner.words if id(word) in hidden))
    return Started(script.commands, scripts, unknown)


def spanning(words: tuple[Word, ...]) -> Place:
    """The place from the first to the last word where they stand in one file in order, else the first word's."""
    first = words[0].place
    low, high = first.span.start, first.span.end
    for word in words[1:]:
        if word.place.source is not first.source or word.place.span.start < low:
            continue
        high = max(high, word.place.span.end)
    return Place(first.source, Span(low, high))
