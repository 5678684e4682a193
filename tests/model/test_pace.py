"""Amounts of training in one unit brought to another."""

from __future__ import annotations

import pytest

from kube_gaplint.model.pace import Pace
from kube_gaplint.model.training import Quantity


def test_samples_become_steps_by_the_batch_size() -> None:
    pace = Pace(total=Quantity(220_000_000, "samples"), samples_per_step=2048, step_seconds=105)
    assert pace.total_steps == pytest.approx(107_421.875)
    assert pace.share_of_run(Quantity(300, "steps")) == pytest.approx(300 / 107_421.875)
    assert pace.seconds(Quantity(100, "steps")) == 10_500


def test_a_fraction_is_a_share_and_steps_of_the_total() -> None:
    pace = Pace(total=Quantity(1000, "steps"), samples_per_step=None, step_seconds=None)
    assert pace.share_of_run(Quantity(0.2, "fraction")) == 0.2
    assert pace.steps(Quantity(0.2, "fraction")) == 200
    assert pace.seconds(Quantity(0.2, "fraction")) is None


def test_units_that_do_not_compare_give_nothing() -> None:
    pace = Pace(total=Quantity(3, "epochs"), samples_per_step=None, step_seconds=2.0)
    assert pace.share_of_run(Quantity(500, "steps")) is None
    assert pace.share_of_run(Quantity(1, "epochs")) == pytest.approx(1 / 3)
    assert pace.total_steps is None


def test_time_is_time() -> None:
    pace = Pace(total=None, samples_per_step=None, step_seconds=None)
    assert pace.seconds(Quantity(30, "minutes")) == 1800
    assert pace.share_of_run(Quantity(30, "minutes")) is None


def test_a_total_that_is_a_fraction_ends_nowhere() -> None:
    pace = Pace(total=Quantity(1, "fraction"), samples_per_step=None, step_seconds=None)
    assert pace.total_steps is None


@pytest.mark.parametrize(("samples", "smoke"), [(None, False), (0, False), (1000, True), (2000, True), (2001, False)])
def test_a_training_set_cut_down_to_little_is_a_smoke_test(samples: float | None, smoke: bool) -> None:
    pace = Pace(total=Quantity(3, "epochs"), samples_per_step=None, step_seconds=None, cut_to=samples)
    assert pace.smoke is smoke
