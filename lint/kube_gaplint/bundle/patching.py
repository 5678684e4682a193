"""Strategic merge patches and JSON patches, as Kustomize applies them, on nodes.

What a patch sets keeps the patch's nodes, what it leaves alone keeps the base's: every value still points at the line
that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kube_gaplint.bundle.editing import (
    DEEPEST,
    Budget,
    Unbuildable,
    api_version_of,
    copied,
    drop,
    height,
    is_null,
    kind_of,
    put,
    text_like,
)
from kube_gaplint.bundle.plain import plain
from kube_gaplint.facts.kustomize import ROOT_TYPES, TYPES, ListField
from kube_gaplint.text.nodes import Entry, Item, Mapping, Node, Scalar, Sequence, scalar, text_at
from kube_gaplint.text.source import Place

_DIRECTIVE = "$patch"
_LONGEST_POINTER = 100


def strategic_merge(target: Mapping, patch: Mapping, budget: Budget) -> Mapping | None:
    """The target with a strategic merge patch over it; None where the patch deletes it. The target is changed.

    Raises Unbuildable where Kustomize refuses the patch.
    """
    own = copied(patch, budget)
    assert isinstance(own, Mapping)
    return _merge_mappings(target, own, ROOT_TYPES.get((api_version_of(target), kind_of(target)), ""))


def _merge_mappings(target: Mapping, patch: Mapping, type_name: str) -> Mapping | None:
    directive = _take_directive(patch)
    if directive == "delete":
        return None
    if directive == "replace":
        return _added_mapping(patch, type_name)
    for entry in list(patch.entries):
        if not isinstance(entry.key, Scalar):
            continue
        field = TYPES.get(type_name, {}).get(entry.name, "")
        before = target.get(entry.name)
        merged = _merge(before, entry.value, field)
        if merged is None:
            drop(target, entry.name)
        elif merged is not before:
            put(target, entry.key, merged)
    return target


def _merge(target: Node | None, patch: Node, field: str | ListField) -> Node | None:
    """The value after the patch; None where it is removed."""
    if is_null(patch):
        return None
    if is_null(target):
        return _added(patch, field)
    if isinstance(patch, Mapping) and isinstance(target, Mapping):
        return _merge_mappings(target, patch, field if isinstance(field, str) else "")
    if isinstance(patch, Sequence) and isinstance(target, Sequence):
        if isinstance(field, ListField):
            return _merge_lists(target, patch, field)
        return patch
    if isinstance(patch, Scalar) and isinstance(target, Scalar):
        return patch
    raise Unbuildable("the patch has a value of another shape than the object", patch.place)


def _added(patch: Node, field: str | ListField) -> Node | None:
    """What a patch adds where nothing was: without nulls and directives."""
    if isinstance(patch, Mapping):
        return _added_mapping(patch, field if isinstance(field, str) else "")
    if isinstance(patch, Sequence) and isinstance(field, ListField):
        _take_list_directive(patch)
        patch.items[:] = [Item(item) for item in _added_items(patch, field)]
    return patch


def _added_mapping(patch: Mapping, type_name: str) -> Mapping | None:
    if _take_directive(patch) == "delete":
        return None
    kept = []
    for entry in patch.entries:
        field = TYPES.get(type_name, {}).get(entry.name, "")
        value = None if is_null(entry.value) else _added(entry.value, field)
        if value is not None:
            kept.append(Entry(entry.key, value))
    patch.entries[:] = kept
    patch.changed()
    return patch


def _added_items(patch: Sequence, field: ListField) -> Iterable[Node]:
    for item in patch:
        if not isinstance(item, Mapping):
            yield item
            continue
        added = _added_mapping(item, field.item)
        if added is not None and added.entries:
            yield added


def _merge_lists(target: Sequence, patch: Sequence, field: ListField) -> Sequence | None:
    """A list of named elements after the patch: those of the patch first, in its order, then the others."""
    directive = _take_list_directive(patch)
    if directive == "delete":
        return None
    if directive == "replace":
        patch.items[:] = [Item(item) for item in _added_items(patch, field)]
        return patch
    if not field.keys:
        seen: dict[str, Node] = {}
        for item in (*patch, *target):
            if isinstance(item, Scalar):
                seen.setdefault(item.text, item)
        target.items[:] = [Item(item) for item in seen.values()]
        return target
    for item in patch:
        if not isinstance(item, Mapping):
            raise Unbuildable("an element of a list of named elements is no mapping", item.place)
    rest = list(target)
    merged: list[Node] = []
    for identity in _identities((*patch, *target), field.keys):
        new, old = _element(patch, identity), _element(target, identity)
        if new is None:
            continue
        if old is None:
            result = _added_mapping(new, field.item)
        else:
            rest = [other for other in rest if other is not old]
            result = _merge_mappings(old, new, field.item)
        if result is not None and result.entries:
            merged.append(result)
    target.items[:] = [Item(item) for item in (*merged, *rest)]
    return target


_Identity = tuple[tuple[str, str], ...]


def _identities(items: Iterable[Node], keys: tuple[str, ...]) -> list[_Identity]:
    """The identities of all elements, in order, each once: the values of the merge keys that it has.

    Where one element lacks a secondary key (the protocol of a port) and another of the same first key has it, both
    count as one. As in Kustomize, only the one that has the key is then found.
    """
    found: list[dict[str, str]] = []
    for item in items:
        values = {key: text for key in keys if (text := text_at(item, key)) is not None}
        same = next((other for other in found if _compatible(values, other)), None)
        if same is None:
            found.append(values)
        else:
            same.update(values)
    return [tuple(values.items()) for values in found if values]


def _compatible(one: dict[str, str], two: dict[str, str]) -> bool:
    shared = one.keys() & two.keys()
    return bool(shared) and all(one[key] == two[key] for key in shared)


def _element(items: Sequence, identity: _Identity) -> Mapping | None:
    for item in items:
        if isinstance(item, Mapping) and all(text_at(item, key) == value for key, value in identity):
            return item
    return None


def _take_directive(patch: Mapping) -> str:
    directive = text_at(patch, _DIRECTIVE)
    if directive is None:
        return ""
    if directive not in ("delete", "replace", "merge"):
        found = patch.get(_DIRECTIVE)
        raise Unbuildable(f"unknown patch directive {directive}", None if found is None else found.place)
    drop(patch, _DIRECTIVE)
    return directive


def _take_list_directive(patch: Sequence) -> str:
    """The directive of a whole list stands in an element of its own."""
    for item in patch.items:
        value = item.value
        if isinstance(value, Mapping) and len(value.entries) == 1 and _DIRECTIVE in value:
            patch.items[:] = [other for other in patch.items if other is not item]
            return _take_directive(value)
    return ""


# JSON patches (RFC 6902)


def json_patch(target: Mapping, operations: Sequence, budget: Budget) -> Mapping:
    """The target after all operations; the target is changed. Raises Unbuildable for an operation that fails."""
    root: Node = target
    for operation in operations:
        if not isinstance(operation, Mapping):
            raise Unbuildable("an operation of a JSON patch is no mapping", operation.place)
        root = _operate(root, operation, budget)
    if not isinstance(root, Mapping):
        raise Unbuildable("the JSON patch replaces the object by something else", operations.place)
    return root


def _operate(root: Node, operation: Mapping, budget: Budget) -> Node:
    name = text_at(operation, "op")
    path = scalar(operation, "path")
    if path is None:
        raise Unbuildable("a JSON patch operation has no path", operation.place)
    place = path.place
    tokens = _tokens(path)
    if name == "test":
        if plain(_at(root, tokens, place)) != plain(operation.get("value")):
            raise Unbuildable(f"the test of {path.text} fails", place)
        return root
    if name == "remove":
        _remove(root, tokens, place)
        return root
    if name in ("move", "copy"):
        origin = scalar(operation, "from")
        if origin is None:
            raise Unbuildable("a JSON patch operation has no from", operation.place)
        value = _at(root, _tokens(origin), origin.place)
        if name == "move":
            _remove(root, _tokens(origin), origin.place)
        value = copied(value, budget)
    elif name in ("add", "replace"):
        given = operation.get("value")
        if given is None:
            raise Unbuildable("a JSON patch operation has no value", operation.place)
        value = copied(given, budget)
    else:
        raise Unbuildable(f"unknown JSON patch operation {name}", operation.place)
    if height(value) + len(tokens) > DEEPEST:
        raise Unbuildable("the JSON patch nests too deep", place)
    if not tokens:
        return value
    _add(_at(root, tokens[:-1], place), tokens[-1], value, path, replace=name == "replace")
    return root


def _tokens(path: Scalar) -> list[str]:
    if not path.text:
        return []
    tokens = path.text.split("/")
    if tokens[0] or len(tokens) > _LONGEST_POINTER:
        raise Unbuildable(f"{path.text[:80]} is no JSON pointer", path.place)
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens[1:]]


def _index(node: Sequence, token: str, place: Place, *, extra: int = 0) -> int:
    """The index that a token means; negative ones count from the end."""
    if not token.lstrip("-").isascii() or not token.lstrip("-").isdigit() or len(token) > 9:
        raise Unbuildable(f"{token[:40]} is no index of a list", place)
    index = int(token)
    size = len(node) + extra
    if not -size <= index < size:
        raise Unbuildable(f"the list has no element {token}", place)
    return index + size if index < 0 else index


def _at(root: Node, tokens: Iterable[str], place: Place) -> Node:
    node = root
    for token in tokens:
        found = None
        if isinstance(node, Mapping):
            found = node.get(token)
        elif isinstance(node, Sequence):
            found = node.items[_index(node, token, place)].value
        if found is None:
            raise Unbuildable(f"the path of the JSON patch does not exist: there is no {token[:40]}", place)
        node = found
    return node


def _remove(root: Node, tokens: list[str], place: Place) -> None:
    if not tokens:
        raise Unbuildable("a JSON patch cannot remove the whole object", place)
    parent = _at(root, tokens[:-1], place)
    if isinstance(parent, Mapping) and drop(parent, tokens[-1]):
        return
    if isinstance(parent, Sequence):
        del parent.items[_index(parent, tokens[-1], place)]
        return
    raise Unbuildable(f"the path of the JSON patch does not exist: there is no {tokens[-1][:40]}", place)


def _add(parent: Node, token: str, value: Node, path: Scalar, *, replace: bool) -> None:
    """Set a key or an element. Kustomize lets `replace` set a key that is not there, against the RFC."""
    if isinstance(parent, Mapping):
        put(parent, text_like(path, token), value)
    elif not isinstance(parent, Sequence):
        raise Unbuildable(f"{path.text[:80]} leads into a scalar", path.place)
    elif replace:
        parent.items[_index(parent, token, path.place)] = Item(value)
    elif token == "-":
        parent.items.append(Item(value))
    else:
        parent.items.insert(_index(parent, token, path.place, extra=1), Item(value))
