"""Scalar fields of an object by path.

Paths are dotted as in Kubernetes' own documentation; an element of a list is named by its `name`, else by its index:
`spec.runPolicy.cleanPodPolicy`, `spec.tasks[worker].replicas`, `containers[0].image`. Keys that hold a dot
(annotations, resource names) are quoted: `metadata.annotations["karpenter.sh/do-not-disrupt"]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.text.nodes import Node, Scalar, ScalarValue


class Reader(Protocol):
    """What gives the fields of one object."""

    def field(self, path: str) -> Setting[str]: ...

    def written(self) -> Iterator[tuple[str, Node]]: ...

    def place(self, path: str) -> Origin: ...

    def key(self, node: Node) -> Origin: ...


class Fields(Mapping[str, Setting[str]]):
    """All scalar fields below one place, read when they are asked for.

    Every path has a setting: `Absent` with the place where it would stand, where nothing is written and the
    controller has no default. `in` tells whether there is a value, known or not. Iterating gives the written paths.
    """

    __slots__ = ("_effective", "_known", "_reader")

    def __init__(self, reader: Reader, effective: Mapping[str, Setting[str]] | None = None) -> None:
        """`effective` holds the values that differ from what is written: defaults, overrides."""
        self._reader = reader
        self._effective = dict(effective or {})
        self._known = dict(self._effective)

    def __getitem__(self, path: str) -> Setting[str]:
        found = self._known.get(path)
        if found is None:  # rules ask for the same few paths again and again
            found = self._known[path] = self._reader.field(path)
        return found

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and not isinstance(self[path], Absent)

    def __iter__(self) -> Iterator[str]:
        seen = set(self._effective)
        yield from self._effective
        for path in self.written():
            if path not in seen:
                seen.add(path)
                yield path

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def written(self) -> Iterator[str]:
        """The path of every key that is written below this place, those of mappings and lists included."""
        return (path for path, _ in self._reader.written())

    def place(self, path: str) -> Origin:
        """Where the part at a path stands (a mapping, perhaps), or would stand; the whole for the empty path."""
        return self._reader.place(path)

    def key(self, path: str) -> Origin | None:
        """Where the key at a path is written, or None; the last of like ones, which is in force."""
        found = None
        for written, node in self._reader.written():
            if written == path:
                found = node
        return None if found is None else self._reader.key(found)


def plain_value(setting: Setting[str]) -> ScalarValue:
    """The value of a written scalar as Kubernetes reads it: 20 for `20`, but the text for `"20"`."""
    node = setting.origin.node if isinstance(setting, Set) else None
    if isinstance(node, Scalar):
        return node.value
    return setting.value if isinstance(setting, Set) else None
