"""Variables of a process: what is given, what may be given, and what later assignments do."""

from __future__ import annotations

import pytest

from kube_gaplint.model.environment import Environment, differing, laid_over
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.text.source import Place, Source, Span

HERE = Origin(Place(Source("a", "a"), Span(0, 1)))


def variables(count: int, value: str = "1") -> dict[str, Setting[str]]:
    return {f"A{number}": Set(value, HERE) for number in range(count)}


def test_a_variable_that_nobody_gives_may_be_given_where_the_environment_is_open() -> None:
    closed = Environment(HERE, {"A": Set("1", HERE), "B": Absent(HERE)})
    assert closed.get("A") == Set("1", HERE)
    assert closed.get("C") == Absent(HERE)
    opened = closed.over({}, "a file that is sourced")
    assert opened.get("C") == Unknown("a file that is sourced", HERE)
    assert opened.get("B") == Absent(HERE), "unset after whatever was sourced before"
    assert opened.get("B", "A") == Set("1", HERE)


def test_the_first_reason_to_be_open_is_kept() -> None:
    once = Environment(HERE).over({}, "first")
    assert once.open_because == "first"
    assert once.over({"A": Set("1", HERE)}).open_because == "first"
    assert once.over({"A": Set("1", HERE)}, "second").open_because == "first"


def test_no_changes_make_no_other_environment() -> None:
    before = Environment(HERE, variables(3))
    assert before.over({}) is before
    assert before.over({}, "why") is not before
    assert before.over({"A0": Absent(HERE)}).get("A0") == Absent(HERE)
    assert "A0" in before
    assert "A0" not in before.over({"A0": Absent(HERE)})
    assert list(before.over({"A0": Absent(HERE)})) == ["A1", "A2"]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 2_000])
def test_later_assignments_are_over_earlier_ones_however_many(count: int) -> None:
    below = variables(count)
    both = laid_over(below, {"A0": Set("2", HERE), "B": Set("3", HERE)})
    assert (both["A0"], both["B"]) == (Set("2", HERE), Set("3", HERE))
    assert len(both) == count + 1
    assert sorted(both) == sorted([*below, "B"])
    again = laid_over(both, variables(count, "4"))
    assert again["A0"] == Set("4", HERE)
    assert again["B"] == Set("3", HERE)


def test_few_variables_are_copied_and_many_are_not() -> None:
    """A script that sets thousands of variables, one after another, must not copy all of them each time."""
    few: object = laid_over(variables(63), variables(1))
    many: object = laid_over(variables(64), variables(1))
    assert isinstance(few, dict)
    assert not isinstance(many, dict)


def test_variables_laid_over_many_are_those_of_both() -> None:
    """The same as a copy would be, name by name."""
    changes = {**variables(2, "2"), "B": Set("3", HERE)}
    both, copied = laid_over(variables(100), changes), {**variables(100), **changes}
    assert not isinstance(both, dict)
    assert len(both) == len(copied)
    assert dict(both) == copied
    assert [name in both for name in ("A0", "A99", "B", "C")] == [True, True, True, False]


def test_the_variables_that_may_differ_from_those_of_the_command_before() -> None:
    """All that either of two commands changed: one keeps its own value, the other has that from below again."""
    below = variables(100)
    first = laid_over(below, {"A1": Set("2", HERE), "B": Set("3", HERE)})
    second = laid_over(below, {"A2": Set("2", HERE)})
    assert set(differing(first, second)) == {"A1", "A2"}
    assert set(differing(second, first)) == {"A1", "A2", "B"}
    assert set(differing(below, second)) == {"A2"}
    assert set(differing(second, second)) == set()
    assert set(differing(second, below)) == set(below), "of a plain copy nothing is known"
