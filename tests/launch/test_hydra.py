"""Hydra's defaults lists."""

from __future__ import annotations

from kube_gaplint.launch.hydra import named_config
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.text.source import PlacedText, Source, WholeText

FILES = {
    "conf/run.yaml": "defaults:\n- base\n- optim: fast\n- net@model.body: small\n- override hydra/launcher: slurm\n"
    "- _self_\n- late\nsteps: 5\nname: own\n",
    "conf/base.yaml": "steps: 1\nseed: 3\n",
    "conf/optim/fast.yaml": "rate: 0.1\n",
    "conf/net/small.yaml": "width: 64\n",
    "conf/late.yaml": "name: late\n",
    "conf/gap.yaml": "defaults: [base, {data: nowhere}]\nsteps: 2\n",
    "conf/asked.yaml": "defaults: [{optim: '???'}]\n",
    "conf/train.yaml": "# keys\n# @package _global_\ndefaults: [_self_, {trainer: short}, {plan: null}]\nseed: 1\n",
    "conf/trainer/short.yaml": "epochs: 1\n",
    "conf/trainer/long.yaml": "epochs: 300\nsave: 5\n",
    "conf/plan/big.yaml": "# @package _global_\ndefaults: [override /trainer: long]\ntrainer: {epochs: 90}\nseed: 7\n",
    "conf/plan/small.yaml": "epochs: 2\n",
    "conf/plan/deep.yaml": "# by hand\n# @package model.head\nwidth: 8\n",
    "conf/extra/more.yaml": "# @package _global_\nseed: 9\n",
    "conf/ring.yaml": "defaults: [ring]\n",
}


def text_of(path: str) -> PlacedText | None:
    return WholeText(Source(path, FILES[path])) if path in FILES else None


HOME = Origin(WholeText(Source("job.sh", "x")).place(0, 1))


def known(name: str) -> dict[str, str]:
    config = named_config("conf", name, HOME, text_of, ("shipped",))
    assert config is not None
    return {key: value.value for key, value in config.values.items() if isinstance(value, Set)}


def test_later_parts_win_and_groups_keep_their_place() -> None:
    assert known("run.yaml") == {
        "steps": "5", "seed": "3", "optim.rate": "0.1", "model.body.width": "64", "name": "late",
    }  # fmt: skip
    config = named_config("conf", "run", HOME, text_of, ())
    assert config is not None
    assert not config.open_because


def test_a_part_that_is_not_there_leaves_it_open_and_own_keys_win_by_default() -> None:
    config = named_config("conf", "gap", HOME, text_of, ())
    assert config is not None
    assert "data/nowhere" in config.open_because
    assert known("gap")["steps"] == "2"


def test_a_ring_ends_and_a_shipped_configuration_is_closed() -> None:
    ring = named_config("conf", "ring", HOME, text_of, ())
    assert ring is not None
    assert ring.open_because
    shipped = named_config("conf", "shipped", HOME, text_of, ("shipped",))
    assert shipped is not None
    assert not shipped.values
    assert not shipped.open_because
    assert named_config("conf", "nothing", HOME, text_of, ()) is None


def test_the_command_line_takes_another_part_of_a_group() -> None:
    config = named_config("conf", "run", HOME, text_of, (), {"optim": "slow"})
    assert config is not None
    assert config.values.get("optim.rate") is None
    assert "optim/slow" in config.open_because
    asked = named_config("conf", "asked", HOME, text_of, (), {"optim": "fast"})
    assert asked is not None
    assert not asked.open_because
    assert asked.values["optim.rate"] is not None
    unasked = named_config("conf", "asked", HOME, text_of, ())
    assert unasked is not None
    assert "optim/???" in unasked.open_because


def test_a_part_that_nobody_knows_leaves_it_open_and_none_takes_nothing() -> None:
    config = named_config("conf", "run", HOME, text_of, (), {"optim": ""})
    assert config is not None
    assert config.open_because == "what it takes of optim is not known"
    without = named_config("conf", "run", HOME, text_of, (), {"optim": "null"})
    assert without is not None
    assert not without.open_because
    assert "optim.rate" not in without.values


def chosen(**groups: str) -> dict[str, str]:
    config = named_config("conf", "train", HOME, text_of, (), groups)
    assert config is not None
    assert not config.open_because
    return {key: value.value for key, value in config.values.items() if isinstance(value, Set)}


def test_a_part_may_stand_at_the_top_and_choose_of_other_groups() -> None:
    assert chosen() == {"seed": "1", "trainer.epochs": "1"}
    assert chosen(plan="big.yaml") == {"seed": "7", "trainer.epochs": "90", "trainer.save": "5"}
    assert chosen(plan="big", trainer="short") == {"seed": "7", "trainer.epochs": "90"}
    assert chosen(plan="small")["plan.epochs"] == "2"
    assert chosen(plan="deep")["model.head.width"] == "8"


def test_the_command_line_adds_a_group_and_not_every_key_is_one() -> None:
    assert chosen(extra="more", seed="3")["seed"] == "9"
