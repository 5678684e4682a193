"""The readers that reports are checked with refuse what their consumers would."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from consumers import (
    Command,
    Refused,
    github_annotations,
    github_commands,
    gitlab_issues,
    junit_suites,
    reviewdog_diagnostics,
)

ISSUE = {"description": "x", "fingerprint": "1", "severity": "major", "location": {"path": "a", "lines": {"begin": 1}}}
POSITION = {"line": 1, "column": 1}


def diagnostic(**changes: object) -> str:
    place = {"path": "a", "range": {"start": POSITION, "end": POSITION}}
    return json.dumps({"diagnostics": [{"message": "x", "location": place, **changes}]})


def suite(inside: str, counts: str = 'tests="1" failures="0" errors="0"') -> str:
    return f'<testsuites><testsuite name="x" {counts}>{inside}</testsuite></testsuites>'


@pytest.mark.parametrize(
    ("reader", "report"),
    [
        (github_annotations, "::error file=a,line=1,endLine=1::\n"),
        (github_annotations, "::error file=a,line=2,endLine=1::x\n"),
        (github_annotations, "::error file=a,line=1,endLine=2,col=1,endColumn=2::x\n"),
        (github_annotations, "::set-env name=a::x\n"),
        (github_annotations, "::error file=a,line=1,endLine=1::x\nplain\n"),
        (gitlab_issues, json.dumps([ISSUE, ISSUE])),
        (gitlab_issues, json.dumps([{**ISSUE, "severity": "error"}])),
        (gitlab_issues, json.dumps([{**ISSUE, "description": "\ud800"}])),
        (reviewdog_diagnostics, diagnostic(remark="x")),
        (reviewdog_diagnostics, diagnostic(severity="error")),
        (reviewdog_diagnostics, diagnostic(message="\ud800")),
        (reviewdog_diagnostics, diagnostic(location={"path": "a", "range": {"start": {"line": 0}, "end": POSITION}})),
        (junit_suites, suite('<testcase name="x" line="1"/>')),
        (junit_suites, suite("<testcase/>")),
        (junit_suites, suite('<testcase name="x"><failure/></testcase>')),
        (junit_suites, suite('<testcase name="x"><finding/></testcase>')),
        (junit_suites, suite('<testcase name="x">text</testcase>')),
    ],
)
def test_what_is_refused(reader: Callable[[str], object], report: str) -> None:
    with pytest.raises((Refused, KeyError)):
        reader(report)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("  ::ERROR file=a%2Cb,line=1::50 %25%0Aoff", Command("error", {"file": "a,b", "line": "1"}, "50 %\noff")),
        ("text ##[set-output name=a;]b", Command("set-output", {"name": "a"}, "b")),
        ("::no-command::x", None),
        ("text ::error::x", None),
        ("##[no-command]x", None),
    ],
)
def test_what_a_runner_obeys(line: str, command: Command | None) -> None:
    assert github_commands(line) == ([] if command is None else [command])
