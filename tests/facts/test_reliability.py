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
    chance_of_at_most,
    daly,
    expected_failures,
    failures_at_quantile,
    flat_range,
    goodput,
    job_mtbf_seconds,
    lost_gpu_hours,
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


BLOCKING = st.floats(1e-3, 1e5)
MTBF = st.floats(1.0, 1e9)


@given(BLOCKING, MTBF, st.floats(1e-3, 1e3))
def test_nothing_beats_the_optimum(blocking: float, mtbf: float, factor: float) -> None:
    """Daly's formula is a series: it misses the true optimum by less than 0.01 % of the time."""
    best = daly(blocking, mtbf)
    assert goodput(best * factor, blocking, mtbf) <= goodput(best, blocking, mtbf) + 1e-4


@given(BLOCKING, MTBF, st.floats(0.01, 1.0))
def test_the_flat_range_is_flat(blocking: float, mtbf: float, within: float) -> None:
    low, high = flat_range(blocking, mtbf, within)
    best = daly(blocking, mtbf)
    assert low <= best <= high
    least = 1 - goodput(best, blocking, mtbf)
    for part in (0.1, 0.5, 0.9):
        if low > 0 and math.isfinite(high):
            inside = low ** (1 - part) * high**part
            assert 1 - goodput(inside, blocking, mtbf) <= least * (1 + within) * (1 + 1e-6) + 1e-12
            for outside in (low * 0.99, high * 1.01):
                assert 1 - goodput(outside, blocking, mtbf) > least * (1 + within) * (1 - 1e-6) - 1e-12


def test_no_interval_is_negative_however_short_a_save() -> None:
    assert daly(5e-324, 0.25) == 0.0
    assert flat_range(5e-324, 0.25) == (0.0, math.inf)


def test_the_flat_range_to_first_order() -> None:
    best = young(1, 1e8)
    assert flat_range(1, 1e8) == (pytest.approx(0.642 * best, rel=1e-3), pytest.approx(1.558 * best, rel=1e-3))
    assert flat_range(1, 1e30)[1] == pytest.approx(1.558 * young(1, 1e30), rel=1e-3)
    assert flat_range(1e6, 1) == (0.0, math.inf)


@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(1e-9, 1e15), st.floats(0, 1e12), st.floats(1, 1e6))
def test_goodput_is_a_share_and_falls_with_failures(
    interval: float, blocking: float, mtbf: float, recovery: float, worse: float
) -> None:
    now = goodput(interval, blocking, mtbf, recovery)
    assert 0 <= now <= 1
    assert goodput(interval, blocking, mtbf / worse, recovery) <= now + 1e-12
    assert goodput(interval, blocking, mtbf, recovery * worse) <= now + 1e-12
    assert goodput(interval, blocking * worse, mtbf, recovery) <= now + 1e-12


def test_goodput_at_the_edges() -> None:
    assert goodput(3600, 60, math.inf) == pytest.approx(3600 / 3660)
    assert goodput(0, 0, math.inf) == goodput(0, 0, 10) == goodput(math.inf, 60, math.inf) == 1
    assert goodput(math.inf, 60, 1e6) == goodput(0, 60, 1e6) == goodput(1e9, 0, 1e-9) == 0
    for wrong in ((-1, 0, 1, 0), (0, -1, 1, 0), (0, 0, 0, 0), (0, 0, 1, -1), (0, 0, math.nan, 0)):
        with pytest.raises(ValueError, match="not negative"):
            goodput(*wrong)


@pytest.mark.parametrize(("expected", "restarts"), [(0, 0), (0.1, 1), (1, 4), (5, 11), (10, 18), (100, 124)])
def test_quantiles_of_the_poisson_distribution(expected: float, restarts: int) -> None:
    """Values of the usual tables at 99 %."""
    assert failures_at_quantile(expected, 0.99) == restarts


@given(st.floats(0, 300), st.integers(0, 400))
def test_the_chances_add_up(expected: float, count: int) -> None:
    terms = [
        math.exp(n * math.log(expected) - expected - math.lgamma(n + 1)) if expected else float(n == 0)
        for n in range(count + 1)
    ]
    assert chance_of_at_most(count, expected) == pytest.approx(math.fsum(terms), abs=1e-9)
    assert chance_of_at_most(-1, expected) == 0


@given(st.floats(0, 1e12), st.floats(0.001, 0.999))
def test_the_quantile_is_the_smallest_that_suffices(expected: float, quantile: float) -> None:
    budget = failures_at_quantile(expected, quantile)
    assert chance_of_at_most(budget, expected) >= quantile
    assert budget == 0 or chance_of_at_most(budget - 1, expected) < quantile
    assert failures_at_quantile(expected * 1.5, quantile) >= budget


def test_the_approximation_meets_the_sum() -> None:
    assert chance_of_at_most(10_150, 10_000) == pytest.approx(chance_of_at_most(10_151, 10_000.001), abs=5e-3)
    assert failures_at_quantile(10_000) == failures_at_quantile(10_000.001) == 10_233
    for quantile in (0, 1, -1, 2):
        with pytest.raises(ValueError, match="quantile"):
            failures_at_quantile(1, quantile)
    for wrong in (-1, math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            chance_of_at_most(1, wrong)
