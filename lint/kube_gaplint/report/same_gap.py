"""Whether manifests have the gaps of an incident: condition by condition, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kube_gaplint.findings import Finding, Report
from kube_gaplint.report.escape import visible
from kube_gaplint.report.layout import Palette, hanging
from kube_gaplint.report.snippet import location
from kube_gaplint.report.words import count, is_empty

if TYPE_CHECKING:
    from kube_gaplint.incidents import Incident, Visible

_MOST = 5
_UNKNOWN = (
    "What gaplint cannot see (a value from outside, a program of unknown content) counts as not found: "
    "`gaplint show PATH` tells what it saw."
)


def findings_of(condition: Visible, report: Report) -> list[Finding]:
    """The findings that show this condition, those that are suppressed included."""
    return [finding for finding in report.findings if finding.code in condition.rules]


def has_gap(incident: Incident, report: Report) -> bool:
    """Whether a condition of the incident is found that nobody has suppressed."""
    return any(finding.suppressed is None and finding.code in incident.rules for finding in report.findings)


def same_gap_lines(
    incident: Incident, report: Report, columns: int, palette: Palette, *, ascii_only: bool
) -> list[str]:
    """For each condition: found at which places, not found, or not to be seen in a manifest."""
    summary = report.summary
    lines = [palette.bold("The same gap here?")]
    if is_empty(report):
        files = count(summary.files, "file")
        text = f"There was nothing to judge: no training workload, batch script or node pool in {files}."
        return lines + hanging("", text, columns, indent=2)
    for condition in incident.visible:
        found = findings_of(condition, report)
        rules = f"{condition.condition} ({', '.join(condition.rules)})"
        live = any(finding.suppressed is None for finding in found)
        mark, name = (
            ("found", palette.bad) if live else ("accepted", palette.dim) if found else ("not found", palette.good)
        )
        first, *rest = hanging(f"{mark:<11}", rules, columns, indent=2)
        lines += [first.replace(mark, name(mark), 1), *rest]
        for finding in found[:_MOST]:
            where = location(finding.place, ascii_only=ascii_only)
            said = visible(finding.message, ascii_only=ascii_only)
            if finding.suppressed is not None:
                said = f"suppressed: {visible(finding.suppressed.reason, ascii_only=ascii_only)}"
            lines += [f"{'':13}{palette.second(where)}", *hanging("", f"{finding.code}: {said}", columns, indent=15)]
        if len(found) > _MOST:
            lines.append(f"{'':13}{len(found) - _MOST:,} more: gaplint check --incident {incident.id}")
    if incident.not_visible:
        lines += ["", "  Cannot be seen in a manifest:"]
        lines += [line for text in incident.not_visible for line in hanging("- ", text, columns, indent=2)]
    judged = f"{count(summary.workloads, 'workload')}, {count(summary.files, 'file')}"
    lines += ["", *hanging("", f"Looked at {judged}. {_UNKNOWN}", columns, indent=2)]
    lines += [
        line
        for failed in report.errors
        for line in hanging("", visible(f"{failed.path} could not be read: {failed.reason}"), columns, indent=2)
    ]
    return lines
