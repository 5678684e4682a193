"""Patterns as in git-ignore files, matched in bounded time whoever wrote them.

pathspec answers as git does, by one regular expression a pattern; `*a*a*a*a*b` and `**/a/**/a/**/b` make it try every
way to split a name or a path. The first way is enough: what a star leaves for the stars after it is only less, the
longer it is. So each expression gets atomic groups around all stars but the last ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, AnyStr

from kube_gaplint import lazy_re

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST = 5_000
"""Patterns in one file; further ones are passed over."""
_LONGEST = 1_000
"""Characters of a pattern: names of files are shorter."""


def wrong_because(pattern: str) -> str:
    """Why a pattern cannot be used; empty where it can."""
    if len(pattern) > _LONGEST:
        return f"it has more than {_LONGEST:,} characters"
    try:
        spec([pattern])
    except ValueError:
        return "git does not understand it"
    return ""


def usable(lines: Sequence[str]) -> tuple[list[str], int]:
    """The patterns that can be used, and how many others there are for another reason than being none to git."""
    short = [line for line in lines if len(line) <= _LONGEST][:MOST]
    left = len(lines) - len(short)
    try:
        spec(short)
    except ValueError:
        short = [line for line in short if not wrong_because(line)]
    return short, left


def spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """The patterns, later ones before earlier ones. Raises ValueError for one that git does not understand."""
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    class Pattern(GitIgnoreSpecPattern):
        @classmethod
        def pattern_to_regex(cls, pattern: AnyStr) -> tuple[AnyStr | None, bool | None]:
            regex, include = super().pattern_to_regex(pattern)
            return (hardened(regex) if isinstance(regex, str) else regex), include  # type: ignore[return-value]

    return GitIgnoreSpec.from_lines(lines, pattern_factory=Pattern)


_STAR = "[^/]*"
_START = "^(?:.+/)?"
_BETWEEN = "(?:/.+)?"
_SET = lazy_re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\.")


def hardened(regex: str) -> str:
    """pathspec's expression for a pattern, without the ways of matching that lead to nothing new."""
    first, *others = (_stars(part) for part in regex.split(_BETWEEN))
    if not others:
        return first
    if first.startswith(_START):
        first = f"^(?>(?:.+?/)??{first.removeprefix(_START)}(?=/))"
    *between, last = others
    return "".join([first, *(f"(?>(?:/.+?)??{part}(?=/))" for part in between), _BETWEEN, last])


def _stars(regex: str) -> str:
    """All stars of a part of a path but its last one take the shortest way."""
    first, *others = regex.split(_STAR)
    out = [first]
    for index, after in enumerate(others):
        plain = _SET.sub("", after)
        is_last = index == len(others) - 1 or any(mark in plain for mark in "/()|")
        out.append(f"{_STAR}{after}" if is_last else f"(?>[^/]*?{after})")
    return "".join(out)
