"""What gaplint understood of a workload: the tree of `gaplint show`, its first lines, and who restarts what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kube_gaplint.report.html import markup
from kube_gaplint.report.html.markup import Html, name, table, tag
from kube_gaplint.report.show.shape import Process, RestartLayer, Workload
from kube_gaplint.report.show.tree import Branch, Row, Run
from kube_gaplint.report.show.tree_workloads import workload_branch
from kube_gaplint.report.show.words import Places, failures, text, times

EVENTS = ("failure", "eviction", "node-loss")
"""What a controller may react to, in the words of `RestartLayer.on`."""


def facts(workload: Workload) -> Html | None:
    """The few values that decide what a failure costs."""
    places = Places(workload.location.file)
    places.add(workload.location)
    rows = [
        Row("nodes", places.value(workload.nodes)),
        Row("accelerators a node", places.value(workload.accelerators_per_node)),
        Row("survives", places.value(workload.restart_budget, failures)),
        *(row for process in _one_of_a_kind(workload) for row in _program(process, places)),
    ]
    return markup.facts((row.label, runs(row.text)) for row in rows)


def restarts(workload: Workload) -> Html | None:
    """Every controller that starts something again, outermost first; None where there is none."""
    if not workload.restarts:
        return None
    places = Places(workload.location.file)
    heads = ("Layer", "starts again", *(f"on {event.replace('-', ' ')}" for event in EVENTS), "how often")
    return tag(
        "div",
        tag("h4", "Restart budget, from the outermost layer inwards"),
        table("Restart budget", heads, [_layer(layer, places) for layer in workload.restarts]),
        tag("p", "All layers together: ", tag("strong", runs(places.value(workload.restart_budget, failures)))),
        class_="restarts",
    )


def whole(workload: Workload) -> Html:
    """All that `gaplint show` says of a workload."""
    return tag(
        "details",
        tag("summary", "All that gaplint understood of it, and where each value comes from"),
        tag("div", _branch(workload_branch(workload)), class_="tree"),
    )


def runs(pieces: Iterable[Run]) -> list[Html]:
    """Pieces of text, each in its style."""
    return [tag("span", name(words), class_=style) if style else name(words) for words, style in pieces]


def _one_of_a_kind(workload: Workload) -> list[Process]:
    """The training programs, one of several that run the same program (the roles of a job mostly do)."""
    found: dict[str, Process] = {}
    for role in workload.roles:
        for container in role.containers:
            for process in container.processes:
                found.setdefault(process.program, process)
    return [*found.values()][:_MOST_PROGRAMS]


_MOST_PROGRAMS = 4


def _program(process: Process, places: Places) -> list[Row]:
    found = process.checkpoints
    program = process.program or "a program that is not visible"
    title = f" ({process.framework.title})" if process.framework is not None else ""
    rows = [Row("program", [(program + title, "")])]
    if found.saving.state == "set" and found.saving.value:
        rows += [
            Row("saves every", places.value(found.interval, text, "no interval given")),
            Row("saves to", places.value(found.path, text, "nowhere")),
        ]
    else:
        rows.append(Row("saves", places.value(found.saving, text, "nothing")))
    return rows


def _layer(layer: RestartLayer, places: Places) -> Html:
    note = tag("small", layer.note) if layer.note else None
    above = tag("small", "counted by the layer above") if layer.counted_above else None
    return tag(
        "tr",
        tag("th", name(layer.owner), scope="row"),
        tag("td", f"the {layer.scope}", note),
        [_reacts(event in layer.on) for event in EVENTS],
        tag("td", runs(places.value(layer.budget, times)), above),
    )


def _reacts(yes: bool) -> Html:
    return tag("td", "yes" if yes else "no", class_="yes" if yes else "no")


def _branch(top: Branch) -> Html:
    """A tree as nested lists. It is as deep as the parts of a workload: role, container, process."""
    below = [tag("details", tag("summary", runs(one.title)), _branch(one), open=True) for one in top.branches]
    return tag("div", _rows(top.rows), below, class_="branch")


def _rows(rows: Sequence[Row]) -> Html | None:
    return tag("dl", [_row(row) for row in rows]) if rows else None


def _row(row: Row) -> list[Html]:
    return [tag("dt", row.label), tag("dd", runs(row.text), _rows(row.sub))]
