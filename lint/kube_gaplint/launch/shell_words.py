"""Expansion of shell words, symbolically: quoting, parameters, arithmetic, splitting.

What cannot be computed becomes a hole with its reason. Every resulting word points at the text that wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kube_gaplint.launch.shell_state import ARGUMENTS, DIRECTORY, Budget, State, Variable
from kube_gaplint.launch.shell_text import (
    Atom,
    Cell,
    Hole,
    Part,
    Ref,
    Run,
    TracedText,
    Value,
    flatten,
    make_word,
)
from kube_gaplint.launch.shell_tokens import Reader
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Origin, Unknown
from kube_gaplint.text.source import PlacedText

_PLAIN: Final = re.compile(r"[^\\'\"`$<>(){~]+")
_DQ_PLAIN: Final = re.compile(r"[^\\\"`$]+")
_DOC_PLAIN: Final = re.compile(r"[^\\`$]+")
_VARIABLE: Final = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])")
_PARAMETER: Final = re.compile(r"([A-Za-z_]\w*|\d+|[@*#?$!-])(\[[^\]\n]*\])?")
_OPERATOR: Final = re.compile(r":?[-=+?]|##?|%%?|//?|:|\^\^?|,,?|@")
_BRACES: Final = re.compile(r"\{([^{}\s'\"`$\\]*)\}")
_RANGE: Final = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})$")
_TEMPLATE: Final = re.compile(r"\{\{(?!\{)[^\n{}]*\}\}")
_SPACE: Final = re.compile(r"[ \t\n]+")
_ANSI: Final = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|u[0-9A-Fa-f]{1,4}|c.|.)", re.DOTALL)
_ANSI_PLAIN: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip

MAX_DEPTH: Final = 30
MAX_FIELDS: Final = 20_000


class Sink:
    """Takes the parts of a word in order."""

    def run(self, text: str, start: int, end: int, quoted: bool) -> None:
        raise NotImplementedError

    def hole(self, hole: Hole, quoted: bool) -> None:
        raise NotImplementedError

    def value(self, value: Value, start: int, end: int, quoted: bool) -> None:
        raise NotImplementedError

    def values(self, values: Sequence[Value], start: int, end: int, quoted: bool, joined: bool) -> None:
        """The elements of an array or the arguments: separate words, or joined by a blank."""
        raise NotImplementedError

    def quote(self) -> None:
        """A pair of quotes was seen: the word exists even if it is empty."""


class ValueSink(Sink):
    """Collects one value: an assignment, the inside of a `:-` default, a here-document."""

    def __init__(self, source: PlacedText) -> None:
        self.source = source
        self.parts: list[Part] = []

    def run(self, text: str, start: int, end: int, quoted: bool) -> None:
        self.parts.append(Run(text, self.source, start, end))

    def hole(self, hole: Hole, quoted: bool) -> None:
        self.parts.append(hole)

    def value(self, value: Value, start: int, end: int, quoted: bool) -> None:
        if value.parts:
            self.parts.append(Ref(value, self.source, start, end))

    def values(self, values: Sequence[Value], start: int, end: int, quoted: bool, joined: bool) -> None:
        for index, value in enumerate(values[:MAX_FIELDS]):
            if index:
                self.parts.append(Run(" ", self.source, start, end))
            self.value(value, start, end, quoted)

    def result(self) -> Value:
        return Value(self.parts)


class FieldSink(Sink):
    """Collects words: splits what is not quoted."""

    def __init__(self, source: PlacedText, budget: Budget) -> None:
        self.source = source
        self.budget = budget
        self.fields: list[list[Atom]] = []
        self.current: list[Atom] | None = None

    def finish(self) -> list[list[Atom]]:
        self.split()
        return self.fields

    def split(self) -> None:
        if self.current is not None:
            self.fields.append(self.current)
            self.current = None

    def add(self, atom: Atom) -> None:
        if self.current is None:
            self.current = []
        self.current.append(atom)

    def quote(self) -> None:
        if self.current is None:
            self.current = []

    def run(self, text: str, start: int, end: int, quoted: bool) -> None:
        if text:
            self.add(Atom(text, self.source, start, end))

    def hole(self, hole: Hole, quoted: bool) -> None:
        self.add_hole(hole, None, quoted)

    def add_hole(self, hole: Hole, parent: Cell | None, quoted: bool) -> None:
        if hole.cut_before and not quoted:
            self.split()
        self.add(Atom("", hole.source, hole.start, hole.end, parent, hole, hole.many or not quoted))
        if hole.cut_after and not quoted:
            self.split()

    def value(self, value: Value, start: int, end: int, quoted: bool) -> None:
        cell = Cell(self.source, start, end, None)
        if not self.budget.spend(value.size) or len(self.fields) > MAX_FIELDS:
            unknown = Unknown("more text than is followed", Origin(self.source.place(start, end)))
            self.add(Atom("", self.source, start, end, None, Hole(unknown, self.source, start, end), True))
            return
        for atom in flatten(value, cell):
            hole = atom.hole
            if hole is not None:
                if hole.cut_before and not quoted:
                    self.split()
                atom.many = hole.many or not quoted
                self.add(atom)
                if hole.cut_after and not quoted:
                    self.split()
            elif quoted or not _SPACE.search(atom.text):
                if atom.text:
                    self.add(atom)
            else:
                at = 0
                for space in _SPACE.finditer(atom.text):
                    if space.start() > at:
                        self.add(atom.slice(at, space.start()))
                    self.split()
                    at = space.end()
                if at < len(atom.text):
                    self.add(atom.slice(at, len(atom.text)))

    def values(self, values: Sequence[Value], start: int, end: int, quoted: bool, joined: bool) -> None:
        for index, value in enumerate(values):
            if index:
                if joined and quoted:
                    self.run(" ", start, end, True)
                else:
                    self.split()
            if quoted and not joined:
                self.quote()
            self.value(value, start, end, quoted)


@dataclass(slots=True, eq=False)
class Expander:
    """Expands the words of one text against a state."""

    source: PlacedText
    reader: Reader
    state: State
    budget: Budget
    substitute: Callable[[int, int], Value | None] | None = None
    """Gives the output of the command substitution whose commands stand between two offsets, where it is known."""
    reads: set[str] = field(default_factory=set)
    """Names of the variables that were expanded."""
    special: Callable[[str], str] = lambda name: ""
    """Why a variable that nothing visible sets may yet have a value; empty where nothing speaks for it."""
    _depth: int = 0

    # --- entry points ----------------------------------------------------------------------------------------------

    def words(self, start: int, end: int) -> list[Word]:
        """The words that one word becomes."""
        fields = self.fields(start, end)
        if not fields:
            return []
        fallback = self.source.place(start, end)
        return [make_word(atoms, fallback) for atoms in fields]

    def fields(self, start: int, end: int) -> list[list[Atom]]:
        spans = self._braced(start, end)
        if spans is not None:
            return spans
        sink = FieldSink(self.source, self.budget)
        self.expand(start, end, sink)
        return sink.finish()

    def value(self, start: int, end: int, quoted: bool = False) -> Value:
        """One value without splitting: the right side of an assignment."""
        sink = ValueSink(self.source)
        if quoted:
            self.expand_quoted(start, end, sink)
        else:
            self.expand(start, end, sink)
        return sink.result()

    def document(self, start: int, end: int, strip_tabs: bool, expanded: bool) -> TracedText:
        """The body of a here-document. Unknown parts stand in it as they are written (`$X`)."""
        text = self.source.text
        sink = ValueSink(self.source)
        if not strip_tabs:
            self._document_part(start, end, sink, expanded)
        else:
            at = start
            while at < end:
                line = text.find("\n", at, end)
                stop = end if line < 0 else line + 1
                begin = at
                while begin < stop and text[begin] == "\t":
                    begin += 1
                self._document_part(begin, stop, sink, expanded)
                at = stop
        parts: list[Part] = []
        for part in sink.parts:
            if isinstance(part, Hole):
                raw = text[part.start : part.end] if part.source is self.source else part.raw
                part = Hole(part.unknown, part.source, part.start, part.end, part.many, raw or part.raw)
            elif isinstance(part, Ref) and part.value.known() is None:
                raw = text[part.start : part.end]
                unknown = part.value.unknown() or Unknown("not known")
                part = Hole(unknown, part.source, part.start, part.end, False, raw)
            parts.append(part)
        return TracedText(list(flatten(Value(parts))))

    def _document_part(self, start: int, end: int, sink: ValueSink, expanded: bool) -> None:
        if expanded:
            self.expand_quoted(start, end, sink, _DOC_PLAIN)
        elif end > start:
            self.literal(start, end, sink, True)

    def array(self, start: int, end: int) -> tuple[Value, ...]:
        """The elements of `( … )`, the brackets left out."""
        out: list[Value] = []
        for low, high in self.reader.words(start, end):
            for atoms in self.fields(low, high):
                out.append(self.from_atoms(atoms))
                if len(out) > MAX_FIELDS:
                    return tuple(out)
        return tuple(out)

    def from_atoms(self, atoms: Sequence[Atom]) -> Value:
        """A word as a value that keeps its places."""
        lone = all(atom.hole is not None for atom in atoms)
        parts: list[Part] = []
        for atom in atoms:
            if atom.hole is None:
                part: Part = Run(atom.text, atom.source, atom.start, atom.end)
            else:
                hole = atom.hole
                part = Hole(hole.unknown, hole.source, hole.start, hole.end, atom.many and lone, hole.raw)
            cell = atom.parent
            while cell is not None and len(atoms) > 1:
                part = Ref(Value([part]), cell.source, cell.start, cell.end)
                cell = cell.parent
            parts.append(part)
        return Value(parts)

    # --- walking a word --------------------------------------------------------------------------------------------

    def literal(self, start: int, end: int, sink: Sink, quoted: bool) -> None:
        """Text that stands for itself; holes of a text that was spliced together stay holes."""
        text = self.source.text
        holes = self.source.holes if isinstance(self.source, TracedText) else None
        if holes:
            at = start
            while at < end:
                found = holes.get(at)
                if found is not None:
                    length, hole = found
                    sink.hole(moved(hole, self.source, at, at + length), quoted)
                    at += max(1, length)
                    continue
                stop = at + 1
                while stop < end and stop not in holes:
                    stop += 1
                sink.run(text[at:stop], at, stop, quoted)
                at = stop
            return
        sink.run(text[start:end], start, end, quoted)

    def _hole_at(self, at: int, sink: Sink, quoted: bool) -> int:
        """Pass a hole of a spliced text over; 0 where there is none."""
        if isinstance(self.source, TracedText):
            found = self.source.holes.get(at)
            if found is not None:
                length, hole = found
                sink.hole(moved(hole, self.source, at, at + length), quoted)
                return max(1, length)
        return 0

    def unknown(self, reason: str, start: int, end: int, sink: Sink, quoted: bool, many: bool = False) -> None:
        origin = Origin(self.source.place(start, end))
        sink.hole(Hole(Unknown(reason, origin), self.source, start, end, many), quoted)

    def expand(self, start: int, end: int, sink: Sink) -> None:
        """An unquoted word."""
        text = self.source.text
        reader = self.reader
        at = start
        while at < end:
            plain = _PLAIN.match(text, at, end)
            if plain is not None:
                self.literal(at, plain.end(), sink, False)
                at = plain.end()
                continue
            c = text[at]
            if c == "\\":
                at = self._escape(at, end, sink)
            elif c == "'":
                stop = reader.quote_end(at, end)
                sink.quote()
                inner = stop - 1 if text[stop - 1 : stop] == "'" and stop - 1 > at else stop
                if inner > at + 1:
                    self.literal(at + 1, inner, sink, True)
                at = stop
            elif c == '"':
                stop = reader.quote_end(at, end)
                sink.quote()
                inner = stop - 1 if text[stop - 1 : stop] == '"' and stop - 1 > at else stop
                self.expand_quoted(at + 1, inner, sink)
                at = stop
            elif c == "`":
                stop = reader.quote_end(at, end)
                self.command(at, stop, at + 1, stop - 1, sink, False)
                at = stop
            elif c == "$":
                follow = text[at + 1] if at + 1 < end else ""
                if follow == "'":
                    at = self._ansi(at, end, sink)
                elif follow == '"':
                    at += 1
                else:
                    at = self.dollar(at, end, sink, False)
            elif c == "{":
                template = _TEMPLATE.match(text, at, end)
                if template is not None:
                    self.unknown("a template expression", at, template.end(), sink, True)
                    at = template.end()
                else:
                    self.literal(at, at + 1, sink, False)
                    at += 1
            elif c == "~":
                at = self._tilde(at, start, end, sink)
            elif c in "<>" and text.startswith("(", at + 1):
                stop = reader.closing(at + 1, end)
                stop = stop if stop > 0 else end
                self.unknown("a process substitution", at, stop, sink, True)
                at = stop
            else:
                self.literal(at, at + 1, sink, False)
                at += 1

    def expand_quoted(self, start: int, end: int, sink: Sink, plain: re.Pattern[str] = _DQ_PLAIN) -> None:
        """The inside of double quotes, or of a here-document (where `"` is plain)."""
        text = self.source.text
        at = start
        while at < end:
            found = plain.match(text, at, end)
            if found is not None:
                self._templated(at, found.end(), sink)
                at = found.end()
                continue
            c = text[at]
            if c == "\\":
                follow = text[at + 1 : at + 2]
                if follow == "\n":
                    at += 2
                elif text.startswith("\\\r\n", at):
                    at += 3
                elif follow and follow in ('$`\\"' if plain is _DQ_PLAIN else "$`\\"):
                    sink.run(follow, at, at + 2, True)
                    at += 2
                else:
                    self.literal(at, at + 1, sink, True)
                    at += 1
            elif c == "`":
                stop = self.reader.quote_end(at, end)
                self.command(at, stop, at + 1, stop - 1, sink, True)
                at = stop
            elif c == "$":
                at = self.dollar(at, end, sink, True)
            else:
                self.literal(at, at + 1, sink, True)
                at += 1

    def _templated(self, start: int, end: int, sink: Sink) -> None:
        """Quoted text in which template expressions are unknown."""
        text = self.source.text
        at = start
        if "{{" in text[start:end]:
            for template in _TEMPLATE.finditer(text, start, end):
                if template.start() > at:
                    self.literal(at, template.start(), sink, True)
                self.unknown("a template expression", template.start(), template.end(), sink, True)
                at = template.end()
        if at < end:
            self.literal(at, end, sink, True)

    def _escape(self, at: int, end: int, sink: Sink) -> int:
        text = self.source.text
        if text.startswith("\\\n", at):
            return at + 2
        if text.startswith("\\\r\n", at):
            return at + 3
        if at + 1 >= end:
            sink.run("\\", at, at + 1, True)
            return at + 1
        sink.run(text[at + 1], at, at + 2, True)
        return at + 2

    def _tilde(self, at: int, start: int, end: int, sink: Sink) -> int:
        before = self.source.text[at - 1] if at > start else ""
        follow = self.source.text[at + 1] if at + 1 < end else ""
        if (not before or before in "=:") and follow in ("", "/"):
            home = self.state.variable("HOME")
            if home is not None and home.value is not None:
                sink.value(home.value, at, at + 1, True)
            else:
                self.unknown("the home directory is not known", at, at + 1, sink, True)
        else:
            self.literal(at, at + 1, sink, False)
        return at + 1

    def _ansi(self, at: int, end: int, sink: Sink) -> int:
        stop = self.reader._ansi_end(at, end)
        text = self.source.text
        inner = stop - 1 if text[stop - 1] == "'" and stop - 1 > at + 1 else stop
        sink.quote()
        begin = at + 2
        for found in _ANSI.finditer(text, begin, inner):
            if found.start() < begin:
                continue
            if found.start() > begin:
                self.literal(begin, found.start(), sink, True)
            code = found.group(1)
            try:
                if code[0] in "xu" and len(code) > 1:
                    plain = chr(int(code[1:], 16))
                elif code[0] in "01234567":
                    plain = chr(int(code, 8) & 0xFF)
                else:
                    plain = _ANSI_PLAIN.get(code, code[-1])
            except ValueError:
                plain = code
            sink.run(plain, found.start(), found.end(), True)
            begin = found.end()
        if begin < inner:
            self.literal(begin, inner, sink, True)
        return stop

    # --- dollar ----------------------------------------------------------------------------------------------------

    def dollar(self, at: int, end: int, sink: Sink, quoted: bool) -> int:
        """What `$` begins; gives the offset after it."""
        length = self._hole_at(at, sink, quoted)
        if length:
            return at + length
        text = self.source.text
        follow = text[at + 1] if at + 1 < end else ""
        if follow == "{":
            stop = self.reader.closing(at, end)
            if stop > 0:
                self.braces(at, stop, sink, quoted)
                return stop
            name = _PARAMETER.match(text, at + 2, end)
            stop = name.end() if name else at + 2
            self.unknown("the closing bracket is missing", at, stop, sink, quoted)
            return stop
        if follow == "(":
            stop = self.reader.closing(at, end)
            if stop < 0:
                self.literal(at, at + 1, sink, quoted)
                return at + 1
            if text.startswith("((", at + 1) and text[stop - 2 : stop] == "))":
                self.arithmetic(at, stop, at + 3, stop - 2, sink, quoted)
            else:
                self.command(at, stop, at + 2, stop - 1, sink, quoted)
            return stop
        if follow == "[":
            stop = self.reader.closing(at, end)
            if stop > 0:
                self.arithmetic(at, stop, at + 2, stop - 1, sink, quoted)
                return stop
        found = _VARIABLE.match(text, at, end)
        if found is None:
            self.literal(at, at + 1, sink, quoted)
            return at + 1
        self.parameter(found.group(1), "", at, found.end(), sink, quoted)
        return found.end()

    def why_unknown(self, name: str) -> str:
        """Why a variable that nothing visible sets has no known value."""
        if self.state.open_because:
            return self.state.open_because
        return self.special(name) or f"${name} is not set in anything visible"

    def arguments(self) -> list[Value] | None:
        """The positional parameters from `$1` on; None where they are not known."""
        found = self.state.data.get(ARGUMENTS)
        return found if isinstance(found, list) else None

    def parameter(self, name: str, index: str, start: int, end: int, sink: Sink, quoted: bool) -> None:
        """`$X`, `${X}`, `${X[@]}`, `$@`, `$1` …"""
        if name in ("@", "*"):
            arguments = self.arguments()
            if arguments is None:
                self.unknown("the arguments of the script are not known", start, end, sink, quoted, many=name == "@")
            else:
                sink.values(arguments, start, end, quoted, joined=name == "*")
            return
        if name.isdigit() or name in "#?$!-":
            value = self.special_value(name)
            if value is None:
                self.unknown(f"${name} is only known when the script runs", start, end, sink, quoted)
            else:
                sink.value(value, start, end, quoted)
            return
        self.reads.add(name)
        variable = self.state.variable(name)
        if variable is None:
            if name == "PWD" and isinstance(directory := self.state.data.get(DIRECTORY), str):
                sink.run(directory, start, end, True)
                return
            self.unknown(self.why_unknown(name), start, end, sink, quoted)
            return
        if index:
            self.element(variable, name, index, start, end, sink, quoted)
            return
        scalar = variable.scalar
        if scalar is not None:
            sink.value(scalar, start, end, quoted)

    def special_value(self, name: str) -> Value | None:
        if name.isdigit():
            if name == "0":
                found = self.state.data.get(("state", "zero"))
                return found if isinstance(found, Value) else None
            arguments = self.arguments()
            if arguments is None:
                return None
            number = int(name[:6])
            if number > len(arguments):
                return Value() if not any(_many(value) for value in arguments) else None
            if any(_many(value) for value in arguments[:number]):
                return None
            return arguments[number - 1]
        if name == "#":
            arguments = self.arguments()
            if arguments is not None and not any(_many(value) for value in arguments):
                return self.computed(str(len(arguments)), 0, 0)
        return None

    def computed(self, text: str, start: int, end: int) -> Value:
        """A text that was worked out; its place is the expression's."""
        return Value([Run(text, self.source, start, end)] if text else ())

    def element(
        self, variable: Variable, name: str, index: str, start: int, end: int, sink: Sink, quoted: bool
    ) -> None:
        elements = variable.elements
        if elements is None:
            elements = () if variable.value is None else (variable.value,)
        key = index[1:-1]
        if key in ("@", "*"):
            sink.values(elements, start, end, quoted, joined=key == "*")
            return
        number = self._number(key)
        if number is not None and not any(_many(value) for value in elements):
            if -len(elements) <= number < len(elements):
                sink.value(elements[number], start, end, quoted)
            return
        self.unknown(f"which element of {name} is meant is not known", start, end, sink, quoted)

    def _number(self, text: str) -> int | None:
        """The value of an arithmetic text, None where it is not known."""
        from kube_gaplint.launch.shell_arithmetic import evaluate

        return evaluate(text.lstrip("$"), self._integer)

    def _integer(self, name: str) -> int | None:
        """The value of a variable in arithmetic (unset counts as 0 only where it is surely unset)."""
        if name.isdigit() or name in ("#",):
            special = self.special_value(name)
            text = special.known() if special is not None else None
        else:
            self.reads.add(name)
            variable = self.state.variable(name)
            if variable is None:
                return None
            scalar = variable.scalar
            text = "" if scalar is None else scalar.known()
        if text is None:
            return None
        text = text.strip()
        if not text:
            return 0
        return int(text) if re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})", text) else None

    def arithmetic(self, start: int, end: int, low: int, high: int, sink: Sink, quoted: bool) -> None:
        from kube_gaplint.launch.shell_arithmetic import evaluate, names

        text = self.source.text[low:high]
        self.reads.update(names(text))
        number = None
        if not isinstance(self.source, TracedText) or not any(low <= at < high for at in self.source.holes):
            number = evaluate(text, self._integer)
        if number is None:
            self.unknown(f"$(({text.strip()[:60]})) cannot be worked out", start, end, sink, True)
        else:
            sink.run(str(number), start, end, True)

    def command(self, start: int, end: int, low: int, high: int, sink: Sink, quoted: bool) -> None:
        """A command substitution."""
        value = self.substitute(low, high) if self.substitute is not None else None
        if value is not None:
            sink.value(value, start, end, quoted)
            return
        shown = " ".join(self.source.text[low:high].split())
        shown = shown if len(shown) <= 60 else shown[:57] + "…"
        self.unknown(f"it is the output of `{shown}`", start, end, sink, quoted)

    def braces(self, start: int, end: int, sink: Sink, quoted: bool) -> None:
        """`${…}` between two offsets."""
        text = self.source.text
        low, high = start + 2, end - 1
        if self._depth >= MAX_DEPTH:
            self.unknown("nested too deeply", start, end, sink, quoted)
            return
        prefix = ""
        if low < high and text[low] in "#!" and high - low > 1:
            follow = text[low + 1]
            if follow.isalnum() or follow == "_" or (text[low] == "#" and follow in "@*" and high - low == 2):
                prefix = text[low]
                low += 1
        found = _PARAMETER.match(text, low, high)
        if found is None:
            self.unknown(f"{text[start:end][:60]} is not computed", start, end, sink, quoted)
            return
        name, index = found.group(1), found.group(2) or ""
        rest = found.end()
        operator = _OPERATOR.match(text, rest, high)
        if rest < high and operator is None:
            self.unknown(f"{text[start:end][:60]} is not computed", start, end, sink, quoted)
            return
        if prefix == "#" and rest == high:
            self._length(name, index, start, end, sink)
            return
        if prefix == "!":
            self._indirect(name, index, rest == high, start, end, sink, quoted)
            return
        if operator is None:
            self.parameter(name, index, start, end, sink, quoted)
            return
        self._depth += 1
        try:
            self._operation(name, index, operator.group(), operator.end(), start, end, sink, quoted)
        finally:
            self._depth -= 1

    def _length(self, name: str, index: str, start: int, end: int, sink: Sink) -> None:
        if name in ("@", "*"):
            name = "#"
            value = self.special_value("#")
            if value is not None:
                sink.value(value, start, end, True)
                return
        else:
            self.reads.add(name)
            variable = self.state.variable(name)
            if variable is not None:
                if index in ("[@]", "[*]"):
                    elements = variable.elements or (() if variable.value is None else (variable.value,))
                    if not any(_many(value) for value in elements):
                        sink.run(str(len(elements)), start, end, True)
                        return
                elif not index:
                    text = "" if variable.scalar is None else variable.scalar.known()
                    if text is not None:
                        sink.run(str(len(text)), start, end, True)
                        return
        self.unknown(f"the length of {name} is not known", start, end, sink, True)

    def _indirect(self, name: str, index: str, bare: bool, start: int, end: int, sink: Sink, quoted: bool) -> None:
        if bare and not index:
            self.reads.add(name)
            variable = self.state.variable(name)
            target = variable.scalar.known() if variable is not None and variable.scalar is not None else None
            if target is not None and re.fullmatch(r"[A-Za-z_]\w*", target):
                self.parameter(target, "", start, end, sink, quoted)
                return
        many = bool(index) or not bare
        self.unknown(f"what ${{!{name}}} names is not known", start, end, sink, quoted, many=many)

    def _operation(
        self, name: str, index: str, operator: str, at: int, start: int, end: int, sink: Sink, quoted: bool
    ) -> None:
        high = end - 1
        if operator.lstrip(":") in ("-", "=", "+", "?") and operator != ":":
            self._default(name, index, operator, at, start, end, sink, quoted)
            return
        probe = ValueSink(self.source)
        self.parameter(name, index, start, end, probe, True)
        plain = index not in ("[@]", "[*]") and name not in ("@", "*")
        text = probe.result().known() if plain else None
        argument = self.value(at, high).known() if at <= high else ""
        raw = self.source.text[at:high]
        result = None
        if text is not None and argument is not None:
            from kube_gaplint.launch.shell_arithmetic import transform

            result = transform(text, operator, argument, "'" in raw or '"' in raw or "\\" in raw, self._number)
        if result is None:
            whole = self.source.text[start:end]
            reason = f"{whole if len(whole) <= 60 else whole[:57] + '…'} is not known"
            inner = probe.result().unknown()
            self.unknown(inner.reason if inner is not None and plain else reason, start, end, sink, quoted, not plain)
            return
        sink.value(self.computed(result, start, end), start, end, quoted)

    def _default(
        self, name: str, index: str, operator: str, at: int, start: int, end: int, sink: Sink, quoted: bool
    ) -> None:
        """`${X:-d}` and its kin. A variable that nothing visible sets has its default in force, unless something
        unseen may set it."""
        state = self._presence(name, index, colon=operator.startswith(":"))
        letter = operator[-1]
        high = end - 1
        if letter == "?":
            self.parameter(name, index, start, end, sink, quoted)
            return
        if letter == "+":
            if state is True:
                self._argument(at, high, sink, quoted)
            elif state is None:
                self.unknown(self._reason(name), start, end, sink, quoted)
            elif quoted:
                sink.quote()
            return
        if state is True:
            self.parameter(name, index, start, end, sink, quoted)
        elif state is False:
            if letter == "=" and not index and re.fullmatch(r"[A-Za-z_]\w*", name):
                value = self.value(at, high)
                before = self.state.variable(name)
                exported = before.exported if before is not None else False
                origin = Origin(self.source.place(start, end))
                self.state.assign(name, Variable(value, None, exported, origin))
                sink.value(value, start, end, quoted)
            else:
                self._argument(at, high, sink, quoted)
        else:
            self.unknown(self._reason(name), start, end, sink, quoted)
            if letter == "=" and not index and re.fullmatch(r"[A-Za-z_]\w*", name):
                unknown = Unknown(self._reason(name), Origin(self.source.place(start, end)))
                before = self.state.variable(name)
                hole = Hole(unknown, self.source, start, end)
                exported = before.exported if before is not None else None
                self.state.assign(name, Variable(Value([hole]), None, exported, unknown.origin))

    def _argument(self, start: int, end: int, sink: Sink, quoted: bool) -> None:
        if quoted:
            self.expand_quoted_argument(start, end, sink)
            return
        if isinstance(sink, FieldSink):
            # blanks in an unquoted default split it
            text = self.source.text
            at = start
            while at < end:
                space = re.compile(r"[ \t\n]+").match(text, at, end)
                if space is not None:
                    sink.split()
                    at = space.end()
                    continue
                stop = self.reader.word_end(at, end)
                stop = stop if stop > at else at + 1
                self.expand(at, stop, sink)
                at = stop
            return
        self.expand(start, end, sink)

    def expand_quoted_argument(self, start: int, end: int, sink: Sink) -> None:
        """A default inside double quotes; quotes of its own are taken off."""
        text = self.source.text
        at = start
        while at < end:
            quote = text.find('"', at, end)
            if quote < 0:
                self.expand_quoted(at, end, sink)
                return
            if quote > at:
                self.expand_quoted(at, quote, sink)
            stop = self.reader.closing(quote, end)
            if stop < 0:
                self.expand_quoted(quote + 1, end, sink)
                return
            self.expand_quoted(quote + 1, stop - 1, sink)
            at = stop

    def _reason(self, name: str) -> str:
        variable = self.state.variable(name)
        scalar = variable.scalar if variable is not None else None
        unknown = scalar.unknown() if scalar is not None else None
        if unknown is not None:
            return unknown.reason
        return self.why_unknown(name) if variable is None else f"the value of {name} is not known"

    def _presence(self, name: str, index: str, colon: bool) -> bool | None:
        """Whether a parameter is set (and not empty, with `colon`); None where that is not known."""
        if name in ("@", "*"):
            arguments = self.arguments()
            if arguments is None or any(_many(value) for value in arguments):
                return None
            return bool(arguments)
        if name.isdigit() or name in "#?$!-":
            value = self.special_value(name)
            if value is None:
                return None
            arguments = self.arguments()
            if name.isdigit() and name != "0" and arguments is not None and int(name[:6]) > len(arguments):
                return False
            return _full(value, colon)
        self.reads.add(name)
        variable = self.state.variable(name)
        if variable is None:
            return None if self.state.open_because or self.special(name) else False
        if index in ("[@]", "[*]"):
            elements = variable.elements
            if elements is not None:
                return None if any(_many(value) for value in elements) else bool(elements)
        scalar = variable.scalar
        if scalar is None:
            return False
        return _full(scalar, colon)

    # --- braces ----------------------------------------------------------------------------------------------------

    def _braced(self, start: int, end: int) -> list[list[Atom]] | None:
        """Brace expansion of a plain word with one pair of braces; None where there is none to be made."""
        text = self.source.text
        if "{" not in text[start:end]:
            return None
        found = _BRACES.search(text, start, end)
        while found is not None and text[found.start() - 1 : found.start()] == "$":
            found = _BRACES.search(text, found.end(), end)
        if found is None or any(c in text[start : found.start()] for c in "'\"`$\\{"):
            return None
        inner = found.group(1)
        series = _RANGE.match(inner)
        choices: list[tuple[str, int, int]] = []
        if series is not None:
            first, last = int(series.group(1)), int(series.group(2))
            if abs(last - first) > 1000:
                return None
            step = 1 if last >= first else -1
            choices = [(str(n), found.start(), found.end()) for n in range(first, last + step, step)]
        elif "," in inner:
            at = found.start() + 1
            for choice in inner.split(","):
                choices.append((choice, at, at + len(choice)))
                at += len(choice) + 1
        else:
            return None
        out: list[list[Atom]] = []
        for choice, low, high in choices:
            sink = FieldSink(self.source, self.budget)
            if found.start() > start:
                self.literal(start, found.start(), sink, True)
            sink.run(choice, low, high, True)
            self.expand(found.end(), end, sink)
            out.extend(sink.finish())
        return out


def moved(hole: Hole, source: PlacedText, start: int, end: int) -> Hole:
    """A hole as it stands in a text that was spliced together."""
    return replace(hole, source=source, start=start, end=end)


def _many(value: Value) -> bool:
    """Whether an element may stand for any number of words."""
    return any(isinstance(part, Hole) and part.many for part in value.parts) or any(
        isinstance(part, Ref) and _many(part.value) for part in value.parts if len(value.parts) == 1
    )


def _full(value: Value, colon: bool) -> bool | None:
    """Whether a set value counts as given."""
    if not colon:
        return True
    empty = True
    for atom in flatten(value):
        if atom.hole is None and atom.text:
            return True
        if atom.hole is not None:
            empty = False
    return False if empty else None
