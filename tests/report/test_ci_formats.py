"""sarif, gitlab, junit, markdown, rdjson: each read by a reader of its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import junitparser
import pytest
from consumers import gitlab_issues, junit_suites, reviewdog_diagnostics
from hypothesis import given, settings
from markdown_it import MarkdownIt
from msgspec.structs import replace
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog
from report_samples import JOB, finding, incident, origin, sample_report
from test_hostile import reports

from kube_gaplint.findings import Report, Severity
from kube_gaplint.report import render
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.words import repository_path
from kube_gaplint.rule import Rule
from kube_gaplint.text.source import Source


def check() -> None:
    """Something is off.

    ## What it flags
    That.
    """


RULE = Rule(
    "NCCL001",
    "async-error-handling",
    object,
    Severity.ERROR,
    check,  # type: ignore[arg-type]
    evidence=("IL-0125",),
    summary="Something is off.",
)
OPTIONS = RenderOptions(
    width=80,
    incident=incident,
    rule=lambda code: RULE if code == "NCCL001" else None,
    folder="/home/u/repo/train",
    root="/home/u/repo",
)
PLAIN = RenderOptions(incident=incident)


def of(*findings: object) -> Report:
    return Report(findings=list(findings))  # type: ignore[arg-type]


def sarif(report: Report, options: RenderOptions = OPTIONS) -> Any:
    log = json.loads(render("sarif", report, options))
    SarifLog.model_validate(log)
    return log["runs"][0]


def test_sarif_of_a_clean_run() -> None:
    run = sarif(Report())
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_results() -> None:
    run = sarif(sample_report())
    first, second, third = run["results"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["CKPT003", "NCCL001"]
    assert (first["ruleIndex"], first["level"]) == (1, "error")
    location = first["locations"][0]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "train/train/llama.yaml", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 19, "startColumn": 26, "endLine": 19, "endColumn": 29},
    }
    assert location["logicalLocations"][0]["name"] == "llama-70b"
    assert "SRCROOT" in run["originalUriBaseIds"]
    assert first["partialFingerprints"] == {"gaplint/v1": "0123456789abcdef"}
    assert (first["suppressions"], second["suppressions"][0]["justification"]) == ([], "restarted by hand")
    assert [place["id"] for place in third["relatedLocations"]] == [1, 2]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].startswith("train/secret.yaml")


def test_sarif_rule_carries_its_page() -> None:
    rule = sarif(sample_report())["tool"]["driver"]["rules"][1]
    assert rule["help"]["markdown"].startswith("Something is off.\n\n## What it flags\nThat.")
    assert "[Chronicles](https://github.com/bigscience-workshop" in rule["help"]["markdown"]
    assert rule["defaultConfiguration"] == {"level": "error"}


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b#c?.yaml", "train/a%20b%23c%3F.yaml"),
        ("100%:x.yaml", "train/100%25%3Ax.yaml"),
        ("caf\u00e9.yaml", "train/caf%C3%A9.yaml"),
        ("caf\udce9.yaml", "train/caf%E9.yaml"),
        ("../nodes/pool.yaml", "nodes/pool.yaml"),
        ("/home/u/repo/x.yaml", "x.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
    ],
)
def test_sarif_addresses(path: str, uri: str) -> None:
    result = sarif(of(finding(origin(Source(path, JOB), '"0"'))))["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri, "uriBaseId": "SRCROOT"}


def test_sarif_address_outside_of_the_repository() -> None:
    result = sarif(of(finding(origin(Source("/etc/x y.yaml", JOB), '"0"'))))["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///etc/x%20y.yaml"}


def test_sarif_values_are_no_links() -> None:
    where = origin(Source("a.yaml", JOB), '"0"')
    text = sarif(of(finding(where, message="args [a, b] and [x](http://evil)")))["results"][0]["message"]["text"]
    assert text.startswith("args [a, b] and \\[x](http://evil)")


@given(report=reports())
@settings(max_examples=25, deadline=None)
def test_sarif_of_hostile_names(report: Report) -> None:
    sarif(report, PLAIN)


def test_repository_path() -> None:
    assert repository_path("a.yaml", PLAIN) == "a.yaml"
    assert repository_path("./a.yaml", OPTIONS) == "train/a.yaml"
    assert repository_path("../../x.yaml", OPTIONS) == "../../x.yaml"


def test_gitlab() -> None:
    issues = list(gitlab_issues(render("gitlab", sample_report(), OPTIONS)).values())
    assert [issue["severity"] for issue in issues] == ["critical", "major"]
    assert issues[0]["location"] == {"path": "train/train/llama.yaml", "lines": {"begin": 19, "end": 19}}
    assert issues[0]["check_name"] == "gaplint/NCCL001"
    assert issues[0]["description"].startswith("NCCL001 async-error-handling: TORCH_NCCL_ASYNC")
    assert json.loads(render("gitlab", Report(), OPTIONS)) == []


@given(report=reports())
@settings(max_examples=30, deadline=None)
def test_gitlab_of_hostile_names(report: Report) -> None:
    numbered = [replace(item, fingerprint=str(number)) for number, item in enumerate(report.findings)]
    live = [item for item in numbered if item.suppressed is None]
    report.findings = numbered
    assert list(gitlab_issues(render("gitlab", report, PLAIN))) == [item.fingerprint for item in live]


def test_rdjson() -> None:
    source = Source("a.yaml", 'k: é訓 "0"\nnext: 1\n')
    report = of(finding(origin(source, '"0"\nnext')), finding(origin(source, "1"), severity=Severity.INFO))
    shown = render("rdjson", report, OPTIONS)
    first, second = reviewdog_diagnostics(shown)
    assert first["location"]["range"] == {"start": {"line": 1, "column": 10}, "end": {"line": 2, "column": 5}}
    assert (json.loads(shown)["severity"], second["severity"]) == ("ERROR", "INFO")
    assert first["code"]["value"] == "NCCL001 async-error-handling"


@given(report=reports())
@settings(max_examples=30, deadline=None)
def test_rdjson_of_hostile_names(report: Report) -> None:
    live = [item for item in report.findings if item.suppressed is None]
    assert len(reviewdog_diagnostics(render("rdjson", report, PLAIN))) == len(live)


def junit(report: Report, tmp_path: Path) -> Any:
    path = tmp_path / "junit.xml"
    shown = render("junit", report, OPTIONS)
    junit_suites(shown)
    path.write_text(shown, encoding="utf-8")
    return junitparser.JUnitXml.fromfile(str(path))


def test_junit(tmp_path: Path) -> None:
    report = sample_report()
    report.findings.append(finding(origin(Source("train/z.yaml", JOB), '"0"'), severity=Severity.INFO))
    read = junit(report, tmp_path)
    assert (read.tests, read.failures, read.errors) == (5, 2, 1)
    suites = {suite.name: suite for suite in read}
    assert [*suites] == ["train/llama.yaml", "train/scripts.yaml", "train/z.yaml", "train/secret.yaml"]
    assert [type(case.result[0]).__name__ for case in suites["train/llama.yaml"]] == ["Failure", "Skipped"]
    assert all(case.is_passed for case in suites["train/z.yaml"])


def test_junit_of_a_clean_run(tmp_path: Path) -> None:
    read = junit(Report(), tmp_path)
    assert (read.tests, read.failures, read.errors) == (1, 0, 0)


@given(report=reports())
@settings(max_examples=30, deadline=None)
def test_junit_of_hostile_names(report: Report) -> None:
    suites = junit_suites(render("junit", report, PLAIN))
    expected = len(report.findings) + len(report.errors)
    assert sum(len(suite.findall("testcase")) for suite in suites) == (expected or 1)


def tokens_of(markdown: str) -> list[Any]:
    reader = MarkdownIt("commonmark").enable("table").enable("strikethrough")
    return [part for token in reader.parse(markdown) for part in (token, *(token.children or ()))]


def test_markdown() -> None:
    shown = render("markdown", sample_report(), OPTIONS)
    assert shown.startswith("### gaplint: 1 error, 1 warning in 1 workload, 2 files\n\n| | Rule | Where | What |\n")
    kinds = [token.type for token in tokens_of(shown)]
    assert kinds.count("tr_open") == 3
    assert kinds.count("link_open") == 1


@given(report=reports())
@settings(max_examples=50, deadline=None)
def test_markdown_of_hostile_names(report: Report) -> None:
    live = [item for item in report.findings if item.suppressed is None]
    tokens = tokens_of(render("markdown", report, PLAIN))
    kinds = [token.type for token in tokens]
    assert kinds.count("tr_open") == (1 + len(live) if live else 0)
    assert kinds.count("th_open") == (4 if live else 0)
    assert kinds.count("td_open") == 4 * len(live)
    assert kinds.count("heading_open") == 1
    known = [item for item in live if "IL-0125" in item.evidence]
    assert kinds.count("link_open") == len(known)
    assert not {"image", "code_inline", "fence", "code_block", "html_block", "hr", "s_open", "em_open"} & {*kinds}
    assert {token.content for token in tokens if token.type == "html_inline"} <= {"<br>", "<!-- -->"}
