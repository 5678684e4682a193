"""Quantities and durations as Kubernetes and Go write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.model.setting import Absent, Origin, Set, Unknown
from kube_gaplint.model.units import as_boolean, as_integer, as_number, duration_seconds, quantity, share, two_digits
from kube_gaplint.text.source import Place, Source, Span

HERE = Origin(Place(Source("a", "a"), Span(0, 1)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8.0),
        ("8Gi", 8 * 2**30),
        ("128G", 128e9),
        ("500m", 0.5),
        ("1.5Ti", 1.5 * 2**40),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("-1", -1.0),
        ("8GB", None),
        ("8 Gi", None),
        ("Gi", None),
        ("", None),
        ("many", None),
    ],
)
def test_quantity(text: str, value: float | None) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        ("250ms", 0.25),
        ("2d", 172800.0),
        ("30x", None),
        ("h", None),
        ("", None),
        ("1h 30m", None),
    ],
)
def test_duration(text: str, value: float | None) -> None:
    assert duration_seconds(text) == value


@pytest.mark.parametrize(
    ("suffix", "factor"),
    [
        ("n", 1e-9), ("u", 1e-6), ("m", 1e-3), ("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15),
        ("E", 1e18), ("Ki", 1024.0), ("Mi", 1024.0**2), ("Gi", 1024.0**3), ("Ti", 1024.0**4), ("Pi", 1024.0**5),
        ("Ei", 1024.0**6),
    ],
)  # fmt: skip
def test_suffixes(suffix: str, factor: float) -> None:
    assert quantity(f"3{suffix}") == 3 * factor


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [
        ("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0),
        ("d", 86400.0),
    ],
)  # fmt: skip
def test_units_of_durations(unit: str, seconds: float) -> None:
    assert duration_seconds(f"3{unit}") == 3 * seconds


def test_numbers_longer_than_any_time_are_none() -> None:
    assert duration_seconds("1" * 19) == float("1" * 19)
    assert duration_seconds("1" * 20) is None


@pytest.mark.parametrize(
    ("text", "total", "part"),
    [
        ("25%", None, 0.25), ("25%", 4, 0.25), ("1", 4, 0.25), ("3", 2, 1.0), ("100%", 4, 1.0), ("250%", 4, 1.0),
        (" 50 % ", 4, 0.5), ("1", None, None), ("1", 0, None), ("", 4, None), ("%", 4, None), ("x", 4, None),
        ("-1", 4, None), ("²", 4, None), ("1.5", 4, None), ("0", 4, 0.0), ("9" * 11, 4, 1.0), ("9" * 12, 4, None),
    ],
)  # fmt: skip
def test_shares(text: str, total: int | None, part: float | None) -> None:
    assert share(text, total) == part


@given(st.text(max_size=30))
def test_any_text_is_read(text: str) -> None:
    for found in (quantity(text), duration_seconds(text)):
        assert found is None or not math.isnan(found)


def test_settings_of_text() -> None:
    assert as_integer(Set("8", HERE)) == Set(8, HERE)
    assert as_boolean(Set("True", HERE)) == Set(True, HERE)
    assert as_number(Set("8Gi", HERE)) == Set(8.0 * 2**30, HERE)
    for read in (as_integer, as_boolean, as_number):
        assert isinstance(read(Set("x", HERE)), Unknown)
        assert read(Absent(HERE)) == Absent(HERE)


@pytest.mark.parametrize(
    ("number", "cut"),
    [(1234.0, 1200.0), (99.9, 99.0), (100.0, 100.0), (7.0, 7.0), (0.567, 0.56), (500.0, 500.0), (0.0, 0.0)],
)
def test_numbers_are_cut_to_two_digits(number: float, cut: float) -> None:
    assert two_digits(number) == cut
