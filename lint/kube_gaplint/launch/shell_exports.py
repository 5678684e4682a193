"""What a shell exports, at every point of a script.

Each command has an environment of its own, so what held at a point must stay to be seen when more is exported later.
The changes are kept with the point from which on they hold; a view looks a variable up as of its own point.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final

from kube_gaplint.model.environment import Layered, Overlay, laid_over
from kube_gaplint.model.setting import Setting

_FEW: Final = 64
"""So many variables are copied for each view: that is faster than looking up their history."""
_Change = tuple[int, int, "Setting[str] | None"]
"""The point from which on it holds, the rank among the variables, and the setting: None where it is not exported."""


class Exports:
    """Variables that a script has exported or taken away (`Absent`), as they change."""

    def __init__(self) -> None:
        self.now: dict[str, Setting[str]] = {}
        self._history: dict[str, list[_Change]] = {}
        self._changed: list[str] = []
        """The variable that changed at each point."""
        self._rank = 0

    def put(self, name: str, setting: Setting[str] | None) -> bool:
        """From here on a variable has this setting; None: it is left as the shell was given it. False: it had it."""
        before = self.now.get(name)
        if before is setting:
            return False
        history = self._history.setdefault(name, [])
        if before is None:
            self._rank += 1
        rank = self._rank if before is None else history[-1][1]
        self._changed.append(name)
        history.append((len(self._changed), rank, setting))
        if setting is None:
            del self.now[name]
        else:
            self.now[name] = setting
        return True

    def over(self, given: Mapping[str, Setting[str]]) -> Mapping[str, Setting[str]]:
        """The variables that a shell was given with what holds now on top; it stays what it is."""
        if not self.now:
            return given
        if len(self.now) <= _FEW:
            return laid_over(given, dict(self.now))
        return _View(given, self._history, self._changed)


class _View(Layered):
    """`{**given, **exports}` as of one point."""

    __slots__ = ("_changed", "_given", "_history", "_point")

    def __init__(
        self, given: Mapping[str, Setting[str]], history: dict[str, list[_Change]], changed: list[str]
    ) -> None:
        self._given = given
        self._history = history
        self._changed = changed
        self._point = len(changed)

    def _change(self, name: str) -> _Change | None:
        """The change in force; None where the variable is as it was given."""
        history = self._history.get(name)
        if history is None:
            return None
        at = bisect_right(history, self._point, key=itemgetter(0)) - 1
        return history[at] if at >= 0 and history[at][2] is not None else None

    def __getitem__(self, name: str) -> Setting[str]:
        change = self._change(name)
        if change is None or change[2] is None:
            return self._given[name]
        return change[2]

    def __iter__(self) -> Iterator[str]:
        yield from self._given
        given = self._given
        added = [(change[1], name) for name in self._history if name not in given and (change := self._change(name))]
        yield from (name for _, name in sorted(added))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._change(name) is not None or name in self._given)

    def differing(self, before: Mapping[str, Setting[str]]) -> Iterable[str]:
        on_top: Mapping[str, Setting[str]] = {}
        if isinstance(before, Overlay):
            on_top = before.changes
            before = before.below
        if not isinstance(before, _View) or before._history is not self._history:
            return self
        low, high = sorted((before._point, self._point))
        return [name for name in dict.fromkeys((*self._changed[low:high], *on_top)) if name in self]
