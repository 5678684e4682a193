"""Command lines that are read without click are read as click reads them."""

from __future__ import annotations

import click
import pytest

from kube_gaplint.cli import check, checking, plain
from kube_gaplint.cli.checking import Asked

SINGLE = [
    *([flag] for flag in (*plain.FLAGS, *plain.INPUT_FLAGS)),
    *([option, value] for option, (_, values) in plain.CHOICES.items() for value in values),
    *([f"{option}={value}"] for option, (_, values) in plain.CHOICES.items() for value in values),
]
COMBINED = [
    [],
    ["-"],
    ["a.yaml", "-", "folder/", "./check"],
    ["--format", "json", "a.yaml", "--isolated", "b.yaml", "-q", "--fail-on", "never"],
    ["--format", "json", "--format=concise", "-q", "--quiet"],
    ["ä b.yaml", "a=b"],
]
FOR_CLICK = [
    ["--help"],
    ["-qq"],
    ["--qui"],
    ["--format", "JSON"],
    ["--format", "yaml"],
    ["--format"],
    ["--format", "--quiet"],
    ["--color=sometimes"],
    ["--quiet=yes"],
    ["--", "--quiet"],
    ["--jobs", "2"],
    ["--select", "NCCL"],
    ["--output", "json=out.json", "a.yaml"],
    ["--config", "x.yaml"],
    ["--nonsense"],
    ["---"],
]


def by_click(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> Asked:
    heard: list[Asked] = []
    monkeypatch.setattr(checking, "run", lambda asked: heard.append(asked) or 0)
    command: click.Command = check.command
    with command.make_context("gaplint check", list(arguments)) as context:
        command.invoke(context)
    return heard[0]


@pytest.mark.parametrize("arguments", [*SINGLE, *COMBINED], ids=" ".join)
def test_both_ways_understand_the_same(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = plain.read(arguments)
    assert asked is not None
    assert asked == by_click(arguments, monkeypatch)


@pytest.mark.parametrize("arguments", FOR_CLICK, ids=" ".join)
def test_what_needs_click_is_left_to_it(arguments: list[str]) -> None:
    assert plain.read(arguments) is None


def test_every_option_of_click_has_its_field() -> None:
    """A new option that `Asked` lacks would fail at every run; one with another default would change what is plain."""
    named = {parameter.name: parameter for parameter in check.command.params if parameter.expose_value}
    fields = set(Asked.__struct_fields__) - {"inputs"} | set(plain.Inputs.__struct_fields__)
    assert set(named) == fields
