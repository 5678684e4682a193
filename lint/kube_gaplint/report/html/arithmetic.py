"""The arithmetic of a run: what its interval between saves costs, and whether its restarts suffice."""

from __future__ import annotations

from kube_gaplint.model.plan import Plan
from kube_gaplint.report.html.markup import Html, scrolling, tag
from kube_gaplint.report.plan.rows import Section, headlines, sections
from kube_gaplint.report.plan.svg import checkpoint_curve


def drawn(plan: Plan) -> Html:
    """The answer in sentences, the curve with today's interval on it, and all figures with their sources."""
    curve = Html(checkpoint_curve(plan))  # an element of our own making, whose texts are escaped
    return tag(
        "div",
        tag("h4", "Checkpoints and failures"),
        [tag("p", line) for line in headlines(plan)],
        scrolling("Share of time lost over the time between saves", curve) if curve else _missing(plan),
        tag(
            "details",
            tag("summary", "All figures, and where they come from"),
            [_section(section) for section in sections(plan)],
            [tag("p", tag("small", note)) for note in plan.notes],
        ),
        class_="plan",
    )


def _missing(plan: Plan) -> Html:
    """Why there is no curve, and what to do about it."""
    return tag(
        "p",
        f"Best time between saves: {plan.daly}. ",
        tag("small", "Declare it in the profile of the configuration or at the job, or try numbers: gaplint plan."),
    )


def _section(section: Section) -> Html:
    rows = [
        tag(
            "tr",
            tag("th", row.label, scope="row"),
            tag("td", row.value, class_=row.tone or None),
            tag("td", tag("small", row.source)),
        )
        for row in section.rows
    ]
    table = tag("table", tag("caption", section.title), rows, class_="grid figures")
    return scrolling(section.title, table)
