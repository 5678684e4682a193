"""The length of a run that the program's own text fixes."""

from __future__ import annotations

import pytest

from kube_gaplint.model.program_length import default_steps, fixed_steps


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


TRAINER = "a = TrainingArguments(\n    output_dir=join('/out', name),\n    max_steps=args.max_steps,\n)\n"
LOOP = "while global_step < cfg.train.max_steps:\n    step()\n"


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([LOOP, "class C:\n    max_steps: int = 40_000  # long\n"], ("max_steps", 40000)),
        ([LOOP, "parser.add_argument('--max-steps', type=int, default=9000)\n"], ("max_steps", 9000)),
        (["for step in range(args.num_steps):\n    pass\n", "    num_steps = 70,\n"], ("num_steps", 70)),
        ([LOOP, "    max_steps: int = 5\n", "    max_steps: int = 6\n"], None),  # two classes have it
        ([LOOP, "    eval_steps: int = 5\n"], None),
        ([LOOP, "    max_steps: int = None\n"], None),
        ([LOOP, "    max_steps: int = 10 * epochs\n"], None),
        ([LOOP, "while step < args.warmup_steps:\n", "    max_steps: int = 5\n"], None),  # which one is the run?
        (["while True:\n    pass\n", "    max_steps: int = 5\n"], None),
        ([LOOP, "    max_steps: int = 5\n    self.max_steps = args.max_steps\n"], ("max_steps", 5)),  # taken over
        ([LOOP, "    max_steps: int = 5\n    args.max_steps = len(data) * args.epochs\n"], None),
        ([TRAINER, "    max_steps: int = 12_000\n"], ("max_steps", 12000)),
        ([TRAINER, "parser.add_argument('--max_steps', type=int, default=-1)\n"], None),
        (["Trainer(max_steps=self.cfg.num_steps)\n", "    num_steps: int = 70\n"], ("num_steps", 70)),
        (["Loader(max_steps=args.max_steps)\n", "    max_steps: int = 5\n"], None),
        (["a = TrainingArguments(max_steps=args.max_steps * 2)\n", "    max_steps: int = 5\n"], None),
        ([], None),
    ],
)
def test_what_the_loop_or_the_trainer_counts_up_to_by_default(texts: list[str], found: tuple[str, int] | None) -> None:
    assert default_steps(texts) == found
