"""What a plain scalar means to Kubernetes.

The rules are those of sigs.k8s.io/yaml, which kubectl and the API server use: go-yaml v2, a YAML 1.1 dialect of its
own. `yes` is a bool, `010` is 8, `1_000` is 1000, `08` is the float 8; timestamps and base-60 numbers stay text.
"""

from __future__ import annotations

from kube_gaplint import lazy_re
from kube_gaplint.text.nodes import ScalarValue

WORDS: dict[str, ScalarValue] = {
    "": None,
    **dict.fromkeys(("~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
"""Plain scalars with a fixed meaning."""

NUMBER_STARTS = frozenset("0123456789+-.")
"""First characters of plain scalars that may be numbers; what starts otherwise is one of `WORDS`, or text."""

_INTEGER = lazy_re.compile(
    r"([-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO](?P<oct>[0-7]+)|0[bB](?P<bin>[01]+)"
    r"|0(?P<old>[0-7]*)|(?P<dec>[1-9][0-9]*))"
)
_BASES = {"hex": 16, "oct": 8, "bin": 2, "old": 8, "dec": 10}
_FLOAT = lazy_re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_POINT_FLOAT = lazy_re.compile(r"\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_AFTER_SIGN = frozenset("0123456789.")
_NUMBER_ENDS = frozenset("0123456789.abcdefABCDEF")
"""Last characters of numbers, hexadecimal ones among them: `64Gi` and `500m` are none."""
_LONGEST_NUMBER = 3000
"""Python refuses to convert integers of more decimal digits to text and back (4300 by default): a number that is
written with more digits of any base stays text."""

TAGS = {
    "tag:yaml.org,2002:str": "str",
    "tag:yaml.org,2002:int": "int",
    "tag:yaml.org,2002:float": "float",
    "tag:yaml.org,2002:bool": "bool",
    "tag:yaml.org,2002:null": "null",
}
"""The tags that decide what a scalar is; under any other tag it is text."""


def resolve_plain(text: str) -> ScalarValue:
    """The value of a plain scalar without a tag."""
    if text in WORDS:
        return WORDS[text]
    if text[0] not in NUMBER_STARTS:
        return text
    if text[0] == ".":  # underscores are not taken out of these
        return _float(text, text) if _POINT_FLOAT.fullmatch(text) else text
    return _number(text)


def resolve_tagged(text: str, tag: str) -> ScalarValue:
    """The value of a scalar of any style under an explicit tag. A text that does not fit its tag stays text."""
    kind = TAGS.get(tag, "str")
    if kind == "str":
        return text
    value = resolve_plain(text)
    if kind == "float" and type(value) is int:
        return float(value) if abs(value) < 1 << 1000 else text
    fits = {
        "int": type(value) is int,
        "float": type(value) is float,
        "bool": type(value) is bool,
        "null": value is None,
    }
    return value if fits[kind] else text


def _number(text: str) -> ScalarValue:
    plain = text.replace("_", "")
    if plain.isdigit() and plain.isascii() and plain[0] != "0" and len(plain) < 19:
        return int(plain)  # most numbers are
    if plain[-1] not in _NUMBER_ENDS or (plain[0] in "+-" and plain[1:2] not in _AFTER_SIGN):
        return text
    match = _INTEGER.fullmatch(plain)
    if match is None:
        return _float(plain, text) if _FLOAT.fullmatch(plain) else text
    name = str(match.lastgroup)
    digits = match[name]
    if len(digits) > _LONGEST_NUMBER:
        return text
    value = int(digits or "0", _BASES[name])
    sign = match[1]
    if sign == "-":
        value = -value
    if -(1 << 63) <= value < (1 << 63) or (not sign and value < 1 << 64):
        return value
    # Beyond 64 bits go-yaml reads digits as a decimal float, leading zero or not, and falls back to a big integer.
    if _FLOAT.fullmatch(plain):
        wide = _float(plain, text)
        if wide is not text:
            return wide
    return value if not sign else text


def _float(plain: str, text: str) -> ScalarValue:
    value = float(plain)
    return text if value in (float("inf"), float("-inf")) else value
