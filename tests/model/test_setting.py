"""The three states and what they do together."""

from __future__ import annotations

from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Unknown, first_set, known, mapped
from kube_gaplint.text.source import Place, Source, Span

HOME = Origin(Place(Source("job.yaml", "x: 1\n"), Span(0, 4)))


def test_precedence_stops_at_an_unknown() -> None:
    assert first_set(Absent(HOME), Set(1, HOME), Set(2, HOME)) == Set(1, HOME)
    assert isinstance(first_set(Absent(HOME), Unknown("templated"), Set(2, HOME)), Unknown)
    assert isinstance(first_set(Absent(HOME), Absent(HOME)), Absent)


def test_mapping_keeps_the_state() -> None:
    assert mapped(Set("7", HOME), int) == Set(7, HOME)
    assert mapped(Unknown("why"), int) == Unknown("why")
    assert known(Absent(HOME)) is None


def test_a_missing_variable_is_absent_only_in_a_complete_environment() -> None:
    environment = Environment(HOME, {"A": Set("1", HOME)})
    assert environment.get("A") == Set("1", HOME)
    assert environment.get("B") == Absent(HOME)
    opened = environment.over({}, "/etc/profile is sourced")
    assert opened.get("B") == Unknown("/etc/profile is sourced", HOME)
    assert opened.get("A") == Set("1", HOME)


def test_unset_hides_what_was_there_and_is_known_even_in_an_open_environment() -> None:
    environment = Environment(HOME, {"A": Set("1", HOME)}, "unseen file").over({"A": Absent(HOME)})
    assert environment.get("A") == Absent(HOME)
    assert "A" not in environment
    assert list(environment) == []


def test_aliases_give_the_first_that_is_there() -> None:
    environment = Environment(HOME, {"OLD": Set("1", HOME)})
    assert environment.get("NEW", "OLD") == Set("1", HOME)
    assert environment.over({"NEW": Unknown("a secret")}).get("NEW", "OLD") == Unknown("a secret")
