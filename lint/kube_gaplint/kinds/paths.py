"""Fields by path, read from a `Part`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from kube_gaplint import lazy_re
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.fields import Fields
from kube_gaplint.model.setting import Absent, Origin, Setting
from kube_gaplint.text import nodes
from kube_gaplint.text.nodes import Node, Scalar, Sequence

_STEP = lazy_re.compile(r'\.?([^.\[\]]+)|\["([^"]*)"\]|\[([^\]"]*)\]')
_MOST_PATHS = 20_000


@lru_cache(maxsize=4096)
def keys(path: str) -> tuple[str, ...] | None:
    """A path that leads through mappings alone as their keys; None for any other."""
    return None if "[" in path or "]" in path else tuple(filter(None, path.split(".")))


@lru_cache(maxsize=4096)
def steps(path: str) -> tuple[tuple[str, bool], ...]:
    """A path as (name, whether it names an element of a list)."""
    out = []
    for match in _STEP.finditer(path):
        plain, quoted, element = match.groups()
        out.append((plain or quoted or element or "", element is not None))
    return tuple(out)


def follow(part: Part, path: str) -> Part:
    """The part at a path below another."""
    straight = keys(path)
    if straight is not None:
        return part.at(*straight)
    for name, element in steps(path):
        if not element:
            part = part.at(name)
            continue
        items = part.items()
        found = part.named(name)
        if found is None and name.isdecimal() and len(name) < 9 and int(name) < len(items):
            found = items[int(name)]
        part = Part(None, part.place, part.node, part.chain, part.open_list) if found is None else found
    return part


class PartReader:
    """Reads scalar fields below a part."""

    __slots__ = ("_part",)

    def __init__(self, part: Part) -> None:
        self._part = part

    def field(self, path: str) -> Setting[str]:
        part = follow(self._part, path)
        if part.node is not None and not isinstance(part.node, Scalar) and not part.unknown:
            return Absent(part.origin)
        return part.string()

    def place(self, path: str) -> Origin:
        return follow(self._part, path).origin

    def key(self, node: Node) -> Origin:
        """The origin of a key."""
        return Origin(node.place, chain=self._part.chain, node=node)

    def written(self) -> Iterator[tuple[str, Node]]:
        """Keys in document order; the walk is bounded, and hostile nesting costs no recursion."""
        if self._part.node is None:
            return
        stack: list[tuple[str, Node]] = [("", self._part.node)]
        left = _MOST_PATHS
        while stack and left > 0:
            path, node = stack.pop()
            below: list[tuple[str, Node]] = []
            if isinstance(node, nodes.Mapping):
                for entry in node:
                    child = _joined(path, entry.name)
                    yield child, entry.key
                    left -= 1
                    below.append((child, entry.value))
            elif isinstance(node, Sequence):
                for index, item in enumerate(node):
                    name = nodes.text_at(item, "name") or str(index)
                    below.append((f"{path}[{name}]", item))
            left -= len(below)
            stack.extend(reversed(below))


def _joined(path: str, name: str) -> str:
    if "." in name or "[" in name:
        return f'{path}["{name}"]'
    return f"{path}.{name}" if path else name


def fields_of(part: Part, effective: Mapping[str, Setting[str]] | None = None) -> Fields:
    """The scalar fields below a part, with effective values over the written ones."""
    return Fields(PartReader(part), effective)
