"""Quantities and durations as Kubernetes and Go write them."""

from __future__ import annotations

import math
import re

from kube_gaplint import lazy_re
from kube_gaplint.model.setting import Set, Setting, Unknown

_SUFFIXES = {
    "": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3,
    "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
_QUANTITY = lazy_re.compile(
    r"([+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40}))(?:([eE][+-]?\d{1,3})|([a-zA-Z]{0,2}))\Z", re.ASCII
)
_DURATION_PART = lazy_re.compile(r"(\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(ns|us|µs|μs|ms|s|m|h|d)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def quantity(text: str) -> float | None:
    """A Kubernetes quantity as a plain number (`8Gi` gives bytes, `500m` gives 0.5); None for anything else."""
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 20:
        return float(text)
    match = _QUANTITY.match(text)
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    if exponent:
        return float(number + exponent)
    factor = _SUFFIXES.get(suffix or "")
    return None if factor is None else float(number) * factor


def duration_seconds(text: str) -> float | None:
    """Seconds of a plain number or of Go's notation (`1h30m`, `90s`; `d` too); None for anything else."""
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 20:
        return float(text)
    total, at = 0.0, 0
    while at < len(text):
        match = _DURATION_PART.match(text, at)
        if match is None:
            return None
        total += float(match.group(1)) * _SECONDS[match.group(2)]
        at = match.end()
    return total if at else None


def slept_seconds(text: str, most_digits: int) -> float | None:
    """Seconds for which coreutils' `sleep` takes a whole number (`90`, `7d`); None for anything else, and for a number
    of more digits."""
    number = text.rstrip("dhms")
    if not number.isdecimal() or len(number) > most_digits:
        return None
    return int(number) * _SECONDS.get(text[-1:], 1.0)


def as_quantity(setting: Setting[str]) -> Setting[float]:
    """The number that a quantity stands for; unknown where the text is none."""
    if not isinstance(setting, Set):
        return setting
    value = quantity(setting.value)
    return Unknown(f"{setting.value!r} is no quantity", setting.origin) if value is None else Set(value, setting.origin)


def as_integer(setting: Setting[str]) -> Setting[int]:
    """The whole number that a text stands for; unknown where it is none."""
    if not isinstance(setting, Set):
        return setting
    try:
        return Set(int(setting.value), setting.origin)
    except ValueError:
        return Unknown(f"{setting.value!r} is no whole number", setting.origin)


def as_boolean(setting: Setting[str]) -> Setting[bool]:
    """True or False for the texts that Kubernetes reads as such; unknown for others."""
    if not isinstance(setting, Set):
        return setting
    value = {"true": True, "false": False}.get(setting.value.lower())
    return Unknown(f"{setting.value!r} is no boolean", setting.origin) if value is None else Set(value, setting.origin)


def as_number(setting: Setting[str]) -> Setting[float]:
    """The number that a text stands for, quantities included; unknown where it is none."""
    return as_quantity(setting)


def share(text: str, total: int | None) -> float | None:
    """The share (0 to 1) that a count or a percentage is of a total; None where it cannot be told."""
    text = text.strip()
    number = text.removesuffix("%").strip()
    if not (number.isascii() and number.isdigit() and len(number) < 12):
        return None
    if text.endswith("%"):
        return min(1.0, int(number) / 100.0)
    return min(1.0, int(number) / total) if total else None


def two_digits(number: float) -> float:
    """The number cut to the two digits that a person would write: 1234 is 1200, 0.567 is 0.56."""
    if number <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return float(f"{math.floor(number / unit + 1e-9) * unit:.12g}")
