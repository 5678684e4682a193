"""One line a finding, as compilers write it, so that editors and `grep` can read it."""

from __future__ import annotations

from kube_gaplint.findings import Report
from kube_gaplint.report.escape import guarded, visible
from kube_gaplint.report.layout import Palette
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.snippet import location
from kube_gaplint.report.words import closing_lines


def render(report: Report, options: RenderOptions) -> str:
    """`path:line:column: severity: message [CODE name]`, then the closing lines."""
    palette = Palette(options.color)
    lines = []
    for finding in report.findings:
        if finding.suppressed is not None:
            continue
        where = location(finding.place, ascii_only=options.ascii_only)
        severity = palette.severity(finding.severity, str(finding.severity))
        message = visible(finding.message, ascii_only=options.ascii_only)
        lines.append(f"{where}: {severity}: {message} {palette.dim(f'[{finding.code} {finding.name}]')}")
    for error in report.errors:
        path, reason = (visible(text, ascii_only=options.ascii_only) for text in (error.path, error.reason))
        lines.append(f"{path}: could not be read: {reason}")
    if options.statistics:
        from kube_gaplint.report.full import statistics

        lines += ["", *statistics(report, options), ""]
    if options.summary:
        lines += [visible(line, ascii_only=options.ascii_only) for line in closing_lines(report, options.min_severity)]
    if lines and not lines[-1]:
        lines.pop()
    return "".join(f"{guarded(line)}\n" for line in lines)
