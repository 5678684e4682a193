"""The three-state `Setting` and the origin that every value carries.

A rule may speak of a missing value only when its absence is proven. So a value is one of

* `Set(value, origin)`: it has this value, written or supplied by a default that is known to apply;
* `Absent(origin)`: it is surely not set; the origin is where it would stand;
* `Unknown(reason, origin)`: something that gaplint cannot see may set it. An unknown never makes a rule fire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

from kube_gaplint.text.nodes import Node
from kube_gaplint.text.source import Place

T = TypeVar("T")
U = TypeVar("U")

Via: TypeAlias = Literal["written", "default", "injected", "derived"]


class Link(Struct, frozen=True, gc=False):
    """One step of the way to a value: the place that refers to it, and what kind of reference it is."""

    place: Place
    note: str


class Origin(Struct, frozen=True, gc=False):
    """Where a value comes from.

    `place` is where it stands, or for a default or an absence the object or container that would carry it. `via`
    tells a written value from a controller's default ("default"), from what an operator or launcher adds by itself
    ("injected") and from what was computed out of others ("derived"); `note` says which one, for the user. `chain`
    is the way from the workload to the place (outermost first): an envFrom, a mount, a patch. `node` is the YAML
    node where there is one; fixes need it.
    """

    place: Place
    via: Via = "written"
    note: str = ""
    chain: tuple[Link, ...] = ()
    node: Node | None = None

    @property
    def written(self) -> bool:
        return self.via == "written"

    def __eq__(self, other: object) -> bool:
        return type(other) is Origin and self._said() == other._said()

    def __hash__(self) -> int:
        return hash(self._said())

    def _said(self) -> tuple[object, ...]:
        """What makes two origins the same; the node is a means of fixes."""
        return self.place, self.via, self.note, self.chain


class Set(Struct, Generic[T], frozen=True, gc=False):
    """The setting has this value."""

    value: T
    origin: Origin
    rope: object = None
    """For an exported shell variable: where each of its characters was written; see `Unknown.rope`."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Set and self.value == other.value and self.origin == other.origin

    def __hash__(self) -> int:
        return hash((self.value, self.origin))


class Absent(Struct, frozen=True, gc=False):
    """The setting is surely not there."""

    origin: Origin


class Unknown(Struct, frozen=True, gc=False):
    """The setting cannot be seen; `reason` completes the sentence "unknown, because …"."""

    reason: str
    origin: Origin | None = None
    prefix: str = ""
    """For a text: what is known of its beginning (`/ckpt/` of `/ckpt/$RUN`)."""
    choices: tuple[str, ...] = ()
    """For a text: everything that it may be, where all of that is seen (a variable that is set in one branch). Of an
    array these are its words with blanks between them, `launch.shared.HOLE` for what is not known of one."""
    path: str | None = None
    """For a text: the file or folder of the repository that it names, by its path from where relative paths stand
    (empty for `$(pwd)`), or by the absolute path that is its default (`${CODE:-/scratch/me/name}`); None where it
    names none."""
    otherwise: str = ""
    """For a text: what it is unless somebody who starts the script says something else (`50` of `${STEPS:-50}`)."""
    rope: object = None
    """For an exported variable: the shell's own record of its known and unknown parts, so that a shell started inside
    (`bash -c '$LAUNCHER $CMD'`) still sees the known ones. It means nothing to anybody else."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Unknown and self._said() == other._said()

    def __hash__(self) -> int:
        return hash(self._said())

    def _said(self) -> tuple[object, ...]:
        return self.reason, self.origin, self.prefix, self.choices, self.otherwise


Setting: TypeAlias = Set[T] | Absent | Unknown


def known(setting: Setting[T]) -> T | None:
    """The value where it is set, else None. Use it only where absent and unknown mean the same to the caller."""
    return setting.value if isinstance(setting, Set) else None


def mapped(setting: Setting[T], change: Callable[[T], U]) -> Setting[U]:
    """The same setting with its value changed; absent and unknown stay what they are."""
    return Set(change(setting.value), setting.origin) if isinstance(setting, Set) else setting


def first_set(*settings: Setting[T]) -> Setting[T]:
    """The setting in force among several places in order of precedence, strongest first.

    A set value wins over all later ones; an unknown hides what comes after it; absent only when all are.
    """
    for setting in settings[:-1]:
        if not isinstance(setting, Absent):
            return setting
    return settings[-1]
