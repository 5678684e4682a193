"""Text whose every character knows where it was written.

A shell moves text about: a variable holds options, another one joins them, a `bash -c` string splices both. Findings
must point at the characters that wrote an option, so values are kept as ropes of runs, references and holes, and a
place is found by walking back through the references.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Place, PlacedText

HOLE = "\ue000"
"""Stands for an unknown part where a text with unknown parts is read as a script (a private-use character)."""

MAX_SIZE = 1 << 18
"""Characters plus parts that one value may hold; a longer one is unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class FixedText:
    """A text that stands at one place as a whole: a value out of YAML whose characters are not mapped."""

    text: str
    whole: Place

    def place(self, start: int, end: int) -> Place:
        span = self.whole.span
        if span.end - span.start == len(self.text) and self.whole.text == self.text:
            return Place(self.whole.source, type(span)(span.start + start, span.start + end))
        return self.whole


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Known text and where it stands. It maps character by character where both are of one length."""

    text: str
    source: PlacedText
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Hole:
    """An unknown part. `many`: it may become any number of words even where it is quoted (`"${ARGS[@]}"`).

    `raw` is the text that stands for it where the surrounding text is handed on. `cut_before`/`cut_after` tell that
    a word surely ends before it, or begins after it.
    """

    unknown: Unknown
    source: PlacedText
    start: int
    end: int
    many: bool = False
    raw: str = HOLE
    cut_before: bool = False
    cut_after: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """The value of a variable, and where it is used."""

    value: Value
    source: PlacedText
    start: int
    end: int


Part: TypeAlias = "Run | Hole | Ref"


class Value:
    """A text as a rope of parts."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self.parts = tuple(parts)
        size = 1
        for part in self.parts:
            size += part.value.size if isinstance(part, Ref) else len(part.text) + 1 if isinstance(part, Run) else 1
        if size > MAX_SIZE:
            first = self.parts[0]
            unknown = Unknown("the text is too long to follow", Origin(first.source.place(first.start, first.end)))
            self.parts = (Hole(unknown, first.source, first.start, first.end, many=True),)
            size = 2
        self.size = size

    def known(self) -> str | None:
        """The whole text, or None where part of it is unknown."""
        out: list[str] = []
        for atom in flatten(self):
            if atom.hole is not None:
                return None
            out.append(atom.text)
        return "".join(out)

    def unknown(self) -> Unknown | None:
        """The first unknown part."""
        return next((atom.hole.unknown for atom in flatten(self) if atom.hole is not None), None)

    def setting(self, origin: Origin) -> Setting[str]:
        text = self.known()
        if text is not None:
            return Set(text, origin)
        unknown = self.unknown()
        return Unknown(unknown.reason if unknown is not None else "unknown", origin)


EMPTY = Value()


class Cell:
    """One use of a value: the way from a character back to where it was spliced in."""

    __slots__ = ("depth", "end", "parent", "source", "start")

    def __init__(self, source: PlacedText, start: int, end: int, parent: Cell | None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.parent = parent
        self.depth = 0 if parent is None else parent.depth + 1


class Atom:
    """A run or a hole of a flattened value. `many`: it may become several words where it stands."""

    __slots__ = ("end", "hole", "many", "parent", "source", "start", "text")

    def __init__(
        self,
        text: str,
        source: PlacedText,
        start: int,
        end: int,
        parent: Cell | None = None,
        hole: Hole | None = None,
        many: bool = False,
    ) -> None:
        self.text = text
        self.source = source
        self.start = start
        self.end = end
        self.parent = parent
        self.hole = hole
        self.many = many

    def slice(self, start: int, end: int) -> Atom:
        """The part `text[start:end]` of a known atom."""
        if start == 0 and end == len(self.text):
            return self
        if self.end - self.start == len(self.text):
            return Atom(self.text[start:end], self.source, self.start + start, self.start + end, self.parent)
        return Atom(self.text[start:end], self.source, self.start, self.end, self.parent)


def flatten(value: Value, parent: Cell | None = None) -> Iterator[Atom]:
    """The atoms of a value in order, without recursion."""
    stack: list[tuple[Iterator[Part], Cell | None]] = [(iter(value.parts), parent)]
    while stack:
        parts, cell = stack[-1]
        for part in parts:
            if isinstance(part, Run):
                yield Atom(part.text, part.source, part.start, part.end, cell)
            elif isinstance(part, Hole):
                yield Atom("", part.source, part.start, part.end, cell, part)
            else:
                stack.append((iter(part.value.parts), Cell(part.source, part.start, part.end, cell)))
                break
        else:
            stack.pop()


def place_of(atoms: Sequence[Atom]) -> Place:
    """The span that wrote these atoms: as deep in the references as all of them have in common."""
    first = atoms[0]
    parent, source, low, high = first.parent, first.source, first.start, first.end
    for atom in atoms[1:]:
        other_parent, other_source, start, end = atom.parent, atom.source, atom.start, atom.end
        while other_parent is not parent:
            depth = -1 if parent is None else parent.depth
            other_depth = -1 if other_parent is None else other_parent.depth
            if depth >= other_depth:
                assert parent is not None
                parent, source, low, high = parent.parent, parent.source, parent.start, parent.end
            if other_depth >= depth:
                assert other_parent is not None
                other_source, start, end = other_parent.source, other_parent.start, other_parent.end
                other_parent = other_parent.parent
        if other_source is source:
            low, high = min(low, start), max(high, end)
    return source.place(low, high)


class TracedText:
    """A text made of atoms, as a `PlacedText`. `holes` gives the unknown parts by offset, with their length."""

    __slots__ = ("_atoms", "_starts", "holes", "text")

    def __init__(self, atoms: Sequence[Atom]) -> None:
        self._atoms = list(atoms)
        self._starts: list[int] = []
        self.holes: dict[int, tuple[int, Hole]] = {}
        at = 0
        texts: list[str] = []
        for atom in self._atoms:
            self._starts.append(at)
            text = atom.text
            if atom.hole is not None:
                text = atom.hole.raw
                self.holes[at] = (len(text), atom.hole)
            texts.append(text)
            at += len(text)
        self.text = "".join(texts)

    def place(self, start: int, end: int) -> Place:
        atoms = self._atoms
        if not atoms:
            raise ValueError("an empty text has no place")
        first = max(0, bisect_right(self._starts, start) - 1)
        while first > 0 and start < end and self._starts[first] > start:
            first -= 1
        chosen: list[Atom] = []
        for index in range(first, len(atoms)):
            at = self._starts[index]
            if chosen and at >= end:
                break
            atom = atoms[index]
            if atom.hole is not None:
                chosen.append(atom)
                continue
            low, high = max(0, start - at), min(len(atom.text), max(end - at, start - at))
            if high < low:
                low = high
            if low == high and start < end and len(atoms) > 1 and index + 1 < len(atoms):
                continue
            exact = atom.end - atom.start == len(atom.text)
            chosen.append(
                Atom(atom.text[low:high], atom.source, atom.start + low, atom.start + high, atom.parent)
                if exact
                else atom
            )
        return place_of(chosen or atoms[-1:])


@dataclass(slots=True, eq=False)
class Field:
    """A word in the making."""

    atoms: list[Atom] = field(default_factory=list)


def make_word(atoms: Sequence[Atom], fallback: Place) -> Word:
    """A `Word` out of atoms; `fallback` is the place of a word that is empty."""
    if not atoms:
        return Word(("",), fallback)
    pieces: list[str | Unknown] = []
    run: list[str] = []
    many = False
    lone = True
    for atom in atoms:
        if atom.hole is not None:
            if run:
                pieces.append("".join(run))
                run = []
            pieces.append(atom.hole.unknown)
            many = many or atom.many
        elif atom.text:
            lone = False
            run.append(atom.text)
    if run or not pieces:
        pieces.append("".join(run))
    return Word(tuple(pieces), place_of(atoms), many and lone, TracedText(atoms))


def word_value(word: Word, source: PlacedText, start: int, end: int) -> Value:
    """A word as a value that is used at `source[start:end]`: for positional parameters."""
    return Value([Ref(Value(word_parts(word)), source, start, end)])


def word_parts(word: Word) -> list[Part]:
    """The parts of a word, with the finest places that it knows."""
    text = word_text(word)
    out: list[Part] = []
    if word.known is not None:
        return [Run(text.text, text, 0, len(text.text))] if text.text else []
    if isinstance(text, TracedText):
        at = 0
        for piece in word.pieces:
            if isinstance(piece, str):
                if piece:
                    out.append(Run(piece, text, at, at + len(piece)))
                at += len(piece)
            else:
                length, hole = text.holes.get(at, (0, None))
                raw = hole.raw if hole is not None else HOLE
                out.append(Hole(piece, text, at, at + length, word.multiple, raw))
                at += length
        return out
    whole = FixedText(word.shown, word.place)
    for piece in word.pieces:
        if isinstance(piece, str):
            out.append(Run(piece, whole, 0, 0))
        else:
            out.append(Hole(piece, whole, 0, 0, word.multiple))
    return out


def word_text(word: Word) -> PlacedText:
    """The text of a word for reading it as a script; `HOLE` stands for each unknown part."""
    if word.placed is not None:
        return word.placed
    known = word.known
    if known is not None:
        return FixedText(known, word.place)
    whole = FixedText("".join(piece if isinstance(piece, str) else HOLE for piece in word.pieces), word.place)
    atoms: list[Atom] = []
    at = 0
    for piece in word.pieces:
        if isinstance(piece, str):
            atoms.append(Atom(piece, whole, at, at + len(piece)))
            at += len(piece)
        else:
            atoms.append(Atom("", whole, at, at + 1, None, Hole(piece, whole, at, at + 1, word.multiple)))
            at += 1
    return TracedText(atoms)


def joined(words: Sequence[Word]) -> PlacedText | None:
    """The words with one space between them, as `eval` and `$*` join them; None for no words."""
    atoms: list[Atom] = []
    for index, word in enumerate(words):
        if index:
            atoms.append(Atom(" ", FixedText(" ", word.place), 0, 1))
        atoms.extend(flatten(Value(word_parts(word))))
    return TracedText(atoms) if atoms else None


def text_of(value: Value) -> TracedText:
    """A value as a text with places and holes."""
    return TracedText(list(flatten(value)))
