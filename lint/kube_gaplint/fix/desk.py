"""The files while they are being fixed: their present text, and where what findings point at stands in it now."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.fix.expected import Expected
from kube_gaplint.text.comments import comments
from kube_gaplint.text.compose import Composed, compose
from kube_gaplint.text.edit import Edit, Overlap, Tree, apply
from kube_gaplint.text.nodes import Mapping, Node, Sequence
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


class OpenFile:
    """One file on the desk. Places of findings are those of the original text; `at` tells where they are now."""

    def __init__(self, source: Source) -> None:
        self.original = source
        self._rounds: list[list[Edit]] = []
        self.written: list[Span] = []
        """What fixes wrote so far: no other fix may change it again."""
        self._read(source.text)

    def _read(self, text: str) -> None:
        self.source = self.original if text == self.original.text else Source(self.original.path, text)
        self.composed: Composed = compose(self.source)
        self._trees: dict[int, Tree] = {}
        self._starts = [document.span.start for document in self.composed.documents]

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def is_yaml(self) -> bool:
        """Whether it reads as YAML with more than a single text in it; a shell script does not."""
        return any(isinstance(document.root, Mapping | Sequence) for document in self.composed.documents)

    def tree_at(self, offset: int) -> Tree | None:
        """The document that holds an offset of the present text."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset > self.composed.documents[index].span.end:
            return None
        tree = self._trees.get(index)
        if tree is None:
            tree = self._trees[index] = Tree(self.composed.documents[index])
        return tree

    def at(self, span: Span) -> Span:
        """Where a span of the original text is now. Raises Refused where a fix has changed it."""
        start, end = span
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
        after = compose(Source(self.original.path, text))
        before = self.composed
        if len(after.documents) != len(before.documents) or len(after.problems) > len(before.problems):
            return None
        expected: dict[int, Expected] = {}
        for draft in drafts:
            for tree, change in draft.changes:
                index = tree.document.index
                if index not in expected:
                    expected[index] = Expected(before.documents[index])
                change(expected[index])
        for index, document in enumerate(after.documents):
            wanted = expected.get(index) or Expected(before.documents[index])
            if not wanted.matches(document):
                return None
        return text if self._keeps_comments(after, edits) else None

    def _keeps_comments(self, after: Composed, edits: list[Edit]) -> bool:
        if "#" not in self.text:
            return True
        kept = [
            comment.text
            for comment in comments(self.source, self.composed.documents)
            if not any(
                edit.span.start < comment.place.span.end and comment.place.span.start < edit.span.end for edit in edits
            )
        ]
        return kept == [comment.text for comment in comments(after.source, after.documents)]

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
        self._read(text)


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
    for (first, last), text in edits:
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
    return end + sum(len(text) - (last - first) for (first, last), text in edits if last <= end)


class Desk(Struct):
    """All files that fixes touch."""

    files: dict[str, OpenFile] = field(default_factory=dict)

    def open(self, place: Place) -> OpenFile:
        """The file of a place. Raises Refused where it stands in no file of its own."""
        source = place.source
        found = self.files.get(source.path)
        if found is None:
            found = self.files[source.path] = OpenFile(source)
        if found.original is not source and found.original.text != source.text:
            raise Refused("the text that it stands in is no file")
        return found
