"""Expansion of shell words, symbolically: quotes, escapes, braces, here-documents.

What `$` begins is in `shell_parameters`. What cannot be computed becomes a hole with its reason. Every resulting word
points at the text that wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.launch import shell_parameters
from kube_gaplint.launch.shared import Budget
from kube_gaplint.launch.shell_reader import TEMPLATE, Reader
from kube_gaplint.launch.shell_sinks import FieldSink, Sink, ValueSink
from kube_gaplint.launch.shell_state import State
from kube_gaplint.launch.shell_text import (
    Atom,
    Elements,
    Hole,
    Part,
    Run,
    TracedText,
    Value,
    flatten,
    make_word,
    value_of,
)
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Origin, Unknown
from kube_gaplint.text.source import PlacedText

_LITERAL: Final = lazy_re.compile(r"[A-Za-z0-9_./:,=+@%^*?!\[\]#-]+")
"""Words without anything to expand (globs stay as they are written)."""
_PLAIN: Final = lazy_re.compile(r"[^\\'\"`$<>(){~]+")
_QUOTED: Final = lazy_re.compile(r"[^\\\"`$]+")
_DOCUMENT: Final = lazy_re.compile(r"[^\\`$]+")
_BRACES: Final = lazy_re.compile(r"\{([^{}\s'\"`$\\]*)\}")
_RANGE: Final = lazy_re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})$")
_ANSI: Final = lazy_re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|u[0-9A-Fa-f]{1,4}|c.|.)", re.DOTALL)
_ANSI_PLAIN: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
_LONGEST_SERIES: Final = 1000
_MOST_BRACES: Final = 8

_NOTHING: Final = TracedText(())
Substitute = Callable[[int, int, bool], "Value | None"]


class Expander(Struct, eq=False):
    """Expands the words of one text against a state."""

    source: PlacedText
    reader: Reader
    state: State
    budget: Budget
    reads: set[str] = field(default_factory=set)
    """Names of the variables that were expanded, other than within `handing_on`."""
    substitute: Substitute | None = None
    """Gives the output of the command substitution whose commands stand between two offsets, where it is known; the
    flag says that they stand between backticks."""
    depth: int = 0
    text: str = ""
    holes: dict[int, tuple[int, Hole]] | None = None

    def __post_init__(self) -> None:
        self.text = self.source.text
        if isinstance(self.source, TracedText):
            self.holes = self.source.holes or None

    @contextmanager
    def handing_on(self, names: Container[str] | None) -> Iterator[None]:
        """What is expanded meanwhile is no use of these names (`export X=${X:-1}`, `mpirun -x X=$X`); None: of any."""
        reads = self.reads
        self.reads = found = set[str]()
        try:
            yield
        finally:
            self.reads = reads
            if names is not None:
                reads.update(name for name in found if name not in names)

    # --- entry points ----------------------------------------------------------------------------------------------

    def words(self, start: int, end: int) -> list[Word]:
        """The words that one word becomes."""
        if self.holes is None and self.budget.spend(0) and _LITERAL.fullmatch(self.text, start, end):
            return [Word((self.text[start:end],), self.source.place(start, end))]
        fields = self.fields(start, end)
        return [
            make_word(atoms) if atoms else Word(("",), self.source.place(start, end), False, _NOTHING)
            for atoms in fields
        ]

    def fields(self, start: int, end: int) -> list[list[Atom]]:
        """The same as lists of atoms."""
        if self.budget.spent:
            sink = FieldSink(self.source, self.budget)
            self.unknown("it is more text than is followed", start, end, sink, False)
            return sink.finish()
        braced = self._braced(start, end)
        if braced is not None:
            return braced
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

    def array(self, start: int, end: int) -> Elements:
        """The elements of `( … )`, the brackets left out."""
        words = self.reader.words(start, end)
        return Elements(value_of(atoms) for low, high in words for atoms in self.fields(low, high))

    def document(self, start: int, end: int, strip_tabs: bool, expanded: bool) -> TracedText:
        """The body of a here-document. Unknown parts stand in it as they are written (`$X`)."""
        sink = ValueSink(self.source)
        at = start
        while at < end:
            line = self.text.find("\n", at, end) if strip_tabs else -1
            stop = end if line < 0 else line + 1
            begin = at
            while strip_tabs and begin < stop and self.text[begin] == "\t":
                begin += 1
            if expanded:
                self.expand_quoted(begin, stop, sink, _DOCUMENT)
            elif begin < stop:
                self.literal(begin, stop, sink, True)
            at = stop
        return TracedText(flatten(Value([self._as_written(part) for part in sink.parts])))

    def _as_written(self, part: Part) -> Part:
        if isinstance(part, Run):
            return part
        raw = self.text[part.start : part.end]
        if isinstance(part, Hole):
            inside = self.holes is not None and part.start in self.holes
            return part if inside or not raw else Hole(part.unknown, part.source, part.start, part.end, part.many, raw)
        unknown = part.value.unknown()
        return part if unknown is None else Hole(unknown, self.source, part.start, part.end, False, raw)

    # --- parts -----------------------------------------------------------------------------------------------------

    def literal(self, start: int, end: int, sink: Sink, quoted: bool) -> None:
        """Text that stands for itself; holes of a text that was spliced together stay holes."""
        holes = self.holes
        if holes is None:
            sink.run(self.text[start:end], start, end)
            return
        at = start
        while at < end:
            length = self.hole_at(at, sink, quoted)
            if length:
                at += length
                continue
            stop = at + 1
            while stop < end and stop not in holes:
                stop += 1
            sink.run(self.text[at:stop], at, stop)
            at = stop

    def hole_at(self, at: int, sink: Sink, quoted: bool) -> int:
        """Hand on the hole of a spliced text that stands at an offset; its length, 0 where there is none."""
        found = self.holes.get(at) if self.holes is not None else None
        if found is None:
            return 0
        length, hole = found
        sink.hole(hole.moved(self.source, at, at + length), quoted)
        return max(1, length)

    def unknown(
        self,
        reason: str,
        start: int,
        end: int,
        sink: Sink,
        quoted: bool,
        many: bool = False,
        otherwise: str = "",
        choices: tuple[str, ...] = (),
        path: str | None = None,
    ) -> None:
        origin = Origin(self.source.place(start, end))
        unknown = Unknown(reason, origin, choices=choices, path=path, otherwise=otherwise)
        sink.hole(Hole(unknown, self.source, start, end, many), quoted)

    def computed(self, text: str, start: int, end: int) -> Value:
        """A text that was worked out; its place is the expression's."""
        return Value([Run(text, self.source, start, end)] if text else ())

    def shown(self, start: int, end: int) -> str:
        """Source text on one line, short enough for a message."""
        text = " ".join(self.text[start : min(end, start + 200)].split())
        return text if len(text) <= 60 else text[:59] + "…"

    # --- walking a word --------------------------------------------------------------------------------------------

    def expand(self, start: int, end: int, sink: Sink) -> None:
        """An unquoted word."""
        text, reader, budget = self.text, self.reader, self.budget
        at = start
        while at < end:
            plain = _PLAIN.match(text, at, end)
            if plain is not None:
                self.literal(at, plain.end(), sink, False)
                at = plain.end()
                continue
            if not budget.spend(1):
                self.unknown("it is more text than is followed", at, end, sink, False, many=True)
                return
            c = text[at]
            if c == "\\":
                at = self._escape(at, end, sink)
            elif c in "'\"":
                stop = reader.quote_end(at, end)
                inner = stop - 1 if stop - 1 > at and text[stop - 1] == c else stop  # without its end it ends the line
                if c == '"':
                    self.expand_quoted(at + 1, inner, sink)
                elif inner > at + 1:
                    self.literal(at + 1, inner, sink, True)
                sink.quote()
                at = stop
            elif c == "`":
                stop = reader.quote_end(at, end)
                self.command(at, stop, at + 1, stop - 1, sink, False)
                at = stop
            elif c == "$":
                follow = text[at + 1] if at + 1 < end else ""
                if follow == "'" and not (self.holes and at in self.holes):
                    at = self._ansi(at, end, sink)
                elif follow == '"':
                    at += 1
                else:
                    at = shell_parameters.dollar(self, at, end, sink, False)
            elif c == "{" and (template := TEMPLATE.match(text, at, end)) is not None:
                self.unknown("a template expression", at, template.end(), sink, True)
                at = template.end()
            elif c == "~":
                at = self._tilde(at, start, end, sink)
            elif c in "<>" and text.startswith("(", at + 1):
                stop = reader.closing(at + 1, end)
                stop = stop if stop > 0 else end
                self.unknown("it is a process substitution", at, stop, sink, True)
                at = stop
            else:
                self.literal(at, at + 1, sink, False)
                at += 1

    def expand_quoted(self, start: int, end: int, sink: Sink, plain: re.Pattern[str] = _QUOTED) -> None:
        """The inside of double quotes, or of a here-document (where `"` is plain)."""
        text, budget = self.text, self.budget
        escapable = '$`\\"' if plain is _QUOTED else "$`\\"
        at = start
        while at < end:
            found = plain.match(text, at, end)
            if found is not None:
                self._templated(at, found.end(), sink)
                at = found.end()
                continue
            if not budget.spend(1):
                self.unknown("it is more text than is followed", at, end, sink, True, many=True)
                return
            c = text[at]
            follow = text[at + 1 : at + 2]
            if c == "\\":
                if follow == "\n":
                    at += 2
                elif text.startswith("\\\r\n", at):
                    at += 3
                elif follow and follow in escapable and at + 1 < end:
                    sink.run(follow, at, at + 2)
                    at += 2
                else:
                    self.literal(at, at + 1, sink, True)
                    at += 1
            elif c == "`":
                stop = self.reader.quote_end(at, end)
                self.command(at, stop, at + 1, stop - 1, sink, True)
                at = stop
            elif c == "$":
                at = shell_parameters.dollar(self, at, end, sink, True)
            else:
                self.literal(at, at + 1, sink, True)
                at += 1

    def expand_default(self, start: int, end: int, sink: Sink, quoted: bool) -> None:
        """The word of `${X:-word}`."""
        text = self.text
        at = start
        while at < end:
            if quoted:
                # quotes inside a quoted default are taken off
                quote = text.find('"', at, end)
                stop = end if quote < 0 else quote
                self.expand_quoted(at, stop, sink)
                if quote < 0:
                    return
                at = self.reader.closing(quote, end)
                inner = at - 1 if at > 0 else end
                self.expand_quoted(quote + 1, inner, sink)
                at = at if at > 0 else end
            elif text[at] in " \t\n":
                stop = at + 1
                while stop < end and text[stop] in " \t\n":
                    stop += 1
                if isinstance(sink, FieldSink):
                    sink.space()
                else:
                    sink.run(text[at:stop], at, stop)
                at = stop
            else:
                stop = max(at + 1, self.reader.word_end(at, end))
                self.expand(at, stop, sink)
                at = stop

    def command(self, start: int, end: int, low: int, high: int, sink: Sink, quoted: bool) -> None:
        """A command substitution."""
        value = None
        if self.substitute is not None and low < high:
            value = self.substitute(low, high, self.text[start] == "`")
        if value is not None:
            sink.value(value, start, end, quoted)
        else:
            self.unknown(f"it is the output of `{self.shown(low, high)}`", start, end, sink, quoted)

    def _templated(self, start: int, end: int, sink: Sink) -> None:
        """Quoted text in which template expressions are unknown."""
        at = start
        if self.text.find("{{", start, end) >= 0:
            for template in TEMPLATE.finditer(self.text, start, end):
                if template.start() > at:
                    self.literal(at, template.start(), sink, True)
                self.unknown("a template expression", template.start(), template.end(), sink, True)
                at = template.end()
        if at < end:
            self.literal(at, end, sink, True)

    def _escape(self, at: int, end: int, sink: Sink) -> int:
        text = self.text
        if text.startswith("\\\n", at):
            return at + 2
        if text.startswith("\\\r\n", at):
            return at + 3
        if at + 1 >= end:
            sink.run("\\", at, at + 1)
            return at + 1
        if self.holes is not None and at + 1 in self.holes:
            sink.run("\\", at, at + 1)
            return at + 1
        sink.run(text[at + 1], at, at + 2)
        return at + 2

    def _tilde(self, at: int, start: int, end: int, sink: Sink) -> int:
        before = self.text[at - 1] if at > start else ""
        follow = self.text[at + 1] if at + 1 < end else ""
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
        """`$'…'`."""
        text = self.text
        stop = self.reader.ansi_end(at, end)
        inner = stop - 1 if stop - 1 > at + 1 and text[stop - 1] == "'" else stop
        sink.quote()
        begin = at + 2
        for found in _ANSI.finditer(text, begin, inner):
            if found.start() > begin:
                self.literal(begin, found.start(), sink, True)
            code = found.group(1)
            if code[0] in "xu" and len(code) > 1:
                plain = chr(int(code[1:], 16))
            elif code[0] in "01234567":
                plain = chr(int(code, 8) & 0xFF)
            else:
                plain = _ANSI_PLAIN.get(code, found.group() if code.isalnum() else code)
            sink.run(plain, found.start(), found.end())
            begin = found.end()
        if begin < inner:
            self.literal(begin, inner, sink, True)
        return stop

    # --- braces ----------------------------------------------------------------------------------------------------

    def _braced(self, start: int, end: int, depth: int = 0) -> list[list[Atom]] | None:
        """Brace expansion of a plain word, braces in braces left out; None where there is none to be made."""
        text = self.text
        if text.find("{", start, end) < 0:
            return None
        found = _BRACES.search(text, start, end)
        while found is not None and text[found.start() - 1 : found.start()] == "$":
            found = _BRACES.search(text, found.end(), end)
        if found is None or any(c in "'\"`$\\{" for c in text[start : found.start()]):
            return None
        choices = self._choices(found)
        if choices is None:
            return None
        rest = self._braced(found.end(), end, depth + 1) if found.end() < end and depth < _MOST_BRACES else None
        out: list[list[Atom]] = []
        for choice, low, high in choices:
            sink = FieldSink(self.source, self.budget)
            if found.start() > start:
                self.literal(start, found.start(), sink, True)
            sink.run(choice, low, high)
            if rest is None:
                self.expand(found.end(), end, sink)
                out.extend(sink.finish())
            elif self.budget.spend(0, len(rest)):
                head = sink.begin()
                out.extend([*head, *tail] for tail in rest)
            else:
                break
        return out

    @staticmethod
    def _choices(found: re.Match[str]) -> Sequence[tuple[str, int, int]] | None:
        inner = found.group(1)
        series = _RANGE.match(inner)
        if series is not None:
            first, last = int(series.group(1)), int(series.group(2))
            if abs(last - first) > _LONGEST_SERIES:
                return None
            step = 1 if last >= first else -1
            return [(str(n), found.start(), found.end()) for n in range(first, last + step, step)]
        if "," not in inner:
            return None
        out: list[tuple[str, int, int]] = []
        at = found.start() + 1
        for choice in inner.split(","):
            out.append((choice, at, at + len(choice)))
            at += len(choice) + 1
        return out
