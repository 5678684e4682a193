"""YAML nodes with spans.

The composer (`compose.py`) builds them from parser events. A node knows its source, so a composed object (a Kustomize
base with a patch over it) can hold nodes of several files and each still points at the line that wrote it.

An alias is transparent: the entry holds the anchored node itself, and the entry remembers where the alias stands.
Scalars are resolved as Kubernetes does (sigs.k8s.io/yaml): `yes` is a bool, `010` is 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint.text.source import Place, Source, Span

ScalarValue: TypeAlias = "str | int | float | bool | None"
ScalarStyle: TypeAlias = Literal["plain", "single", "double", "literal", "folded"]
Key: TypeAlias = "str | int"


class Properties(Struct, eq=False, kw_only=True):
    """What may stand in front of a node."""

    anchor: str | None = None
    tag: str | None = None


class Node(Properties, eq=False):
    """What every node has. `span` covers the node itself, anchors and tags excluded."""

    source: Source
    span: Span

    @property
    def place(self) -> Place:
        return Place(self.source, self.span)


class Scalar(Node, eq=False, gc=False):
    """A scalar: `text` is its content after unescaping and folding, `value` what Kubernetes reads from it."""

    text: str
    value: ScalarValue
    style: ScalarStyle = "plain"


class Entry(Struct, eq=False):
    """One key and its value in a mapping. `alias` is the span of `*name` where the value is an alias."""

    key: Node
    value: Node
    alias: Span | None = None

    @property
    def name(self) -> str:
        """The key as Kubernetes compares it: always a string; empty for a key that is no scalar."""
        return self.key.text if isinstance(self.key, Scalar) else ""

    @property
    def place(self) -> Place:
        """From the key to the end of the value, where both stand in one file; else the key alone."""
        key, value = self.key, self.value
        if self.alias is not None:
            return Place(key.source, Span(key.span.start, self.alias.end))
        if value.source is not key.source or value.span.end < key.span.start:
            return key.place
        return Place(key.source, Span(key.span.start, value.span.end))


class Mapping(Node, eq=False):
    """A mapping. Duplicate keys are all kept in `entries`; look-ups give the last one, as the API server does.

    `merged` holds the mappings that `<<` brings in; look-ups fall back to them in order.
    """

    entries: list[Entry] = field(default_factory=list)
    flow: bool = False
    merged: list[Mapping] = field(default_factory=list)
    _index: dict[str, Entry] | None = None

    def entry(self, name: str) -> Entry | None:
        index = self._index
        if index is None:
            index = {}
            for mapping in reversed(self.merged):
                for entry in mapping:
                    index[entry.name] = entry
            for entry in self.entries:
                index[entry.name] = entry
            self._index = index
        return index.get(name)

    def get(self, name: str) -> Node | None:
        entry = self.entry(name)
        return None if entry is None else entry.value

    def __iter__(self) -> Iterator[Entry]:
        """The entries in force: own keys (the last of duplicates), then merged ones."""
        self.entry("")
        assert self._index is not None
        return iter(self._index.values())

    def __contains__(self, name: str) -> bool:
        return self.entry(name) is not None

    def changed(self) -> None:
        """Forget the look-up table; to be called after `entries` or `merged` were changed."""
        self._index = None

    def add(self, entry: Entry) -> None:
        """Append an entry whose key is not there yet. The look-up table stays good, so many can be added."""
        self.entries.append(entry)
        if self._index is not None:
            self._index[entry.name] = entry


class Item(Struct, eq=False):
    """One element of a sequence."""

    value: Node
    alias: Span | None = None


class Sequence(Node, eq=False):
    """A sequence."""

    items: list[Item] = field(default_factory=list)
    flow: bool = False

    def __iter__(self) -> Iterator[Node]:
        return (item.value for item in self.items)

    def __len__(self) -> int:
        return len(self.items)


class Document(Struct, eq=False):
    """One YAML document: `root` is None where the document is empty."""

    source: Source
    index: int
    span: Span
    root: Node | None


def dig(node: Node | None, *path: Key) -> Node | None:
    """Follow keys and list indexes; None as soon as something on the way is missing or of another shape."""
    for step in path:
        if isinstance(step, str):
            if not isinstance(node, Mapping):
                return None
            node = node.get(step)
        else:
            if not isinstance(node, Sequence) or not -len(node.items) <= step < len(node.items):
                return None
            node = node.items[step].value
    return node


def scalar(node: Node | None, *path: Key) -> Scalar | None:
    """The scalar at a path, or None."""
    found = dig(node, *path)
    return found if isinstance(found, Scalar) else None


def mapping(node: Node | None, *path: Key) -> Mapping | None:
    """The mapping at a path, or None."""
    found = dig(node, *path)
    return found if isinstance(found, Mapping) else None


def sequence(node: Node | None, *path: Key) -> Sequence | None:
    """The sequence at a path, or None."""
    found = dig(node, *path)
    return found if isinstance(found, Sequence) else None


def text_at(node: Node | None, *path: Key) -> str | None:
    """The text of the scalar at a path, or None; a null is None as well."""
    found = scalar(node, *path)
    return None if found is None or found.value is None else found.text
