"""Reviewdog's diagnostic format."""

from __future__ import annotations

from typing import Any

from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report.escape import encodable, json_text, visible
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.snippet import further_places
from kube_gaplint.report.words import explanation
from kube_gaplint.text.source import Place

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render(report: Report, options: RenderOptions) -> str:
    """The findings that are not suppressed. Columns count bytes of UTF-8, as this format has it."""
    live = [finding for finding in report.findings if finding.suppressed is None]
    worst = report.worst()
    data: dict[str, Any] = {"source": {"name": "gaplint"}}
    if worst is not None:
        data["severity"] = _SEVERITIES[worst]
    data["diagnostics"] = [_diagnostic(finding, options) for finding in live]
    return json_text(data, indent=2)


def _diagnostic(finding: Finding, options: RenderOptions) -> dict[str, Any]:
    return {
        "message": "\n".join(visible(line) for line in explanation(finding, options)),
        "location": _location(finding.place),
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": f"{finding.code} {finding.name}"},
        "related_locations": [
            {"message": visible(note), "location": _location(place)} for place, note in further_places(finding)
        ],
    }


def _location(place: Place) -> dict[str, Any]:
    return {
        "path": encodable(place.source.path),
        "range": {"start": _position(place, place.span.start), "end": _position(place, place.span.end)},
    }


def _position(place: Place, offset: int) -> dict[str, int]:
    position = place.source.position(offset)
    start = place.source.line_span(position.line).start
    before = place.source.text[start : start + position.column - 1]
    return {"line": position.line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
