"""Patterns as in git-ignore files, matched in bounded time whoever wrote them.

pathspec answers as git does, by one regular expression a pattern; `*a*a*a*a*b` and `**/a/**/a/**/b` make it try every
way to split a name or a path. The first way is enough: what a star leaves for the stars after it is only less, the
longer it is. So each expression gets atomic groups around all stars but the last ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, AnyStr

from kube_gaplint import lazy_re
from kube_gaplint.lazy_re import globs

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


def within_limits(lines: Sequence[str]) -> tuple[list[str], int]:
    """The patterns that are short enough, up to `MOST`, and how many others there are."""
    short = [line for line in lines if len(line) <= _LONGEST][:MOST]
    return short, len(lines) - len(short)


def usable(lines: Sequence[str]) -> tuple[list[str], int]:
    """The patterns that can be used, and how many others there are for another reason than being none to git."""
    short, left = within_limits(lines)
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


_SIMPLE_SET = lazy_re.compile(r"\[([A-Za-z0-9]+)\]")
_MOST_SPELLINGS = 16
_MOST_OTHERS = 30


class Sieve:
    """A quick test whether patterns can match at all, without pathspec, which takes longer to import than many a run.

    It asks for a path whose folders were all asked for before, and are not ignored. It says yes too often, for patterns
    that it does not understand (`left`) never no.
    """

    __slots__ = ("_anchored", "_ends", "_floating", "_names", "_others", "_starts", "left")

    def __init__(self, lines: Iterable[str]) -> None:
        self.left: list[str] = []
        """Patterns with escapes, ranges or other things that are rare."""
        self._names: set[str] = set()
        self._anchored: dict[str, list[list[str]]] = {}
        """Segments of patterns on a path, by the first one."""
        self._floating: list[list[str]] = []
        """Those whose first segment has a wildcard."""
        starts, ends, self._others = [], [], list[str]()
        for line in lines:
            spellings = _spellings(line)
            if spellings is None:
                self.left.append(line)
                continue
            for text in spellings:
                fixed = text.count("*") == 1 and "?" not in text
                if "/" in text:
                    self._add_path(text.strip("/").split("/"))
                elif "*" not in text and "?" not in text:
                    self._names.add(text)
                elif fixed and text[0] == "*":
                    ends.append(text[1:])
                elif fixed and text[-1] == "*":
                    starts.append(text[:-1])
                elif len(self._others) < _MOST_OTHERS:
                    self._others.append(text)
                else:
                    self.left.append(line)
        self._starts, self._ends = tuple(starts), tuple(ends)

    def _add_path(self, segments: list[str]) -> None:
        first = segments[0]
        if "*" not in first and "?" not in first:
            self._anchored.setdefault(first, []).append(segments)
        else:
            self._floating.append(segments)

    def lets_through(self, path: str, name: str) -> bool:
        """Whether a pattern that is understood may match a path (below the folder of the patterns) of this name."""
        if name in self._names or name.startswith(self._starts) or name.endswith(self._ends):
            return True
        if self._others and any(globs(name, pattern) for pattern in self._others):
            return True
        anchored = self._anchored.get(path.partition("/")[0]) if self._anchored else None
        if not anchored and not self._floating:
            return False
        parts = path.split("/")
        return any(_may_lead_to(parts, segments) for segments in (*(anchored or ()), *self._floating))


def _spellings(line: str) -> Iterator[str] | None:
    """A pattern without its marks, once for each way to read its sets (`*.py[co]`); None for one with more to it."""
    text = line.rstrip().removeprefix("!").removesuffix("/")
    if text.startswith("**/") and text.count("/") == 1:
        text = text[3:]
    if not text.strip("/") or text[0] in "#!" or "\\" in text or "//" in text:
        return None
    first, *rest = _SIMPLE_SET.split(text)  # what stands between the sets, and the sets
    between, sets = [first, *rest[1::2]], rest[::2]
    if any("[" in part or "]" in part for part in between):
        return None
    count = 1
    for characters in sets:
        count *= len(characters)
        if count > _MOST_SPELLINGS:
            return None
    return (
        first + "".join(character + after for character, after in zip(chosen, rest[1::2], strict=True))
        for chosen in product(*sets)
    )


def _may_lead_to(parts: Sequence[str], segments: Sequence[str]) -> bool:
    """Whether a path begins as a pattern demands, up to its first `**`, and ends so."""
    if segments[-1] != "**" and not globs(parts[-1], segments[-1]):
        return False
    for at, segment in enumerate(segments):
        if segment == "**":
            return True
        if at >= len(parts) or not globs(parts[at], segment):
            return False
    return True


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
