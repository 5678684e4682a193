"""The length of a run that the program's own text fixes."""

from __future__ import annotations

import pytest

from kube_gaplint.model.program_length import fixed_steps


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("def main():\n    config = recipe()\n    config.train.train_iters = 10\n", 10),
        ("cfg.max_steps = 1_000  # a trial\n", 1000),
        ("def f():\n    with g():\n\n        # trial\n        pretrain.trainer.max_steps = 50\n", 50),
        ("def f(\n    a,\n):\n    training_args.max_steps = 5\n", 5),
        ("if __name__ == '__main__':\n    args.total_steps = 7\n", 7),
        ("def f():\n    if quick:\n        config.train.train_iters = 10\n", None),
        ("for n in range(3):\n    config.train.train_iters = 10\n", None),
        ("if quick:\n    args.max_steps = 5\nelse:\n    args.max_steps = 9\n", None),
        ("args.max_steps = 900\nif quick:\n    args.max_steps = 5\n", 900),
        ("args.max_steps = 5\nargs.max_steps = 900\n", 900),
        ("env.max_steps = 10\n", None),
        ("# config.train.train_iters = 10\n", None),
        ("config.train.train_iters = 10 * factor\n", None),
        ("config.train.train_iters = args.steps\n", None),
        ("max_steps = 10\n", None),
        ("", None),
    ],
)
def test_what_a_text_fixes(text: str, steps: int | None) -> None:
    assert fixed_steps(text) == steps


def test_a_block_that_is_far_away_is_not_known() -> None:
    assert fixed_steps("def f():\n" + "    x = 1\n" * 500 + "    args.max_steps = 5\n") is None
