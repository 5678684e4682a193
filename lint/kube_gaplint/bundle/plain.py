"""Nodes as plain data: what the API server would read."""

from __future__ import annotations

from typing import Any

from kube_gaplint.text.nodes import Mapping, Node, Scalar, Sequence


def plain(node: Node | None) -> Any:
    """Dictionaries, lists and scalars. The composer's limit on depth bounds the recursion."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Mapping):
        return {entry.name: plain(entry.value) for entry in node}
    if isinstance(node, Sequence):
        return [plain(item) for item in node]
    return None
