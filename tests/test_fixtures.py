"""Every fixture of every rule: `fires-*` gives exactly what is marked in it, `quiet-*` gives nothing of its rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixture_files import expected, fixtures, lint_copy


@pytest.mark.parametrize("path", fixtures("fires"), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fires_exactly_where_marked(path: Path, tmp_path: Path) -> None:
    code = path.parent.name
    report = lint_copy(path, tmp_path, code)
    wanted = {(mark.file, mark.line) for mark in expected(path)}
    assert wanted, "a firing fixture marks what it expects"
    found = {
        (str(Path(finding.place.source.path).relative_to(tmp_path)), finding.place.start.line)
        for finding in report.findings
    }
    assert found == wanted, [(f.code, repr(f.place), f.message) for f in report.findings]
    severities = {(mark.file, mark.line): mark.severity for mark in expected(path) if mark.severity is not None}
    for finding in report.findings:
        where = (str(Path(finding.place.source.path).relative_to(tmp_path)), finding.place.start.line)
        assert str(finding.severity) == severities.get(where, str(finding.severity)), finding.message


@pytest.mark.parametrize("path", fixtures("quiet"), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_quiet(path: Path, tmp_path: Path) -> None:
    report = lint_copy(path, tmp_path, path.parent.name)
    assert not list(expected(path)), "a quiet fixture marks nothing"
    assert [(repr(f.place), f.message) for f in report.findings] == []
    assert not report.errors
    assert report.summary.documents or report.summary.workloads or path.parent.name.startswith("GAP")
