"""Incidents replayed: the manifests of before show what is marked in them, those of after show none of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixture_files import ROOT, expected, lint_copy
from kube_gaplint import incidents
from kube_gaplint.findings import Report

REPLAYS = sorted(path for path in (ROOT / "incidents").glob("*") if path.is_dir())


def side(folder: Path, name: str) -> Path:
    """`before` or `after` of an incident: one file of any ending, or a folder."""
    found = sorted(folder.glob(f"{name}*"))
    assert len(found) == 1, f"{folder.name} has one {name}"
    return found[0]


def places(report: Report, folder: Path) -> set[tuple[str, int, str]]:
    return {
        (str(Path(finding.place.source.path).relative_to(folder)), finding.place.start.line, finding.code)
        for finding in report.findings
    }


@pytest.mark.parametrize("folder", REPLAYS, ids=lambda path: path.name)
def test_before_shows_what_led_to_it(folder: Path, tmp_path: Path) -> None:
    before = side(folder, "before")
    marks = list(expected(before))
    assert marks, "before marks what it expects"
    report = lint_copy(before, tmp_path, *sorted({mark.code for mark in marks}))
    wanted = {(mark.file, mark.line, mark.code) for mark in marks}
    assert places(report, tmp_path) == wanted, [(f.code, repr(f.place), f.message) for f in report.findings]
    severities = {(mark.file, mark.line, mark.code): mark.severity for mark in marks if mark.severity is not None}
    for finding in report.findings:
        where = (str(Path(finding.place.source.path).relative_to(tmp_path)), finding.place.start.line, finding.code)
        assert str(finding.severity) == severities.get(where, str(finding.severity)), finding.message


@pytest.mark.parametrize("folder", REPLAYS, ids=lambda path: path.name)
def test_after_shows_none_of_it(folder: Path, tmp_path: Path) -> None:
    codes = sorted({mark.code for mark in expected(side(folder, "before"))})
    report = lint_copy(side(folder, "after"), tmp_path, *codes)
    assert [(f.code, repr(f.place), f.message) for f in report.findings] == []
    assert not report.errors
    assert report.summary.documents or report.summary.workloads


@pytest.mark.parametrize("folder", REPLAYS, ids=lambda path: path.name)
def test_the_incident_names_the_rules_that_it_shows(folder: Path) -> None:
    record = incidents.incident(folder.name)
    assert record is not None, "a replay is of a known incident"
    named = {code for condition in record.visible for code in condition.rules}
    assert {mark.code for mark in expected(side(folder, "before"))} <= named
