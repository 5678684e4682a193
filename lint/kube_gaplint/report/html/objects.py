"""Findings by the object that they belong to, each object with what was understood of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint.findings import Finding, Severity
from kube_gaplint.report.html import arithmetic, incidents, understood
from kube_gaplint.report.html.markup import Content, Html, facts, folded, name, place, prose, tag
from kube_gaplint.report.html.source import frames
from kube_gaplint.report.options import IncidentView
from kube_gaplint.report.snippet import location
from kube_gaplint.report.words import count, severities_of, severity_noun, subject_name
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.model.plan import Plan
    from kube_gaplint.report.show.shape import Location, Workload

_BY_FIX = {"safe": "--fix makes it", "unsafe": "--fix --unsafe-fixes makes it: look at the result", "no": ""}


class Group(Struct):
    """The findings of one object. `workload`: what was understood of it, where it is one."""

    title: str
    place: Place
    findings: list[Finding]
    workload: Workload | None = None

    @property
    def worst(self) -> Severity:
        return max(finding.severity for finding in self.findings)


def grouped(findings: Iterable[Finding], workloads: Iterable[Workload]) -> list[Group]:
    """Findings by object, the worst object first."""
    known = {_key(workload.location): workload for workload in workloads}
    groups: dict[object, Group] = {}
    for finding in findings:
        owner = finding.owner or finding.place
        start, end = owner.start, owner.end
        key = (owner.source.path, start.line, start.column, end.line, end.column)
        title = subject_name(finding.subject.in_container("")) or owner.source.path
        group = groups.setdefault((key, title), Group(title, owner, [], known.get(key)))
        group.findings.append(finding)
    return sorted(groups.values(), key=lambda group: -group.worst)


def _key(at: Location) -> tuple[str, int, int, int, int]:
    return (at.file, at.line, at.column, at.end_line, at.end_column)


def badge(group: Group) -> Html:
    """What was found in an object, in the colour of the worst."""
    return tag("span", severities_of(group.findings), class_=f"badge {group.worst}")


def section(
    group: Group,
    anchor: str,
    anchors: Mapping[int, str],
    told: Mapping[str, IncidentView],
    plans: Mapping[Location, Plan],
) -> Html:
    """An object. `anchors` are the ids of the findings, `told` the incidents that the page tells."""
    return tag(
        "section",
        tag("h2", name(group.title), " ", badge(group)),
        place(location(group.place)) if group.title != group.place.source.path else None,
        None if group.workload is None else [*_drawn(group.workload, plans), understood.whole(group.workload)],
        [_finding(finding, anchors[id(finding)], told) for finding in group.findings],
        id=anchor,
        class_="card",
    )


def quiet(workloads: list[Workload], plans: Mapping[Location, Plan]) -> Html | None:
    """Workloads in which nothing was found: that they were judged is worth knowing, and how far they were seen."""
    if not workloads:
        return None
    training = [workload for workload in workloads if workload.purpose == "training"]
    others = [workload for workload in workloads if workload.purpose != "training"]
    return tag(
        "section",
        tag("h2", f"{count(len(workloads), 'workload')} without a finding that counts"),
        [tag("details", tag("summary", _title(one)), _drawn(one, plans), class_="workload") for one in training],
        folded(
            count(len(others), "workload that is no training", "workloads that are no training"),
            [tag("li", _title(one)) for one in others],
        ),
        class_="card",
    )


def _title(workload: Workload) -> list[Content]:
    owner, at = workload.object, workload.location
    named = f"{owner.namespace}/{owner.name}" if owner.namespace else owner.name
    where = tag("small", name(f"{at.file}:{at.line}"), f", {workload.purpose}")
    return [name(f"{owner.kind} {named}".rstrip()), " ", where]


def _drawn(workload: Workload, plans: Mapping[Location, Plan]) -> list[Html | None]:
    plan = plans.get(workload.location)
    return [
        understood.facts(workload),
        understood.restarts(workload),
        None if plan is None else arithmetic.drawn(plan),
    ]


def _finding(finding: Finding, anchor: str, told: Mapping[str, IncidentView]) -> Html:
    rows: list[tuple[str, Content]] = []
    if finding.consequence:
        rows.append(("Cost", prose(finding.consequence)))
    behind = [incidents.reference(told[identifier]) for identifier in finding.evidence if identifier in told]
    if behind:
        rows.append(("Incidents" if len(behind) > 1 else "Incident", tag("ul", behind)))
    if finding.fix is not None:
        how = _BY_FIX[finding.fixable]
        rows.append(("Fix", [prose(finding.fix.title.rstrip(".")), " ", tag("small", how) if how else None]))
    container = finding.subject.container
    return tag(
        "article",
        tag(
            "h3",
            tag("span", severity_noun(finding.severity), class_=f"badge {finding.severity}"),
            " ",
            tag("a", finding.code, href=f"#{anchor}"),
            " ",
            tag("span", finding.name, class_="name"),
        ),
        tag("p", prose(finding.message), class_="message"),
        place(f"container {container}") if container else None,
        frames(finding),
        facts(rows),
        id=anchor,
        class_=f"finding {finding.severity}",
    )
