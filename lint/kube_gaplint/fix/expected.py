"""What a document must mean after its edits.

The data of a document is copied, the changes that are meant are made to the copy, and the edited text must read as the
copy does. So an edit that touches anything else is found out, whatever the reason.
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import TypeAlias

from msgspec import Struct, field

from kube_gaplint.text.edit import Edit, apply
from kube_gaplint.text.nodes import Document, Mapping, Node, Scalar, ScalarValue, Sequence
from kube_gaplint.text.resolve import resolve_plain
from kube_gaplint.text.source import Span


class _Leaf(Struct, eq=False):
    text: str
    value: ScalarValue


class _List(Struct, eq=False):
    items: list[_Data] = field(default_factory=list)


class _Map(Struct, eq=False):
    entries: list[tuple[_Data, _Data]] = field(default_factory=list)
    merged: list[_Data] = field(default_factory=list)
    added: dict[str, _Data] = field(default_factory=dict)
    """New entries, which may stand anywhere among the others."""


_Data: TypeAlias = _Leaf | _List | _Map


class Expected:
    """The data of one document, to be changed and then compared."""

    def __init__(self, document: Document) -> None:
        self._copies: dict[int, _Data] = {}
        self._text_edits: dict[int, tuple[Scalar, list[Edit]]] = {}
        self._root = None if document.root is None else self._copy(document.root)

    def _copy(self, node: Node) -> _Data:
        found = self._copies.get(id(node))
        if found is not None:
            return found
        copy: _Data
        if isinstance(node, Mapping):
            copy = self._copies[id(node)] = _Map()
            copy.entries = [(self._copy(entry.key), self._copy(entry.value)) for entry in node.entries]
            copy.merged = [self._copy(merged) for merged in node.merged]
        elif isinstance(node, Sequence):
            copy = self._copies[id(node)] = _List()
            copy.items = [self._copy(item) for item in node]
        else:
            assert isinstance(node, Scalar)
            copy = self._copies[id(node)] = _Leaf(node.text, node.value)
        return copy

    # Changes. Each takes a node of the document as it was.

    def replace(self, node: Scalar, text: str, *, as_text: bool = False) -> None:
        """Another text in place of a scalar; a text stays a text, anything else is read as Kubernetes does, unless it
        is to become one."""
        leaf = self._copies[id(node)]
        assert isinstance(leaf, _Leaf)
        leaf.text = text
        leaf.value = text if as_text or isinstance(leaf.value, str) else resolve_plain(text)

    def edit_text(self, node: Scalar, start: int, end: int, text: str) -> None:
        """Another text in place of a part of a scalar's text."""
        self._text_edits.setdefault(id(node), (node, []))[1].append(Edit(Span(start, end), text))

    def set(self, node: Mapping, path: tuple[str, ...], value: object) -> None:
        """The value at a path below a mapping; what is missing on the way is made."""
        parent = self._copies[id(node)]
        for name in path[:-1]:
            assert isinstance(parent, _Map)
            below = _entry(parent, name)
            if not isinstance(below, _Map):  # missing, or empty so far
                below = _Map()
                _put(parent, name, below)
            parent = below
        assert isinstance(parent, _Map)
        _put(parent, path[-1], _data(value))

    def append(self, node: Sequence, value: object) -> None:
        parent = self._copies[id(node)]
        assert isinstance(parent, _List)
        parent.items.append(_data(value))

    def insert(self, node: Sequence, before: Node, values: list[object]) -> None:
        """Items behind another one."""
        parent, copy = self._copies[id(node)], self._copies[id(before)]
        assert isinstance(parent, _List)
        index = next(index for index, item in enumerate(parent.items) if item is copy) + 1
        parent.items[index:index] = [_data(value) for value in values]

    def remove(self, parent: Mapping | Sequence, node: Node) -> None:
        """The entry or item whose value (or key) is this node."""
        copy, gone = self._copies[id(parent)], self._copies[id(node)]
        if isinstance(copy, _Map):
            copy.entries = [entry for entry in copy.entries if entry[0] is not gone and entry[1] is not gone]
        else:
            assert isinstance(copy, _List)
            copy.items = [item for item in copy.items if item is not gone]

    def matches(self, document: Document) -> bool:
        """Whether another document has exactly this data, in this order; new entries may stand anywhere."""
        if self._root is None or document.root is None:
            return self._root is None and document.root is None
        for node, edits in self._text_edits.values():
            self.replace(node, apply(node.text, edits))
        self._text_edits.clear()
        seen: set[tuple[int, int]] = set()
        stack: list[tuple[_Data, Node]] = [(self._root, document.root)]
        while stack:
            data, found = stack.pop()
            if (id(data), id(found)) in seen:
                continue
            seen.add((id(data), id(found)))
            if isinstance(data, _Leaf):
                if not isinstance(found, Scalar) or not _same(data, found):
                    return False
            elif isinstance(data, _List):
                if not isinstance(found, Sequence) or len(found.items) != len(data.items):
                    return False
                stack += zip(data.items, found, strict=True)
            else:
                if not isinstance(found, Mapping) or len(found.entries) != len(data.entries) + len(data.added):
                    return False
                if len(found.merged) != len(data.merged):
                    return False
                stack += zip(data.merged, found.merged, strict=True)
                there = iter(data.entries)
                for entry in found.entries:
                    if entry.name in data.added:
                        stack.append((data.added[entry.name], entry.value))
                        continue
                    key, value = next(there, (None, None))
                    if key is None or value is None:
                        return False
                    stack += ((key, entry.key), (value, entry.value))
        return True


def _same(data: _Leaf, node: Scalar) -> bool:
    if isinstance(data.value, str):
        return node.value == data.value and isinstance(node.value, str)
    if data.value != data.value:  # not a number
        return node.value != node.value
    return type(node.value) is type(data.value) and node.value == data.value


def _entry(parent: _Map, name: str) -> _Data | None:
    if name in parent.added:
        return parent.added[name]
    for key, value in reversed(parent.entries):
        if isinstance(key, _Leaf) and key.text == name:
            return value
    return None


def _put(parent: _Map, name: str, value: _Data) -> None:
    """Give an entry a value; an entry that is not there is new."""
    for index in range(len(parent.entries) - 1, -1, -1):
        key = parent.entries[index][0]
        if isinstance(key, _Leaf) and key.text == name:
            parent.entries[index] = (key, value)
            return
    parent.added[name] = value


def _data(value: object) -> _Data:
    if isinstance(value, Dictionary):
        return _Map([(_Leaf(str(name), str(name)), _data(below)) for name, below in value.items()])
    if isinstance(value, list | tuple):
        return _List([_data(below) for below in value])
    assert value is None or isinstance(value, str | int | float)
    return _Leaf(str(value), value)
