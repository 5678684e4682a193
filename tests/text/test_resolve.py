"""Plain scalars as sigs.k8s.io/yaml (go-yaml v2) reads them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.text.resolve import resolve_plain, resolve_tagged


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("y", True),
        ("Y", True),
        ("yes", True),
        ("YES", True),
        ("yEs", "yEs"),
        ("on", True),
        ("true", True),
        ("True", True),
        ("n", False),
        ("No", False),
        ("off", False),
        ("FALSE", False),
        ("0", 0),
        ("-0", 0),
        ("8", 8),
        ("+8", 8),
        ("-8", -8),
        ("010", 8),
        ("-010", -8),
        ("0o10", 8),
        ("0O10", 8),
        ("0x1F", 31),
        ("-0X1f", -31),
        ("0b101", 5),
        ("-0b101", -5),
        ("1_000", 1000),
        ("0x_1F", 31),
        ("_1", "_1"),
        ("08", 8.0),
        ("0o8", "0o8"),
        ("0x", "0x"),
        ("0b", "0b"),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        (".5_0", ".5_0"),
        ("1_0.5", 10.5),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("1e", "1e"),
        ("1e400", "1e400"),
        (".", "."),
        ("..", ".."),
        ("-", "-"),
        ("+", "+"),
        ("--1", "--1"),
        (".inf", math.inf),
        ("+.INF", math.inf),
        ("-.Inf", -math.inf),
        ("inf", "inf"),
        ("9223372036854775807", 9223372036854775807),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 18446744073709551616.0),
        ("-9223372036854775809", -9223372036854775809.0),
        ("0xFFFFFFFFFFFFFFFFFF", 0xFFFFFFFFFFFFFFFFFF),
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z"),
        ("1:30", "1:30"),
        ("30m", "30m"),
        ("1.2.3", "1.2.3"),
        ("١", "١"),
        ("<<", "<<"),
        ("name", "name"),
        ("true ", "true "),
    ],
)
def test_plain(text: str, value: object) -> None:
    found = resolve_plain(text)
    assert found == value
    assert type(found) is type(value)


def test_not_a_number() -> None:
    found = resolve_plain(".NaN")
    assert isinstance(found, float)
    assert math.isnan(found)


def test_numbers_too_long_for_python_stay_text() -> None:
    assert resolve_plain("9" * 5000) == "9" * 5000
    assert resolve_plain("0x" + "f" * 5000) == "0x" + "f" * 5000
    wide = resolve_plain("0x" + "f" * 3000)
    assert str(wide).isdecimal(), "a number that can be shown"


@pytest.mark.parametrize(
    ("text", "tag", "value"),
    [
        ("3", "str", "3"),
        ("3", "int", 3),
        ("3", "float", 3.0),
        ("yes", "bool", True),
        ("", "null", None),
        ("x", "int", "x"),
        ("1.5", "int", "1.5"),
        ("3", "binary", "3"),
    ],
)
def test_tags_decide(text: str, tag: str, value: object) -> None:
    found = resolve_tagged(text, f"tag:yaml.org,2002:{tag}")
    assert found == value
    assert type(found) is type(value)
    assert resolve_tagged(text, "!own") == text


@given(st.text(alphabet="0123456789+-._xXoObBeEaAfF~nulyY", max_size=12))
def test_any_text_has_a_value(text: str) -> None:
    value = resolve_plain(text)
    assert value is None or isinstance(value, str | int | float)
    if isinstance(value, str):
        assert value == text


@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_come_back(number: int) -> None:
    assert resolve_plain(str(number)) == number
    assert resolve_plain(f"{'-' if number < 0 else ''}0x{abs(number):x}") == number
