"""One self-contained page for people who look rather than read.

The page loads nothing and runs nothing: its policy allows its own style sheet, and no script, picture, frame or form.
What comes from repositories goes through `markup` alone. The same report gives the same page, byte for byte.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache

from kube_gaplint import __version__, packaged
from kube_gaplint.findings import Finding, Report, Severity
from kube_gaplint.report.html import incidents, objects
from kube_gaplint.report.html.markup import Html, folded, name, table, tag
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.plan.svg import STYLE
from kube_gaplint.report.snippet import location
from kube_gaplint.report.words import SEVERITIES, closing_lines, count, severities_of, severity_noun, verdict


def render(report: Report, options: RenderOptions) -> str:
    """The whole page."""
    known = options.understood()
    workloads = [] if known is None else known.shown.workloads
    plans = {} if known is None else known.plans
    live = [finding for finding in report.findings if finding.suppressed is None]
    anchors = {id(finding): f"finding-{number}" for number, finding in enumerate(live, 1)}
    groups = objects.grouped(live, workloads)
    told = incidents.behind(live, options)
    with_findings = {id(group.workload) for group in groups}
    main = [
        *(objects.section(group, f"object-{at}", anchors, told, plans) for at, group in enumerate(groups, 1)),
        objects.quiet([workload for workload in workloads if id(workload) not in with_findings], plans),
        incidents.section(told, live, anchors),
        _let_be(report),
        _besides(report, options),
    ]
    body = tag("body", _header(report, groups, anchors), tag("main", main), _footer())
    return f"<!DOCTYPE html>\n{tag('html', _head(report), body, lang='en')}"


@cache
def _style() -> str:
    own = packaged.text(__name__, "style.css")
    return f"\n{STYLE}\n{own}"


def _head(report: Report) -> Html:
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("meta", name_="generator", content=f"gaplint {__version__}"),
        tag("title", f"gaplint: {verdict(report)}"),
        tag("style", Html(style)),
    )


def _header(report: Report, groups: list[objects.Group], anchors: Mapping[int, str]) -> Html:
    counts = [
        (report.count(severity), severity_noun(severity), f"tile {severity}")
        for severity in SEVERITIES
        if report.count(severity) or severity is not Severity.INFO
    ]
    counts += [(report.summary.workloads, "workload", "tile"), (report.summary.files, "file", "tile")]
    tiles = [
        tag("li", tag("strong", f"{number:,}"), " ", noun if number == 1 else f"{noun}s", class_=kind)
        for number, noun, kind in counts
    ]
    links = [
        tag("li", tag("a", name(group.title), href=f"#object-{at}"), " ", objects.badge(group))
        for at, group in enumerate(groups, 1)
    ]
    rules = _by_rule(report, anchors)
    index = [
        folded(count(len(links), "object with findings", "objects with findings"), links),
        folded(count(len(rules), "rule"), rules),
    ]
    return tag(
        "header",
        tag("p", "gaplint", class_="brand"),
        tag("h1", verdict(report)),
        tag("ul", tiles, class_="tiles"),
        tag("nav", index, aria_label="Findings by object and by rule") if len(links) > 1 else None,
    )


def _by_rule(report: Report, anchors: Mapping[int, str]) -> list[Html]:
    """The rules that found something, the worst and the most frequent first, each with its first finding."""
    by_code: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.suppressed is None:
            by_code.setdefault(finding.code, []).append(finding)
    ordered = sorted(by_code.values(), key=lambda found: (-max(one.severity for one in found), -len(found)))
    return [
        tag(
            "li",
            tag("a", found[0].code, href=f"#{anchors[id(found[0])]}"),
            " ",
            tag("span", found[0].name, class_="name"),
            " ",
            tag("span", severities_of(found), class_=f"badge {max(one.severity for one in found)}"),
        )
        for found in ordered
    ]


def _let_be(report: Report) -> Html | None:
    """Findings that somebody lets be, with the reason."""
    rows = [
        tag(
            "tr",
            tag("td", finding.code, tag("small", finding.name)),
            tag("td", name(location(finding.place))),
            tag("td", finding.message),
            tag("td", why.reason, tag("small", f"until {why.until}") if why.until else None),
        )
        for finding in report.findings
        if (why := finding.suppressed) is not None
    ]
    if not rows:
        return None
    heads = ("Rule", "Where", "What", "Why")
    return tag("section", tag("h2", "Let be"), table("Findings that are let be", heads, rows), class_="card")


def _besides(report: Report, options: RenderOptions) -> Html | None:
    """What was hidden or passed over, and what could not be read."""
    items = [tag("li", name(error.path), " could not be read: ", error.reason) for error in report.errors]
    items += [tag("li", line) for line in closing_lines(report, options.min_severity)[1:]]
    return tag("section", tag("h2", "Besides"), tag("ul", items), class_="card") if items else None


def _footer() -> Html:
    return tag(
        "footer",
        tag(
            "p",
            f"gaplint {__version__}. What no manifest shows is unknown, and unknown never counts as missing: no ",
            "finding is a proof that a run will fail, and no silence a proof that it will not. ",
            tag("code", "gaplint explain CODE"),
            " tells why a rule exists, with a bad and a good example.",
        ),
    )
