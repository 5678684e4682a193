from __future__ import annotations

import pytest

from kube_gaplint.facts.time_limits import EXIT_OPTION, WATCHES


@pytest.mark.parametrize(
    "name",
    ["exit-duration-in-mins", "max-time", "max-time-per-run", "max-runtime-secs", "walltime", "time-limit", "timelimit",
     "stop-after", "job-time-sec", "max-hours", "trainer.max-time"],
)  # fmt: skip
def test_options_that_end_a_run(name: str) -> None:
    assert EXIT_OPTION.search(name)


@pytest.mark.parametrize(
    "name",
    ["max-steps", "max-epochs", "train-iters", "ddp-timeout", "distributed-timeout-minutes", "save-every-seconds",
     "max-seq-length", "time-embed-dim", "warmup-time", "job-id", "run-name"],
)  # fmt: skip
def test_options_that_do_not(name: str) -> None:
    assert not EXIT_OPTION.search(name)


@pytest.mark.parametrize(
    ("text", "watches"),
    [
        ("Trainer(max_time=limit)", True), ('config["max_time"]', True),
        ("opt.max_time:", True), ("the max_time\n", True),
        ("ema = EMA(max_timesteps=1000)", False), ("deadline = time() + left", True), ("for step in steps:", False),
    ],
)  # fmt: skip
def test_what_watches_the_time(text: str, watches: bool) -> None:
    """A number of steps of a diffusion is no limit of time."""
    assert any(word in text for word in WATCHES) is watches
