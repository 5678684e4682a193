"""Texts inside texts: a cloud-config in a YAML string, a script in that cloud-config, a value that was decoded.

Each is a `PlacedText`, so that what is found deep inside still points at its characters in the file.
"""

from __future__ import annotations

import base64
import binascii

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Mapping, Node, Scalar, Sequence
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Place, PlacedText, Source, Span

_MOST_DECODED = 1 << 20


class Slice(Struct, frozen=True):
    """A part of another text."""

    outer: PlacedText
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.outer.text[self.start : self.end]

    def place(self, start: int, end: int) -> Place:
        return self.outer.place(self.start + start, self.start + end)


class OneLine(Struct, frozen=True):
    """A folded text whose author meant one command: YAML keeps the ends of lines before those that are indented
    further. KubeRay split the entrypoint at any blank up to 1.0; a newer one hands the line ends to a shell."""

    outer: PlacedText

    @property
    def text(self) -> str:
        return _BEFORE_INDENTED.sub(" ", self.outer.text)

    def place(self, start: int, end: int) -> Place:
        return self.outer.place(start, end)


_BEFORE_INDENTED = lazy_re.compile(r"\n(?=[ \t])")


class Fixed(Struct, frozen=True):
    """A text that was made out of something (base64, `printf`): all of it stands at one place."""

    text: str
    at: Place

    def place(self, start: int, end: int) -> Place:  # noqa: ARG002 - the whole is one place
        return self.at


class Nested(Struct, frozen=True):
    """A text inside a text that was parsed as a source of its own."""

    inner: PlacedText
    outer: PlacedText

    @property
    def text(self) -> str:
        return self.inner.text

    def place(self, start: int, end: int) -> Place:
        span = self.inner.place(start, end).span
        return self.outer.place(span.start, span.end)


class InnerYaml(Struct):
    """YAML inside a text. Its nodes point into the file; `text_of` gives a scalar's text with its places."""

    root: Node | None
    broken: str
    """Why it could not be read; empty where it could."""
    outer: PlacedText
    _spans: dict[int, Span] = field(default_factory=dict)
    _source: Source | None = field(default=None)

    def text_of(self, node: Scalar) -> PlacedText:
        span = self._spans.get(id(node))
        if span is None or self._source is None:
            return scalar_text(node)
        inner = replace(node, source=self._source, span=span)
        return Nested(scalar_text(inner), self.outer)


def inner_yaml(text: PlacedText) -> InnerYaml:
    """Read the first document of a text as YAML."""
    source = Source(text.place(0, 0).source.path, text.text)
    composed = compose(source)
    harmless = ("duplicate-key", "repeated-key")
    broken = next((problem.message for problem in composed.problems if problem.kind not in harmless), "")
    root = composed.documents[0].root if composed.documents else None
    found = InnerYaml(root, broken, text, {}, source)
    if root is not None:
        _move(found, root)
    return found


def _move(found: InnerYaml, root: Node) -> None:
    """Let the nodes point into the file, and keep their first spans for `text_of`."""
    outer = found.outer
    source = outer.place(0, 0).source
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        if id(node) in found._spans:
            continue
        found._spans[id(node)] = node.span
        node.span = outer.place(node.span.start, node.span.end).span
        node.source = source
        if isinstance(node, Mapping):
            for entry in node.entries:
                if entry.alias is not None:
                    entry.alias = outer.place(entry.alias.start, entry.alias.end).span
                pending.extend((entry.key, entry.value))
            pending.extend(node.merged)
        elif isinstance(node, Sequence):
            for item in node.items:
                if item.alias is not None:
                    item.alias = outer.place(item.alias.start, item.alias.end).span
                pending.append(item.value)


def decoded(text: PlacedText) -> Fixed | None:
    """A base64 text as what it stands for; None where it is no base64 of readable text."""
    raw = "".join(text.text.split())
    if not raw or len(raw) > 2 * _MOST_DECODED:
        return None
    try:
        content = base64.b64decode(raw, validate=True)
        if content[:2] == b"\x1f\x8b":
            content = _unzipped(content)
        return Fixed(content.decode("utf-8"), text.place(0, len(text.text)))
    except (binascii.Error, ValueError):
        return None


def _unzipped(content: bytes) -> bytes:
    """Gzip content up to a limit. Raises ValueError."""
    import zlib

    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        out = stream.decompress(content, _MOST_DECODED)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if stream.unconsumed_tail:
        raise ValueError("too much to unpack")
    return out


def lines(text: PlacedText) -> list[tuple[str, Slice]]:
    """The lines of a text without their ends, each with its place."""
    out = []
    at = 0
    for raw in text.text.splitlines(keepends=True):
        line = raw.rstrip("\r\n")
        out.append((line, Slice(text, at, at + len(line))))
        at += len(raw)
    return out


def stripped(piece: Slice) -> Slice:
    """The same without blanks around it."""
    text = piece.text
    left = len(text) - len(text.lstrip())
    right = len(text.rstrip())
    return Slice(piece.outer, piece.start + left, piece.start + max(left, right))
