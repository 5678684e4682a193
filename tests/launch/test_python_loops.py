"""How long programs train and how often they save, by their loops."""

from __future__ import annotations

import textwrap

import pytest

from kube_gaplint.launch.python import PythonFacts, read_python
from kube_gaplint.text.source import Source, WholeText


def read(text: str) -> PythonFacts:
    return read_python(WholeText(Source("train.py", "import torch\n" + textwrap.dedent(text))))


def steps(text: str) -> int | None:
    found = read(text).steps
    return None if found is None else found.value


def between_saves(text: str) -> int | None:
    found = read(text).save_every
    return None if found is None else found.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for i in range(100):\n    optimizer.step()", 100),
        ("for i in range(5, 25):\n    scaler.step(self.optim)", 20),
        ("for i in tqdm(range(100)):\n    optimizer.step()", 100),
        ("for e in range(3):\n    for i in range(100):\n        optimizer.step()", 300),
        ("for i in range(9):\n    optimizer.step()\nfor i in range(4):\n    optimizer.step()", 13),
        ("for i in range(9):\n    optimizer_d.step()\n    optimizer_g.step()", 9),
        ("for i in range(9):\n    scheduler.step()", None),
        ("for batch in loader:\n    optimizer.step()", None),
        ("for e in range(3):\n    for batch in loader:\n        optimizer.step()", None),
        ("while True:\n    for i in range(9):\n        optimizer.step()", None),
        ("for i in range(0, 9, 2):\n    optimizer.step()", None),
        ("for i in range(n):\n    optimizer.step()", None),
        ("for i in range(0):\n    optimizer.step()", None),
        ("optimizer.step()", None),
        ("for i in islice(loader, 8):\n    optimizer.step()", 8),
        ("for i, x in enumerate(itertools.islice(loader, n)):\n    optimizer.step()", None),
        ("for i, x in enumerate(loader):\n    optimizer.step()\n    if i == 1:\n        break", 2),
        ("for i, (x, y) in tqdm(enumerate(loader)):\n    optimizer.step()\n    if i > 8:\n        break", 10),
        ("for i, x in enumerate(range(5)):\n    optimizer.step()\n    if i >= 8:\n        break", 5),
        ("for i, x in enumerate(loader):\n    optimizer.step()\n    if i == last:\n        break", None),
        ("for i, x in enumerate(loader):\n    optimizer.step()\n    if loss > 8:\n        break", None),
        ("for i, x in enumerate(loader):\n    optimizer.step()\n    if i == 8:\n        continue", None),
        ("for i, x in loader:\n    optimizer.step()\n    if i == 8:\n        break", None),
        ("for i, x in enumerate(it):\n    if debug:\n        if i == 8:\n            break\n    optim.step()", None),
    ],
)
def test_steps_of_a_run(text: str, expected: int | None) -> None:
    assert steps(text) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("train()", 50),
        ("for _ in range(3):\n    train()", 150),
        ("for x in grid:\n    train()", None),
        ("train()\ntrain()", None),
        ("spawn(train)", None),
        ("pass", None),
    ],
)
def test_functions_are_followed_to_their_only_call(call: str, expected: int | None) -> None:
    function = "def train():\n    for i in range(50):\n        optimizer.step()\n"
    assert steps(function + call) == expected


def test_the_main_function_runs_once() -> None:
    assert steps("def main():\n    for i in range(50):\n        optimizer.step()\n") == 50


LOOP = """
for epoch in range(9):
    for step, batch in enumerate(loader):
        optimizer.step()
        {save}
    {later}
"""


@pytest.mark.parametrize(
    ("save", "expected"),
    [
        ("if step % 100 == 0: torch.save(m, p)", 100),
        ("if (step + 1) % 100 == 0: torch.save(m, p)", 100),
        ("if step > 10 and step % 100 == 0 and rank == 0: torch.save(m, p)", 100),
        ("if is_main_process(): torch.save(m, p) if step % 7 == 0 else None", None),
        ("if step % 100 == 0 and loss < best: torch.save(m, p)", None),
        ("if step % every == 0: torch.save(m, p)", None),
        ("if step % 100 == 1: torch.save(m, p)", None),
        ("if step % 100 != 0: torch.save(m, p)", None),
        ("if step % 100 == 0: pass\n        else: torch.save(m, p)", None),
        ("if loss < best: torch.save(m, p)", None),
        ("torch.save(m, p)", None),
        ("if step % 100 == 0: save(m)", 100),
        ("if loss < best: save(m)", None),
        ("pass", None),
    ],
)
def test_steps_between_saves(save: str, expected: int | None) -> None:
    function = "def save(model):\n    if rank == 0:\n        torch.save(model, p)\n"
    assert between_saves(function + LOOP.format(save=save, later="pass")) == expected


def test_a_save_after_epochs_is_none_after_steps() -> None:
    assert between_saves(LOOP.format(save="pass", later="if epoch % 2 == 0: torch.save(m, p)")) is None


def test_the_most_frequent_save_counts() -> None:
    save = "if step % 500 == 0: torch.save(m, p)\n        if step % 50 == 0: torch.save(m, q)"
    assert between_saves(LOOP.format(save=save, later="torch.save(m, p)")) == 50


EPOCHS = "import utils\nfor epoch in range(start, 90):\n    utils.train(model)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (EPOCHS + "    if (epoch + 1) % 10 == 0:\n        torch.save(m, p)", 10),
        (EPOCHS + "    if rank == 0 and epoch % 10 == 0:\n        utils.save_checkpoint(m, p)\ntorch.save(m, p)", 10),
        (
            EPOCHS
            + "    if epoch % 10 == 0:\n        torch.save(m, p)\n    if epoch % 4 == 0:\n        torch.save(m, q)",
            4,
        ),
        (EPOCHS + "    save(m)\ndef save(m):\n    if epoch % 10 == 0:\n        torch.save(m, p)", 10),
        (EPOCHS + "    if epoch % 10 == 0:\n        torch.save(m, p)\n    torch.save(m, last)", None),
        (EPOCHS + "    if epoch % 10 == 0:\n        torch.save(m, p)\n    if best:\n        torch.save(m, q)", None),
        (EPOCHS + "    if epoch % n == 0:\n        torch.save(m, p)", None),
        (EPOCHS + "    if done % 10 == 0:\n        torch.save(m, p)", None),
        (EPOCHS + "    if epoch % 10 == 0:\n        torch.save(m, p)\ndef never():\n    torch.save(m, p)", None),
        ("for batch in data:\n    if batch % 10 == 0:\n        torch.save(m, p)", None),
        (EPOCHS + "torch.save(m, p)", None),
    ],
)
def test_epochs_between_saves(text: str, expected: int | None) -> None:
    """None where another save may come sooner, or nobody sees when one comes."""
    found = read(text).save_epochs
    assert (None if found is None else found.value) == expected
