"""Findings as plain data: version 1 of gaplint's JSON. Fields may be added within a version, never renamed."""

from __future__ import annotations

from typing import Any

from kube_gaplint import __version__
from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.model.subject import Subject
from kube_gaplint.report.escape import encodable
from kube_gaplint.report.snippet import further_places
from kube_gaplint.text.source import Place

VERSION = 1


def report_data(report: Report) -> dict[str, Any]:
    """The whole report."""
    summary = report.summary
    return {
        "version": VERSION,
        "tool": {"name": "gaplint", "version": __version__},
        "findings": [finding_data(finding) for finding in report.findings],
        "errors": [{"file": encodable(error.path), "reason": encodable(error.reason)} for error in report.errors],
        "summary": {
            "files": summary.files,
            "documents": summary.documents,
            "workloads": summary.workloads,
            "findings": {str(severity): report.count(severity) for severity in reversed(Severity)},
            "hidden": summary.hidden,
            "suppressed": summary.suppressed,
            "accepted": summary.accepted,
            "gone": summary.gone,
            "elsewhere": summary.elsewhere,
            "skipped": _counts(summary.skipped),
            "hints": [encodable(hint) for hint in summary.hints],
            "byKind": _counts(summary.by_kind),
            "byClass": _counts(summary.by_class),
        },
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding. `findings` of the summary counts those that are not suppressed."""
    suppressed = finding.suppressed
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": str(finding.severity),
        "message": encodable(finding.message),
        "consequence": encodable(finding.consequence),
        "object": _object_data(finding.subject),
        "alsoFor": [_object_data(subject) for subject in finding.also],
        "location": location_data(finding.place),
        "related": [
            {"location": location_data(place), "note": encodable(note)} for place, note in further_places(finding)
        ],
        "evidence": list(finding.evidence),
        "fixable": finding.fixable,
        "fix": None if finding.fix is None else {"title": encodable(finding.fix.title)},
        "fingerprint": finding.fingerprint,
        "suppressed": None
        if suppressed is None
        else {
            "by": suppressed.how,
            "reason": encodable(suppressed.reason),
            "until": suppressed.until,
            "location": None if suppressed.place is None else location_data(suppressed.place),
        },
    }


def _object_data(subject: Subject) -> dict[str, str]:
    return {
        "kind": encodable(subject.kind),
        "apiVersion": encodable(subject.api_version),
        "namespace": encodable(subject.namespace),
        "name": encodable(subject.name),
        "container": encodable(subject.container),
    }


def location_data(place: Place) -> dict[str, Any]:
    """A span; lines and columns count from 1, the end is the first column after it."""
    start, end = place.start, place.end
    return {
        "file": encodable(place.source.path),
        "line": start.line,
        "column": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    }


def _counts(counts: dict[str, int]) -> dict[str, int]:
    return {encodable(name): counts[name] for name in sorted(counts)}
