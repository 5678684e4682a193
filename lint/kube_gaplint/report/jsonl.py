"""One JSON object a line and finding, with the fields of the JSON report."""

from __future__ import annotations

from kube_gaplint.findings import Report
from kube_gaplint.report.data import finding_data
from kube_gaplint.report.escape import json_text
from kube_gaplint.report.options import RenderOptions


def render(report: Report, _options: RenderOptions) -> str:
    """Suppressed findings are in it, marked as such; errors and counts are not."""
    return "".join(json_text(finding_data(finding)) for finding in report.findings)
