"""Annotations on a pull request: one workflow command a finding, as the runner of GitHub Actions reads them.

Message and properties are escaped as the runner's toolkit does it, and nothing else is printed, so that no path or
value can smuggle in a command of its own.
"""

from __future__ import annotations

from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report.escape import command_data, command_property, visible
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.words import explanation, repository_path

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report, options: RenderOptions) -> str:
    """Findings that are not suppressed, in the report's order."""
    return "".join(f"{_command(finding, options)}\n" for finding in report.findings if finding.suppressed is None)


def _command(finding: Finding, options: RenderOptions) -> str:
    start, end = finding.place.start, finding.place.end
    properties = {
        "file": repository_path(finding.place.source.path, options),
        "line": str(start.line),
        "endLine": str(end.line),
    }
    if start.line == end.line:  # the runner refuses columns on an annotation of several lines
        properties |= {"col": str(start.column), "endColumn": str(end.column)}
    properties["title"] = f"{finding.code} {finding.name}"
    listed = ",".join(f"{key}={command_property(visible(value))}" for key, value in properties.items())
    message = command_data("\n".join(visible(line) for line in explanation(finding, options)))
    return f"::{_COMMANDS[finding.severity]} {listed}::{message}"
