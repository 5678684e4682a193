"""The comments of a YAML text.

The parser drops them, so they are found by a scan of our own: a `#` after a blank, outside quoted and block scalars.
"""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.text.nodes import Document, Mapping, Node, Scalar, Sequence
from kube_gaplint.text.source import Place, Source, Span, line_start_before

_HASH = lazy_re.compile(r"(?:(?<=[\s\ufeff])|\A)#[^\r\n\x85\u2028\u2029]*")
_MOST = 100_000
"""More comments than this are not listed: a file made of nothing else is no manifest."""
_LINE_END = lazy_re.compile(r"[\r\n]|\Z")


class Comment(Struct, frozen=True):
    """One comment: its place from the `#` on, its text without `#` and outer blanks, whether the line is its own."""

    place: Place
    text: str
    own_line: bool


def comments(source: Source, documents: list[Document]) -> list[Comment]:
    """All comments of a source in order.

    `documents` are those that were composed of it. Where a document could not be composed, only comments at the very
    start of a line are taken, for there one cannot tell what stands inside a block text.
    """
    text = source.text
    if "#" not in text:
        return []
    hidden = _hidden(documents)
    starts = [span.start for span in hidden]
    composed = [document.span for document in documents if document.source is source]
    document_starts = [span.start for span in composed]
    found: list[Comment] = []
    at = 0
    while True:
        match = _HASH.search(text, at)
        if match is None or len(found) >= _MOST:
            return found
        start, end = match.span()
        index = bisect_right(starts, start) - 1
        if index >= 0 and start < hidden[index].end:
            at = hidden[index].end
            continue
        at = end
        line_start = line_start_before(text, start)
        index = bisect_right(document_starts, start) - 1
        inside = index >= 0 and start < composed[index].end
        if not inside and start != line_start:
            continue
        own_line = not text[line_start:start].strip()
        found.append(Comment(Place(source, Span(start, end)), text[start + 1 : end].strip(), own_line))


def _hidden(documents: list[Document]) -> list[Span]:
    """Spans of scalars that may hold a `#` after a blank, in order. The first line of a block scalar is no part."""
    spans: list[Span] = []
    for document in documents:
        text = document.source.text
        stack: list[Node] = [] if document.root is None else [document.root]
        while stack:
            node = stack.pop()
            if isinstance(node, Scalar):
                start, end = node.span.start, node.span.end
                if node.style in ("literal", "folded"):
                    header = _LINE_END.search(text, start, end)
                    start = end if header is None else header.start()
                elif node.style == "plain":
                    continue
                if start < end:
                    spans.append(Span(start, end))
            elif isinstance(node, Mapping):
                for entry in node.entries:
                    stack.append(entry.key)
                    if entry.alias is None:
                        stack.append(entry.value)
                # What stands in place under a merge key; a merged alias is found again where its anchor stands.
                stack.extend(merged for merged in node.merged if _within(merged.span, node.span))
            elif isinstance(node, Sequence):
                stack.extend(item.value for item in node.items if item.alias is None)
    spans.sort()
    return spans


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
