"""The report as one JSON document; `schema.json` beside this module describes it."""

from __future__ import annotations

from kube_gaplint.findings import Report
from kube_gaplint.report.data import report_data
from kube_gaplint.report.escape import json_text
from kube_gaplint.report.options import RenderOptions


def render(report: Report, _options: RenderOptions) -> str:
    """Pure ASCII, so that no control character and no encoding stands between gaplint and its reader."""
    return json_text(report_data(report), indent=2)
