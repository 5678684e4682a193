"""The fuzzer's own parts, and the inputs that once broke something."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

TOOLS = Path(__file__).resolve().parents[1] / "tools/fuzz"
sys.path.insert(0, str(TOOLS))

import mutate  # noqa: E402
import seeds  # noqa: E402
import targets  # noqa: E402

CRASHES = sorted(path for path in seeds.CRASHES.glob("*/*") if path.is_file())


@pytest.mark.parametrize("name", targets.TARGETS)
def test_a_target_runs_on_its_seeds_and_on_changed_ones(name: str) -> None:
    target = targets.TARGETS[name]
    inputs = target.seeds()
    random = Random(7)
    for data in random.sample(inputs, min(6, len(inputs))):
        target.run(data)
        target.run(mutate.mutated(data, inputs, random))


def test_the_shares_are_a_whole() -> None:
    assert sum(target.share for target in targets.TARGETS.values()) == pytest.approx(1)


def test_a_broken_promise_is_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "scalar_text", lambda _node: targets.WholeText(targets.Source("x", "other")))
    with pytest.raises(targets.Broken):
        targets.yaml(b"a: 1\n")


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_broke_once(path: Path) -> None:
    targets.TARGETS[path.parent.name].run(path.read_bytes())
