"""The changes that mutation testing makes, and where the code goes that it changed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import mutants

SOURCE = '''\
"""A module."""
LIMIT = 3


def small(number: int, *, strict: bool = False) -> bool:
    """Whether it is small."""
    if strict and number < LIMIT + 1:
        return True
    return not number
'''


def test_one_thing_at_a_time() -> None:
    found = list(mutants.mutants(SOURCE))
    assert [(one.line, one.statement, one.what) for one in found] == [
        (2, 0, "3 becomes 4"),
        (5, 0, "False becomes True"),
        (7, 7, "And becomes Or"),
        (7, 7, "Lt becomes LtE"),
        (7, 7, "Add becomes Sub"),
        (7, 7, "1 becomes 2"),
        (8, 8, "None is returned"),
        (8, 8, "True becomes False"),
        (9, 9, "None is returned"),
        (9, 9, "not goes"),
    ]
    texts = [ast.unparse(ast.fix_missing_locations(one.tree)) for one in found]
    plain = ast.unparse(ast.parse(SOURCE))
    assert len(set(texts)) == len(texts)
    assert plain not in texts
    assert sum(a != b for a, b in zip(plain.splitlines(), texts[3].splitlines(), strict=True)) == 1


def test_annotations_imports_and_fields_of_records_are_left_alone() -> None:
    source = "import a\n\nclass B(C, frozen=True):\n    d: int = 3\n\n    def e(self) -> 'f[1]':\n        return 4\n"
    assert [one.what for one in mutants.mutants(source)] == ["None is returned", "4 becomes 5"]


@pytest.mark.parametrize("name", mutants.TARGETS)
def test_targets_are_there(name: str) -> None:
    assert any(mutants.mutants(mutants.path_of(name).read_text(encoding="utf-8")))


def test_a_changed_module_is_in_force_wherever_its_functions_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from kube_gaplint.launch import amounts

    kept = amounts.number
    before = {"code": kept.__code__, "seconds": amounts._SECONDS}
    subject = mutants.Subject("kube_gaplint.launch.amounts")
    subject.find_functions()
    tree = ast.parse(
        subject.source.replace('"hours": 3600.0', '"hours": 7.0').replace('replace("_", "")', 'replace("_", "0")')
    )
    monkeypatch.setattr(amounts, "_SECONDS", before["seconds"])
    try:
        subject.exchange(tree, outside=True)
        assert kept("1_0") == 100
        assert amounts.seconds("timedelta(hours=2)") == 14
    finally:
        kept.__code__ = before["code"]
        subject.exchange(ast.parse(subject.source), outside=True)
    assert kept("1_0") == 10
    assert amounts.seconds("timedelta(hours=2)") == 7200
