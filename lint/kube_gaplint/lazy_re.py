"""Patterns that are compiled when they are first used, and shell globs.

A run on one manifest uses a tenth of the patterns that its modules hold, and compiling all of them would take longer
than everything else that such a run does.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
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


def compile(text: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but a mistake in the pattern shows at its first use: the tests compile all of them."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))


def globs(name: str, pattern: str) -> bool:
    """As `fnmatch.fnmatchcase`, without a regular expression where the pattern has no wildcard but `*`."""
    parts = _parts(pattern)
    if parts is None:
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
