"""Loops: the body is read once, for all its rounds; what it assigns is not known in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.launch.shell_flow import ASSIGNMENT, CHANGED, Branches, succeeds
from kube_gaplint.launch.shell_parameters import arguments
from kube_gaplint.launch.shell_process import Flow
from kube_gaplint.launch.shell_state import Body
from kube_gaplint.launch.shell_text import Elements, FixedText, Hole, Ref, Value, word_value
from kube_gaplint.launch.shell_tree import Block, Loop
from kube_gaplint.model.setting import Origin, Unknown

if TYPE_CHECKING:
    from kube_gaplint.launch.shell_walk import Walker

_READING: Final = frozenset(["read", "mapfile", "readarray", "let", "unset", "getopts"])
_NAME: Final = lazy_re.compile(r"[A-Za-z_]\w*")
_BLANK: Final = (" ", "\t", "\n", "\\")

_LEAVES: Final = lazy_re.compile(r"\b(?:break|exit|return|exec|kill)\b")
"""What may end a loop, or the script around it."""
_NO_END: Final = lazy_re.compile(r"while\s+sleep\s+[\w.]+\s*[;\n]|for\s*\(\(\s*;\s*;\s*\)\)")

Way = Literal["append", "extend", "set"]
"""How a variable is assigned: more text behind a blank, more elements of an array, or anything else."""


class Assigned(NamedTuple):
    """One assignment in a text, by offset; `way` None: a word that may be the call of a function of that name."""

    at: int
    name: str
    way: Way | None


def run_loop(walker: Walker, loop: Loop) -> Flow:
    """Any loop."""
    if loop.kind in ("for", "select"):
        return _run_for(walker, loop)
    shell = walker.shell
    condition = loop.condition
    heading = walker.text(condition.start, condition.end) if condition is not None else "for ((…))"
    _forget(walker, condition, loop.body)
    verdict: bool | None = None
    branches = Branches(walker)
    with shell.under("repeated", heading):
        if condition is not None:
            first = len(shell.out)
            flow = walker.run_block(condition)
            if flow == "exit":
                return flow
            for command in shell.out[first:]:
                command.fallback = True
            if len(condition.items) == 1:
                verdict = succeeds(walker, condition.items[0][0])
        if verdict is (loop.kind != "while") and condition is not None:
            return ""  # the body surely never runs
        branches.entry = shell.last
    first = len(shell.out)
    branches.add(partial(walker.run_block, loop.body), heading, "repeated")
    endless = condition is not None and verdict is (loop.kind == "while")
    if endless or _goes_on(walker, loop):
        text = walker.source.text
        for command in shell.out[first:]:
            command.unending = _LEAVES.search(text, loop.body.start, loop.body.end) is None
    if not endless:
        branches.none()
    ended = branches.end(loop.start, loop.end, f"in a loop over `{heading}`")
    return ended if endless and ended in ("exit", "return") else ""


def _goes_on(walker: Walker, loop: Loop) -> bool:
    """`while sleep 60` and `for ((;;))`: loops that none of their own words ends."""
    head = walker.source.text[loop.start : loop.body.start]
    return loop.kind != "until" and _NO_END.match(head) is not None


def _run_for(walker: Walker, loop: Loop) -> Flow:
    state = walker.shell.state
    at = loop.variable
    start, end = (at.start, at.end) if at is not None else (loop.start, loop.start)
    name = walker.source.text[start:end]
    values: Elements | None
    if loop.words is None:
        values = arguments(walker.words)
    else:
        values = Elements(
            word_value(word) for token in loop.words for word in walker.words.words(token.start, token.end)
        )
    complete = values is not None and not values.many
    place = walker.place(start, end)
    if complete and not values:
        return ""
    if complete and values is not None and len(values) == 1 and loop.kind == "for":
        state.assign(name, walker.changed(name, values[0], place))
        flow = walker.run_block(loop.body)
        return "" if flow == "break" else flow
    _forget(walker, loop.body)
    heading = walker.text(loop.start, loop.body.start).rstrip("; ")
    if _NAME.fullmatch(name):
        unknown = Unknown(f"it takes the values of `{heading}`", Origin(place))
        value = Value([Hole(unknown, walker.source, start, end)])
        state.assign(name, walker.changed(name, value, place))
    branches = Branches(walker)
    branches.add(partial(walker.run_block, loop.body), heading, "repeated")
    if not complete:
        branches.none()
    flow = branches.end(loop.start, loop.end, f"in a loop `{heading}`")
    return flow if complete and flow in ("exit", "return") else ""


# --- what a loop assigns -------------------------------------------------------------------------------------------


def _forget(walker: Walker, *blocks: Block | None) -> None:
    """Before a loop: a variable that its body assigns is not known in it, but for what it begins with where the body
    only appends."""
    state = walker.shell.state
    ways: dict[str, Way] = {}
    for block in blocks:
        if block is not None:
            for name, way in _assigned_in(walker, block.start, block.end, set()):
                ways[name] = way if ways.get(name, way) == way else "set"
    for name, way in ways.items():
        variable = state.variable(name)
        if variable is None or (variable.value is None and variable.elements is None):
            continue
        origin = variable.origin or state.environment.home
        nowhere = FixedText("", origin.place)
        unknown = Unknown(f"{name} is changed in a loop", origin)
        hole = Hole(unknown, nowhere, 0, 0, many=way == "extend", cut_before=way != "set")
        if way == "extend" and variable.elements is not None:
            fresh = replace(variable, elements=variable.elements.joined([Value([hole])]))
        elif way == "append" and variable.value is not None:
            fresh = replace(variable, value=Value([Ref(variable.value, nowhere, 0, 0), hole]), setting=None)
        else:
            fresh = replace(variable, value=Value([hole]), elements=None, setting=None)
        state.assign(name, fresh)


def _assigned_in(walker: Walker, start: int, end: int, seen: set[str]) -> Iterator[tuple[str, Way]]:
    """The assignments between two offsets, those of functions that are called there included."""
    table = walker.assigned
    low = bisect_left(table, start, key=lambda entry: entry.at)
    for entry in table[low:]:
        if entry.at >= end:
            return
        if entry.way is not None:
            yield entry.name, entry.way
            continue
        body = walker.shell.state.data.get(("function", entry.name))
        if isinstance(body, Body) and entry.name not in seen:
            seen.add(entry.name)
            yield from list(_assigned_in(body.owner, body.statement.start, body.statement.end, seen))  # type: ignore[arg-type]


def assignments(walker: Walker) -> list[Assigned]:
    """Every assignment in a text, and every word that may call a function."""
    out: list[Assigned] = []
    text = walker.source.text
    reading = False
    first = True
    for token in walker.parsed.tokens:
        if token.kind == "compound" and token.text == "((":
            for found in CHANGED.finditer(text, token.start, token.end):
                out.append(Assigned(token.start, found.group(1) or found.group(2), "set"))
        elif token.kind in ("newline", "operator", "reserved"):
            reading, first = False, True
        elif token.kind == "word":
            assignment = ASSIGNMENT.match(text, token.start, token.end)
            if assignment is not None:
                out.append(Assigned(token.start, assignment.group(1), _way(assignment, text, token.end)))
                continue
            raw = text[token.start : token.end] if token.end - token.start < 100 else ""
            if first and raw in _READING:
                reading = True
            elif reading and _NAME.fullmatch(raw):
                out.append(Assigned(token.start, raw, "set"))
            elif first and raw:
                out.append(Assigned(token.start, raw, None))
            first = False
    return out


def _way(assignment: re.Match[str], text: str, end: int) -> Way:
    name = assignment.group(1)
    rest = text[assignment.end() : min(end, assignment.end() + len(name) + 20)]
    if assignment.group(3):
        if rest.startswith("("):
            return "extend"
        return "append" if rest.lstrip("\"'")[:1] in (" ", "\t", "\n") else "set"
    rest = rest.removeprefix('"')
    for use in (f"${name}", f"${{{name}}}"):
        if rest.startswith(use) and rest[len(use) : len(use) + 1] in _BLANK:
            return "append"
    inside = rest.removeprefix("(").lstrip().removeprefix('"')
    use = f"${{{name}[@]}}"
    if rest.startswith("(") and inside.startswith(use) and inside[len(use) :].removeprefix('"')[:1] in _BLANK:
        return "extend"
    return "set"
