"""The environment variables in force for one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown

_FEW = 64
"""So many variables are copied when some of them change; more are laid over one another."""


class Layered(Mapping[str, Setting[str]]):
    """Variables that are kept as changes to others: a script with thousands of exports and commands would copy millions
    of entries."""

    __slots__ = ()

    def differing(self, before: Mapping[str, Setting[str]]) -> Iterable[str]:
        """The names in here whose settings may not be those that they have in `before`; all where that is not told."""
        raise NotImplementedError


def differing(before: Mapping[str, Setting[str]], after: Mapping[str, Setting[str]]) -> Iterable[str]:
    """The names in `after` whose settings may not be those that they have in `before`. Whoever goes through the
    environments of a script, one command after the other, looks at these and not at all variables each time."""
    if after is before:
        return ()
    return after.differing(before) if isinstance(after, Layered) else after


class Overlay(Layered):
    """Variables with later assignments on top: `{**below, **changes}` without the copy."""

    __slots__ = ("below", "changes")

    def __init__(self, below: Mapping[str, Setting[str]], changes: Mapping[str, Setting[str]]) -> None:
        self.below: Mapping[str, Setting[str]] = below
        self.changes: Mapping[str, Setting[str]] = changes
        if isinstance(below, Overlay):
            self.below, self.changes = below.below, {**below.changes, **changes}

    def __getitem__(self, name: str) -> Setting[str]:
        found = self.changes.get(name)
        return self.below[name] if found is None else found

    def __iter__(self) -> Iterator[str]:
        yield from self.below
        yield from (name for name in self.changes if name not in self.below)

    def __len__(self) -> int:
        return len(self.below) + sum(1 for name in self.changes if name not in self.below)

    def __contains__(self, name: object) -> bool:
        return name in self.changes or name in self.below

    def differing(self, before: Mapping[str, Setting[str]]) -> Iterable[str]:
        changes: Mapping[str, Setting[str]] = {}
        if isinstance(before, Overlay):
            changes = before.changes
            before = before.below
        names = dict.fromkeys(differing(before, self.below))
        names.update(dict.fromkeys(name for name in changes if name in self.below))
        names.update(dict.fromkeys(self.changes))
        return names


class Environment(Struct, frozen=True):
    """Variables and, where something unseen may set more of them, the reason.

    `home` is where a missing variable would be written (the container, the batch script). `open_because` is empty
    for a complete environment: only then is a variable that is not in `variables` absent. Variables that the image
    sets with ENV count where its Dockerfile lies in the repository; else nobody sees them, and they are left out of
    account except where `facts` knows the image.
    """

    home: Origin
    variables: Mapping[str, Setting[str]] = field(default_factory=dict)
    open_because: str = ""
    names: Mapping[str, Origin] = field(default_factory=dict)
    """Where the names of the variables of a manifest's `env` list stand."""
    sealed_by: str = ""
    """The program (`docker`) that lets no variable in but those that its own options name."""
    conf_because: str = ""
    """Why a file of NCCL's settings that is there is not seen: it may hold NCCL's variables that are not given here."""

    def get(self, *names: str) -> Setting[str]:
        """The value of a variable; of several names (aliases), the first that is not absent."""
        for name in names:
            found = self.variables.get(name)
            if found is not None and not isinstance(found, Absent):
                return found
        if self.open_because and any(name not in self.variables for name in names):
            return Unknown(self.open_because, self.home)
        if self.conf_because:
            from kube_gaplint.facts.variables import is_in_conf_files

            if any(map(is_in_conf_files, names)):
                return Unknown(self.conf_because, self.home)
        return Absent(self.home)

    def __contains__(self, name: str) -> bool:
        """Whether the variable is visibly given, be its value known or not."""
        return not isinstance(self.variables.get(name, None), Absent | None)

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self.variables.items() if not isinstance(value, Absent))

    def set_items(self) -> Iterator[tuple[str, Set[str]]]:
        """Names and values of all variables whose value is known."""
        for name, value in self.variables.items():
            if isinstance(value, Set):
                yield name, value

    def over(self, changes: Mapping[str, Setting[str]], open_because: str = "") -> Environment:
        """This environment with later assignments on top (`Absent` for `unset`)."""
        if not changes and not open_because:
            return self
        variables = laid_over(self.variables, changes) if changes else self.variables
        return replace(self, variables=variables, open_because=self.open_because or open_because)


def laid_over(below: Mapping[str, Setting[str]], changes: Mapping[str, Setting[str]]) -> Mapping[str, Setting[str]]:
    """Variables with later assignments on top."""
    if isinstance(below, dict) and len(below) + len(changes) <= _FEW:
        return {**below, **changes}
    return Overlay(below, changes)
