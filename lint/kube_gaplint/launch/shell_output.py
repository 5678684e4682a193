"""The output of command substitutions that is plain to see: `$(echo x)`, `$(cat <<EOF … EOF)`, `$(pwd)`.

A folder of the repository that only the run tells (`$(pwd)`, `$(dirname "$0")`) comes out unknown, with its path.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from kube_gaplint.launch.shell_state import DIRECTORY, PLACE
from kube_gaplint.launch.shell_text import FixedText, Hole, Part, Run, TracedText, Value, word_parts, word_value
from kube_gaplint.launch.shell_tree import Block, Simple
from kube_gaplint.model.command import Command
from kube_gaplint.model.setting import Origin, Unknown
from kube_gaplint.text.source import PlacedText

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Walker


def output(walker: Walker, body: Block, commands: list[Command]) -> Value | None:
    """What a single simple command writes, line ends at the end left out; None where that is not known."""
    if not commands:
        return None
    folder = _folder(walker, body, commands)
    if folder is not None:
        return folder
    if len(body.items) != 1:
        return None
    statement, command = body.items[0][0], commands[-1]  # those before it stand in substitutions of its own
    if not isinstance(statement, Simple) or command.place != walker.place(statement.start, statement.end):
        return None
    words = command.words[1:]
    name = command.name
    if command.wrappers or any(word.multiple for word in words):
        return None
    if name == "cat" and not words and command.stdin is not None:
        return _document(command.stdin.text)
    if name == "echo":
        if (words and words[0].prefix.startswith("-")) or any("\\" in word.shown for word in words):
            return None
        parts: list[Part] = []
        for index, word in enumerate(words):
            if index:
                parts.append(Run(" ", FixedText(" ", word.place), 0, 1))
            parts.extend(word_parts(word))
        return Value(parts)
    if name == "printf" and len(words) == 2 and words[0].known in ("%s", "%s\\n"):
        return word_value(words[1])
    if name == "pwd" and not words:
        directory = walker.shell.state.data.get(DIRECTORY)
        return walker.words.computed(directory, body.start, body.end) if isinstance(directory, str) else None
    if name in ("dirname", "basename") and len(words) == 1 and words[0].known:
        path = words[0].known.rstrip("/") or "/"
        text = posixpath.basename(path) or "/" if name == "basename" else posixpath.dirname(path) or "."
        return walker.words.computed(text, body.start, body.end)
    if name in _LOOK_UPS and len(words) == len(_LOOK_UPS[name]) + 1 and (program := words[-1].known):
        return _in_some_folder(walker, body, program) if command.argv[1:-1] == _LOOK_UPS[name] else None
    return None


_LOOK_UPS: Final[dict[str, list[str]]] = {"which": [], "command": ["-v"], "type": ["-p"]}
"""Commands that write where a program lies, by what stands before its name."""


def _in_some_folder(walker: Walker, body: Block, program: str) -> Value | None:
    """The path of a program of which the folder is not known."""
    if "/" in program:
        return walker.words.computed(program, body.start, body.end)
    unknown = Unknown(f"PATH tells where {program} lies", Origin(walker.place(body.start, body.end)))
    folder = Hole(unknown, walker.source, body.start, body.end)
    return Value([folder, Run(f"/{program}", walker.source, body.start, body.end)])


def _folder(walker: Walker, body: Block, commands: list[Command]) -> Value | None:
    """`pwd`, `cd FOLDER && pwd`, `dirname FILE`, `realpath FILE`, `git rev-parse --show-toplevel`."""
    last = commands[-1]
    words = [word for word in last.words[1:] if word.known not in ("-P", "-f", "-e", "-m", "--")]
    if last.wrappers:
        return None
    path: str | None = None
    if last.name == "pwd" and not words:
        before = commands[-2] if len(commands) > 1 else None
        if before is None or before.name != "cd" or not _follows(before, last):
            return _unseen_folder(walker, body, walker.shell.state.data.get(PLACE, ""))
        target = [word for word in before.words[1:] if word.known not in ("-P", "-L", "--")]
        path = target[0].located if len(target) == 1 else None
        if path is None:
            return None
        directory = walker.shell.state.data.get(DIRECTORY)  # it is the one that `cd` has led to
        if isinstance(directory, str):
            return walker.words.computed(directory, body.start, body.end)
        return None if path.startswith("/") else _unseen_folder(walker, body, path)
    if last.name == "git" and [word.known for word in words] == ["rev-parse", "--show-toplevel"]:
        return _unseen_folder(walker, body, "")
    if last.name in ("dirname", "realpath", "readlink") and len(words) == 1 and words[0].known is None:
        path = words[0].located
        if path is None:
            return None
        return _unseen_folder(walker, body, posixpath.dirname(path) if last.name == "dirname" else path)
    return None


def _follows(first: Command, second: Command) -> bool:
    """Whether two commands stand in one substitution: the one before stands in none of its own."""
    one, other = first.place, second.place
    return (
        one.source is other.source
        and one.span.end < other.span.start
        and "$(" not in one.source.text[one.span.end : other.span.start]
    )


def _unseen_folder(walker: Walker, body: Block, path: object) -> Value | None:
    if not isinstance(path, str) or isinstance(walker.shell.state.data.get(DIRECTORY), str):
        return None
    origin = Origin(walker.place(body.start, body.end))
    shown = walker.words.shown(body.start, body.end)
    unknown = Unknown(f"it is the output of `{shown}`", origin, path="" if path == "." else path)
    return Value([Hole(unknown, walker.source, body.start, body.end)])


def _document(text: PlacedText) -> Value:
    """The text of a here-document with its unknown parts."""
    whole = text.text.rstrip("\n")
    parts: list[Part] = []
    at = 0
    for start, (length, hole) in sorted(text.holes.items()) if isinstance(text, TracedText) else ():
        if start > at:
            parts.append(Run(whole[at:start], text, at, start))
        parts.append(hole.moved(text, start, start + length))
        at = start + length
    if at < len(whole):
        parts.append(Run(whole[at:], text, at, len(whole)))
    return Value(parts)
