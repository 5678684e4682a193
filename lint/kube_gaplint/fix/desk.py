"""The files while they are being fixed: their present text, and where what findings point at stands in it now."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.fix.expected import Expected
from kube_gaplint.text.comments import comments
from kube_gaplint.text.compose import Composed, compose
from kube_gaplint.text.edit import Edit, Overlap, Tree, apply
from kube_gaplint.text.nodes import Document, Mapping, Node, Sequence
from kube_gaplint.text.source import Place, Source, Span


class Refused(Exception):
    """A change cannot be made safely. `reason` completes the sentence "it is not fixed: …"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Draft(Struct, frozen=True):
    """The edits of one finding in one file, and what they change in the data of its documents."""

    file: OpenFile
    edits: tuple[Edit, ...]
    changes: tuple[tuple[Tree, Callable[[Expected], None]], ...] = ()


SHELL_ENDINGS = (".sh", ".bash", ".sbatch", ".slurm")
_OTHER_ENDINGS = (".toml", ".py", *SHELL_ENDINGS)
_DOCUMENT_LINE = lazy_re.compile(r"---(?=[ \t\r\n]|\Z)")
_DIRECTIVE = lazy_re.compile(r"^(?:%|\.\.\.(?=\s|\Z))", re.MULTILINE)
"""What bears on a document beside its own text: a directive in front of it, and the end of the one before."""


class Reading:
    """One text and its documents, which are read when they are first asked for. It never changes, and may be shared."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._trees: dict[int, Tree] = {}

    @cached_property
    def composed(self) -> Composed:
        return compose(self.source)

    @cached_property
    def starts(self) -> list[int]:
        return [document.span.start for document in self.composed.documents]

    @cached_property
    def is_yaml(self) -> bool:
        """Whether it reads as YAML with more than a single text in it; a shell script does not."""
        if self.source.path.lower().endswith(_OTHER_ENDINGS):
            return False  # `[table]` alone would be a list
        return any(isinstance(document.root, Mapping | Sequence) for document in self.composed.documents)

    @cached_property
    def falls_apart(self) -> bool:
        """Whether each document reads the same without the others: it begins with `---`, and nothing else stands
        between two of them."""
        text = self.source.text
        if self.composed.problems or not self.starts or self.starts[0] != 0 or _DIRECTIVE.search(text):
            return False
        return all(_DOCUMENT_LINE.match(text, start) for start in self.starts[1:])

    def document_at(self, offset: int) -> int:
        """The index of the document that an offset stands in; -1 in front of the first."""
        return bisect_right(self.starts, offset) - 1

    def tree_at(self, offset: int) -> Tree | None:
        """The document that holds an offset."""
        index = self.document_at(offset)
        if index < 0 or offset > self.composed.documents[index].span.end:
            return None
        tree = self._trees.get(index)
        if tree is None:
            tree = self._trees[index] = Tree(self.composed.documents[index])
        return tree


class _Part(NamedTuple):
    """Documents one behind the other, from the first to the last index, and all edits in them."""

    first: int
    last: int
    edits: list[Edit]


class OpenFile:
    """One file on the desk. Places of findings are those of the original text; `at` tells where they are now."""

    def __init__(self, reading: Reading) -> None:
        self.original = reading.source
        self._reading = reading
        self._rounds: list[list[Edit]] = []
        self.written: list[Span] = []
        """What fixes wrote so far: no other fix may change it again."""

    @property
    def source(self) -> Source:
        return self._reading.source

    @property
    def composed(self) -> Composed:
        return self._reading.composed

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def is_yaml(self) -> bool:
        """Whether it reads as YAML with more than a single text in it; a shell script does not."""
        return self._reading.is_yaml

    def tree_at(self, offset: int) -> Tree | None:
        """The document that holds an offset of the present text."""
        return self._reading.tree_at(offset)

    def at(self, span: Span) -> Span:
        """Where a span of the original text is now. Raises Refused where a fix has changed it."""
        start, end = span.start, span.end
        for edits in self._rounds:
            start, end = _moved(edits, start, end)
        return Span(start, end)

    def node(self, node: Node) -> tuple[Tree, Node]:
        """The present form of a node, with its document. Raises Refused where it is not in this file."""
        start = self._start(node.span.start)
        tree = self.tree_at(start)
        found = None if tree is None else tree.starting(type(node), start)
        if tree is None or found is None:
            raise Refused("it stands in YAML that is inside a text")
        return tree, found

    def _start(self, start: int) -> int:
        for edits in self._rounds:
            start, _ = _moved(edits, start, start)
        return start

    def attempt(self, drafts: list[Draft]) -> str | None:
        """The text with the edits of some drafts, or None where it would not be what they mean."""
        edits = in_order(edit for draft in drafts for edit in draft.edits)
        try:
            text = apply(self.text, edits)
        except Overlap:
            return None
        if not self.is_yaml:
            return text
        expected: dict[int, Expected] = {}
        for draft in drafts:
            for tree, change in draft.changes:
                index = tree.document.index
                if index not in expected:
                    expected[index] = Expected(self.composed.documents[index])
                change(expected[index])
        parts = self._parts(edits)
        if parts is None:
            return (
                text if self._reads(self.source, compose(Source(self.original.path, text)), edits, expected) else None
            )
        for part in parts:
            if not self._part_reads(part, expected):
                return None
        touched = {index for part in parts for index in range(part.first, part.last + 1)}
        left = (index for index in expected if index not in touched)
        return text if all(expected[index].matches(self.composed.documents[index]) for index in left) else None

    def _parts(self, edits: list[Edit]) -> list[_Part] | None:
        """The documents that edits touch: only these have to be read again, and a file may hold thousands. None where
        the file must be read as a whole."""
        reading = self._reading
        if not reading.falls_apart:
            return None
        parts: list[_Part] = []
        for edit in edits:
            start, end = edit.span.start, edit.span.end
            first = max(reading.document_at(start - 1), 0)  # what is put in front of `---` belongs to the one before
            last = max(reading.document_at(end - 1), first)
            if parts and first <= parts[-1].last:
                before = parts.pop()
                first, last = before.first, max(before.last, last)
                parts.append(_Part(first, last, [*before.edits, edit]))
            else:
                parts.append(_Part(first, last, [edit]))
        documents = reading.composed.documents
        for part in parts:
            low, high = documents[part.first].span.start, documents[part.last].span.end
            text = _within(self.text, low, high, part.edits)
            if _DIRECTIVE.search(text) is not None or (part.first and _DOCUMENT_LINE.match(text) is None):
                return None
            if part.last + 1 < len(documents) and not text.endswith("\n"):
                return None
        return parts

    def _part_reads(self, part: _Part, expected: dict[int, Expected]) -> bool:
        """Whether documents read as they should after the edits in them."""
        documents = self.composed.documents
        low, high = documents[part.first].span.start, documents[part.last].span.end
        source = Source(self.original.path, self.text[low:high])
        after = compose(Source(self.original.path, _within(self.text, low, high, part.edits)))
        edits = [Edit(Span(edit.span.start - low, edit.span.end - low), edit.text) for edit in part.edits]
        return self._reads(source, after, edits, expected, part)

    def _reads(
        self,
        source: Source,
        after: Composed,
        edits: list[Edit],
        expected: dict[int, Expected],
        part: _Part | None = None,
    ) -> bool:
        """Whether a text, or a part of it, reads as it should after its edits, with all comments that they leave."""
        before = self.composed.documents if part is None else self.composed.documents[part.first : part.last + 1]
        if len(after.documents) != len(before) or len(after.problems) > len(self.composed.problems):
            return False
        for was, document in zip(before, after.documents, strict=True):
            wanted = expected.get(was.index) or Expected(was)
            if not wanted.matches(document):
                return False
        if "#" not in source.text:
            return True
        there = before if part is None else compose(source).documents
        return _kept_comments(source, there, edits) == [one.text for one in comments(after.source, after.documents)]

    def accept(self, text: str, edits: Iterable[Edit]) -> None:
        """Make a text the present one."""
        edits = in_order(edits)
        written: list[Span] = []
        for span in self.written:
            start, _ = _moved(edits, span.start, span.start)
            end = _moved_end(edits, span.end)
            written.append(Span(start, max(start, end)))
        shift = 0
        for edit in edits:
            start = edit.span.start + shift
            written.append(Span(start, start + len(edit.text)))
            shift += len(edit.text) - (edit.span.end - edit.span.start)
        self.written = written
        self._rounds.append(edits)
        self._reading = Reading(Source(self.original.path, text))


def _within(text: str, low: int, high: int, edits: list[Edit]) -> str:
    """A part of a text after the edits in it."""
    moved = [Edit(Span(edit.span.start - low, edit.span.end - low), edit.text) for edit in edits]
    return apply(text[low:high], moved)


def _kept_comments(source: Source, documents: list[Document], edits: list[Edit]) -> list[str]:
    """The comments that no edit touches."""
    return [
        comment.text
        for comment in comments(source, documents)
        if not any(
            edit.span.start < comment.place.span.end and comment.place.span.start < edit.span.end for edit in edits
        )
    ]


_NEW_LINE = lazy_re.compile(r"(?:\r\n|\r|\n)([ ]*)")


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """Edits by place. Of new lines at one place the deeper ones come first: they end what the others stand behind."""

    def key(edit: Edit) -> tuple[int, int, int]:
        match = _NEW_LINE.match(edit.text)
        return edit.span.start, edit.span.end, 0 if match is None else -len(match[1])

    return sorted(edits, key=key)


def _moved(edits: list[Edit], start: int, end: int) -> tuple[int, int]:
    """A span after edits that are sorted. An insertion at its start or end is outside of it."""
    before = 0
    inside = 0
    for span, text in edits:
        first, last = span.start, span.end
        if first < last:
            if first < end and start < last:
                raise Refused("another fix changes the same place")
            if first == last == start:
                continue
        if last <= start:
            before += len(text) - (last - first)
        elif first < end:
            inside += len(text) - (last - first)
        else:
            break
    return start + before, end + before + inside


def _moved_end(edits: list[Edit], end: int) -> int:
    return end + sum(len(text) - (span.end - span.start) for span, text in edits if span.end <= end)


class Desk(Struct):
    """All files that fixes touch. `readings`, by path, may be shared by desks that begin with the same files."""

    readings: dict[str, Reading] = field(default_factory=dict)
    files: dict[str, OpenFile] = field(default_factory=dict)

    def open(self, place: Place) -> OpenFile:
        """The file of a place. Raises Refused where it stands in no file of its own."""
        source = place.source
        found = self.files.get(source.path)
        if found is None:
            reading = self.readings.get(source.path)
            if reading is None or reading.source is not source:
                reading = self.readings[source.path] = Reading(source)
            found = self.files[source.path] = OpenFile(reading)
        if found.original is not source and found.original.text != source.text:
            raise Refused("the text that it stands in is no file")
        return found
