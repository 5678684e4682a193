"""The incidents behind the findings of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kube_gaplint.findings import Finding
from kube_gaplint.report.html.markup import Content, Html, facts, link, prose, tag
from kube_gaplint.report.options import IncidentView, RenderOptions


def behind(findings: Iterable[Finding], options: RenderOptions) -> dict[str, IncidentView]:
    """The incidents that findings rest on, each once, in the order in which they are named first."""
    named = dict.fromkeys(identifier for finding in findings for identifier in finding.evidence)
    found = ((identifier, options.incident(identifier)) for identifier in named)
    return {identifier: incident for identifier, incident in found if incident is not None}


def reference(incident: IncidentView) -> Html:
    """A list item that leads to an incident on the page."""
    title = f"{incident.title} ({incident.organisation}, {incident.year})"
    return tag("li", tag("a", title, href=f"#incident-{incident.id}"))


def section(told: Mapping[str, IncidentView], findings: list[Finding], anchors: Mapping[int, str]) -> Html | None:
    """The incidents, each with links back to its findings."""
    if not told:
        return None
    return tag(
        "section",
        tag("h2", "Incidents behind the findings"),
        tag("p", "Public reports of what the same gaps have cost others. The figures are the reports' own."),
        [_incident(incident, _uses(identifier, findings, anchors)) for identifier, incident in told.items()],
        class_="card",
    )


def _uses(identifier: str, findings: list[Finding], anchors: Mapping[int, str]) -> list[Content]:
    links: list[Content] = []
    for finding in findings:
        if identifier in finding.evidence:
            links += [", " if links else "", tag("a", finding.code, href=f"#{anchors[id(finding)]}")]
    return links


def _incident(incident: IncidentView, uses: list[Content]) -> Html:
    sources = [tag("li", link(address, title)) for title, address in incident.sources]
    rows: list[tuple[str, Content]] = [
        ("What happened", prose(incident.symptom)),
        ("Cause", prose(incident.cause)),
        ("What was done", prose(incident.remediation)),
        ("Lesson", prose(incident.lesson)),
        ("Sources", tag("ul", sources) if sources else None),
    ]
    return tag(
        "article",
        tag("h3", incident.title),
        tag("p", f"{incident.id}: {incident.organisation}, {incident.year}. Findings: ", uses, class_="place"),
        facts((label, content) for label, content in rows if content),
        id=f"incident-{incident.id}",
        class_="incident",
    )
