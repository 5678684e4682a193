"""JUnit XML, for CI systems that show test results."""

from __future__ import annotations

from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report.escape import visible
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.snippet import location
from kube_gaplint.report.words import explanation, subject_name


def render(report: Report, options: RenderOptions) -> str:
    """One suite a file, one case a finding.

    Errors and warnings fail, notes pass with their text as output, suppressed findings are skipped, a file that could
    not be read is an error. A run without findings has one case that passes: some readers refuse an empty result.
    """
    by_file: dict[str, list[str]] = {}
    failed: dict[str, int] = {}
    skipped: dict[str, int] = {}
    for finding in report.findings:
        path = finding.place.source.path
        by_file.setdefault(path, []).append(_case(finding, options))
        if finding.suppressed is not None:
            skipped[path] = skipped.get(path, 0) + 1
        elif finding.severity > Severity.INFO:
            failed[path] = failed.get(path, 0) + 1
    suites = [
        _suite(path, cases, failures=failed.get(path, 0), skipped=skipped.get(path, 0))
        for path, cases in by_file.items()
    ]
    for error in report.errors:
        case = (
            f'<testcase classname="{_xml(error.path)}" name="could be read">'
            f'<error type="unreadable" message="{_xml(error.reason)}"/></testcase>'
        )
        suites.append(_suite(error.path, [case], errors=1))
    if not suites:
        suites.append(_suite("gaplint", ['<testcase classname="gaplint" name="no gaps found"/>']))
    total = sum(map(len, by_file.values())) + len(report.errors) or 1
    head = (
        f'<testsuites name="gaplint" tests="{total}" failures="{sum(failed.values())}" errors="{len(report.errors)}">'
    )
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"]) + "\n"


def _suite(name: str, cases: list[str], *, failures: int = 0, errors: int = 0, skipped: int = 0) -> str:
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    body = "\n".join(f"    {case}" for case in cases)
    return f'  <testsuite name="{_xml(name)}" {counts}>\n{body}\n  </testsuite>'


def _case(finding: Finding, options: RenderOptions) -> str:
    subject = subject_name(finding.subject)
    name = f"{finding.code} {finding.name} at line {finding.place.start.line}" + (f" ({subject})" if subject else "")
    head = f'<testcase classname="{_xml(finding.place.source.path)}" name="{_xml(name)}">'
    text = "\n".join([location(finding.place), *(visible(line) for line in explanation(finding, options))])
    if finding.suppressed is not None:
        body = f'<skipped message="{_xml(finding.suppressed.reason)}"/>'
    elif finding.severity is Severity.INFO:
        body = f"<system-out>{_lines(text)}</system-out>"
    else:
        kind = f'type="{finding.severity}" message="{_xml(finding.message)}"'
        body = f"<failure {kind}>{_lines(text)}</failure>"
    return f"{head}{body}</testcase>"


def _lines(text: str) -> str:
    return "\n".join(_xml(line) for line in text.split("\n"))


def _xml(text: str) -> str:
    """Text for content and attributes alike. After `visible` nothing is left that XML 1.0 forbids."""
    shown = visible(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        shown = shown.replace(character, entity)
    return shown
