"""The code quality report that GitLab shows in merge requests."""

from __future__ import annotations

from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report.escape import encodable, json_text, visible
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.words import explanation, repository_path

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(report: Report, options: RenderOptions) -> str:
    """A list of issues: the findings that are not suppressed."""
    live = [finding for finding in report.findings if finding.suppressed is None]
    return json_text([_issue(finding, options) for finding in live], indent=2)


def _issue(finding: Finding, options: RenderOptions) -> dict[str, object]:
    start, end = finding.place.start, finding.place.end
    path = repository_path(finding.place.source.path, options).removeprefix("./")
    first, *rest = (visible(line) for line in explanation(finding, options))
    return {
        "description": f"{finding.code} {finding.name}: {first}",
        "content": {"body": "\n\n".join(rest)},
        "check_name": f"gaplint/{finding.code}",
        "fingerprint": finding.fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "categories": ["Bug Risk"],
        "location": {"path": encodable(path), "lines": {"begin": start.line, "end": end.line}},
    }
