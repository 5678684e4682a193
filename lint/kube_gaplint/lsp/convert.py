"""From findings to what the protocol calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from lsprotocol import types

from kube_gaplint import incidents, registry
from kube_gaplint.findings import Finding, Severity
from kube_gaplint.report.escape import visible
from kube_gaplint.text.edit import difference
from kube_gaplint.text.source import Place, Source

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


def diagnostic(finding: Finding, uri_of: Callable[[str], str]) -> types.Diagnostic:
    """A finding as a diagnostic of the file that it stands in. `uri_of` names a file by its path."""
    lines = [finding.message, *([finding.consequence] if finding.consequence else [])]
    return types.Diagnostic(
        range=range_of(finding.place),
        message="\n".join(map(visible, lines)),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source="gaplint",
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location(uri_of(related.origin.place.source.path), range_of(related.origin.place)),
                visible(related.note) or "see here",
            )
            for related in finding.related
        ],
        data=finding.fingerprint,
    )


def hover(finding: Finding) -> str:
    """The page of the rule, with what it found here and the incidents behind it, in Markdown."""
    rule = registry.load(finding.code)
    lines = [f"**{finding.code} {finding.name}** ({finding.severity})", "", _plain(finding.message)]
    if finding.consequence:
        lines += ["", _plain(finding.consequence)]
    for identifier in finding.evidence:
        incident = incidents.incident(identifier)
        if incident is not None:
            link = f" ([{incident.sources[0][0]}]({incident.sources[0][1]}))" if incident.sources else ""
            lines += ["", f"*{identifier}*: {incident.title} ({incident.organisation}, {incident.year}){link}"]
    return "\n".join([*lines, "", "---", "", inspect.cleandoc(rule.page)])


def range_of(place: Place) -> types.Range:
    return types.Range(_position(place.source, place.span.start), _position(place.source, place.span.end))


def text_edit(old: str, new: str) -> types.TextEdit:
    """The one edit that makes `new` of `old`."""
    edit = difference(old, new)
    return types.TextEdit(range_of(Place(Source("", old), edit.span)), edit.text)


def _position(source: Source, offset: int) -> types.Position:
    """A place as the protocol counts it: lines from 0, and UTF-16 units from 0."""
    at = source.position(offset)
    before = source.text[offset - (at.column - 1) : offset]
    return types.Position(at.line - 1, len(before.encode("utf-16-le", "surrogatepass")) // 2)


def _plain(text: str) -> str:
    """Text from outside in Markdown, as it is."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#!|~&" else character for character in visible(text))
