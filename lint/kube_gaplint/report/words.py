"""Words that several reports share: names of objects, counts, the closing lines."""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Mapping

from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.model.subject import Subject
from kube_gaplint.report.escape import visible
from kube_gaplint.report.options import RenderOptions

SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)
_NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

_HINTS = 3


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`, `1,200 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def severity_noun(severity: Severity) -> str:
    """`error`, `warning`, `note`."""
    return _NOUNS[severity]


def subject_name(subject: Subject, *, ascii_only: bool = False) -> str:
    """`PyTorchJob research/llama, container pytorch`; empty for a file as such."""
    if subject.kind == "file":
        return ""
    name = f"{subject.namespace}/{subject.name}" if subject.namespace else subject.name
    words = f"{subject.kind} {name}".rstrip()
    if subject.container:
        words += f", container {subject.container}"
    return visible(words, ascii_only=ascii_only)


def counts_by_severity(report: Report) -> str:
    """`2 errors, 1 warning`; severities without findings are left out."""
    return _severities({severity: report.count(severity) for severity in SEVERITIES})


def severities_of(findings: list[Finding]) -> str:
    return _severities(Counter(finding.severity for finding in findings))


def _severities(counts: Mapping[Severity, int]) -> str:
    return ", ".join(count(counts[severity], _NOUNS[severity]) for severity in SEVERITIES if counts.get(severity))


def is_empty(report: Report) -> bool:
    """Whether there was nothing to judge: no object that a rule looks at, and no batch script."""
    return not (report.summary.judged or report.findings or report.errors)


def verdict(report: Report) -> str:
    """The first closing line: what was found, in how much."""
    summary = report.summary
    judged = f"{count(summary.workloads, 'workload')}, {count(summary.files, 'file')}"
    found = counts_by_severity(report)
    if found:
        return f"{found} in {judged}"
    if is_empty(report):
        return f"Nothing to judge: no training workload, batch script or node pool in {count(summary.files, 'file')}"
    return f"No {'new ' if summary.accepted or summary.elsewhere else ''}gaps found in {judged}"


_OFTEN = 10
_MOST_OFTEN = 3


def most_often(report: Report) -> str:
    """The rules that speak again and again, where any does: one line at the end of a long report; else empty."""
    counts = Counter(finding.code for finding in report.findings if finding.suppressed is None)
    files: dict[str, set[str]] = {}
    for finding in report.findings:
        files.setdefault(finding.code, set()).add(finding.place.source.path)
    often = sorted((-number, code) for code, number in counts.items() if number >= _OFTEN)[:_MOST_OFTEN]
    if not often:
        return ""
    shown = ", ".join(f"{code} {-number:,} times in {count(len(files[code]), 'file')}" for number, code in often)
    return f"Most often: {shown}; --statistics counts all rules, `gaplint explain {often[0][1]}` tells more."


def closing_lines(report: Report, least: Severity) -> list[str]:
    """The closing lines: verdict, fixes, what is hidden, suppressed, accepted or passed over, hints.

    Reasons and hints are as they came, not made visible yet.
    """
    summary = report.summary
    lines = [f"{verdict(report)}."]
    live = [finding for finding in report.findings if finding.suppressed is None]
    safe = sum(finding.fixable == "safe" for finding in live)
    unsafe = sum(finding.fixable == "unsafe" for finding in live)
    if safe:
        lines.append(f"{safe:,} can be fixed with --fix.")
    if unsafe:
        lines.append(f"{unsafe:,} can be fixed with --fix --unsafe-fixes; look at the result with --diff first.")
    if summary.hidden:
        noun = "note" if least is Severity.WARNING else "finding"
        lines.append(f"{count(summary.hidden, noun)} hidden, show with --min-severity info.")
    if summary.suppressed:
        lines.append(f"{count(summary.suppressed, 'finding')} suppressed with a reason.")
    if summary.accepted:
        lines.append(f"{count(summary.accepted, 'finding')} accepted in the baseline.")
    if summary.gone:
        was = "is" if summary.gone == 1 else "are"
        lines.append(f"{count(summary.gone, 'finding')} of the baseline {was} gone: --write-baseline takes them out.")
    if summary.elsewhere:
        lines.append(f"{count(summary.elsewhere, 'finding')} that this change does not bring.")
    if summary.skipped:
        reasons = sorted(summary.skipped.items(), key=lambda item: (-item[1], item[0]))
        lines.append(f"Passed over: {'; '.join(f'{reason} ({number:,})' for reason, number in reasons)}.")
    lines += [f"Hint: {hint}" for hint in summary.hints[:_HINTS]]
    if len(summary.hints) > _HINTS:
        lines.append(f"{count(len(summary.hints) - _HINTS, 'hint')} more of that kind: --format json lists them all.")
    if report.errors:
        lines.append(f"{count(len(report.errors), 'file')} could not be read (see above).")
    return lines


def explanation(finding: Finding, options: RenderOptions) -> list[str]:
    """A finding in sentences, for readers that see no source lines: what, at what cost, the fix, the incident, whose.

    The text is as it came, not made visible yet.
    """
    lines = [finding.message]
    if finding.consequence:
        lines.append(finding.consequence)
    if finding.fix is not None:
        lines.append(f"Fix: {finding.fix.title}")
    incident = next(filter(None, map(options.incident, finding.evidence)), None)
    if incident is not None:
        link = f" {incident.sources[0][1]}" if incident.sources else ""
        lines.append(f"Incident: {incident.title} ({incident.organisation}, {incident.year}){link}")
    subject = finding.subject
    if subject.kind != "file":
        name = f"{subject.namespace}/{subject.name}" if subject.namespace else subject.name
        container = f", container {subject.container}" if subject.container else ""
        lines.append(f"In {subject.kind} {name}".rstrip() + container)
    return lines


def repository_path(path: str, options: RenderOptions) -> str:
    """The path from the root of the repository, with `/`; the path itself where it lies elsewhere."""
    if options.folder and options.root and not path.startswith("<"):
        relative = os.path.relpath(os.path.join(options.folder, path), options.root)  # noqa: PTH118
        if relative != os.pardir and not relative.startswith(os.pardir + os.sep):
            return relative.replace(os.sep, "/")
    return path
