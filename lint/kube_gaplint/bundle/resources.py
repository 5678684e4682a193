"""The objects of a Kustomize build while it runs: their names now and before, and how instructions select them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.bundle.editing import Unbuildable
from kube_gaplint.discover import FileId
from kube_gaplint.facts.kustomize import CLUSTER_SCOPED
from kube_gaplint.text.nodes import Document, Mapping, Scalar, mapping, text_at
from kube_gaplint.text.source import Place

_DEFAULT = "default"
_NO_NAMESPACE = "\0cluster"


class Id(NamedTuple):
    """What identifies an object. `namespace` is the effective one: `default` where none is written."""

    group: str
    version: str
    kind: str
    name: str
    namespace: str


class Resource(Struct, eq=False):
    """An object in a build.

    `former` holds the (kind, name, namespace) that it had before each renaming, oldest first. `deleted` marks one that
    a patch removed. `open_because` says what unseen step may change it.
    """

    node: Mapping
    document: Document
    file: FileId
    former: list[tuple[str, str, str]] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    suffixes: list[str] = field(default_factory=list)
    hashed: bool = False
    behavior: str = ""
    deleted: bool = False
    open_because: str = ""

    @property
    def api_version(self) -> str:
        return text_at(self.node, "apiVersion") or ""

    @property
    def kind(self) -> str:
        return text_at(self.node, "kind") or ""

    @property
    def name(self) -> str:
        return text_at(self.node, "metadata", "name") or ""

    @property
    def namespace(self) -> str:
        return text_at(self.node, "metadata", "namespace") or ""

    @property
    def cluster_scoped(self) -> bool:
        return (self.api_version, self.kind) in CLUSTER_SCOPED

    @property
    def id(self) -> Id:
        api_version, kind = self.api_version, self.kind
        group, _, version = api_version.rpartition("/")
        metadata = self.node.get("metadata")
        name, namespace = text_at(metadata, "name") or "", text_at(metadata, "namespace") or ""
        return Id(group, version, kind, name, effective(api_version, kind, namespace))

    @property
    def effective_namespace(self) -> str:
        return effective(self.api_version, self.kind, self.namespace)

    @property
    def ids(self) -> list[Id]:
        """All ids that it ever had, the present one last."""
        now = self.id
        return [*(Id(now.group, now.version, *former) for former in self.former), now]

    @property
    def first_id(self) -> Id:
        return self.ids[0]

    def remember(self) -> None:
        """Keep the present name as a former one; to be called before it changes."""
        self.former.append((self.kind, self.name, self.effective_namespace))

    def scalars(self, name: str) -> dict[str, str]:
        """Its labels or annotations."""
        values = mapping(self.node, "metadata", name)
        if values is None:
            return {}
        return {entry.name: entry.value.text for entry in values if isinstance(entry.value, Scalar)}


def effective(api_version: str, kind: str, namespace: str) -> str:
    if (api_version, kind) in CLUSTER_SCOPED:
        return _NO_NAMESPACE
    return namespace or _DEFAULT


def same_ending(one: Sequence[str], two: Sequence[str]) -> bool:
    """Whether the shorter of two lists is the end of the other; an empty one is only that of an empty one."""
    short, long = sorted((one, two), key=len)
    return not long if not short else list(long[-len(short) :]) == list(short)


# Selectors


class Selector(Struct, frozen=True):
    """A target of a patch or a replacement. Empty parts match everything; the others are anchored patterns."""

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    labels: str = ""
    annotations: str = ""
    place: Place | None = None

    @classmethod
    def of(cls, node: Mapping) -> Selector:
        group, version, kind, name, namespace, labels, annotations = (
            text_at(node, part) or ""
            for part in ("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector")
        )
        return cls(group, version, kind, name, namespace, labels, annotations, node.place)

    @property
    def by_id(self) -> bool:
        return any((self.group, self.version, self.kind, self.name, self.namespace))

    def selects(self, resource: Resource) -> bool:
        """For patches: the name and the namespace match as they first were or as they are now."""
        if not self._matches(self.kind, resource.kind):
            return False
        now = resource.id
        first = resource.first_id if resource.former else now
        return (
            self._kind_matches(now)
            and (self._matches(self.name, first.name) or self._matches(self.name, now.name))
            and (self._matches(self.namespace, first.namespace) or self._matches(self.namespace, now.namespace))
            and self.selects_metadata(resource)
        )

    def selects_id(self, some: Id, namespace: str) -> bool:
        """For replacements: one id, with the namespace as written."""
        return (
            self._kind_matches(some)
            and self._matches(self.name, some.name)
            and self._matches(self.namespace, namespace)
        )

    def selects_metadata(self, resource: Resource) -> bool:
        return meets(resource.scalars("labels"), self.labels, self.place) and meets(
            resource.scalars("annotations"), self.annotations, self.place
        )

    def _kind_matches(self, some: Id) -> bool:
        return (
            self._matches(self.group, some.group)
            and self._matches(self.version, some.version)
            and self._matches(self.kind, some.kind)
        )

    def _matches(self, pattern: str, text: str) -> bool:
        return not pattern or matches(pattern, text, self.place)


_PLAIN = lazy_re.compile(r"[A-Za-z0-9_./:-]*\Z")
_UNBOUNDED = lazy_re.compile(r"(?<!\\)(?:[*+]|\{\d*,\d*\})")
_LONGEST_NAME = 253


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """An anchored pattern; None where it is invalid or could take very long.

    Kustomize's engine is linear, Python's is not: repeated groups and more than three open repetitions are refused.
    """
    if len(pattern) > 1000 or len(_UNBOUNDED.findall(pattern)) > 3 or re.search(r"\)[*+{]", pattern):
        return None
    try:
        return re.compile(f"(?:{pattern})\\Z")
    except (re.error, OverflowError, RecursionError):
        return None


def matches(pattern: str, text: str, place: Place | None = None) -> bool:
    """Whether a whole text matches a pattern. Raises Unbuildable for one that cannot be used."""
    if _PLAIN.match(pattern) and "." not in pattern:
        return pattern == text
    compiled = _compiled(pattern)
    if compiled is None:
        raise Unbuildable(f"the pattern {pattern[:80]} cannot be used", place)
    return len(text) <= _LONGEST_NAME and compiled.match(text) is not None


def meets(values: dict[str, str], selector: str, place: Place | None = None) -> bool:
    """Whether labels meet a selector such as `app=x,tier in (a, b),!old`."""
    return all(_meets_one(values, requirement.strip(), place) for requirement in _requirements(selector))


def _requirements(selector: str) -> Iterable[str]:
    """The parts between commas that stand outside of parentheses."""
    part, inside = "", False
    for character in selector:
        if character == "," and not inside:
            yield part
            part = ""
            continue
        inside = character == "(" or (inside and character != ")")
        part += character
    if part.strip():
        yield part


_SET = lazy_re.compile(r"(\S+)\s+(in|notin)\s*\(([^)]*)\)\Z")


def _meets_one(values: dict[str, str], requirement: str, place: Place | None) -> bool:
    match = _SET.match(requirement)
    if match:
        options = {option.strip() for option in match[3].split(",")}
        value = values.get(match[1])
        return value in options if match[2] == "in" else value not in options
    for operator in ("!=", "==", "="):
        key, found, wanted = requirement.partition(operator)
        if found:
            value = values.get(key.strip())
            return (value != wanted.strip()) if operator == "!=" else (value == wanted.strip())
    if re.fullmatch(r"!\s*\S+", requirement):
        return requirement[1:].strip() not in values
    if re.fullmatch(r"\S+", requirement):
        return requirement in values
    raise Unbuildable(f"the selector {requirement[:80]} is not understood", place)
