"""Markdown for a job summary or a comment on a pull request."""

from __future__ import annotations

import re

from kube_gaplint import lazy_re
from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report.escape import visible
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.snippet import location
from kube_gaplint.report.words import closing_lines, subject_name, verdict

_MARKS = {Severity.ERROR: "🔴 error", Severity.WARNING: "🟠 warning", Severity.INFO: "🔵 note"}
_SPECIAL = lazy_re.compile(
    r"[\\`*_{}\[\]<>#!|~&@$]"  # markup, mentions, references, formulas
    r"|:(?=//)|(?<=www)\."  # addresses that would become links
    r"|^[-+=]|(?<=\d)[.)](?=\s)"  # lists and underlined headings
)
_SEPARATED = frozenset("@#")


def render(report: Report, options: RenderOptions) -> str:
    """A table of findings, then what was hidden, suppressed or passed over."""
    live = [finding for finding in report.findings if finding.suppressed is None]
    lines = [f"### gaplint: {escaped(verdict(report))}", ""]
    if live:
        lines += ["| | Rule | Where | What |", "|---|---|---|---|"]
        lines += [_row(finding, options) for finding in live]
        lines.append("")
    for error in report.errors:
        lines.append(f"- {escaped(error.path)} could not be read: {escaped(error.reason)}")
    if report.errors:
        lines.append("")
    lines += [f"{escaped(line)}  " for line in closing_lines(report, options.min_severity)[1:]]
    return "\n".join(lines).rstrip() + "\n"


def _row(finding: Finding, options: RenderOptions) -> str:
    where = escaped(location(finding.place))
    subject = escaped(subject_name(finding.subject))
    what = [f"**{escaped(finding.message)}**"]
    if finding.consequence:
        what.append(escaped(finding.consequence))
    incident = next(filter(None, map(options.incident, finding.evidence)), None)
    if incident is not None:
        title = escaped(f"{incident.title} ({incident.organisation}, {incident.year})")
        what.append(f"Incident: [{title}](<{incident.sources[0][1]}>)" if incident.sources else f"Incident: {title}")
    if finding.fix is not None:
        what.append(f"Fix: {escaped(finding.fix.title)}")
    cells = (
        _MARKS[finding.severity],
        f"{finding.code}<br>{escaped(finding.name)}",
        f"{where}<br>{subject}" if subject else where,
        "<br>".join(what),
    )
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text from outside as Markdown that shows just that text: no markup, link, mention or reference comes of it."""
    return _SPECIAL.sub(_entity, visible(text))


def _entity(match: re.Match[str]) -> str:
    entity = f"&#{ord(match[0])};"
    return f"{entity}<!-- -->" if match[0] in _SEPARATED else entity
