"""Incidents replayed: the manifests of before show what is marked in them, those of after show none of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixture_files import ROOT, expected, lint_copy
from kube_gaplint import incidents
from kube_gaplint.findings import Report

REPLAYS = sorted(path for path in (ROOT / "incidents").glob("*") if path.is_dir())
WELL_KNOWN = (
    *("meta-llama3-405b", "IL-0125", "IL-0137", "IL-0129", "IL-0025", "IL-0128", "IL-0198", "IL-0116", "IL-0032"),
)
"""Incidents that people know by name: all that a manifest would have shown of them is replayed."""


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


def rules_of(folder: Path) -> tuple[str, ...]:
    """The rules that would have found something in the incident."""
    record = incidents.incident(folder.name)
    assert record is not None, "a replay is of a known incident"
    return record.rules


@pytest.mark.parametrize("folder", REPLAYS, ids=lambda path: path.name)
def test_before_shows_what_led_to_it(folder: Path, tmp_path: Path) -> None:
    before = side(folder, "before")
    marks = list(expected(before))
    assert marks, "before marks what it expects"
    report = lint_copy(before, tmp_path, *rules_of(folder))
    wanted = {(mark.file, mark.line, mark.code) for mark in marks}
    assert places(report, tmp_path) == wanted, [(f.code, repr(f.place), f.message) for f in report.findings]
    severities = {(mark.file, mark.line, mark.code): mark.severity for mark in marks if mark.severity is not None}
    for finding in report.findings:
        where = (str(Path(finding.place.source.path).relative_to(tmp_path)), finding.place.start.line, finding.code)
        assert str(finding.severity) == severities.get(where, str(finding.severity)), finding.message


@pytest.mark.parametrize("folder", REPLAYS, ids=lambda path: path.name)
def test_after_shows_none_of_it(folder: Path, tmp_path: Path) -> None:
    report = lint_copy(side(folder, "after"), tmp_path, *rules_of(folder))
    assert [(f.code, repr(f.place), f.message) for f in report.findings] == []
    assert not report.errors
    assert report.summary.documents or report.summary.workloads


@pytest.mark.parametrize("identifier", WELL_KNOWN)
def test_every_visible_condition_of_the_well_known_is_replayed(identifier: str) -> None:
    record = incidents.incident(identifier)
    assert record is not None
    marked = {mark.code for mark in expected(side(ROOT / "incidents" / identifier, "before"))}
    for condition in record.visible:
        assert marked & set(condition.rules), condition.condition
    assert record.not_visible
