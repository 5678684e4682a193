"""Kustomize's own transformers: names, namespaces, labels, images, replica counts, replacements."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from collections.abc import Sequence as Items

from kube_gaplint import lazy_re
from kube_gaplint.bundle.editing import (
    DEEPEST,
    Budget,
    Leaf,
    Unbuildable,
    applies,
    copied,
    drop,
    empty_mapping_like,
    height,
    is_null,
    leaves,
    plain_like,
    put,
    split_path,
    text_like,
)
from kube_gaplint.bundle.plain import plain
from kube_gaplint.bundle.resources import Resource, Selector, matches, same_ending
from kube_gaplint.facts import kustomize as facts
from kube_gaplint.facts.kustomize import FieldSpec, Referral
from kube_gaplint.text.nodes import (
    Entry,
    Item,
    Mapping,
    Node,
    Scalar,
    Sequence,
    dig,
    mapping,
    scalar,
    sequence,
    text_at,
)

# Names


def rename(resources: Iterable[Resource], affix: Scalar, *, suffix: bool) -> None:
    """namePrefix or nameSuffix."""
    for resource in resources:
        group = resource.id.group
        if not affix.text or {("", resource.kind), (group, resource.kind)} & facts.UNPREFIXED_KINDS:
            continue
        name = scalar(resource.node, "metadata", "name")
        if name is not None:
            resource.remember()
            (resource.suffixes if suffix else resource.prefixes).append(affix.text)
            _set_name(resource, _affixed(name, affix, suffix=suffix))


def add_affix(resources: Iterable[Resource], affix: Scalar, specs: Iterable[FieldSpec], *, suffix: bool) -> None:
    """A prefix or suffix on other fields than the name."""
    specs = list(specs)
    for resource in resources:
        for spec in _that_apply(specs, resource):
            for leaf in list(leaves(resource.node, split_path(spec.path))):
                if isinstance(leaf.value, Scalar):
                    leaf.set(_affixed(leaf.value, affix, suffix=suffix))


def _affixed(value: Scalar, affix: Scalar, *, suffix: bool) -> Scalar:
    return text_like(value, value.text + affix.text if suffix else affix.text + value.text)


def _set_name(resource: Resource, name: Scalar) -> None:
    for leaf in leaves(resource.node, ["metadata", "name"], name):
        leaf.set(name)


def set_namespace(
    resources: Iterable[Resource], key: Scalar, namespace: Scalar, more: Iterable[FieldSpec] = ()
) -> None:
    """The `namespace` of a kustomization, on everything that is not known to have none, and in `more` fields."""
    specs = (*facts.NAMESPACE, *(spec for spec in more if spec.path != "metadata/namespace"))
    for resource in resources:
        resource.remember()
        if not resource.cluster_scoped:
            for leaf in leaves(resource.node, ["metadata", "namespace"], namespace):
                leaf.set(namespace, text_like(key, "namespace"))
        for spec in _that_apply(specs, resource):
            if spec.path != "metadata/name" or resource.api_version == "v1":
                _set_fields(resource, spec, namespace)
        if resource.kind in ("RoleBinding", "ClusterRoleBinding"):
            for subject in sequence(resource.node, "subjects") or ():
                if isinstance(subject, Mapping) and text_at(subject, "name") == "default":
                    put(subject, text_like(key, "namespace"), namespace)


def _set_fields(resource: Resource, spec: FieldSpec, value: Scalar) -> None:
    for leaf in leaves(resource.node, split_path(spec.path), value if spec.create else None):
        leaf.set(value)


def _that_apply(specs: Iterable[FieldSpec], resource: Resource) -> list[FieldSpec]:
    api_version, kind = resource.api_version, resource.kind
    return [spec for spec in specs if applies(spec, api_version, kind)]


def add_hashes(resources: Iterable[Resource]) -> None:
    """Append the hash of the content to the names of generated objects."""
    for resource in resources:
        name = scalar(resource.node, "metadata", "name")
        if resource.hashed and name is not None:
            resource.remember()
            _set_name(resource, text_like(name, f"{name.text}-{content_hash(resource.node)}"))


_HASH_LETTERS = str.maketrans({"0": "g", "1": "h", "3": "k", "a": "m", "e": "t"})


def content_hash(node: Mapping) -> str:
    """The ten letters that Kustomize derives from a ConfigMap or Secret."""
    secret = text_at(node, "kind") == "Secret"
    values: dict[str, object] = {
        "kind": "Secret" if secret else "ConfigMap",
        "name": "",  # Kustomize looks for it under a key "metadata/name" and so never finds it
        "data": _hashed_value(node.get("data")),
    }
    if secret:
        values["type"] = text_at(node, "type") or ""
    more = "stringData" if secret else "binaryData"
    if mapping(node, more) is not None:
        values[more] = _hashed_value(node.get(more))
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":  # as Go's encoder writes them
        text = text.replace(character, f"\\u{ord(character):04x}")
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:10].translate(_HASH_LETTERS)


def _hashed_value(node: Node | None) -> object:
    if isinstance(node, Scalar):
        return node.text
    return "" if node is None else plain(node)


# References to renamed objects


def fix_references(resources: Items[Resource], referrals: Iterable[Referral]) -> None:
    """Let every field that names a renamed object name it anew."""
    by_former: dict[str, list[Resource]] = {}
    for resource in resources:
        for _, name, _ in resource.former:
            known = by_former.setdefault(name, [])
            if resource not in known:
                known.append(resource)
    if not by_former:
        return
    by_kind: dict[str, list[tuple[Resource, str]]] = {}
    for resource in resources:
        first = resource.first_id
        by_kind.setdefault(first.kind, []).append((resource, resource.api_version))
    for referral in referrals:
        for spec in referral.fields:
            path = split_path(spec.path)
            kinds = [spec.kind] if spec.kind else list(by_kind)
            for kind in kinds:
                for referrer, api_version in by_kind.get(kind, ()):
                    if applies(spec, api_version, kind):
                        for leaf in list(leaves(referrer.node, path)):
                            _fix(leaf, referrer, referral, spec, by_former)


def _fix(
    leaf: Leaf, referrer: Resource, referral: Referral, spec: FieldSpec, by_former: dict[str, list[Resource]]
) -> None:
    value = leaf.value
    if isinstance(value, Scalar):
        found = _referred(value.text, None, referrer, referral, spec, by_former)
        if found is not None and found.name != value.text:
            leaf.set(text_like(value, found.name))
    elif isinstance(value, Mapping):
        _fix_mapping(value, referrer, referral, spec, by_former)
    elif isinstance(value, Sequence):
        for item in value.items:
            if isinstance(item.value, Mapping):
                _fix_mapping(item.value, referrer, referral, spec, by_former)
            elif isinstance(item.value, Scalar):
                found = _referred(item.value.text, None, referrer, referral, spec, by_former)
                if found is not None:
                    item.value = text_like(item.value, found.name)


def _fix_mapping(
    node: Mapping, referrer: Resource, referral: Referral, spec: FieldSpec, by_former: dict[str, list[Resource]]
) -> None:
    name = scalar(node, "name")
    if name is None:
        return
    found = _referred(name.text, scalar(node, "namespace"), referrer, referral, spec, by_former)
    if found is None or (found.name == name.text and not found.namespace):
        return
    put(node, text_like(name, "name"), text_like(name, found.name))
    namespace = scalar(found.node, "metadata", "namespace")
    if namespace is not None and found.namespace:
        put(node, text_like(namespace, "namespace"), namespace)


def _referred(
    name: str,
    namespace: Scalar | None,
    referrer: Resource,
    referral: Referral,
    spec: FieldSpec,
    by_former: dict[str, list[Resource]],
) -> Resource | None:
    """The object that a name means, as Kustomize chooses it; None where it is none of the renamed ones."""
    found = []
    role = mapping(referrer.node, "roleRef") if spec.path.endswith("roleRef/name") else None
    for candidate in by_former.get(name, ()):
        ids = candidate.ids[:-1]
        if not any(
            one.kind == referral.kind
            and (not referral.group or one.group == referral.group)
            and (not referral.version or one.version == referral.version)
            for one in ids
        ):
            continue
        if role is not None and (text_at(role, "apiGroup"), text_at(role, "kind")) != (
            candidate.id.group,
            candidate.kind,
        ):
            continue
        if namespace is not None and namespace.text not in (
            candidate.first_id.namespace,
            candidate.effective_namespace,
        ):
            continue
        if _can_refer(referrer, candidate):
            found.append(candidate)
    if len(found) > 1:
        loose = [one for one in found if _same_affixes(one, referrer, loose=True)]
        found = [one for one in loose if _same_affixes(one, referrer, loose=False)] if len(loose) > 1 else loose
    if len(found) > 1 and any(one.name != found[0].name for one in found):
        return None
    return found[0] if found else None


def _can_refer(referrer: Resource, candidate: Resource) -> bool:
    return (
        referrer.cluster_scoped
        or candidate.cluster_scoped
        or candidate.kind == "ServiceAccount"
        or referrer.effective_namespace == candidate.effective_namespace
    )


def _same_affixes(one: Resource, two: Resource, *, loose: bool) -> bool:
    return all(
        same_ending(left, right) or (loose and (not left or not right))
        for left, right in ((one.prefixes, two.prefixes), (one.suffixes, two.suffixes))
    )


# Labels, annotations, replicas


def add_pairs(resources: Iterable[Resource], pairs: Mapping, specs: Iterable[FieldSpec]) -> None:
    """Labels or annotations, at all fields that the specifications name."""
    entries = [
        Entry(
            entry.key, entry.value if isinstance(entry.value.value, str) else text_like(entry.value, entry.value.text)
        )
        for entry in pairs
        if isinstance(entry.key, Scalar) and isinstance(entry.value, Scalar)
    ]
    specs = list(specs)
    for resource in resources:
        for spec in _that_apply(specs, resource):
            for leaf in list(leaves(resource.node, split_path(spec.path), pairs if spec.create else None)):
                value = leaf.value
                if is_null(value):
                    value = empty_mapping_like(pairs)
                    leaf.set(value)
                if isinstance(value, Mapping):
                    for entry in sorted(entries, key=lambda entry: entry.name):
                        assert isinstance(entry.key, Scalar)
                        put(value, entry.key, entry.value)


def set_replicas(resources: Iterable[Resource], name: Scalar, count: Scalar, more: Iterable[FieldSpec] = ()) -> None:
    """Raises Unbuildable where no object has the name."""
    found = False
    specs = (*facts.REPLICAS, *more)
    for resource in resources:
        for spec in specs:
            if applies(spec, resource.api_version, resource.kind) and any(
                one.name == name.text for one in resource.ids
            ):
                _set_fields(resource, spec, count)
                found = True
    if not found:
        raise Unbuildable(f"replicas: there is no workload {name.text}", name.place)


# Images


def set_image(resources: Iterable[Resource], image: Mapping, more: Iterable[FieldSpec] = ()) -> None:
    """One entry of `images`."""
    name = scalar(image, "name")
    if name is None:
        raise Unbuildable("an entry of images has no name", image.place)
    specs = (*facts.IMAGES, *more)
    for resource in resources:
        if resource.kind == "CustomResourceDefinition":
            continue
        for spec in _that_apply(specs, resource):
            for leaf in list(leaves(resource.node, split_path(spec.path))):
                _set_image_at(leaf, name, image)
        for found in _container_images(resource.node):
            _set_image_at(found, name, image)


def _container_images(root: Mapping) -> list[Leaf]:
    """The image of every element of any `containers` or `initContainers`, at any depth."""
    found: list[Leaf] = []
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Sequence):
            pending.extend(node)
        elif isinstance(node, Mapping):
            for entry in node:
                pending.append(entry.value)
                if entry.name in ("containers", "initContainers") and isinstance(entry.value, Sequence):
                    found.extend(
                        Leaf(item, "image", 0, item.get("image"))
                        for item in entry.value
                        if isinstance(item, Mapping) and "image" in item
                    )
    return found


_TAG_AND_DIGEST = r"(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?"


def _set_image_at(leaf: Leaf, name: Scalar, image: Mapping) -> None:
    value = leaf.parent.get(leaf.key) if isinstance(leaf.parent, Mapping) else None
    if not isinstance(value, Scalar) or not _image_matches(value.text, name):
        return
    base, tag, digest = split_image(value.text)
    parts = {key: scalar(image, key) for key in ("newName", "newTag", "digest", "tagSuffix")}
    new_name, new_tag, new_digest, tag_suffix = (
        None if part is None or not part.text else part
        for part in (parts["newName"], parts["newTag"], parts["digest"], parts["tagSuffix"])
    )
    if new_name is not None:
        base = new_name.text
    if new_tag is not None or new_digest is not None:
        tag = "" if new_tag is None else new_tag.text
        digest = "" if new_digest is None else new_digest.text
    elif tag_suffix is not None:
        tag, digest = tag + tag_suffix.text, ""
    text = base + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")
    if text != value.text:
        leaf.set(text_like(new_tag or new_digest or tag_suffix or new_name or value, text))


def _image_matches(text: str, name: Scalar) -> bool:
    if not text.startswith(name.text[:1]) and re.match(r"\w", name.text):
        return False
    if re.search(r"[][(){}|*+?^$\\]", name.text):
        return matches(f"(?:{name.text}){_TAG_AND_DIGEST}", text, name.place)
    return re.fullmatch(re.escape(name.text).replace(r"\.", ".") + _TAG_AND_DIGEST, text) is not None


def split_image(image: str) -> tuple[str, str, str]:
    """Name, tag and digest of an image reference."""
    rest, _, digest = image.partition("@")
    at = rest.rfind(":")
    if at > rest.rfind("/"):
        return rest[:at], rest[at + 1 :], digest
    return rest, "", digest


# Replacements


def replace(resources: Items[Resource], replacement: Mapping, budget: Budget) -> None:
    """One entry of `replacements`: copy a value from one object into others. Raises Unbuildable."""
    value = _replacement_value(resources, replacement)
    for target in sequence(replacement, "targets") or ():
        select = mapping(target, "select")
        if not isinstance(target, Mapping) or select is None:
            raise Unbuildable("a target of a replacement selects nothing", target.place)
        selector = Selector.of(select)
        rejects = [Selector.of(reject) for reject in sequence(target, "reject") or () if isinstance(reject, Mapping)]
        paths = [path for path in sequence(target, "fieldPaths") or () if isinstance(path, Scalar)]
        for resource in resources:
            if _is_target(resource, selector, rejects):
                for path in paths or [text_like(select, "metadata.name")]:
                    _replace_at(resource, path, value, mapping(target, "options"), budget)


def _is_target(resource: Resource, selector: Selector, rejects: Iterable[Selector]) -> bool:
    namespace = resource.namespace
    ids = resource.ids
    if not selector.selects_metadata(resource):
        return False
    for reject in rejects:
        if (reject.labels or reject.annotations) and reject.selects_metadata(resource):
            return False
        if reject.by_id and any(reject.selects_id(one, namespace) for one in ids):
            return False
    return any(selector.selects_id(one, namespace) for one in ids)


def _replacement_value(resources: Items[Resource], replacement: Mapping) -> Node:
    given = scalar(replacement, "sourceValue")
    source = mapping(replacement, "source")
    if given is not None:
        return given
    if source is None:
        raise Unbuildable("a replacement has no source", replacement.place)
    wanted = {part: text_at(source, part) or "" for part in ("group", "version", "kind", "name", "namespace")}
    found = [
        resource
        for resource in resources
        if any(all(not value or getattr(one, part) == value for part, value in wanted.items()) for one in resource.ids)
    ]
    if len(found) != 1:
        raise Unbuildable(
            "nothing is the source of a replacement"
            if not found
            else "several objects are the source of a replacement",
            source.place,
        )
    path = text_at(source, "fieldPath") or "metadata.name"
    values = _dotted(found[0].node, path, None)
    if not values or values[0].value is None:
        raise Unbuildable(f"the source of a replacement has no {path[:80]}", source.place)
    value = values[0].value
    options = mapping(source, "options")
    delimiter = text_at(options, "delimiter") or ""
    if delimiter:
        if not isinstance(value, Scalar):
            raise Unbuildable("only a scalar can be split by a delimiter", source.place)
        parts = value.text.split(delimiter)
        index = _number(options, "index")
        if not 0 <= index < len(parts):
            raise Unbuildable(f"the value {value.text[:80]} has no part {index}", source.place)
        return text_like(value, parts[index])
    return value


def _number(options: Mapping | None, name: str) -> int:
    value = plain(dig(options, name))
    return value if isinstance(value, int) and abs(value) < 10**6 else 0


def _replace_at(resource: Resource, path: Scalar, value: Node, options: Mapping | None, budget: Budget) -> None:
    create = text_at(options, "create") == "true"
    found = _dotted(resource.node, path.text, path if create else None)
    if not found:
        raise Unbuildable(f"the target of a replacement has no {path.text[:80]}", path.place)
    delimiter = text_at(options, "delimiter") or ""
    renamed = path.text in ("metadata.name", "metadata.namespace")
    if renamed:
        resource.remember()
    for leaf in found:
        new = copied(value, budget)
        if height(new) > DEEPEST // 2:
            raise Unbuildable("the replacement nests too deep", path.place)
        old = leaf.value
        if delimiter and isinstance(new, Scalar):
            parts = old.text.split(delimiter) if isinstance(old, Scalar) else []
            index = _number(options, "index")
            if index < 0:
                parts.insert(0, new.text)
            elif index >= len(parts):
                parts.append(new.text)
            else:
                parts[index] = new.text
            new = text_like(new, delimiter.join(parts))
        if isinstance(old, Scalar) and isinstance(new, Scalar):
            # The target keeps its type: a string stays one, an unquoted number is read again.
            keeps_text = isinstance(old.value, str) and old.text != ""
            new = text_like(new, new.text) if keeps_text else plain_like(new, new.text)
        leaf.set(new)


_BRACKETED = lazy_re.compile(r"\[([^=\]]+)\]\Z")
_SELECTED = lazy_re.compile(r"\[([^=\]]+)=(.*)\]\Z", re.S)


def _dotted_parts(path: str) -> list[str]:
    """The parts of a path with dots; those within brackets or behind a backslash do not separate."""
    parts, depth, escaped = [""], 0, False
    for character in path:
        if escaped:
            parts[-1] += character if character == "." else "\\" + character
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "." and depth == 0:
            parts.append("")
        else:
            depth += (character == "[") - (character == "]")
            parts[-1] += character
    return parts


def _dotted(root: Mapping, path: str, create_like: Node | None) -> list[Leaf]:
    """The ends of a path such as `spec.containers.[name=main].env.0.value` or `spec.*.image`."""
    parts = _dotted_parts(path)
    if len(parts) > 100:
        return []
    here: list[Node] = [root]
    for at, written in enumerate(parts):
        key = _BRACKETED.match(written)  # `[a.b/c]`: a key with dots
        part = written if key is None else key[1]
        last = at == len(parts) - 1
        found: list[Leaf] = []
        for node in here:
            found.extend(_step(node, part, create_like, is_last=last))
        if last:
            return found
        here = []
        for leaf in found:
            value = leaf.value
            if is_null(value):
                if create_like is None:
                    continue
                following = parts[at + 1]
                as_list = following.startswith("[") or following == "-" or following.isdigit()
                value = Sequence(create_like.source, create_like.span) if as_list else empty_mapping_like(create_like)
                leaf.set(value)
            assert value is not None
            here.append(value)
    return []


def _step(node: Node, part: str, create_like: Node | None, *, is_last: bool) -> list[Leaf]:
    if isinstance(node, Mapping):
        value = node.get(part)
        if value is None and create_like is None:
            return []
        return [Leaf(node, part, 0, value)]
    if not isinstance(node, Sequence):
        return []
    if part == "*":
        return [Leaf(node, "", index, item) for index, item in enumerate(node)]
    selected = _SELECTED.match(part)
    if selected is not None:
        key, wanted = selected[1], selected[2].strip("'\"")
        found = [
            Leaf(node, "", index, item)
            for index, item in enumerate(node)
            if (text_at(item, key) == wanted if isinstance(item, Mapping) else False)
        ]
        if not found and create_like is not None:
            element = Mapping(create_like.source, create_like.span)
            put(element, text_like(create_like, key), text_like(create_like, wanted))
            node.items.append(Item(element))
            return [Leaf(node, "", len(node) - 1, element)]
        return found
    if part == "-":
        if is_last and create_like is not None:
            node.items.append(Item(text_like(create_like, "")))
        return [Leaf(node, "", len(node) - 1, node.items[-1].value)] if node.items else []
    if part.isascii() and part.isdigit() and len(part) < 9 and int(part) < len(node):
        return [Leaf(node, "", int(part), node.items[int(part)].value)]
    # A name on a list means every element's field, as in field specifications.
    return [
        leaf for item in node if isinstance(item, Mapping) for leaf in _step(item, part, create_like, is_last=is_last)
    ]


# Vars


_VARIABLE = lazy_re.compile(r"\$\(([^)]+)\)")


def fill_variables(resources: Iterable[Resource], values: dict[str, Scalar], specs: Iterable[FieldSpec]) -> None:
    """Replace `$(NAME)` of the deprecated `vars`; names that are no vars stay."""
    specs = list(specs)

    def filled(node: Scalar) -> Scalar:
        whole = _VARIABLE.fullmatch(node.text)
        if whole is not None and whole[1] in values:
            return Scalar(node.source, node.span, values[whole[1]].text, values[whole[1]].value, "plain")
        text = _VARIABLE.sub(lambda match: values[match[1]].text if match[1] in values else match[0], node.text)
        return node if text == node.text else text_like(node, text)

    for resource in resources:
        for spec in _that_apply(specs, resource):
            for leaf in list(leaves(resource.node, split_path(spec.path))):
                value = leaf.value
                if isinstance(value, Scalar):
                    leaf.set(filled(value))
                elif isinstance(value, Sequence):
                    for item in value.items:
                        if isinstance(item.value, Scalar):
                            item.value = filled(item.value)
                elif isinstance(value, Mapping):
                    for entry in value.entries:
                        if isinstance(entry.value, Scalar):
                            entry.value = filled(entry.value)


def tidy(resources: Iterable[Resource]) -> None:
    """Kustomize keeps its own notes in annotations; taking them out leaves no empty mapping behind."""
    for resource in resources:
        annotations = mapping(resource.node, "metadata", "annotations")
        metadata = mapping(resource.node, "metadata")
        if annotations is not None and not annotations.entries and metadata is not None:
            drop(metadata, "annotations")


def remove_local(resources: Iterable[Resource]) -> list[Resource]:
    """Without the objects that are marked as configuration of tools."""
    return [
        resource
        for resource in resources
        if resource.scalars("annotations").get("config.kubernetes.io/local-config") != "true"
    ]


def encoded(data: bytes) -> str:
    """Base64 as Kustomize writes it: in lines of 70 letters where it is longer."""
    text = base64.b64encode(data).decode("ascii")
    if len(text) < 70:
        return text
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return "".join(line + "\n" for line in lines)
