"""`[ … ]`, `test` and `[[ … ]]` on known words."""

from __future__ import annotations

from kube_gaplint import lazy_re
from kube_gaplint.launch.shell_arithmetic import glob_matches

_NUMBER = lazy_re.compile(r"[+-]?\d{1,18}")


def decide(words: list[str | None], *, patterns: bool, quoted: bool) -> bool | None:
    """Whether a test holds; None where a word is not known or the form is not computed.

    `patterns`: the right side of `==` is a pattern (`[[`); with `quoted`, its `*` may be plain ones.
    """
    negated = False
    while words and words[0] == "!":
        negated = not negated
        words = words[1:]
    verdict = _plain(words, patterns, quoted)
    return None if verdict is None else verdict != negated


def _plain(words: list[str | None], patterns: bool, quoted: bool) -> bool | None:
    if not words:
        return False
    if any(word in ("-a", "-o", "(", ")", "&&", "||") for word in words[1:]) and len(words) > 3:
        return None
    if len(words) == 1:
        return None if words[0] is None else words[0] != ""
    if len(words) == 2:
        operator, word = words
        if word is None or operator not in ("-z", "-n"):
            return None
        return (word == "") == (operator == "-z")
    if len(words) != 3:
        return None
    left, operator, right = words
    if left is None or right is None or operator is None:
        return None
    if operator in ("=", "==", "!="):
        if patterns and any(c in right for c in "*?[\\("):
            same = None if quoted else glob_matches(left, right)
        else:
            same = left == right
        return None if same is None else same == (operator != "!=")
    if operator in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
        if not _NUMBER.fullmatch(left) or not _NUMBER.fullmatch(right):
            return None
        one, two = int(left), int(right)
        return {
            "-eq": one == two,
            "-ne": one != two,
            "-lt": one < two,
            "-le": one <= two,
            "-gt": one > two,
            "-ge": one >= two,
        }[operator]
    return None
