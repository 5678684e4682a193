"""The `#SBATCH` lines of a batch script, read as sbatch reads them.

Source: SchedMD/slurm `src/sbatch/opt.c` (`_opt_batch_script`, `get_argument`): a line counts when it begins with
`#SBATCH` in its first column and stands before the first line that is neither blank nor a comment. Words are split at
blanks, quotes group, a backslash escapes, a bare `#` begins a comment. The words of all lines then go through getopt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.facts import sbatch
from kube_gaplint.launch.shared import HOLE
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.model.slurm import Directive
from kube_gaplint.text.source import Place, PlacedText
from kube_gaplint.text.templates import placeholder

MARK = "#SBATCH"
_MARKS = (MARK, "#SLURM")
_LOOSE = lazy_re.compile(r"(?P<indent>[ \t]*)#(?P<blank>[ \t]*)SBATCH[ \t]+(?=-{1,2}[A-Za-z])")
_HEREDOC = lazy_re.compile(r"<<(-?)[ \t]*(?:'([^']+)'|\"([^\"]+)\"|\\?([^\s\d;&|<>()'\"`$\\=#][^\s;&|<>()'\"`$\\]*))")
"""`<<EOF`, `<<-'END'`, and any other word that a shell takes for an end (`:<<++++`); no shift of a number."""
_HOLE = lazy_re.compile(
    r"\{\{.{1,200}?\}\}|\{%.{1,200}?%\}|\$?\{[^{}]{1,200}\}|<[ \t]*[A-Za-z][^<>]{0,200}>"
    r"|(?<![\w.-])\[[ \t]*[A-Za-z][^\[\]]{0,200}\]"
)
"""A placeholder, blanks and all: `{{ x }}`, `{x}`, `${x}`, `<your options>`, `[options]`; no `[1-4]` of a host list."""
_BY_TEMPLATE = lazy_re.compile(r"\{\{|\{%-?\s*include\b")
"""A line of a template that may turn into directives."""
_TO_FILL_IN = (
    r"(?:\$?\{[A-Za-z_][\w.!-]{0,80}\}|\$[A-Za-z_]\w{0,80}|<[A-Za-z][\w -]{0,80}>|%\([A-Za-z_]\w{0,80}\)s"
    r"|@@?[A-Za-z][\w.-]{0,80}@@?|%%?[A-Za-z][\w.-]{0,80}%%?|__[A-Z][A-Z0-9_]{0,80}__)"
)
_FILLED_IN = lazy_re.compile(rf"{_TO_FILL_IN}(?:[ \t]{{1,8}}{_TO_FILL_IN}){{0,8}}")
"""A line that is nothing but places to be filled in, with directives perhaps: `{partition_line}`, `@@OPTIONS@@`."""
_VARIABLE = lazy_re.compile(r"(?<![\\$])\$(?:\{[A-Za-z_]\w*(?:[:#%/-][^{}]*)?\}|[A-Za-z_]\w*)")
"""What a shell would expand: `$NODES`, `${NODES}`, `${NODES:-2}`."""
_HET = lazy_re.compile(r"(?:hetjob|packjob)(?:\s|$)", re.IGNORECASE)

AFTER_COMMAND = "it stands after the first command, where sbatch has stopped reading"
WITH_BLANK = "with a blank between # and SBATCH it is a plain comment"
INDENTED = "it does not begin in the first column, so it is a plain comment"
LATER_COMPONENT = "it belongs to a later component of a heterogeneous job"


class _Token(Struct, frozen=True):
    """One word of a line: its text after quotes and escapes, and where it stands in the script."""

    text: str
    start: int
    end: int


class Header(Struct):
    """What stands at the top of a batch script. `components`: directives of each part of a heterogeneous job.

    `open_because`: why more options may be given than are written ("" where nothing is to be filled in).
    """

    directives: list[Directive] = field(default_factory=list)
    place: Place | None = None
    components: list[list[Directive]] = field(default_factory=list)
    open_because: str = ""
    filled_by_hand: bool = False
    """All that is to be filled in are places in angle or square brackets, which nothing but a person fills in."""


def is_batch(text: str) -> bool:
    """Whether a text is a batch script: it has a `#SBATCH` line."""
    return text.startswith(MARK) or f"\n{MARK}" in text


def read_header(script: PlacedText) -> Header:
    """All directives of a script, those without force included."""
    text = script.text
    header = Header(components=[[]])
    first, last = -1, -1
    body = len(text)
    for start, end in _lines(text):
        line = text[start:end]
        mark = next((mark for mark in _MARKS if line.startswith(mark)), None)
        if mark is not None and (len(line) == len(mark) or line[len(mark)] in " \t-\r"):
            if _HET.match(line[len(mark) :].lstrip()):
                header.components.append([])
            problem = LATER_COMPONENT if len(header.components) > 1 else ""
            found = list(_directives(script, start, end, start + len(mark), problem))
            header.components[-1].extend(found)
            header.directives.extend(found)
            first, last = (start if first < 0 else first), end
            continue
        stripped = line.strip()
        filled_in = _FILLED_IN.fullmatch(stripped) is not None
        if stripped and not filled_in and not stripped.startswith(("#", "{%", "{{")):
            body = start  # a template's own line is gone once rendered
            break
        if filled_in or _BY_TEMPLATE.match(stripped):
            header.open_because = "a template may fill in options"
        header.directives.extend(_loose(script, start, end))
    placeholders = [one.name for one in header.directives if one.is_placeholder]
    if placeholders:
        header.filled_by_hand = not header.open_because and all(name[:1] in "<[" for name in placeholders)
        header.open_because = "a placeholder may hold more options"
    for start, end in _after(text, body):
        header.directives.extend(_directives(script, start, end, start + len(MARK), AFTER_COMMAND))
    if first >= 0:
        header.place = script.place(first, last)
    else:
        start, end = next(_lines(text), (0, 0))
        header.place = script.place(start, end)
    return header


def read_options(text: PlacedText, start: int, end: int) -> list[Directive]:
    """The options of an `sbatch` command line, which stand in `text` from `start` to the script's name at `end`.

    None at all where another word comes first: that is then the script, and the name its argument.
    """
    found = list(_directives(text, start, end, start, ""))
    if any(not one.in_force and one.name.strip() and not one.name.startswith("-") for one in found):
        return []
    return [one for one in found if one.in_force]


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line, without its line end."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        trimmed = stop
        while trimmed > start and text[trimmed - 1] == "\r":
            trimmed -= 1
        yield start, trimmed
        start = stop + 1


def _after(text: str, body: int) -> Iterator[tuple[int, int]]:
    """`#SBATCH` lines behind the first command, without those in here-documents: they belong to other scripts."""
    if text.find(MARK, body) < 0:
        return
    waiting: list[tuple[str, bool]] = []
    for offset_start, offset_end in _lines(text[body:]):
        start, end = body + offset_start, body + offset_end
        line = text[start:end]
        if waiting:
            word, tabs = waiting[0]
            if (line.lstrip("\t") if tabs else line).rstrip() == word:
                waiting.pop(0)
            continue
        if line.startswith(MARK) and line[len(MARK) : len(MARK) + 1] in ("", " ", "\t", "-"):
            yield start, end
        elif not line.lstrip().startswith("#") and "<<" in line:
            plain = line.replace("<<<", "   ")
            for found in _HEREDOC.finditer(plain):
                waiting.append((found.group(2) or found.group(3) or found.group(4), bool(found.group(1))))


def _loose(script: PlacedText, start: int, end: int) -> Iterator[Directive]:
    """A comment that was meant as a directive."""
    found = _LOOSE.match(script.text, start, end)
    if found:
        problem = WITH_BLANK if found.group("blank") else INDENTED
        yield from _directives(script, start, end, found.end(), problem)


def _directives(script: PlacedText, start: int, end: int, options: int, problem: str) -> Iterator[Directive]:
    """The options of one line, as getopt takes them."""
    line = script.place(start, end)
    tokens = list(_tokens(script.text, options, end))
    if tokens and _HET.match(tokens[0].text):
        tokens = tokens[1:]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if _HOLE.match(token.text.lstrip("-")):
            made, used = [_stray(script, token, line, problem)], 1
        elif token.text.startswith("--") and len(token.text) > 2:
            made, used = _long(script, tokens, at, line, problem)
        elif token.text.startswith("-") and len(token.text) > 1:
            made, used = _short(script, tokens, at, line, problem)
        else:
            made, used = [_stray(script, token, line, problem)], 1
        yield from made
        at += used


def _tokens(text: str, start: int, end: int) -> Iterator[_Token]:
    at = start
    while at < end:
        while at < end and text[at].isspace():
            at += 1
        if at >= end or text[at] == "#":
            return
        begin = at
        out: list[str] = []
        quote = ""
        while at < end and (quote or not text[at].isspace()):
            char = text[at]
            hole = _HOLE.match(text, at, end) if char in "{$<[" else None
            if hole is not None:
                out.append(hole.group())
                at = hole.end()
                continue
            if char == "\\" and at + 1 < end:
                out.append(text[at + 1])
                at += 2
                continue
            if char == "\\":
                at += 1
                continue
            if quote:
                if char == quote:
                    quote = ""
                else:
                    out.append(char)
            elif char in "\"'":
                quote = char
            elif char == "#":
                end = at
                break
            else:
                out.append(char)
            at += 1
        if out or at > begin:
            joined = "".join(out)
            if joined or text[begin : begin + 1] in "\"'":
                yield _Token(joined, begin, at)


_Made = tuple[list[Directive], int]


def _long(script: PlacedText, tokens: list[_Token], at: int, line: Place, problem: str) -> _Made:
    token = tokens[at]
    written, equals, value = token.text[2:].partition("=")
    option = sbatch.resolve("sbatch", written)
    if option is None:
        foreign = sbatch.belongs_elsewhere("sbatch", written, short=False)
        if foreign is not None:
            problem = problem or f"--{foreign.name} is an option of srun, and sbatch refuses it"
        takes = foreign.takes if foreign is not None else _guess(tokens, at)
        name = written
    else:
        takes, name = option.takes, option.name
    place = script.place(token.start, token.end)
    if equals:
        if takes == "no" and option is not None:
            problem = problem or f"--{name} takes no value, and sbatch refuses the line"
        return [_directive(name, _value(value, place), place, line, problem)], 1
    if takes == "yes" and at + 1 < len(tokens):
        follow = tokens[at + 1]
        place = script.place(token.start, follow.end)
        return [_directive(name, _value(follow.text, place), place, line, problem)], 2
    return [_directive(name, Set("", Origin(place)), place, line, problem)], 1


def _guess(tokens: list[_Token], at: int) -> sbatch.Takes:
    """Whether an option that nobody knows takes the next word."""
    return "yes" if at + 1 < len(tokens) and not tokens[at + 1].text.startswith("-") else "no"


def _short(script: PlacedText, tokens: list[_Token], at: int, line: Place, problem: str) -> _Made:
    """`-N4`, `-N 4`, `-kH`: letters, of which the first that takes a value takes the rest of the word or the next."""
    token = tokens[at]
    made: list[Directive] = []
    offset = 1
    while offset < len(token.text):
        letter = token.text[offset]
        offset += 1
        option = sbatch.short_options("sbatch").get(letter)
        why = problem
        if option is None:
            foreign = sbatch.belongs_elsewhere("sbatch", letter, short=True)
            if foreign is not None:
                why = problem or f"-{letter} (--{foreign.name}) is an option of srun, and sbatch refuses it"
            option = foreign or sbatch.Option(letter, letter, "no", ())
        rest = token.text[offset:]
        place = script.place(token.start, token.end)
        if option.takes == "no":
            made.append(_directive(option.name, Set("", Origin(place)), place, line, why))
            continue
        if rest or option.takes == "optional":
            made.append(_directive(option.name, _value(rest.removeprefix("="), place), place, line, why))
            return made, 1
        if at + 1 < len(tokens):
            follow = tokens[at + 1]
            place = script.place(token.start, follow.end)
            made.append(_directive(option.name, _value(follow.text, place), place, line, why))
            return made, 2
        made.append(_directive(option.name, Set("", Origin(place)), place, line, why))
    return made, 1


def _stray(script: PlacedText, token: _Token, line: Place, problem: str) -> Directive:
    place = script.place(token.start, token.end)
    if not problem and (_HOLE.search(token.text) or placeholder(token.text) or "$" in token.text):
        why = Unknown("a placeholder for options", Origin(place))
        return Directive(
            token.text, why, place, line, in_force=False, problem="it is still to be filled in", is_placeholder=True
        )
    if not problem and token.text.strip("\\"):
        problem = f"{token.text!r} is no option, and sbatch refuses the line"
    elif not problem:
        problem = "it is no option"
    return _directive(token.text, Set("", Origin(place)), place, line, problem)


def _value(text: str, place: Place) -> Setting[str]:
    reason = "the script that submits it fills it in" if HOLE in text else placeholder(text)
    if not reason and _HOLE.search(text):
        reason = "a placeholder"
    if not reason and re.search(r"\$[A-Za-z_{]", text):
        reason = "a variable, which sbatch does not expand here"
    return Unknown(reason, Origin(place)) if reason else Set(text, Origin(place))


def _directive(name: str, value: Setting[str], place: Place, line: Place, problem: str) -> Directive:
    shown = "" if problem == LATER_COMPONENT else problem
    variable = _VARIABLE.search(place.text) if isinstance(value, Unknown) else None
    return Directive(
        sbatch.canonical(name),
        value,
        place,
        line,
        in_force=not problem,
        problem=shown,
        after_command=problem == AFTER_COMMAND,
        is_comment=problem in (WITH_BLANK, INDENTED),
        variable="" if variable is None else variable.group(),
    )
