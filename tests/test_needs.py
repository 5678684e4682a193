"""Needs only rule out: with them and without, every fixture has the same findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from fixture_files import ROOT
from kube_gaplint import registry
from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Severity
from kube_gaplint.model import needs
from kube_gaplint.rule import Rule

USED = {need for row in registry.rules() for need in row.needs}


def all_of(rows: Iterable[registry.RuleInfo], _view: object) -> Iterator[Rule]:
    return (registry.load(row.code) for row in rows)


def findings(path: Path) -> list[tuple[str, str, int, str]]:
    report = lint(Request(paths=(str(path),), min_severity=Severity.INFO))
    return [(one.code, one.place.source.path, one.place.span.start, one.message) for one in report.findings]


@pytest.mark.parametrize("folder", sorted(path.name for path in ROOT.iterdir() if path.is_dir()))
def test_needs_change_no_finding(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted((ROOT / folder).iterdir())
    told = [findings(path) for path in paths]
    monkeypatch.setattr(registry, "asked", all_of)
    assert [findings(path) for path in paths] == told


def test_every_need_is_one_of_the_table() -> None:
    known = {name for name, thing in vars(needs).items() if getattr(thing, "__module__", "") == needs.__name__}
    assert {name for name in known if not name.startswith("_")} - {needs.gives.__name__} == USED


def test_a_rule_whose_need_is_not_met_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in registry.rules() if "is_mpi_job" in row.needs]
    assert rows
    monkeypatch.setattr(needs, "is_mpi_job", lambda _view: False)
    monkeypatch.setattr(registry, "_loaded", lambda row: pytest.fail(f"{row.code} was imported"))
    assert list(registry.asked(rows, object())) == []
