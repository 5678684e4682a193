"""Where the parts of a shell word go while it is expanded: into one value, or into words that are split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from kube_gaplint import lazy_re
from kube_gaplint.launch.shared import Budget
from kube_gaplint.launch.shell_text import Atom, Cell, Hole, Part, Ref, Run, Value, flatten
from kube_gaplint.model.setting import Origin, Unknown
from kube_gaplint.text.source import PlacedText

_SPACE: Final = lazy_re.compile(r"[ \t\n]+")


class Sink(Protocol):
    """Takes the parts of a word in order."""

    def run(self, text: str, start: int, end: int, /) -> None:
        """Known text that is written at `start:end` and is not split."""

    def hole(self, hole: Hole, quoted: bool, /) -> None:
        """An unknown part."""

    def value(self, value: Value, start: int, end: int, quoted: bool, /) -> None:
        """The value of a variable that is used at `start:end`."""

    def values(self, values: Sequence[Value], start: int, end: int, quoted: bool, joined: bool, /) -> None:
        """The elements of an array, or the arguments: separate words, or joined by a blank."""

    def quote(self) -> None:
        """A pair of quotes ends here: the word exists even if it is empty."""

    def space(self) -> None:
        """Blanks that end a word."""


class ValueSink:
    """Collects one value: an assignment, the inside of a `:-` default, a here-document."""

    def __init__(self, source: PlacedText) -> None:
        self.source = source
        self.parts: list[Part] = []

    def run(self, text: str, start: int, end: int, /) -> None:
        if text:
            self.parts.append(Run(text, self.source, start, end))

    def hole(self, hole: Hole, _quoted: bool, /) -> None:
        self.parts.append(hole)

    def value(self, value: Value, start: int, end: int, _quoted: bool, /) -> None:
        if value.parts:
            self.parts.append(Ref(value, self.source, start, end))

    def values(self, values: Sequence[Value], start: int, end: int, quoted: bool, _joined: bool, /) -> None:
        for index, value in enumerate(values):
            if index:
                self.parts.append(Run(" ", self.source, start, end))
            self.value(value, start, end, quoted)

    def quote(self) -> None:
        """A value needs no quotes to exist."""

    def space(self) -> None:
        """Handed on as text by the caller."""

    def result(self) -> Value:
        return Value(self.parts)


class FieldSink:
    """Collects words: splits what is not quoted."""

    def __init__(self, source: PlacedText, budget: Budget) -> None:
        self.source = source
        self.budget = budget
        self.fields: list[list[Atom]] = []
        self.current: list[Atom] | None = None
        self.vanished = False
        """`"${A[@]}"` without elements was seen in the quotes in hand: they make no word of their own."""

    def finish(self) -> list[list[Atom]]:
        self.space()
        return self.fields

    def space(self) -> None:
        if self.current is not None:
            self.fields.append(self.current)
            self.current = None

    def quote(self) -> None:
        if not self.vanished:
            self.begin()
        self.vanished = False

    def begin(self) -> list[Atom]:
        """The word in hand; a new one where there is none."""
        if self.current is None:
            self.current = []
        return self.current

    def add(self, atom: Atom) -> None:
        self.begin().append(atom)

    def run(self, text: str, start: int, end: int, /) -> None:
        if text:
            self.add(Atom(text, self.source, start, end))

    def hole(self, hole: Hole, quoted: bool, /) -> None:
        self.put_hole(Atom("", hole.source, hole.start, hole.end, None, hole), hole, quoted)

    def put_hole(self, atom: Atom, hole: Hole, quoted: bool) -> None:
        if hole.cut_before and not quoted:
            self.space()
        atom.many = hole.many or not quoted
        self.add(atom)
        if hole.cut_after and not quoted:
            self.space()

    def value(self, value: Value, start: int, end: int, quoted: bool, /) -> None:
        if not self.budget.spend(value.size):
            unknown = Unknown("it is more text than is followed", Origin(self.source.place(start, end)))
            self.hole(Hole(unknown, self.source, start, end, many=True), quoted)
            return
        words = 0
        for atom in flatten(value, Cell(self.source, start, end, None)):
            words += 1
            text = atom.text
            if atom.hole is not None:
                self.put_hole(atom, atom.hole, quoted)
            elif quoted or _SPACE.search(text) is None:
                if text:
                    self.add(atom)
            else:
                at = 0
                for space in _SPACE.finditer(text):
                    if space.start() > at:
                        self.add(atom.slice(at, space.start()))
                    self.space()
                    at = space.end()
                    words += 1
                if at < len(text):
                    self.add(atom.slice(at, len(text)))
        self.budget.spend(0, words)

    def values(self, values: Sequence[Value], start: int, end: int, quoted: bool, joined: bool, /) -> None:
        self.vanished = self.vanished or (quoted and not joined and not values)
        for index, value in enumerate(values):
            if index:
                if joined and quoted:
                    self.run(" ", start, end)
                else:
                    self.space()
            if quoted and not joined:
                self.begin()
            self.value(value, start, end, quoted)
            if self.budget.spent:
                break
