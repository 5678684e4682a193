"""The output of command substitutions that is plain to see: `$(echo x)`, `$(cat <<EOF … EOF)`, `$(pwd)`."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from kube_gaplint.launch.shell_state import DIRECTORY
from kube_gaplint.launch.shell_text import FixedText, Part, Run, TracedText, Value, word_parts, word_value
from kube_gaplint.launch.shell_tree import Block, Simple
from kube_gaplint.model.command import Command
from kube_gaplint.text.source import PlacedText

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Walker


def output(walker: Walker, body: Block, commands: list[Command]) -> Value | None:
    """What a single simple command writes, line ends at the end left out; None where that is not known."""
    if len(body.items) != 1 or not commands:
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
    return None


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
