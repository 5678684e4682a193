"""SARIF 2.1.0, as code scanning services take it."""

from __future__ import annotations

import inspect
from typing import Any
from urllib.parse import quote

from kube_gaplint import __version__, lazy_re
from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report.escape import encodable, json_text, visible
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.snippet import further_places
from kube_gaplint.report.words import explanation, repository_path, subject_name
from kube_gaplint.rule import Rule
from kube_gaplint.text.source import Place

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"
MOST_FIXES = 200
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
# Text like this is a link in a SARIF message (3.11.6 of the standard); a value must not become one.
_LINK = lazy_re.compile(r"\[(?=[^\]]*\]\()")


def render(report: Report, options: RenderOptions) -> str:
    """One run. A run without findings has an empty list of results."""
    codes = sorted({finding.code for finding in report.findings})
    index = {code: at for at, code in enumerate(codes)}
    names = {finding.code: finding for finding in report.findings}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "gaplint",
                "version": __version__,
                "rules": [_rule(names[code], options.rule(code), options) for code in codes],
            }
        },
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "level": "warning",
                        "message": {"text": _text(f"{error.path} could not be read: {error.reason}")},
                        "locations": [{"physicalLocation": {"artifactLocation": _artifact(error.path, options)}}],
                    }
                    for error in report.errors
                ],
            }
        ],
        "results": [_result(finding, index[finding.code], options) for finding in report.findings],
    }
    _add_fixes(run["results"], report, options)
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(finding: Finding, rule: Rule | None, options: RenderOptions) -> dict[str, Any]:
    """The descriptor of a rule, with its page as help."""
    descriptor: dict[str, Any] = {"id": finding.code, "name": finding.name}
    severity = finding.severity if rule is None else rule.severity
    descriptor["defaultConfiguration"] = {"level": _LEVELS[severity]}
    descriptor["properties"] = {
        "tags": ["reliability", finding.code.rstrip("0123456789").lower()],
        "problem.severity": _PROBLEM[severity],
    }
    if rule is not None:
        page = inspect.cleandoc(rule.page)
        if rule.evidence:
            page += "\n\n## Evidence\n" + "\n".join(_evidence(identifier, options) for identifier in rule.evidence)
        descriptor["shortDescription"] = {"text": rule.summary or rule.name}
        descriptor["fullDescription"] = {"text": rule.summary or rule.name}
        descriptor["help"] = {"text": page, "markdown": page}
    return descriptor


def _evidence(identifier: str, options: RenderOptions) -> str:
    incident = options.incident(identifier)
    if incident is None:
        return f"- {identifier}"
    links = ", ".join(f"[{title}]({address})" for title, address in incident.sources)
    return f"- {incident.title} ({incident.organisation}, {incident.year}): {links}"


def _result(finding: Finding, rule: int, options: RenderOptions) -> dict[str, Any]:
    location = _location(finding.place, options)
    subject = finding.subject
    if subject.kind != "file":
        location["logicalLocations"] = [
            {
                "name": encodable(subject.name or subject.kind),
                "fullyQualifiedName": encodable(subject_name(subject)),
                "kind": "object",
            }
        ]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join(_text(line) for line in explanation(finding, options))},
        "locations": [location],
        "relatedLocations": [
            {"id": at, **_location(place, options), "message": {"text": _text(note) or "see here"}}
            for at, (place, note) in enumerate(further_places(finding), 1)
        ],
        "partialFingerprints": {"gaplint/v1": finding.fingerprint},
        "suppressions": [],
    }
    if finding.suppressed is not None:
        kind = "inSource" if finding.suppressed.how == "source" else "external"
        result["suppressions"] = [{"kind": kind, "justification": _text(finding.suppressed.reason)}]
    return result


def _add_fixes(results: list[dict[str, Any]], report: Report, options: RenderOptions) -> None:
    """Give the results their fixes; in a long report the first ones, since each is worked out by itself."""
    fixable = [
        (result, finding)
        for result, finding in zip(results, report.findings, strict=True)
        if finding.suppressed is None and finding.fixable != "no"
    ]
    for result, finding in fixable[:MOST_FIXES]:
        changes: dict[str, dict[str, Any]] = {}
        for place, text in options.edits(finding):
            path = place.source.path
            change = {"artifactLocation": _artifact(path, options), "replacements": []}
            replacement = {"deletedRegion": _region(place), "insertedContent": {"text": encodable(text)}}
            changes.setdefault(path, change)["replacements"].append(replacement)
        if changes and finding.fix is not None:
            title = {"text": _text(finding.fix.title)}
            result["fixes"] = [{"description": title, "artifactChanges": list(changes.values())}]


def _location(place: Place, options: RenderOptions) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(place.source.path, options), "region": _region(place)}}


def _region(place: Place) -> dict[str, int]:
    start, end = place.start, place.end
    return {
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    }


def _artifact(path: str, options: RenderOptions) -> dict[str, str]:
    """A path as a URI reference: percent-encoded bytes, relative to the root where it can be."""
    inside = repository_path(path, options)
    try:
        encoded = quote(inside.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # no path of a file, then
        encoded = quote(inside.encode("utf-8", "replace"))
    if inside.startswith("/"):
        return {"uri": f"file://{encoded}"}
    return {"uri": encoded, "uriBaseId": ROOT}


def _text(text: str) -> str:
    """Text from outside as message text: nothing hidden in it, and no link."""
    shown = visible(text)
    return _LINK.sub(r"\\[", shown) if "](" in shown else shown
