"""Amounts of training out of the text of an option: steps, epochs, fractions, Composer's time strings, durations."""

from __future__ import annotations

import math
import re

from kube_gaplint import lazy_re
from kube_gaplint.facts.frameworks import Amount
from kube_gaplint.facts.frameworks import Unit as Reading
from kube_gaplint.model.training import Quantity, Unit

_TIME_STRING = lazy_re.compile(r"([\d_.]+(?:e[+-]?\d+)?)\s*(ep|ba|iter|sp|tok|dur|sec|min|hr|h)\Z", re.IGNORECASE)
_TIME_UNITS: dict[str, Unit] = {
    "ep": "epochs", "ba": "steps", "iter": "steps", "sp": "samples", "tok": "tokens", "dur": "fraction",
    "sec": "seconds", "min": "minutes", "hr": "hours", "h": "hours",
}  # fmt: skip
_PLAIN: dict[str, Unit] = {
    "steps": "steps", "epochs": "epochs", "samples": "samples", "tokens": "tokens", "fraction": "fraction",
    "seconds": "seconds", "minutes": "minutes", "hours": "hours",
}  # fmt: skip
_CLOCK = lazy_re.compile(r"(?:(\d{1,9})[:-])?(\d{1,9}):(\d{1,9}):(\d{1,9})\Z")
_PART = lazy_re.compile(r"(weeks|days|hours|minutes|seconds|milliseconds)\s*[=:]\s*([\d_.]+(?:\s*\*\s*[\d_.]+)*)")
_SECONDS = {"weeks": 604800.0, "days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0, "milliseconds": 0.001}
_NAMED: tuple[tuple[tuple[str, ...], Unit], ...] = (
    (("epoch",), "epochs"),
    (("step", "iter", "update", "batches"), "steps"),
    (("sample",), "samples"),
    (("token",), "tokens"),
    (("hour",), "hours"),
    (("minute", "-min"), "minutes"),
    (("second", "-sec"), "seconds"),
)


def number(text: str) -> float | None:
    """A number as Python or YAML writes it: `10_000`, `5e2`; None for anything else, infinities included."""
    cleaned = text.strip().replace("_", "").strip("\"'")
    try:
        value = float(cleaned)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def is_off(text: str, amount: Amount) -> bool:
    """Whether a value means that the option is not in use."""
    lowered = text.strip().strip("\"'").lower()
    value = number(lowered)
    if value is not None and value.is_integer():
        lowered = str(int(value))
    return lowered in amount.off


def quantity(text: str, reading: Reading, name: str = "") -> Quantity | None:
    """The amount that a text stands for; None where it cannot be read. `name` is the option's, for `named`."""
    text = text.strip().strip("\"'")
    if reading in {"time-string", "epochs-or-time-string"}:
        match = _TIME_STRING.match(text)
        if match is not None:
            value = number(match[1])
            return None if value is None else Quantity(value, _TIME_UNITS[match[2].lower()])
        value = number(text) if reading == "epochs-or-time-string" else None
        return None if value is None else Quantity(value, "epochs")
    if reading in {"days-clock", "timedelta"}:
        value = seconds(text)
        return None if value is None else Quantity(value, "seconds")
    value = number(text)
    if value is None:
        return None
    if reading == "steps-or-fraction":
        return Quantity(value, "fraction") if 0 < value < 1 else Quantity(value, "steps")
    if reading == "steps-or-epochs":
        return Quantity(value, "epochs" if "." in text and value <= 1 else "steps")
    if reading == "per-epoch":
        return Quantity(1 / value, "epochs") if value > 0 else None
    if reading == "named":
        unit = unit_of_name(name)
        return None if unit is None else Quantity(value, unit)
    return Quantity(value, _PLAIN[reading]) if reading in _PLAIN else None


def unit_of_name(name: str) -> Unit | None:
    """The unit that an option's own name tells: `save-steps`, `save-every-n-epochs`."""
    lowered = name.lower().replace("_", "-")
    for parts, unit in _NAMED:
        if any(part in lowered for part in parts):
            return unit
    return None


def seconds(text: str) -> float | None:
    """A duration: `timedelta(minutes=30)`, `00:03:55:00` (days first), a bare number of seconds."""
    text = text.strip()
    value = number(text)
    if value is not None:
        return value
    clock = _CLOCK.match(text)
    if clock is not None:
        days, hours, minutes, rest = (int(part or 0) for part in clock.groups())
        return days * 86400.0 + hours * 3600.0 + minutes * 60.0 + rest
    parts = _PART.findall(text)
    if not parts:
        return None
    total = 0.0
    for unit, factors in parts:
        product = 1.0
        for factor in factors.split("*"):
            read = number(factor)
            if read is None:
                return None
            product *= read
        total += product * _SECONDS[unit]
    return total
