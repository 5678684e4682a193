"""The answer of `gaplint show` for people: one tree for each workload, and the rest in short form."""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.report.layout import Palette
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.show.shape import Shown, View
from kube_gaplint.report.show.tree import Branch, Pen, Row, Run
from kube_gaplint.report.show.tree_parts import heading, not_seen, unknown_row
from kube_gaplint.report.show.tree_workloads import workload_branch
from kube_gaplint.report.show.words import Places, by_reason, seconds, spaced, text
from kube_gaplint.report.words import count

_WIDEST = 120
"""Lines are not set wider than this; longer ones are hard to read."""
_HINTS = 3


def render(shown: Shown, options: RenderOptions) -> str:
    """The whole answer, ready for a terminal of `options.width` columns."""
    pen = Pen(min(max(options.width, 40), _WIDEST), Palette(options.color), ascii_only=options.ascii_only)
    lines: list[str] = []
    for workload in shown.workloads:
        lines += [*pen.draw(workload_branch(workload)), ""]
    for view in shown.views:
        lines += [*pen.draw(_view(view)), ""]
    for branch in _rest(shown):
        lines += [*pen.draw(branch), ""]
    if options.summary:
        lines += _closing(shown, pen)
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)


def _view(view: View) -> Branch:
    places = Places(view.location.file)
    places.add(view.location)
    known, unknown = by_reason(view.facts)
    rows = [
        Row(_label(one.name), places.value(one.value, seconds if one.name.endswith("Seconds") else text))
        for one in known
    ]
    rows += [unknown_row(value, list(map(_label, names)), places) for value, names in unknown]
    rows += [Row("", [(one.what, ""), *places.at(one.location)]) for one in view.items]
    kind: list[Run] = [] if view.type == view.object.kind else [(f", seen as {view.type}", "")]
    return Branch(
        [*heading(view.object, view.location, view.part), *kind], rows, not_seen(view.notes, view.unresolved, places)
    )


def _label(name: str) -> str:
    """`waitSeconds` is `wait`: the value has its unit."""
    return spaced(name.removesuffix("Seconds"))


def _rest(shown: Shown) -> Iterator[Branch]:
    places = Places("")
    if shown.problems:
        rows = [Row("", [(one.message, ""), *places.at(one.location)]) for one in shown.problems]
        yield Branch([("could not be used", "unknown")], rows)
    if shown.errors:
        yield Branch(
            [("could not be read", "unknown")], [Row("", [(f"{one.file}: {one.reason}", "")]) for one in shown.errors]
        )
    yield from not_seen((), shown.unresolved, places)


def _closing(shown: Shown, pen: Pen) -> Iterator[str]:
    """What was read and what was passed over, as after a run of the rules."""
    summary = shown.summary
    files = count(summary.files, "file")
    parts = [(summary.workloads, "workload"), (summary.views, "other object" if summary.workloads else "object")]
    total = " and ".join(count(number, noun) for number, noun in parts if number)
    total = f"{total} in {files}"
    if summary.matched != summary.workloads + summary.views:
        yield from pen.text([(f"{summary.matched:,} of {total} shown.", "")])
    elif summary.matched:
        yield from pen.text([(f"{total}.", "")])
    else:
        yield from pen.text([(f"Nothing to show: no training workload, batch script or node pool in {files}.", "")])
    if summary.skipped:
        reasons = sorted(summary.skipped.items(), key=lambda item: (-item[1], item[0]))
        passed = "; ".join(f"{reason} ({number:,})" for reason, number in reasons)
        yield from pen.text([(f"Passed over: {passed}.", "where")])
    for hint in summary.hints[:_HINTS]:
        yield pen.line(f"Hint: {hint}", "where")
    if len(summary.hints) > _HINTS:
        more = f"{count(len(summary.hints) - _HINTS, 'hint')} more of that kind: --format json lists them all."
        yield from pen.text([(more, "where")])
