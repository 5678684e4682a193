"""Reading fields of an object as three-state settings.

A `Part` is a place in an object: a node, or the absence of one. Descending never fails: below a missing mapping
everything is absent, below a template expression everything is unknown. A value of the wrong type is unknown too, for
the API server would refuse the object and nothing can be said about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from kube_gaplint.bundle.openness import OpenMapping, OpenSequence
from kube_gaplint.model.setting import Absent, Link, Origin, Set, Setting, Unknown
from kube_gaplint.model.units import duration_seconds, quantity
from kube_gaplint.text.nodes import Entry, Mapping, Node, Scalar, Sequence
from kube_gaplint.text.source import Place, Source
from kube_gaplint.text.templates import placeholder

T = TypeVar("T")

_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})


class BuiltIn(Source, eq=False):
    """The source of a built-in object, which no file holds: what its nodes say is a default, shown at the reference
    that names the object."""

    note: str = ""

    @classmethod
    def beside(cls, source: Source, note: str) -> BuiltIn:
        return cls(source.path, source.text, note=note)


class Part:
    """A place in an object.

    `node` is None where nothing stands there. `place` is what a message about the part points at: the key with its
    value, or for something missing the nearest mapping around it. `home` is that mapping, where a fix would write.
    `unknown` is the reason why the content is not seen. Places and reasons are worked out when they are asked for:
    most parts are only steps on the way to another.
    """

    __slots__ = ("_unknown", "_where", "chain", "home", "node")

    def __init__(
        self,
        node: Node | None,
        where: Place | Entry | Node,
        home: Node | None = None,
        chain: tuple[Link, ...] = (),
        unknown: str | None = None,
    ) -> None:
        """`where` has the place. `unknown`: None leaves it to the text of a scalar, which may be a placeholder."""
        if isinstance(node, Scalar) and node.value is None and node.style == "plain":
            node = None
        self.node = node
        self._where = where
        self.home = home
        self.chain = chain
        self._unknown = unknown

    @classmethod
    def of(cls, node: Node, chain: tuple[Link, ...] = ()) -> Part:
        """The part for a whole node."""
        return cls(node, node, node, chain)

    def with_node(self, node: Node) -> Part:
        """The same place with other content (a merged node)."""
        return Part(node, self._where, self.home, self.chain)

    @property
    def place(self) -> Place:
        where = self._where
        return where if isinstance(where, Place) else where.place

    @property
    def unknown(self) -> str:
        found = self._unknown
        if found is None:
            found = self._unknown = placeholder(self.node.text) if isinstance(self.node, Scalar) else ""
        return found

    @property
    def origin(self) -> Origin:
        """Where the part stands, or would stand."""
        node = self.node
        if node is None:
            return Origin(self.place, chain=self.chain, node=self.home)
        if isinstance(node.source, BuiltIn):
            return Origin(self.place, "default", node.source.note, self.chain, node)
        return Origin(self.place, chain=self.chain, node=node)

    @property
    def present(self) -> bool:
        """Whether something stands here; a null counts as nothing."""
        return self.node is not None

    @property
    def state(self) -> bool | None:
        """True: there; False: surely not; None: unknown."""
        return None if self.unknown else self.node is not None

    def at(self, *path: str) -> Part:
        """The part at a path of keys below this one."""
        part = self
        for name in path:
            node = part.node
            if node is None:
                return part
            if type(node) is not Mapping and not isinstance(node, Mapping):  # by far the most are plain ones
                reason = part.unknown or "what stands there is no mapping"
                return Part(None, part._where, part.home, part.chain, reason)
            entry = node.entry(name)
            if entry is None:
                unseen = node.open_because if isinstance(node, OpenMapping) else ""
                return Part(None, part._where, node, part.chain, unseen)
            part = part._of_entry(entry)
        return part

    def _of_entry(self, entry: Entry) -> Part:
        if entry.alias is None:
            return Part(entry.value, entry, self.node, self.chain)
        link = Link(Place(entry.key.source, entry.alias), "alias")
        return Part(entry.value, entry, self.node, (*self.chain, link))

    def entries(self) -> Iterator[tuple[str, Part]]:
        """The keys of a mapping with what stands below them; nothing where this is no mapping."""
        if isinstance(self.node, Mapping) and not self.unknown:
            for entry in self.node:
                yield entry.name, self._of_entry(entry)

    def items(self) -> list[Part]:
        """The elements of a list; empty where this is no list (see `unknown` and `open_list`)."""
        if not isinstance(self.node, Sequence) or self.unknown:
            return []
        parts = []
        for item in self.node.items:
            if item.alias is None:
                parts.append(Part(item.value, item.value, self.node, self.chain))
                continue
            place = Place(self.node.source, item.alias)
            parts.append(Part(item.value, place, self.node, (*self.chain, Link(place, "alias"))))
        return parts

    @property
    def open_list(self) -> str:
        """Why a list may have more elements than are seen; empty for a list that is seen whole or surely missing."""
        if self.unknown:
            return self.unknown
        if self.node is not None and not isinstance(self.node, Sequence):
            return "what stands there is no list"
        if isinstance(self.node, OpenSequence):
            return self.node.open_because
        return next((item.unknown for item in self.items() if item.unknown), "")

    def named(self, name: str) -> Part | None:
        """The element of a list of mappings whose `name` is this, or None."""
        return next((item for item in self.items() if item.text("name") == name), None)

    # Values. Each takes a path, and the controller's default where it has one.

    def string(self, *path: str, default: str | None = None, note: str = "") -> Setting[str]:
        """The text of a scalar. Numbers and booleans give their text as written."""
        return self._read(path, _as_text, default, note)

    def verbatim(self, *path: str) -> Setting[str]:
        """The text of a scalar in which `$`, `{{` and the like are ordinary text (a script, a pattern)."""
        part = self.at(*path)
        if isinstance(part.node, Scalar):
            return Set(part.node.text, part.origin)
        return part._read((), _as_text, None, "")

    def integer(self, *path: str, default: int | None = None, note: str = "") -> Setting[int]:
        return self._read(path, _as_integer, default, note)

    def is_true(self, *path: str) -> bool:
        """Whether a boolean is surely true."""
        value = self.boolean(*path)
        return isinstance(value, Set) and value.value

    def boolean(self, *path: str, default: bool | None = None, note: str = "") -> Setting[bool]:
        return self._read(path, _as_boolean, default, note)

    def number(self, *path: str, default: float | None = None, note: str = "") -> Setting[float]:
        return self._read(path, _as_number, default, note)

    def seconds(self, *path: str, default: float | None = None, note: str = "") -> Setting[float]:
        """A duration: a plain number of seconds, or Go's notation (`5m`, `1h30m`)."""
        return self._read(path, _as_seconds, default, note)

    def count(self, *path: str) -> Setting[int]:
        """A whole number that is written as a quantity (`nvidia.com/gpu: "8"`)."""
        return self._read(path, _as_count, None, "")

    def strings(self, *path: str) -> Setting[tuple[str, ...]]:
        """A list of texts. A template expression in one of them makes the whole unknown."""
        part = self.at(*path)
        if part.unknown:
            return Unknown(part.unknown, part.origin)
        if part.node is None:
            return Absent(part.origin)
        if not isinstance(part.node, Sequence):
            return Unknown("what stands there is no list", part.origin)
        out = []
        for item in part.items():
            value = item.string()
            if not isinstance(value, Set):
                return value if isinstance(value, Unknown) else Unknown("an element is empty", item.origin)
            out.append(value.value)
        return Set(tuple(out), part.origin)

    def text(self, *path: str) -> str | None:
        """The text of a scalar, or None where it is missing, unknown or no scalar."""
        part = self.at(*path)
        return part.node.text if isinstance(part.node, Scalar) and not part.unknown else None

    def texts(self, *path: str) -> dict[str, Setting[str]]:
        """A mapping of texts: annotations, labels, a node selector."""
        return {name: part.string() for name, part in self.at(*path).entries()}

    def _read(
        self, path: tuple[str, ...], read: Callable[[Scalar], T | None], default: T | None, note: str
    ) -> Setting[T]:
        part = self.at(*path)
        node = part.node
        if part.unknown:
            return Unknown(part.unknown, part.origin, before_placeholder(node.text) if isinstance(node, Scalar) else "")
        if node is None:
            return Absent(part.origin) if default is None else part.default(default, note)
        if not isinstance(node, Scalar):
            return Unknown("what stands there is no single value", part.origin)
        value = read(node)
        if value is None:
            return Unknown(f"{node.text!r} is not of the type that belongs there", part.origin)
        return Set(value, part.scalar_origin)

    @property
    def scalar_origin(self) -> Origin:
        """Where the value itself stands, without its key."""
        node = self.node
        if node is None:
            return self.origin
        if isinstance(node.source, BuiltIn):
            return Origin(node.place, "default", node.source.note, self.chain, node)
        return Origin(node.place, chain=self.chain, node=node)

    def default(self, value: T, note: str) -> Set[T]:
        """A controller's default for this part."""
        node = self.home if self.node is None else self.node
        return Set(value, Origin(self.place, "default", note, self.chain, node))


def _as_text(node: Scalar) -> str | None:
    return node.text


def _as_integer(node: Scalar) -> int | None:
    value = node.value
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    text = node.text.strip()
    return int(text) if len(text) < 20 and text.isascii() and text.removeprefix("-").isdigit() else None


def _as_boolean(node: Scalar) -> bool | None:
    if isinstance(node.value, bool):
        return node.value
    if node.text in _TRUE:
        return True
    return False if node.text in _FALSE else None


def _as_number(node: Scalar) -> float | None:
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    return quantity(node.text)


def _as_seconds(node: Scalar) -> float | None:
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    return duration_seconds(node.text)


def _as_count(node: Scalar) -> int | None:
    value = quantity(node.text)
    return int(value) if value is not None and value.is_integer() and abs(value) < 1e9 else None


def before_placeholder(text: str) -> str:
    """What is known of the beginning of a text with a placeholder in it."""
    match = re.search(r"[$<{%@]", text)
    return text[: match.start()] if match else ""
