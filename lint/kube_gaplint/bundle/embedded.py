"""YAML inside a YAML string."""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.text.compose import DEFAULT_LIMITS, Limits, Problem, compose
from kube_gaplint.text.nodes import Document, Mapping, Node, Scalar, Sequence
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import PlacedText, Source, Span


def embedded_documents(node: Scalar, limits: Limits = DEFAULT_LIMITS) -> tuple[list[Document], list[Problem]]:
    """The documents in a string of YAML. All nodes and problems point into the file that holds the string."""
    outer = scalar_text(node)
    composed = compose(Source(node.source.path, outer.text), limits)
    for document in composed.documents:
        _move(document, outer)
    problems = [
        Problem(problem.kind, problem.message, outer.place(problem.place.span.start, problem.place.span.end))
        for problem in composed.problems
    ]
    return composed.documents, problems


def _move(document: Document, outer: PlacedText) -> None:
    """Let all nodes of a document point into the source of the outer text."""

    def moved(span: Span) -> Span:
        return outer.place(span.start, span.end).span

    source = outer.place(0, 0).source
    for node in every_node(document.root):
        node.span = moved(node.span)
        node.source = source
        if isinstance(node, Mapping):
            for entry in node.entries:
                if entry.alias is not None:
                    entry.alias = moved(entry.alias)
        elif isinstance(node, Sequence):
            for item in node.items:
                if item.alias is not None:
                    item.alias = moved(item.alias)
    document.span = moved(document.span)
    document.source = source


def every_node(root: Node | None) -> Iterator[Node]:
    """Every node once, keys and merged mappings included, in no particular order; without recursion."""
    if root is None:
        return
    seen = {id(root)}
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Mapping):
            children = [child for entry in node.entries for child in (entry.key, entry.value)]
            children.extend(node.merged)
        elif isinstance(node, Sequence):
            children = [item.value for item in node.items]
        else:
            continue
        for child in children:
            if id(child) not in seen:
                seen.add(id(child))
                pending.append(child)
