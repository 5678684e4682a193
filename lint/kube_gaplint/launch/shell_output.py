"""The output of command substitutions that is plain to see: `$(echo x)`, `$(cat <<EOF … EOF)`, `$(pwd)`."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from kube_gaplint.launch.shell_state import DIRECTORY
from kube_gaplint.launch.shell_text import Hole, Part, Run, TracedText, Value, word_parts
from kube_gaplint.launch.shell_tree import Block, Simple
from kube_gaplint.model.command import Command

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Walker


def output(walker: Walker, body: Block, commands: list[Command]) -> Value | None:
    """What a single simple command writes; None where that is not known."""
    if len(body.items) != 1 or not isinstance(body.items[0][0], Simple) or len(commands) != 1:
        return None
    command = commands[0]
    if command.wrappers:
        return None
    arguments = command.words[1:]
    name = command.name
    if name == "cat" and not arguments and command.stdin is not None:
        text = command.stdin.text
        stripped = text.text.rstrip("\n")
        parts: list[Part] = []
        at = 0
        holes = text.holes if isinstance(text, TracedText) else {}
        for start, (length, hole) in sorted(holes.items()):
            if start > at:
                parts.append(Run(stripped[at:start], text, at, start))
            parts.append(Hole(hole.unknown, text, start, start + length, hole.many))
            at = start + length
        if at < len(stripped):
            parts.append(Run(stripped[at:], text, at, len(stripped)))
        return Value(parts)
    if any(word.multiple for word in arguments):
        return None
    if name == "echo":
        if arguments and arguments[0].prefix.startswith("-"):
            return None
        if any("\\" in (word.known or "") for word in arguments):
            return None
        out: list[Part] = []
        for index, word in enumerate(arguments):
            if index:
                out.append(Run(" ", word.placed or walker.source, 0, 0))
            out.extend(word_parts(word))
        return Value(out)
    if name == "printf" and len(arguments) == 2 and arguments[0].known in ("%s", "%s\\n"):
        return Value(word_parts(arguments[1]))
    start, end = body.start, body.end
    if name == "pwd" and not arguments:
        directory = walker.shell.state.data.get(DIRECTORY)
        return Value([Run(directory, walker.source, start, end)]) if isinstance(directory, str) else None
    if name in ("dirname", "basename") and len(arguments) == 1:
        path = arguments[0].known
        if not path:
            return None
        path = path.rstrip("/") or "/"
        text_out = posixpath.basename(path) if name == "basename" else posixpath.dirname(path) or "."
        return Value([Run(text_out, walker.source, start, end)]) if text_out else None
    return None
