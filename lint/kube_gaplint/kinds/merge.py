"""Laying parts of an object over others, as controllers and the API server merge them.

The result is made of the nodes of both, so that every value still points at the line that wrote it.
"""

from __future__ import annotations

from kube_gaplint.text.nodes import Entry, Item, Mapping, Node, Scalar, Sequence, text_at
from kube_gaplint.text.source import Place, Source

# Lists of mappings that merge by a key, as the API's strategic merge patches do; other lists are replaced.
_KEYS: dict[str, str] = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "replicatedJobs": "name",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "ports": "containerPort",
}
_ADDED = frozenset({"tolerations", "envFrom"})
"""Lists without a key that patches extend."""

_DEEPEST = 60


def merged(base: Node | None, patch: Node | None, name: str = "", depth: int = 0) -> Node | None:
    """`patch` over `base`. `name` is the key below which both stand."""
    if patch is None or (isinstance(patch, Scalar) and patch.value is None):
        return base
    if base is None or depth > _DEEPEST:
        return patch
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        return _mappings(base, patch, depth)
    if isinstance(base, Sequence) and isinstance(patch, Sequence):
        if name in _KEYS:
            return _lists(base, patch, _KEYS[name], depth)
        if name in _ADDED:
            return Sequence(base.source, base.span, items=[*base.items, *patch.items])
    return patch


def _mappings(base: Mapping, patch: Mapping, depth: int) -> Mapping:
    entries: dict[str, Entry] = {entry.name: entry for entry in base}
    for entry in patch:
        old = entries.get(entry.name)
        if old is None:
            entries[entry.name] = entry
            continue
        value = merged(old.value, entry.value, entry.name, depth + 1)
        assert value is not None
        entries[entry.name] = entry if value is entry.value else Entry(old.key, value, old.alias)
    return Mapping(base.source, base.span, entries=list(entries.values()))


def _lists(base: Sequence, patch: Sequence, key: str, depth: int) -> Sequence:
    items = list(base.items)
    places = {text_at(item.value, key): index for index, item in enumerate(items)}
    for item in patch.items:
        name = text_at(item.value, key)
        index = places.get(name) if name is not None else None
        if index is None:
            items.append(item)
            continue
        value = merged(items[index].value, item.value, "", depth + 1)
        assert value is not None
        items[index] = Item(value)
    return Sequence(base.source, base.span, items=items)


def table(place: Place, entries: dict[str, Node | None]) -> Mapping:
    """A mapping of these entries at a place; those that are None are left out."""
    made = [
        Entry(Scalar(place.source, place.span, name, name), value)
        for name, value in entries.items()
        if value is not None
    ]
    return Mapping(place.source, place.span, entries=made)


def list_of(place: Place, *values: Node) -> Sequence:
    return Sequence(place.source, place.span, items=[Item(value) for value in values])


def node_of(value: object, source: Source, place: Place) -> Node:
    """Plain data as nodes that all stand at one place (built-in objects that no file holds)."""
    if isinstance(value, dict):
        entries = [
            Entry(Scalar(source, place.span, str(key), str(key)), node_of(item, source, place))
            for key, item in value.items()
        ]
        return Mapping(source, place.span, entries=entries)
    if isinstance(value, list | tuple):
        return Sequence(source, place.span, items=[Item(node_of(item, source, place)) for item in value])
    if isinstance(value, bool):
        return Scalar(source, place.span, str(value).lower(), value)
    if isinstance(value, int | float):
        return Scalar(source, place.span, str(value), value)
    return Scalar(source, place.span, str(value), str(value), "double")
