"""configMapGenerator and secretGenerator: objects whose data stand in literals, files and env files.

Each value keeps its place: the literal in the kustomization, the whole file, the line of the env file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.bundle.editing import Unbuildable, put, text_like
from kube_gaplint.bundle.resources import Resource
from kube_gaplint.bundle.transformers import encoded
from kube_gaplint.discover import FileId
from kube_gaplint.text.nodes import Document, Mapping, Scalar, mapping, scalar, sequence, text_at
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Place, Source, Span


class Content(Struct, frozen=True):
    """A file that a generator takes in; `source` is None where it is no text."""

    data: bytes
    source: Source | None


ReadContent = Callable[[Scalar, str], Content]
"""Reads a file by its path; the scalar is the place that names it. Raises Unbuildable."""


class Pair(Struct, frozen=True):
    """A key and its value: text with a place, or bytes where it is no text."""

    key: Scalar
    value: Scalar
    binary: bytes | None = None


def generate(
    entry: Mapping, kind: str, options: Mapping | None, document: Document, file: FileId, read: ReadContent
) -> Resource:
    """The object of one generator entry; `options` are the `generatorOptions` of all. Raises Unbuildable."""
    name = scalar(entry, "name")
    if name is None or not name.text:
        raise Unbuildable(f"a generated {kind} has no name", entry.place)
    own = mapping(entry, "options")
    root = Mapping(entry.source, entry.span)
    put(root, text_like(entry, "apiVersion"), text_like(entry, "v1"))
    put(root, text_like(entry, "kind"), text_like(entry, kind))
    metadata = Mapping(entry.source, entry.span)
    put(root, text_like(entry, "metadata"), metadata)
    put(metadata, text_like(name, "name"), name)
    namespace = scalar(entry, "namespace")
    if namespace is not None and namespace.text:
        put(metadata, text_like(namespace, "namespace"), namespace)
    for part in ("labels", "annotations"):
        values = Mapping(entry.source, entry.span)
        for given in (mapping(options, part), mapping(own, part)):
            for pair in given or ():
                if isinstance(pair.key, Scalar) and isinstance(pair.value, Scalar):
                    put(values, pair.key, text_like(pair.value, pair.value.text))
        if values.entries:
            put(metadata, text_like(entry, part), values)
    if kind == "Secret":
        put(root, text_like(entry, "type"), scalar(entry, "type") or text_like(entry, "Opaque"))
    _put_data(root, kind, entry, _pairs(entry, read))
    if _flag(options, own, "immutable"):
        put(root, text_like(entry, "immutable"), Scalar(entry.source, entry.span, "true", True))
    return Resource(
        root,
        document,
        file,
        hashed=not _flag(options, own, "disableNameSuffixHash"),
        behavior=text_at(entry, "behavior") or "create",
    )


def _flag(options: Mapping | None, own: Mapping | None, name: str) -> bool:
    return any(text_at(given, name) == "true" for given in (options, own))


def _put_data(root: Mapping, kind: str, entry: Mapping, pairs: list[Pair]) -> None:
    parts: dict[str, Mapping] = {}
    seen: set[str] = set()
    if kind == "Secret":
        parts["data"] = Mapping(entry.source, entry.span)
    for pair in pairs:
        if pair.key.text in seen:
            raise Unbuildable(f"the key {pair.key.text[:80]} is given twice", pair.key.place)
        seen.add(pair.key.text)
        part, value = "data", pair.value
        if kind == "Secret":
            data = pair.value.text.encode("utf-8", "surrogatepass") if pair.binary is None else pair.binary
            value = text_like(pair.value, encoded(data))
        elif pair.binary is not None:
            part, value = "binaryData", text_like(pair.value, encoded(pair.binary))
        put(parts.setdefault(part, Mapping(entry.source, entry.span)), pair.key, value)
    for part in ("data", "binaryData"):
        if part in parts:
            put(root, text_like(entry, part), parts[part])


def _pairs(entry: Mapping, read: ReadContent) -> list[Pair]:
    pairs: list[Pair] = []
    env_files = [item for item in sequence(entry, "envs") or () if isinstance(item, Scalar)]
    single = scalar(entry, "env")
    for path in (*env_files, *((single,) if single is not None else ())):
        pairs.extend(_env_pairs(path, read(path, path.text)))
    for literal in sequence(entry, "literals") or ():
        if isinstance(literal, Scalar):
            pairs.append(_literal_pair(literal))
    for item in sequence(entry, "files") or ():
        if isinstance(item, Scalar):
            pairs.append(_file_pair(item, read))
    return pairs


def _literal_pair(literal: Scalar) -> Pair:
    key, found, value = literal.text.partition("=")
    if not found or not key:
        raise Unbuildable(f"the literal {literal.text[:80]} is not key=value", literal.place)
    start = len(key) + 1
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value, start = value[1:-1], start + 1
    text = scalar_text(literal)
    return Pair(
        _string(text.place(0, len(key)), key),
        _string(text.place(start, start + len(value)), value),
    )


def _file_pair(item: Scalar, read: ReadContent) -> Pair:
    key, found, path = item.text.partition("=")
    if not found:
        key, path = item.text.rstrip("/").rpartition("/")[2], item.text
    if not key or not path or "=" in path:
        raise Unbuildable(f"{item.text[:80]} is not a file or key=file", item.place)
    content = read(item, path)
    if content.source is None:
        return Pair(text_like(item, key), item, content.data)
    source = content.source
    text = content.data.decode("utf-8")
    # A byte-order mark is part of the value, but not of the source.
    return Pair(text_like(item, key), _string(Place(source, Span(0, len(source.text))), text))


_LINE = lazy_re.compile(r"([^\n]*)(\n|\Z)")


def _env_pairs(path: Scalar, content: Content) -> list[Pair]:
    source = content.source
    if source is None:
        raise Unbuildable(f"{path.text[:80]} is no text", path.place)
    pairs = []
    for match in _LINE.finditer(source.text):
        line = match[1].removesuffix("\r")
        lead = len(line) - len(line.lstrip())
        key, found, value = line[lead:].partition("=")
        if not key or key.startswith("#"):
            continue
        if re.search(r"\s", key):
            raise Unbuildable(f"{key[:80]} is not a name for a variable", path.place)
        start = match.start() + lead
        at = start + len(key) + len(found)
        pairs.append(
            Pair(
                _string(Place(source, Span(start, start + len(key))), key),
                _string(Place(source, Span(at, at + len(value))), value),
            )
        )
    return pairs


def _string(place: Place, text: str) -> Scalar:
    return Scalar(place.source, place.span, text, text, "plain")


def absorb(matches: Sequence[Resource], new: Resource) -> Resource | None:
    """Make a generated object ready to be taken in: as a new one, or (merged with it) in the place of the older one
    that comes out. `matches` are the objects that have its id, or had it."""
    place = new.node.place
    if not matches:
        if new.behavior in ("merge", "replace"):
            raise Unbuildable(f"there is no {new.kind} {new.name} to {new.behavior} into", place)
        return None
    if len(matches) > 1 or new.behavior not in ("merge", "replace"):
        raise Unbuildable(f"there is a {new.kind} {new.name} already", place)
    old = matches[0]
    merged_name = scalar(old.node, "metadata", "name")
    for part in ("labels", "annotations"):
        _merge_into(new.node, old.node, "metadata", part)
    if new.behavior == "merge":
        for part in ("data", "binaryData"):
            _merge_into(new.node, old.node, part)
    metadata = mapping(new.node, "metadata")
    assert metadata is not None
    if merged_name is not None:
        put(metadata, text_like(merged_name, "name"), merged_name)
    namespace = scalar(old.node, "metadata", "namespace")
    if namespace is not None:
        put(metadata, text_like(namespace, "namespace"), namespace)
    new.hashed = new.hashed and old.hashed
    new.former, new.prefixes, new.suffixes = old.former, old.prefixes, old.suffixes
    new.document, new.file = old.document, old.file
    return old


def _merge_into(new: Mapping, old: Mapping, *path: str) -> None:
    """Entries of the old mapping at a path that the new one lacks are added to the new one, before its own."""
    before = mapping(old, *path)
    if before is None or not before.entries:
        return
    parent: Mapping | None = new if len(path) == 1 else mapping(new, *path[:-1])
    if parent is None:
        return
    own = parent.get(path[-1])
    merged = Mapping(before.source, before.span)
    for given in (before, own):
        if isinstance(given, Mapping):
            for entry in given:
                if isinstance(entry.key, Scalar):
                    put(merged, entry.key, entry.value)
    put(parent, text_like(before, path[-1]), merged)
