"""Patterns that are compiled when they are first used, and shell globs.

A run on one manifest uses a tenth of the patterns that its modules hold, and compiling all of them would take longer
than everything else that such a run does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, AnyStr, cast


class _Later:
    """Stands for a compiled pattern: the first use of a method compiles it and keeps that method."""

    def __init__(self, text: Any, flags: int | re.RegexFlag) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


class _Needing(_Later):
    """A pattern that is not even compiled for a text which holds none of the parts that a match needs."""

    def __init__(self, text: str, flags: int | re.RegexFlag, needs: Sequence[str]) -> None:
        super().__init__(text, flags)
        self.needs = tuple(needs)
        self._any_case = bool(flags & re.IGNORECASE)

    def search(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._whole.search(text, *bounds) if self._may_match(text) else None

    def match(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._whole.match(text, *bounds) if self._may_match(text) else None

    def fullmatch(self, text: str, *bounds: int) -> re.Match[str] | None:
        return self._whole.fullmatch(text, *bounds) if self._may_match(text) else None

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        return self._whole.finditer(text, *bounds) if self._may_match(text) else iter(())

    def _may_match(self, text: str) -> bool:
        text = text.lower() if self._any_case else text
        for part in self.needs:  # noqa: SIM110 - a generator costs more than the search
            if part in text:
                return True
        return False

    @property
    def _whole(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)  # which keeps it


def compile(text: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but a mistake in the pattern shows at its first use: the tests compile all of them."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))


def needing(needs: Sequence[str], text: str, flags: int | re.RegexFlag = 0) -> re.Pattern[str]:
    """As `compile`, for a pattern of which every match holds one of the parts `needs`; lower case, where case does not
    count.

    Most texts hold none: they are answered without the pattern, which is slow to compile where it has many branches.
    """
    return cast("re.Pattern[str]", _Needing(text, flags, needs))


@lru_cache(maxsize=4096)
def found_in(text: str, pattern: re.Pattern[str]) -> bool:
    """Whether a pattern is found in a text that many ask about: programs of a repository import the same modules."""
    return pattern.search(text) is not None


def globs(name: str, pattern: str) -> bool:
    """As `fnmatch.fnmatchcase`, without a regular expression where the pattern has no wildcard but `*`."""
    parts = _parts(pattern)
    if parts is None:
        from fnmatch import fnmatchcase

        return fnmatchcase(name, pattern)
    if len(parts) == 1:
        return name == pattern
    first, *middle, last = parts
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


@lru_cache(maxsize=4096)
def _parts(pattern: str) -> list[str] | None:
    """The texts between the stars; None for a pattern with other wildcards."""
    return None if "?" in pattern or "[" in pattern else pattern.split("*")
