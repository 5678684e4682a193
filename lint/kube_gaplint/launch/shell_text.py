"""Text whose every character knows where it was written.

A shell moves text about: a variable holds options, another one joins them, a `bash -c` string splices both. Findings
must point at the characters that wrote an option, so values are kept as ropes of runs, references and holes, and a
place is found by walking back through the references. Ropes share their parts, so a script that appends to a
variable ten thousand times costs ten thousand steps; nothing recurses.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint.launch.shared import HOLE
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Place, PlacedText, Span

MAX_SIZE: Final = 1 << 18
"""Characters plus parts that one value may hold; a longer one is unknown."""


class FixedText(Struct, frozen=True, eq=False):
    """A text that stands at one place as a whole: a value out of YAML whose characters are not mapped."""

    text: str
    whole: Place

    def place(self, start: int, end: int) -> Place:
        span = self.whole.span
        if span.end - span.start == len(self.text) and self.whole.text == self.text:
            return Place(self.whole.source, Span(span.start + start, span.start + end))
        return self.whole


class SliceText(Struct, frozen=True, eq=False):
    """A part of another text, as a text of its own."""

    source: PlacedText
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def place(self, start: int, end: int) -> Place:
        return self.source.place(self.start + start, self.start + end)


class Run(Struct, frozen=True, eq=False):
    """Known text and where it stands. It maps character by character where both are of one length."""

    text: str
    source: PlacedText
    start: int
    end: int


class Hole(Struct, frozen=True, eq=False):
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

    def moved(self, source: PlacedText, start: int, end: int) -> Hole:
        """The hole as it stands in a text that was spliced together."""
        return replace(self, source=source, start=start, end=end)


class Ref(Struct, frozen=True, eq=False):
    """The value of a variable, and where it is used. `source` None: nowhere, it was merged out of branches."""

    value: Value
    source: PlacedText | None
    start: int
    end: int


Part: TypeAlias = "Run | Hole | Ref"


class Value:
    """A text as a rope of parts. `size` is its characters and parts, references followed."""

    __slots__ = ("_known", "_worked_out", "parts", "size")

    parts: tuple[Part, ...]
    size: int

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self.parts = tuple(parts)
        self._known: str | None = None
        self._worked_out = False
        self.size = 1
        for part in self.parts:
            if isinstance(part, Ref):
                self.size += part.value.size
            else:
                self.size += len(part.text) + 1 if isinstance(part, Run) else 1
        if self.size > MAX_SIZE:
            source, start, end = next((p.source, p.start, p.end) for p in self.parts if p.source is not None)
            unknown = Unknown("the text is too long to follow", Origin(source.place(start, end)))
            self.parts = (Hole(unknown, source, start, end, many=True),)
            self.size = 2

    def known(self) -> str | None:
        """The whole text, or None where part of it is unknown."""
        stack = [self]
        while stack:
            value = stack[-1]
            if value._worked_out:
                stack.pop()
                continue
            missing = [p.value for p in value.parts if isinstance(p, Ref) and not p.value._worked_out]
            if missing:
                stack.append(missing[0])
                continue
            texts: list[str] = []
            for part in value.parts:
                text = None if isinstance(part, Hole) else part.text if isinstance(part, Run) else part.value._known
                if text is None:
                    break
                texts.append(text)
            else:
                value._known = "".join(texts)
            value._worked_out = True
            stack.pop()
        return self._known

    def unknown(self) -> Unknown | None:
        """The first unknown part."""
        if self.known() is not None:
            return None
        return next((atom.hole.unknown for atom in flatten(self) if atom.hole is not None), None)

    def setting(self, origin: Origin) -> Setting[str]:
        text = self.known()
        if text is not None:
            return Set(text, origin, rope=self)
        prefix: list[str] = []
        atoms = flatten(self)
        for atom in atoms:
            if atom.hole is not None:
                unknown = atom.hole.unknown
                alone = bool(unknown.otherwise) and not prefix and next(atoms, None) is None
                otherwise = unknown.otherwise if alone else ""
                return Unknown(unknown.reason, origin, "".join(prefix), otherwise=otherwise, rope=self)
            prefix.append(atom.text)
        return Unknown("not known", origin)

    @property
    def many(self) -> bool:
        """Whether it is one element that may stand for any number of words."""
        value = self
        for _ in range(8):
            if len(value.parts) != 1:
                return False
            part = value.parts[0]
            if isinstance(part, Hole):
                return part.many
            if isinstance(part, Run):
                return False
            value = part.value
        return False


EMPTY: Final = Value()


class Elements(tuple[Value, ...]):
    """The elements of an array, or the arguments of a shell. Each knows whether one of them may stand for any number of
    elements, and what is made out of another one is told by that, so that changes one by one stay cheap."""

    @cached_property
    def many(self) -> bool:
        return any(value.many for value in self)

    def joined(self, more: Iterable[Value]) -> Elements:
        """These elements and more behind them."""
        behind = Elements(more)
        found = Elements((*self, *behind))
        found.many = self.many or behind.many
        return found

    def changed(self, at: int, value: Value) -> Elements:
        """These elements with one of them changed; with one more where it stands right behind the last."""
        found = Elements((*self[:at], value, *self[at + 1 :]))
        if not self.many:
            found.many = value.many
        return found

    def without(self, count: int) -> Elements:
        """These elements without the first ones."""
        found = Elements(self[count:])
        if not self.many:
            found.many = False
        return found


NO_ELEMENTS: Final = Elements()


def located(value: Value) -> str | None:
    """The path in the repository of a value that begins with a folder which only the run tells; None for others."""
    atoms = flatten(value)
    first = next(atoms, None)
    if first is None or first.hole is None or first.hole.unknown.path is None:
        return None
    rest = list(atoms)
    if any(one.hole is not None for one in rest):
        return None
    tail = "".join(one.text for one in rest)
    return posixpath.normpath((first.hole.unknown.path or ".") + tail) if tail[:1] in ("", "/") else None


class Cell:
    """One use of a value: the way from a character back to where it was spliced in."""

    __slots__ = ("depth", "end", "parent", "source", "start")

    def __init__(self, source: PlacedText, start: int, end: int, parent: Cell | None) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1


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
                use = cell if part.source is None else Cell(part.source, part.start, part.end, cell)
                stack.append((iter(part.value.parts), use))
                break
        else:
            stack.pop()


def _common(atoms: Sequence[Atom]) -> tuple[Cell | None, PlacedText, int, int]:
    """The deepest use that all atoms have in common, and the span in the text below it that wrote them."""
    first = atoms[0]
    parent, source, low, high = first.parent, first.source, first.start, first.end
    for atom in atoms[1:]:
        cell, other, start, end = atom.parent, atom.source, atom.start, atom.end
        while cell is not parent:
            depth = -1 if parent is None else parent.depth
            other_depth = -1 if cell is None else cell.depth
            if parent is not None and depth >= other_depth:
                source, low, high = parent.source, parent.start, parent.end
                parent = parent.parent
            if cell is not None and other_depth >= depth:
                other, start, end = cell.source, cell.start, cell.end
                cell = cell.parent
        if other is source:
            low, high = min(low, start), max(high, end)
    return parent, source, low, high


def place_of(atoms: Sequence[Atom]) -> Place:
    """The span that wrote these atoms: as deep in the references as all of them have in common."""
    _, source, low, high = _common(atoms)
    return source.place(low, high)


def value_of(atoms: Sequence[Atom]) -> Value:
    """A word as a value that keeps its places: an element of an array, an argument of a function."""
    if not atoms:
        return EMPTY
    top, _, _, _ = _common(atoms)
    lone = all(atom.hole is not None for atom in atoms)
    # open references, outermost first: those that consecutive atoms share are opened once
    path: list[Cell] = []
    levels: list[list[Part]] = [[]]

    def close(count: int) -> None:
        while len(path) > count:
            cell = path.pop()
            inner = levels.pop()
            levels[-1].append(Ref(Value(inner), cell.source, cell.start, cell.end))

    for atom in atoms:
        cells: list[Cell] = []
        cell = atom.parent
        while cell is not top and cell is not None and len(cells) < _DEEPEST:
            cells.append(cell)
            cell = cell.parent
        cells.reverse()
        same = 0
        while same < len(cells) and same < len(path) and cells[same] is path[same]:
            same += 1
        close(same)
        for cell in cells[same:]:
            path.append(cell)
            levels.append([])
        if atom.hole is None:
            levels[-1].append(Run(atom.text, atom.source, atom.start, atom.end))
        else:
            hole = atom.hole
            levels[-1].append(
                replace(hole, source=atom.source, start=atom.start, end=atom.end, many=atom.many and lone)
            )
    close(0)
    return Value(levels[0])


_DEEPEST: Final = 40
"""References that a value of a word keeps; what lies further out is left away."""


class TracedText:
    """A text made of atoms, as a `PlacedText`. `holes` gives the unknown parts by offset, with their length."""

    __slots__ = ("_atoms", "_holes", "_starts", "_text")

    def __init__(self, atoms: Iterable[Atom]) -> None:
        self._atoms = list(atoms)
        self._starts: list[int] = []
        self._holes: dict[int, tuple[int, Hole]] = {}
        self._text: str | None = None

    def _lay_out(self) -> str:
        at = 0
        texts: list[str] = []
        for atom in self._atoms:
            self._starts.append(at)
            text = atom.text
            if atom.hole is not None:
                text = atom.hole.raw
                self._holes[at] = (len(text), atom.hole)
            texts.append(text)
            at += len(text)
        self._text = "".join(texts)
        return self._text

    @property
    def text(self) -> str:
        return self._text if self._text is not None else self._lay_out()

    @property
    def holes(self) -> dict[int, tuple[int, Hole]]:
        if self._text is None:
            self._lay_out()
        return self._holes

    def place(self, start: int, end: int) -> Place:
        """Where `text[start:end]` was written; a text without any atom has no place and must not be asked."""
        if self._text is None:
            self._lay_out()
        atoms, starts = self._atoms, self._starts
        low = max(0, bisect_right(starts, start) - 1)
        while low > 0 and start == starts[low] and not atoms[low].text and atoms[low].hole is None:
            low -= 1
        high = max(low + 1, bisect_right(starts, end - 1)) if end > start else low + 1
        chosen = [self._cut(index, start, end) for index in range(low, min(high, len(atoms)))]
        return place_of(chosen)

    def _cut(self, index: int, start: int, end: int) -> Atom:
        atom = self._atoms[index]
        if atom.hole is not None or atom.end - atom.start != len(atom.text):
            return atom
        at = self._starts[index]
        length = len(atom.text)
        low = max(0, min(start - at, length))
        high = max(low, min(end - at, length))
        return Atom(atom.text[low:high], atom.source, atom.start + low, atom.start + high, atom.parent)


def make_word(atoms: Sequence[Atom]) -> Word:
    """A `Word` out of its atoms, of which there is one at least."""
    if len(atoms) == 1 and atoms[0].hole is None:
        atom = atoms[0]
        if atom.end - atom.start == len(atom.text):
            part = SliceText(atom.source, atom.start, atom.end)
            return Word((atom.text,), atom.source.place(atom.start, atom.end), False, part)
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


def word_text(word: Word) -> PlacedText:
    """The text of a word for reading it as a script; `HOLE` stands for each unknown part."""
    if word.placed is not None:
        return word.placed
    known = word.known
    return FixedText(known, word.place) if known is not None else TracedText(flatten(Value(word_parts(word))))


def word_parts(word: Word) -> list[Part]:
    """The parts of a word, with the finest places that it knows."""
    text = word.placed
    if word.known is not None:
        source = text if text is not None else FixedText(word.known, word.place)
        return [Run(word.known, source, 0, len(word.known))] if word.known else []
    out: list[Part] = []
    at = 0
    traced = text if isinstance(text, TracedText) else None
    whole = FixedText(word.shown, word.place)
    for piece in word.pieces:
        if traced is None:
            # the text of another kind has no table of its unknown parts: then each part stands at the whole word
            part: Part = Run(piece, whole, 0, 0) if isinstance(piece, str) else Hole(piece, whole, 0, 0, word.multiple)
            out.append(part)
        elif isinstance(piece, str):
            out.append(Run(piece, traced, at, at + len(piece)))
            at += len(piece)
        else:
            length, hole = traced.holes.get(at, (0, None))
            plain = Hole(piece, traced, at, at + length, word.multiple)
            out.append(
                plain if hole is None else replace(hole, source=traced, start=at, end=at + length, many=word.multiple)
            )
            at += length
    return out


def word_value(word: Word) -> Value:
    """A word as a value."""
    return Value(word_parts(word))


def joined(words: Sequence[Word]) -> TracedText | None:
    """The words with one space between them, as `eval` and `echo` join them; None for no words."""
    atoms: list[Atom] = []
    for index, word in enumerate(words):
        if index:
            atoms.append(Atom(" ", FixedText(" ", word.place), 0, 1))
        atoms.extend(flatten(word_value(word)))
    return TracedText(atoms) if atoms else None


def text_of(value: Value) -> TracedText:
    """A value as a text with places and holes."""
    return TracedText(flatten(value))
