"""Changing nodes without touching those of the file: copies, and small edits on them.

A composed object is a tree of copied mappings and lists whose scalars are those of the files that wrote them, so that
every value still knows its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Items
from functools import cache

from msgspec import Struct

from kube_gaplint.bundle.openness import OpenMapping, OpenSequence
from kube_gaplint.facts.kustomize import FieldSpec
from kube_gaplint.text.limits import BUILD, BUILD_STEPS, BUILDS
from kube_gaplint.text.nodes import Entry, Item, Mapping, Node, Scalar, Sequence, text_at
from kube_gaplint.text.resolve import resolve_plain
from kube_gaplint.text.source import Place

DEEPEST = 250
"""Nesting of a composed object; beyond the composer's own limit, and far from Python's."""


class Unbuildable(Exception):
    """A step that Kustomize would refuse, or that goes over a limit. The place is that of the instruction."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


class OverLimit(Unbuildable):
    """The build as a whole grows too large and is given up."""


class Budget(Struct):
    """How many nodes may still be copied, in one build and in all together. It keeps bases that are taken in again
    and again, and patches that copy their own copies, from growing without end."""

    total: int = BUILDS.most
    one_build: int = BUILD.most
    left: int = BUILD.most
    steps: int = BUILD_STEPS.most

    def start_build(self) -> None:
        self.left = min(self.one_build, self.total)
        self.steps = BUILD_STEPS.most

    def spend(self, nodes: int) -> None:
        self.left -= nodes
        self.total -= nodes
        if self.left < 0:
            raise OverLimit((BUILDS if self.total < 0 else BUILD).message)

    def look_at(self, objects: int) -> None:
        """Take account of objects that one instruction looks at."""
        self.steps -= objects
        if self.steps < 0:
            raise OverLimit(BUILD_STEPS.message)


def copied(node: Node, budget: Budget) -> Node:
    """A deep copy without aliases and merge keys. Scalars are shared, for nothing changes them, but for one kind:
    Kustomize reads YAML 1.2, where `yes` and `on` are strings."""
    if isinstance(node, Mapping):
        entries = [Entry(entry.key, copied(entry.value, budget)) for entry in node]
        budget.spend(len(entries) + 1)
        return Mapping(node.source, node.span, anchor=None, tag=node.tag, entries=entries, flow=node.flow)
    if isinstance(node, Sequence):
        items = [Item(copied(item, budget)) for item in node]
        budget.spend(len(items) + 1)
        return Sequence(node.source, node.span, anchor=None, tag=node.tag, items=items, flow=node.flow)
    if isinstance(node, Scalar) and isinstance(node.value, bool) and node.text.lower() not in ("true", "false"):
        return text_like(node, node.text)
    return node


def opened(node: Node, reason: str, budget: Budget) -> Node:
    """A copy of a tree in which nothing is surely missing."""
    if isinstance(node, Mapping):
        entries = [Entry(entry.key, opened(entry.value, reason, budget)) for entry in node]
        budget.spend(len(entries) + 1)
        mapping = OpenMapping(node.source, node.span, tag=node.tag, entries=entries, flow=node.flow)
        mapping.open_because = reason
        return mapping
    if isinstance(node, Sequence):
        items = [Item(opened(item, reason, budget)) for item in node]
        budget.spend(len(items) + 1)
        sequence = OpenSequence(node.source, node.span, tag=node.tag, items=items, flow=node.flow)
        sequence.open_because = reason
        return sequence
    return node


def copied_mapping(node: Mapping, budget: Budget) -> Mapping:
    copy = copied(node, budget)
    assert isinstance(copy, Mapping)
    return copy


def height(node: Node) -> int:
    """How deep a node nests; a scalar is 1."""
    deepest = 0
    pending = [(node, 1)]
    while pending:
        here, depth = pending.pop()
        deepest = max(deepest, depth)
        if isinstance(here, Mapping):
            pending.extend((entry.value, depth + 1) for entry in here)
        elif isinstance(here, Sequence):
            pending.extend((item, depth + 1) for item in here)
    return deepest


def is_null(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and node.value is None)


def put(mapping: Mapping, key: Scalar, value: Node) -> None:
    """Set a key of a copy, which has no merge keys. One that is there keeps its place in the order; the entry takes the
    key's node with the value."""
    found = mapping.entry(key.text)
    if found is None:
        mapping.add(Entry(key, value))
    else:
        found.key, found.value, found.alias = key, value, None


def drop(mapping: Mapping, name: str) -> bool:
    """Remove a key; whether it was there."""
    kept = [entry for entry in mapping.entries if entry.name != name]
    found = len(kept) != len(mapping.entries)
    if found:
        mapping.entries[:] = kept
        mapping.changed()
    return found


def text_like(node: Node, text: str) -> Scalar:
    """A string that stands where another node does: what was computed from that node."""
    return Scalar(node.source, node.span, text, text, "plain", tag="!!str")


def plain_like(node: Node, text: str) -> Scalar:
    """As `text_like`, but read as unquoted YAML: `8` is a number."""
    return Scalar(node.source, node.span, text, resolve_plain(text), "plain")


def empty_mapping_like(node: Node) -> Mapping:
    return Mapping(node.source, node.span)


class Leaf(Struct, frozen=True):
    """The end of a path: a key of a mapping, or an element of a list."""

    parent: Mapping | Sequence
    key: str
    index: int
    value: Node | None

    def set(self, value: Node, key: Scalar | None = None) -> None:
        if isinstance(self.parent, Sequence):
            self.parent.items[self.index] = Item(value)
            return
        entry = self.parent.entry(self.key)
        if key is None:
            found = entry.key if entry is not None else None
            key = found if isinstance(found, Scalar) else text_like(value, self.key)
        put(self.parent, key, value)


def applies(spec: FieldSpec, api_version: str, kind: str) -> bool:
    """Whether a field specification speaks of objects of this kind."""
    group, slash, version = api_version.rpartition("/")
    return (
        (not spec.kind or spec.kind == kind)
        and (not spec.group or spec.group == (group if slash else ""))
        and (not spec.version or spec.version == version)
    )


@cache
def split_path(path: str) -> tuple[str, ...]:
    """The parts of a path; a backslash before a slash makes it part of a name."""
    if "\\" not in path:
        return tuple(path.split("/"))
    parts: list[str] = [""]
    escaped = False
    for character in path:
        if escaped:
            parts[-1] += character if character == "/" else "\\" + character
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "/":
            parts.append("")
        else:
            parts[-1] += character
    return tuple(parts)


def leaves(root: Mapping, path: Items[str], create_like: Node | None = None) -> Iterator[Leaf]:
    """The ends of a field path. Lists on the way are entered. With `create_like`, missing mappings are made there."""
    pending: list[tuple[Node, int]] = [(root, 0)]
    while pending:
        node, at = pending.pop()
        if isinstance(node, Sequence):
            pending.extend((item, at) for item in reversed(list(node)))
            continue
        if not isinstance(node, Mapping):
            continue
        name = path[at].removesuffix("[]")
        must_be_list = name != path[at]
        value = node.get(name)
        if at == len(path) - 1:
            if value is not None or (create_like is not None and not must_be_list):
                yield Leaf(node, name, 0, value)
            continue
        if is_null(value):
            if create_like is None or must_be_list:
                continue
            value = empty_mapping_like(create_like)
            put(node, text_like(create_like, name), value)
        assert value is not None
        pending.append((value, at + 1))


def api_version_of(node: Mapping) -> str:
    return text_at(node, "apiVersion") or ""


def kind_of(node: Mapping) -> str:
    return text_at(node, "kind") or ""
