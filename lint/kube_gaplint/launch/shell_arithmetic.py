"""Small computations of the shell: integer arithmetic, and `${X%…}`-like changes of a known text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kube_gaplint import lazy_re

_TOKEN: Final = lazy_re.compile(
    r"\s*(?:(\d+#[0-9A-Za-z]+|0[xX][0-9A-Fa-f]+|\d+)|\$?\{?([A-Za-z_]\w*|(?<=[${])\d+)\}?|(\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~?:()]))"
)
_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Binary operators, loosest first."""
_LEVEL: Final = {operator: level for level, row in enumerate(_LEVELS) for operator in row}
MAX_DEPTH: Final = 60


class _Unknown(Exception):
    """The value is not known, or the text is no arithmetic."""


def names(text: str) -> Iterator[str]:
    """The names of variables in an arithmetic text."""
    return (found.group() for found in re.finditer(r"(?<![\w#])[A-Za-z_]\w*", text))


def evaluate(text: str, variable: Callable[[str], int | None]) -> int | None:
    """The value of an integer expression as bash works it out; None where it is not known or not plain."""
    if len(text) > 1000:
        return None
    tokens: list[str | int] = []
    at = 0
    while at < len(text):
        if not text[at:].strip():
            break
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        number, name, operator = found.groups()
        if number is not None:
            try:
                if "#" in number:
                    base, digits = number.split("#")
                    tokens.append(int(digits, int(base)))
                elif number[:2] in ("0x", "0X"):
                    tokens.append(int(number, 16))
                else:
                    tokens.append(int(number, 8 if number.startswith("0") and len(number) > 1 else 10))
            except ValueError:
                return None
        elif name is not None:
            value = variable(name)
            if value is None:
                return None
            tokens.append(value)
        else:
            tokens.append(operator)
        at = found.end()
    if not tokens:
        return 0
    try:
        value, rest = _expression(tokens, 0, 0, 0)
    except _Unknown:
        return None
    if rest != len(tokens) or abs(value) >= 1 << 63:
        return None
    return value


def _expression(tokens: list[str | int], at: int, level: int, depth: int) -> tuple[int, int]:
    if depth > MAX_DEPTH:
        raise _Unknown
    value, at = _primary(tokens, at, depth + 1)
    while at < len(tokens):
        operator = tokens[at]
        if operator == "?" and level == 0:
            first, at = _expression(tokens, at + 1, 0, depth + 1)
            if at >= len(tokens) or tokens[at] != ":":
                raise _Unknown
            second, at = _expression(tokens, at + 1, 0, depth + 1)
            value = first if value else second
            continue
        if not isinstance(operator, str) or operator not in _LEVEL or _LEVEL[operator] < level:
            break
        right, at = _expression(tokens, at + 1, _LEVEL[operator] + 1, depth + 1)
        value = _apply(operator, value, right)
    return value, at


def _primary(tokens: list[str | int], at: int, depth: int) -> tuple[int, int]:
    if at >= len(tokens) or depth > MAX_DEPTH:
        raise _Unknown
    token = tokens[at]
    if isinstance(token, int):
        value, at = token, at + 1
    elif token == "(":
        value, at = _expression(tokens, at + 1, 0, depth + 1)
        if at >= len(tokens) or tokens[at] != ")":
            raise _Unknown
        at += 1
    elif token in ("-", "+", "!", "~"):
        value, at = _primary(tokens, at + 1, depth + 1)
        value = -value if token == "-" else int(not value) if token == "!" else ~value if token == "~" else value
    else:
        raise _Unknown
    if at < len(tokens) and tokens[at] == "**":
        power, at = _primary(tokens, at + 1, depth + 1)
        if not 0 <= power <= 63:
            raise _Unknown
        value = value**power
    return value, at


def _apply(operator: str, left: int, right: int) -> int:
    if abs(left) >= 1 << 63 or abs(right) >= 1 << 63:
        raise _Unknown
    if operator in ("/", "%"):
        if right == 0:
            raise _Unknown
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # towards zero, as in C
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        if not 0 <= right < 64:
            raise _Unknown
        return left << right if operator == "<<" else left >> right
    return {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "<": int(left < right),
        ">": int(left > right),
        "<=": int(left <= right),
        ">=": int(left >= right),
        "==": int(left == right),
        "!=": int(left != right),
        "&": left & right,
        "|": left | right,
        "^": left ^ right,
        "&&": int(bool(left) and bool(right)),
        "||": int(bool(left) or bool(right)),
    }[operator]


def transform(
    text: str, operator: str, argument: str, replacement: str, quoted: bool, number: Callable[[str], int | None]
) -> str | None:
    """`${X#p}`, `${X%p}`, `${X/p/r}`, `${X:o:l}`, `${X^^}` and `${X,,}` of a known text; None where not computed.

    `quoted`: the argument was quoted in part, so that its `*` may be plain ones; then only plain patterns count.
    """
    if operator in ("^^", ",,", "^", ",") and not argument:
        if operator == "^^":
            return text.upper()
        if operator == ",,":
            return text.lower()
        return text[:1].upper() + text[1:] if operator == "^" else text[:1].lower() + text[1:]
    if len(text) > 1024 or len(argument) > 128:
        return None
    if operator == ":":
        pieces = argument.split(":")
        numbers = [number(piece) for piece in pieces]
        start = numbers[0]
        if len(pieces) > 2 or start is None:
            return None
        if start < 0:
            start = max(0, len(text) + start)
        if len(pieces) == 1:
            return text[start:]
        length = numbers[1]
        if length is None:
            return None
        return text[start : start + length] if length >= 0 else text[start : max(start, len(text) + length)]
    if quoted and any(c in argument for c in "*?["):
        return None
    if operator in ("#", "##", "%", "%%"):
        return _trim(text, operator, argument)
    if operator in ("/", "//"):
        if any(c in argument for c in "*?[]()#%") or not argument or "&" in replacement:
            return None
        return text.replace(argument, replacement, -1 if operator == "//" else 1)
    return None


def _trim(text: str, operator: str, pattern: str) -> str | None:
    """Take the shortest or longest match of a glob with `*` and `?` off one end."""
    if any(c in pattern for c in "[]()\\"):
        return None
    if pattern.count("*") > 3:
        return None
    ends = range(len(text) + 1)
    if operator in ("#", "##"):
        for end in ends if operator == "#" else reversed(ends):
            if _matches(text[:end], pattern):
                return text[end:]
        return text
    for start in reversed(ends) if operator == "%" else ends:
        if _matches(text[start:], pattern):
            return text[:start]
    return text


def _matches(text: str, pattern: str) -> bool:
    """Whether a glob of `*` and `?` matches the whole text, in linear steps with one point to go back to."""
    at = here = 0
    star, mark = -1, 0
    while at < len(text):
        if here < len(pattern) and pattern[here] == "*":
            star, mark = here, at
            here += 1
        elif here < len(pattern) and (pattern[here] == "?" or pattern[here] == text[at]):
            here += 1
            at += 1
        elif star >= 0:
            here = star + 1
            mark += 1
            at = mark
        else:
            return False
    while here < len(pattern) and pattern[here] == "*":
        here += 1
    return here == len(pattern)


def glob_matches(text: str, pattern: str) -> bool | None:
    """Whether a glob of plain characters, `*` and `?` matches; None for a pattern that is not computed."""
    if any(c in pattern for c in "[]()\\") or len(text) > 4096 or len(pattern) > 256:
        return None
    return _matches(text, pattern)
