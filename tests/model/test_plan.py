"""Plans: what follows from numbers, what is asked for, and what a workload gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint import engine
from kube_gaplint.model.plan import Inputs, Known, Missing, Number, Plan, completed, plan, with_given
from kube_gaplint.model.plan_inputs import PER_NODE, RATE, of_profile, plan_of
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.workload import UNBOUNDED


def inputs(**numbers: float) -> Inputs:
    given = {name: Known(float(value), "given") for name, value in {"rate": RATE.value, **numbers}.items()}
    return completed(with_given(Inputs(), given), PER_NODE)


def planned(**numbers: float) -> Plan:
    return plan(inputs(**numbers))


def value(number: Number) -> float:
    assert isinstance(number, Known), number
    return number.value


# Sizes


@pytest.mark.parametrize(
    ("given", "nodes", "gpus", "each"),
    [
        ({"nodes": 4}, 4, 32, 8),
        ({"gpus": 32}, 4, 32, 8),
        ({"gpus": 33}, 5, 33, 8),
        ({"nodes": 4, "gpus": 16}, 4, 16, 4),
        ({"gpus": 16, "gpus_per_node": 4}, 4, 16, 4),
        ({"nodes": 4, "gpus": 16, "gpus_per_node": 4}, 4, 16, 4),
        ({"nodes": 4, "gpus": 15, "gpus_per_node": 4}, 4, 15, 4),
    ],
)
def test_sizes_follow_from_one_another(given: dict[str, float], nodes: float, gpus: float, each: float) -> None:
    found = inputs(**given)
    assert [value(one) for one in (found.nodes, found.gpus, found.gpus_per_node)] == [nodes, gpus, each]


@pytest.mark.parametrize("gpus", [12, 17])
def test_sizes_that_do_not_agree(gpus: int) -> None:
    with pytest.raises(ValueError, match=f"4 nodes with 4 GPUs are not {gpus} GPUs"):
        inputs(nodes=4, gpus=gpus, gpus_per_node=4)


def test_a_default_says_so() -> None:
    found = inputs(nodes=4)
    assert isinstance(found.gpus_per_node, Known)
    assert found.gpus_per_node.via == "default"
    assert isinstance(inputs(gpus_per_node=4).nodes, Missing)


# What is not known


@pytest.mark.parametrize(
    ("numbers", "field", "asked"),
    [
        ({}, "expected", "unknown: give --nodes and --days"),
        ({"nodes": 8}, "daly", "unknown: give --save-seconds"),
        ({"nodes": 8, "interval_steps": 100}, "loss_now", "unknown: give --step-seconds"),
        ({"nodes": 8}, "loss_now", "unknown: give --interval-minutes"),
        ({"nodes": 8, "save_seconds": 9}, "gained", "unknown: give --interval-minutes and --days"),
        ({}, "gained", "unknown: give --interval-minutes, --save-seconds, --nodes, --gpus and --days"),
        (
            {"nodes": 8, "save_seconds": 0},
            "daly",
            "none: a save that stops nothing can be as frequent as storage allows",
        ),
        ({"nodes": 8, "save_seconds": 9, "rate": 0}, "daly", "none: without failures no save is needed"),
        ({"nodes": 8, "rate": 0}, "mtbf", "none: no failures"),
        ({"nodes": 10**9, "save_seconds": 1e6}, "flat_to", "none: nearly all time is lost at any interval"),
    ],
)
def test_what_is_not_known_is_asked_for(numbers: dict[str, float], field: str, asked: str) -> None:
    number = getattr(planned(**numbers), field)
    assert isinstance(number, Missing)
    assert str(number) == asked


def test_no_failures_lose_no_more_than_the_saves() -> None:
    found = planned(nodes=8, rate=0, save_seconds=60, interval=540, days=30)
    assert value(found.goodput_now) == pytest.approx(0.9)
    assert value(found.expected) == value(found.retries) == 0
    assert value(found.unharmed) == 1


def test_an_interval_in_steps_and_one_in_time_say_the_same() -> None:
    numbers = {"nodes": 8.0, "save_seconds": 60.0, "step_seconds": 12.0}
    steps, time = planned(interval_steps=50, **numbers), planned(interval=600, **numbers)
    assert value(steps.goodput_now) == value(time.goodput_now)
    assert value(steps.inputs.interval) == 600


def test_the_length_of_the_run_follows_from_its_steps() -> None:
    assert value(inputs(nodes=1, total_steps=86_400, step_seconds=10).days) == 10
    assert value(inputs(nodes=1, total_steps=86_400, step_seconds=10, days=3).days) == 3


# Figures


def test_a_run_by_hand() -> None:
    """64 nodes for 30 days: 9.6 failures, one in 3.125 days; half of two hours and 10 minutes are lost on 512 GPUs."""
    found = planned(nodes=64, days=30, save_seconds=60, interval=7200, detection=300, restart=300)
    assert value(found.expected) == pytest.approx(9.6)
    assert value(found.mtbf) == pytest.approx(3.125 * 86_400)
    assert value(found.unharmed) == pytest.approx(math.exp(-9.6))
    assert value(found.retries) == 17  # 0.9906; 16 suffice with 0.9803
    assert value(found.loss_now) == pytest.approx(512 * (1 + 1 / 6))
    assert value(found.saving_now) == pytest.approx(60 / 7260)
    assert value(found.young) == pytest.approx(math.sqrt(2 * 60 * 270_000))
    lost = (1 - value(found.goodput_now)) * 30 * 24 * 512
    least = (1 - value(found.goodput_best)) * 30 * 24 * 512
    assert value(found.gained) == pytest.approx(lost - least)


@given(
    nodes=st.integers(1, 10**9),
    days=st.floats(1e-6, 1e12),
    save=st.floats(0, 1e12),
    step=st.floats(1e-6, 1e12),
    steps=st.floats(1e-6, 1e12),
    rate=st.floats(0, 1e12),
    recovery=st.floats(0, 1e12),
    budget=st.one_of(st.integers(0, 10**6), st.just(UNBOUNDED)),
)
def test_absurd_numbers_give_a_plan(**numbers: Any) -> None:
    names = {"save": "save_seconds", "step": "step_seconds", "steps": "interval_steps", "recovery": "restart"}
    found = planned(**{names.get(name, name): number for name, number in numbers.items()})
    for share in (found.unharmed, found.enough, found.goodput_now, found.saving_now):
        assert 0 <= value(share) <= 1
    assert value(found.retries) >= 0
    for number in (found.goodput_best, found.saving_best):
        assert isinstance(number, Missing) or 0 <= number.value <= 1
    assert isinstance(found.gained, Missing) or found.gained.value >= 0
    assert numbers["budget"] != UNBOUNDED or value(found.enough) == 1


@given(st.floats(1e-3, 1e3), st.floats(1, 100))
def test_more_failures_are_never_better(rate: float, more: float) -> None:
    numbers = {"nodes": 64.0, "days": 30.0, "save_seconds": 60.0, "interval": 3600.0}
    fewer, worse = planned(rate=rate, **numbers), planned(rate=rate * more, **numbers)
    rounding = 1 + 1e-9  # a rate that differs in the last bit may give a result that does
    assert value(worse.expected) * rounding >= value(fewer.expected)
    assert value(worse.retries) >= value(fewer.retries)
    assert value(worse.goodput_now) <= value(fewer.goodput_now) * rounding
    assert value(worse.goodput_best) <= value(fewer.goodput_best) + 1e-4  # so exact is Daly's series
    assert value(worse.unharmed) <= value(fewer.unharmed) * rounding


# Workloads

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=llm
#SBATCH --nodes=48
#SBATCH --gres=gpu:8
#SBATCH --requeue
{more}
srun torchrun --nnodes=48 --nproc-per-node=8 pretrain_gpt.py --train-iters=100000 --save=/ckpt --load=/ckpt \\
  --save-interval={every}
"""


def planned_script(tmp_path: Path, profile: Profile, more: str = "", every: str = "100", **given: float) -> Plan:
    path = tmp_path / "llm.sbatch"
    path.write_text(SCRIPT.format(more=more, every=every))
    reading = engine.read(engine.Request(paths=(str(path),), profile=profile))
    [workload] = reading.model.workloads
    places = {"profile.save_seconds": ".gaplint.yaml:7"}
    return plan_of(workload, profile, given={n: Known(v, "given", "--x") for n, v in given.items()}, places=places)


def test_numbers_of_a_script_have_their_places(tmp_path: Path) -> None:
    found = planned_script(tmp_path, Profile(save_seconds=40.0), "# gaplint: step-seconds=105")
    assert found.title == "sbatch llm"
    where = {}
    for name in ("nodes", "step_seconds", "interval_steps", "interval"):
        number = getattr(found.inputs, name)
        assert isinstance(number, Known)
        assert number.via == "manifest"
        assert number.origin is not None
        where[name] = (number.value, number.origin.place.start.line)
    assert where == {"nodes": (48, 3), "step_seconds": (105, 6), "interval_steps": (100, 8), "interval": (10_500, 8)}
    assert found.inputs.save_seconds == Known(40.0, "configuration", ".gaplint.yaml:7")
    assert found.inputs.rate == RATE
    assert value(found.inputs.gpus) == 384
    assert value(found.inputs.budget) == 0  # Slurm requeues a job whose node died, not one that failed
    assert value(found.inputs.days) == pytest.approx(100_000 * 105 / 86_400)
    assert found.curve is not None
    assert found.curve.now == 10_500


def test_what_is_given_wins_over_the_manifest(tmp_path: Path) -> None:
    found = planned_script(tmp_path, Profile(save_seconds=40.0), nodes=4.0, interval=600.0, save_seconds=5.0)
    assert [value(one) for one in (found.inputs.nodes, found.inputs.gpus, found.inputs.save_seconds)] == [4, 32, 5]
    assert value(found.inputs.interval) == 600
    assert isinstance(found.inputs.interval_steps, Missing)


@pytest.mark.parametrize("every", ["$EVERY", "{{ every }}"])
def test_an_interval_that_is_not_seen_is_asked_for(tmp_path: Path, every: str) -> None:
    found = planned_script(tmp_path, Profile(), every=every)
    assert isinstance(found.inputs.interval, Missing)
    assert str(found.inputs.interval).startswith("unknown: give --interval-minutes (")


@pytest.mark.parametrize("declared", ["save-seconds=-5", "save-seconds=nan", "save-seconds=inf"])
def test_declared_numbers_that_cannot_be_count_for_nothing(tmp_path: Path, declared: str) -> None:
    found = planned_script(tmp_path, Profile(), f"# gaplint: {declared}")
    assert str(found.daly) == "unknown: give --save-seconds"


def test_a_profile_alone() -> None:
    profile = Profile(gpus_per_node=4, run_days=9.0, failures_per_1000_node_days=2.0)
    found = of_profile(profile, {"profile.run_days": ".gaplint.yaml:3"})
    assert found.days == Known(9.0, "configuration", ".gaplint.yaml:3")
    assert found.rate == Known(2.0, "configuration", "the profile's failures_per_1000_node_days")
    assert value(found.gpus_per_node) == 4
