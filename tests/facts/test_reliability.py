"""The arithmetic of failures and save intervals, against published figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.facts.reliability import (
    DAY,
    DEFAULT_RATE,
    FAILURE_RATES,
    HOUR,
    daly,
    expected_failures,
    job_mtbf_seconds,
    lost_gpu_hours,
    wasted_fraction,
    young,
)

RATES = {row.who: row.rate for row in FAILURE_RATES}


@pytest.mark.parametrize(("nodes", "hours"), [(16, 9.6 * 24), (64, 2.4 * 24), (128, 28.8), (512, 7.2), (2048, 1.8)])
def test_mean_time_between_failures_of_meta_rsc_1(nodes: int, hours: float) -> None:
    assert job_mtbf_seconds(nodes, RATES["Meta RSC-1"]) / HOUR == pytest.approx(hours, rel=0.01)


@pytest.mark.parametrize(("nodes", "minutes"), [(128, 59), (512, 29), (2048, 15)])
def test_optimum_for_a_save_of_one_minute(nodes: int, minutes: int) -> None:
    mtbf = job_mtbf_seconds(nodes, 6.5)
    assert round(young(60, mtbf) / 60) == minutes
    assert young(60, mtbf) - 60 < daly(60, mtbf) < young(60, mtbf)


def test_llama_3_failed_every_three_hours() -> None:
    rate = RATES["Meta Llama 3 405B"]
    assert job_mtbf_seconds(2048, rate) / HOUR == pytest.approx(3.1, abs=0.05)
    assert expected_failures(2048, 54, rate) == pytest.approx(419, rel=0.01)


def test_bloom_lost_a_gpu_every_week_and_up_to_three_hours_of_work() -> None:
    assert job_mtbf_seconds(48, RATES["BLOOM 176B"]) / DAY == pytest.approx(7, rel=0.02)
    # 100 iterations of about 105 s: on average half of it is lost on 384 GPUs.
    assert lost_gpu_hours(100 * 105, 384) == pytest.approx(560)


def test_imbue_lost_three_percent_of_the_machines_a_week() -> None:
    assert expected_failures(511, 7, RATES["Imbue 70B"]) / 511 == pytest.approx(0.03, rel=0.01)


def test_default_rate_lies_between_the_published_ones() -> None:
    assert min(RATES.values()) < DEFAULT_RATE < max(RATES.values())
    assert all(row.source.startswith("https://") and row.basis for row in FAILURE_RATES)


def test_daly_for_saves_longer_than_the_time_between_failures() -> None:
    assert daly(100, 50) == 50
    assert daly(101, 50) == 50
    assert daly(99.999, 50) == pytest.approx(50 * 2 * (1 + 1 / 3 + 1 / 9) - 100, rel=1e-3)


def test_what_has_no_optimum_is_refused() -> None:
    for blocking, mtbf in ((0, 10), (10, 0), (-1, 10)):
        with pytest.raises(ValueError, match="positive"):
            young(blocking, mtbf)
    with pytest.raises(ValueError, match="at least one node"):
        job_mtbf_seconds(0)
    assert math.isinf(job_mtbf_seconds(8, 0))
    assert math.isinf(daly(60, math.inf))


@given(st.floats(1, 600), st.floats(7200, 1e7), st.floats(1.5, 20))
def test_the_optimum_wastes_least(blocking: float, mtbf: float, factor: float) -> None:
    best = daly(blocking, mtbf)
    waste = wasted_fraction(best, blocking, mtbf)
    assert waste <= wasted_fraction(best * factor, blocking, mtbf) + 1e-3
    assert waste <= wasted_fraction(best / factor, blocking, mtbf) + 1e-3
