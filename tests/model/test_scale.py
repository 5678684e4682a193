"""Durations for people."""

from __future__ import annotations

import pytest

from kube_gaplint.model.scale import duration


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.52, "0.52 s"),
        (7.51619, "7.5 s"),
        (40, "40 s"),
        (600, "10 min"),
        (1800, "30 min"),
        (9000, "2.5 h"),
        (60000, "16.7 h"),
        (86400 * 3, "3 days"),
    ],
)
def test_duration(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
