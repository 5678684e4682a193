"""`gaplint plan`: the arithmetic of a run, from numbers or from manifests."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.failure import Failure, Misuse
from kube_gaplint.cli.inputs import Inputs, read
from kube_gaplint.cli.options import OUTPUT, color_option, with_inputs
from kube_gaplint.cli.types import CommaList, Grouped, GroupedCommand, Near
from kube_gaplint.report.escape import visible

if TYPE_CHECKING:
    from kube_gaplint.model.plan import Known, Plan
    from kube_gaplint.model.workload import Workload

FORMATS = ("text", "json", "svg")
_RUN = "The run (numbers of a manifest give way to these)"
_ANSWER = "The answer"

_EXAMPLES = """\
gaplint plan --nodes 48 --days 105 --save-seconds 40          failures, budget, best interval
gaplint plan --gpus 1024 --days 30 --step-seconds 12 --save-seconds 40 --interval-steps 500
gaplint plan train.yaml --save-seconds 40 --step-seconds 12   the jobs of a manifest
gaplint plan train.yaml --format svg > curve.svg              the curve with the manifest's point on it"""


class Amount(click.ParamType[float]):
    """A number within bounds: above `above`, or from `least` on, up to `most`."""

    name = "number"

    def __init__(self, most: float, *, above: float | None = None, least: float = 0, whole: bool = False) -> None:
        self.most, self.above, self.least, self.whole = most, above, least, whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isnan(number) or (self.whole and not number.is_integer()):
            kind = "a whole number" if self.whole else "a number"
            self.fail(f"{visible(str(value))!r} is not {kind}.", param, ctx)
        if self.above is not None and number <= self.above:
            self.fail(f"it is above {self.above:g}, and {number:g} is not.", param, ctx)
        if number < self.least or number > self.most:
            self.fail(f"it is from {self.least:g} to {self.most:,.15g}, and {number:g} is not.", param, ctx)
        return number


_SIZE = Amount(1e9, least=1, whole=True)
_POSITIVE = Amount(1e12, above=0)
_TIME = Amount(1e12)

_GIVEN: tuple[tuple[str, str, float, Amount, str], ...] = (
    ("--nodes", "nodes", 1, _SIZE, "Nodes of the job."),
    ("--gpus", "gpus", 1, _SIZE, "GPUs of the job."),
    ("--gpus-per-node", "gpus_per_node", 1, _SIZE, "GPUs of a node (default 8)."),
    ("--days", "days", 1, _POSITIVE, "Length of the run in days."),
    ("--step-seconds", "step_seconds", 1, _POSITIVE, "Time of an optimizer step."),
    ("--save-seconds", "save_seconds", 1, _TIME, "How long a save stops training."),
    ("--interval-steps", "interval_steps", 1, _POSITIVE, "Steps between saves."),
    ("--interval-minutes", "interval", 60, _POSITIVE, "Minutes between saves, instead of steps."),
    ("--detection-minutes", "detection", 60, _TIME, "From a failure until it is noticed (default 0)."),
    ("--restart-minutes", "restart", 60, _TIME, "From then until training goes on (default 5)."),
    (
        "--failures-per-1000-node-days",
        "rate",
        1,
        _TIME,
        "Failures that end the job, per thousand nodes and day (default 5).",
    ),
)
"""Option, field of the plan's inputs, what turns its unit into that of the field, type, help."""


def _with_numbers(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of the run."""
    for option, field, _, kind, text in reversed(_GIVEN):
        command = click.option(option, field, cls=Grouped, group=_RUN, type=kind, metavar="N", help=text)(command)
    return command


@click.command(cls=GroupedCommand, context_settings=CONTEXT, after=(("Examples", _EXAMPLES),))
@_with_numbers
@click.option(
    "--quantile",
    cls=Grouped,
    group=_ANSWER,
    type=Amount(0.999999, above=0),
    default=0.99,
    metavar="SHARE",
    help="The chance with which the restarts are to suffice (default 0.99).",
)
@click.option(
    "--within",
    cls=Grouped,
    group=_ANSWER,
    type=Amount(1000, above=0),
    default=10.0,
    metavar="PERCENT",
    help="How much more than at the best interval may be lost at a good one (default 10).",
)
@click.option(
    "--name",
    "names",
    cls=Grouped,
    group=_ANSWER,
    type=CommaList("it names no object."),
    multiple=True,
    metavar="NAMES",
    help="Only objects of these names, with commas; * and ? stand for any text. Repeatable.",
)
@click.option(
    "--format",
    "format_",
    cls=Grouped,
    group=OUTPUT,
    type=Near(FORMATS),
    default="text",
    metavar="FORMAT",
    help="text (default, with a plot), json or svg.",
)
@color_option
@with_inputs
def command(
    inputs: Inputs,
    quantile: float,
    within: float,
    names: tuple[tuple[str, ...], ...],
    format_: str,
    color: str,
    **numbers: float | None,
) -> int:
    """Compute what a run has to expect: failures, the best time between saves, restarts to allow, goodput.

    With --nodes or --gpus and no PATH nothing is read but the configuration. Else the numbers are those of the training
    jobs in PATH (default: the current folder), as the rules see them. What is not known is asked for, not invented.
    """
    if numbers.get("interval") is not None and numbers.get("interval_steps") is not None:
        raise Misuse("--interval-steps and --interval-minutes say the same; give one of them.")
    given = _given(numbers)
    try:
        plans = _plans(inputs, given, quantile, within / 100, tuple(one for many in names for one in many))
    except ValueError as problem:
        raise Misuse(f"{problem}; leave one of --nodes, --gpus and --gpus-per-node out.") from problem
    console.write_out(_rendered(plans, format_, color))
    return 0


def _given(numbers: dict[str, float | None]) -> dict[str, Known]:
    from kube_gaplint.model.plan import Known

    found = {}
    for option, field, factor, _, _ in _GIVEN:
        number = numbers[field]
        if number is not None:
            found[field] = Known(float(number) * factor, "given", option)
    return found


def _plans(
    inputs: Inputs, given: dict[str, Known], quantile: float, within: float, names: tuple[str, ...]
) -> list[Plan]:
    from kube_gaplint.model.plan import completed, plan, with_given
    from kube_gaplint.model.plan_inputs import PER_NODE, of_profile, plan_of

    config = inputs.config
    named = click.get_current_context().params["paths"]
    if not named and ("nodes" in given or "gpus" in given):
        if names:
            raise Misuse("--name chooses among the jobs of a PATH, and none is given.")
        known = completed(with_given(of_profile(config.profile, config.places), given), PER_NODE)
        return [plan(known, "", quantile, within)]
    return [
        plan_of(one, config.profile, given=given, places=config.places, quantile=quantile, within=within)
        for one in _workloads(inputs, names)
    ]


def _workloads(inputs: Inputs, names: tuple[str, ...]) -> list[Workload]:
    """The training jobs in the paths, or the objects that are named. Raises Failure where there are none."""
    reading = read(inputs.request())
    for error in reading.errors:
        console.note(f"gaplint: {error.path}: {error.reason}")
    there = reading.model.workloads
    found = [one for one in there if (_called(one, names) if names else one.trains)]
    if found:
        return found
    if names:
        called = ", ".join(sorted({one.subject.name for one in there} - {""})[:8])
        raise Failure(f"no object is called {', '.join(names)}." + (f" There are {called}." if called else ""))
    where = ", ".join(inputs.paths)
    raise Failure(
        f"there is no training job in {where}; `gaplint show {where}` tells what is there.\n"
        "Without a manifest, give the size: gaplint plan --nodes N --days N --save-seconds N"
    )


def _called(workload: Workload, names: tuple[str, ...]) -> bool:
    from kube_gaplint.report.show.gather import fits

    subject = workload.subject
    return fits((subject.name, f"{subject.namespace}/{subject.name}"), names)


def _rendered(plans: list[Plan], format_: str, color: str) -> str:
    if format_ == "json":
        from kube_gaplint.report.plan import plain

        return plain.render(plans)
    if format_ == "svg":
        return _image(plans)
    from kube_gaplint.report.options import RenderOptions
    from kube_gaplint.report.plan import text

    options = RenderOptions(
        width=console.width(),
        color=console.wants_color(color, sys.stdout),
        ascii_only=console.is_ascii_only(sys.stdout),
    )
    rendered = text.render(plans, options)
    if text.lacks_plot(plans, options):
        console.hint("the curve needs plotille: pip install 'kube-gaplint[plot]'")
    return rendered


def _image(plans: list[Plan]) -> str:
    from kube_gaplint.report.plan.svg import checkpoint_curve

    if len(plans) > 1:
        titles = ", ".join(one.title for one in plans[:8])
        raise Failure(f"an image shows one job, and there are {len(plans)}: {titles}. Choose with --name.")
    image = checkpoint_curve(plans[0], inline=False)
    if not image:
        raise Failure(f"there is no curve; the best time between saves is {plans[0].flat_from}")
    return image
