"""Amounts of training as options write them."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.frameworks import Amount
from kube_gaplint.facts.frameworks import Unit as Reading
from kube_gaplint.launch.amounts import is_off, number, quantity, seconds, unit_of_name
from kube_gaplint.model.training import Quantity, Unit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10_000", 10_000), (" 5e2 ", 500), ("'3'", 3), ('"0.5"', 0.5), ("-1", -1), ("inf", None), ("nan", None),
        ("-inf", None), ("", None), ("ten", None),
    ],
)  # fmt: skip
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("90", 90), ("00:03:55:00", 14_100), ("1-02:03:04", 93_784), ("1:2:3", 3_723), ("7:1:2:3", 608_523),
        ("timedelta(weeks=2)", 1_209_600), ("timedelta(days=2)", 172_800), ("timedelta(hours=2)", 7_200),
        ("timedelta(minutes=2)", 120), ("timedelta(seconds=2)", 2), ("timedelta(milliseconds=2)", 0.002),
        ("timedelta(hours=1, minutes=30)", 5_400), ("timedelta(seconds=60 * 60 * 2)", 7_200), ("{minutes: 2}", 120),
        ("timedelta(minutes=1_0)", 600), ("timedelta(minutes=.)", None), ("soon", None), ("", None), ("1:2", None),
    ],
)  # fmt: skip
def test_durations(text: str, total: float | None) -> None:
    assert seconds(text) == total


@pytest.mark.parametrize(
    ("text", "reading", "found"),
    [
        ("500", "steps", Quantity(500, "steps")),
        ("500", "epochs", Quantity(500, "epochs")),
        ("0.5", "hours", Quantity(0.5, "hours")),
        ("soon", "steps", None),
        ("0.25", "steps-or-fraction", Quantity(0.25, "fraction")),
        ("0", "steps-or-fraction", Quantity(0, "steps")),
        ("1", "steps-or-fraction", Quantity(1, "steps")),
        ("1.5", "steps-or-fraction", Quantity(1.5, "steps")),
        ("-0.5", "steps-or-fraction", Quantity(-0.5, "steps")),
        ("1.0", "steps-or-epochs", Quantity(1, "epochs")),
        ("0.25", "steps-or-epochs", Quantity(0.25, "epochs")),
        ("1.5", "steps-or-epochs", Quantity(1.5, "steps")),
        ("1", "steps-or-epochs", Quantity(1, "steps")),
        ("4", "per-epoch", Quantity(0.25, "epochs")),
        ("0.5", "per-epoch", Quantity(2, "epochs")),
        ("0", "per-epoch", None),
        ("-4", "per-epoch", None),
        ("10ba", "time-string", Quantity(10, "steps")),
        ("10iter", "time-string", Quantity(10, "steps")),
        ("2EP", "time-string", Quantity(2, "epochs")),
        ("1e3sp", "time-string", Quantity(1_000, "samples")),
        ("1_000tok", "time-string", Quantity(1_000, "tokens")),
        ("0.5dur", "time-string", Quantity(0.5, "fraction")),
        ("5sec", "time-string", Quantity(5, "seconds")),
        ("5min", "time-string", Quantity(5, "minutes")),
        ("5hr", "time-string", Quantity(5, "hours")),
        ("5h", "time-string", Quantity(5, "hours")),
        ("..ba", "time-string", None),
        ("5", "time-string", None),
        ("5", "epochs-or-time-string", Quantity(5, "epochs")),
        ("5ba", "epochs-or-time-string", Quantity(5, "steps")),
        ("five", "epochs-or-time-string", None),
        ("00:00:10:00", "days-clock", Quantity(600, "seconds")),
        ("minutes=10", "timedelta", Quantity(600, "seconds")),
        ("soon", "timedelta", None),
    ],
)
def test_amounts(text: str, reading: Reading, found: Quantity | None) -> None:
    assert quantity(text, reading) == found


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("save-every-n-epochs", "epochs"), ("save_steps", "steps"), ("ckpt-iters", "steps"), ("every_updates", "steps"),
        ("n-batches", "steps"), ("samples", "samples"), ("max_tokens", "tokens"), ("hours", "hours"),
        ("every-minutes", "minutes"), ("save_min", "minutes"), ("seconds", "seconds"), ("save_sec", "seconds"),
        ("interval", None), ("", None),
    ],
)  # fmt: skip
def test_units_in_names(name: str, unit: Unit | None) -> None:
    assert unit_of_name(name) == unit
    assert quantity("3", "named", name) == (None if unit is None else Quantity(3, unit))


@pytest.mark.parametrize(
    ("text", "off"), [("-1", True), ("-1.0", True), ("'No'", True), ("0", False), ("1", False), ("", False)]
)
def test_values_that_mean_off(text: str, off: bool) -> None:
    assert is_off(text, Amount((), "steps", off=("-1", "no"))) is off
