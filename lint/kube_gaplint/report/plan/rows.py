"""A plan as rows of text: what goes in with its sources, what follows with its formula, in sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from kube_gaplint.facts.reliability import DAY
from kube_gaplint.model.plan import Known, Missing, Number, Plan
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.workload import UNBOUNDED
from kube_gaplint.report.plan.axes import interval_shown, percent

Tone: TypeAlias = Literal["", "good", "bad", "unknown"]


class Row(Struct, frozen=True):
    """One figure. `source` says where an input comes from, or how a result is computed."""

    label: str
    value: str
    source: str
    tone: Tone = ""


class Section(Struct, frozen=True):
    title: str
    rows: tuple[Row, ...]


def sections(plan: Plan) -> tuple[Section, ...]:
    """All figures of a plan, in the order of the documentation."""
    return (
        Section("What goes in", tuple(_inputs(plan))),
        Section("Failures", tuple(_failures(plan))),
        Section("Checkpoints", tuple(_checkpoints(plan))),
        Section("Goodput", tuple(_goodput(plan))),
    )


def headlines(plan: Plan) -> tuple[str, ...]:
    """The answer in sentences, as far as it is known."""
    found = []
    curve = plan.curve
    if curve is not None:
        best, most = interval_shown(curve.best, curve.step), percent(1 - curve.lost(curve.best))
        if curve.now is None:
            found.append(f"Save about every {best}: {most} of the time then trains the model.")
        else:
            now, today = interval_shown(curve.now, curve.step), percent(1 - curve.lost(curve.now))
            if curve.verdict == "good":
                found.append(
                    f"With {now} between saves {today} of the time trains the model, close to the most there is."
                )
            elif curve.verdict == "fair":
                found.append(
                    f"With {now} between saves {today} of the time trains the model; about {best} is best, with {most}."
                )
            else:
                found.append(
                    f"Save about every {best}, not {now}: {most} of the time then trains the model, not {today}."
                )
    retries, expected, run = plan.retries, plan.expected, plan.inputs.days
    if isinstance(retries, Known) and isinstance(expected, Known) and isinstance(run, Known) and retries.value > 0:
        restarts = "1 restart" if retries.value == 1 else f"{whole(retries.value)} restarts"
        if not isinstance(plan.enough, Known) or plan.enough.value < plan.quantile:
            found.append(f"Allow {restarts}: {count(expected.value)} failures are expected in {days(run.value)}.")
    return tuple(found)


def _inputs(plan: Plan) -> Iterator[Row]:
    one = plan.inputs

    def _input(label: str, number: Number, shown: Callable[[float], str]) -> Row:
        if isinstance(number, Missing):
            return Row(label, str(number), "", "unknown")
        return Row(label, shown(number.value), source(number, plan.home))

    yield _input("nodes", one.nodes, whole)
    yield _input("GPUs", one.gpus, whole)
    yield _input("GPUs a node", one.gpus_per_node, lambda each: f"{each:g}")
    yield _input("length of the run", one.days, days)
    yield _input("failures", one.rate, lambda rate: f"{rate:g} per 1,000 node-days")
    yield _input("time of a step", one.step_seconds, duration)
    yield _input("a save stops training for", one.save_seconds, duration)
    steps = one.interval_steps
    if isinstance(one.interval, Missing) and isinstance(steps, Known):
        yield Row(
            "time between saves",
            f"{steps.value:,.0f} steps; in time {one.interval}",
            source(steps, plan.home),
            "unknown",
        )
    else:
        step = one.step_seconds.value if isinstance(one.step_seconds, Known) else None
        yield _input("time between saves", one.interval, lambda seconds: interval_shown(seconds, step or None))
    yield _input("until a failure is noticed", one.detection, duration)
    yield _input("until training goes on", one.restart, duration)
    if one.budget != Missing():
        yield _input("restart budget", one.budget, lambda most: "without bound" if most >= UNBOUNDED else whole(most))


def _failures(plan: Plan) -> Iterator[Row]:
    chance = f"{100 * plan.quantile:g} %"
    yield _result("expected over the run", plan.expected, count, "nodes × days × rate")
    yield _result("mean time between two", plan.mtbf, duration, "1 ÷ (nodes × rate)")
    yield _result("chance of none", plan.unharmed, percent, "Poisson distribution")
    yield _result(f"restarts for a chance of {chance}", plan.retries, whole, f"Poisson, {chance} quantile")
    if isinstance(plan.inputs.budget, Known):
        tone: Tone = ""
        if isinstance(plan.enough, Known):
            tone = "good" if plan.enough.value >= plan.quantile else "bad"
        yield _result("chance that today's suffice", plan.enough, percent, "Poisson distribution", tone)


def _checkpoints(plan: Plan) -> Iterator[Row]:
    step = plan.curve.step if plan.curve else None
    best: Callable[[float], str] = lambda seconds: interval_shown(seconds, step)  # noqa: E731
    yield _result("best time between saves", plan.daly, best, "Daly's higher order")
    yield _result("to first order", plan.young, best, "√(2 × save × time between failures), Young")
    yield _range(plan, best)
    yield _pair("saving takes", plan.saving_now, plan.saving_best, percent, "save ÷ (interval + save)")
    how = "(interval ÷ 2 + noticing + restart) × GPUs"
    yield _pair("one failure costs", plan.loss_now, plan.loss_best, gpu_hours, how)


def _pair(label: str, now: Number, best: Number, shown: Callable[[float], str], how: str) -> Row:
    """A figure today and at the best interval."""
    if isinstance(now, Missing):
        return _result(label, best, lambda value: f"{shown(value)} at the best", how)
    if isinstance(best, Missing):
        return _result(label, now, lambda value: f"{shown(value)} now", how)
    return Row(label, f"{shown(now.value)} now, {shown(best.value)} at the best", how)


def _range(plan: Plan, shown: Callable[[float], str]) -> Row:
    low, high, within = plan.flat_from, plan.flat_to, f"{100 * plan.within:g} %"
    how = f"at most {within} above the least"
    if isinstance(low, Known) and isinstance(high, Known):
        tones: dict[str | None, Tone] = {"good": "good", "bad": "bad"}
        tone = tones.get(plan.curve.verdict if plan.curve else None, "")
        return Row("good enough", f"{shown(low.value)} to {shown(high.value)}", how, tone)
    return Row("good enough", str(low), how, "unknown")


def _goodput(plan: Plan) -> Iterator[Row]:
    yield _result("now", plan.goodput_now, percent, "training that is kept ÷ time, by Daly's model")
    yield _result("at the best", plan.goodput_best, percent, "")
    yield _result("gained over the run", plan.gained, gpu_hours, "")


def _result(label: str, number: Number, shown: Callable[[float], str], how: str, tone: Tone = "") -> Row:
    if isinstance(number, Missing):
        return Row(label, str(number), how, "unknown")
    return Row(label, shown(number.value), how, tone)


def source(number: Known, home: Origin | None = None) -> str:
    """Where a number comes from: `--nodes`, `job.yaml:12`, `default: …`. The file of `home` goes by its last name."""
    if number.via == "manifest" and number.origin is not None:
        at = place(number.origin, home)
        return f"{at}, {number.note}" if number.note else at
    if number.via == "default":
        return f"default: {number.note}"
    return number.note


def place(origin: Origin, home: Origin | None = None) -> str:
    """`train/job.yaml:12`; `job.yaml:12` where `home` is in the same file."""
    path, line = origin.place.source.path, origin.place.start.line
    if home is not None and home.place.source.path == path:
        path = path.rpartition("/")[2]
    return f"{path}:{line}"


# Numbers in words


def whole(number: float) -> str:
    return f"{number:,.0f}" if abs(number) < 1e15 else f"{number:.3g}"


def count(number: float) -> str:
    """An expected number: exact where it is small."""
    return whole(number) if number >= 20 else f"{number:.1f}" if number >= 0.1 else f"{number:.2g}"


def days(number: float) -> str:
    if number < 1:
        return duration(number * DAY)
    return "1 day" if number == 1 else f"{number:,.3g} days" if number < 1000 else f"{whole(number)} days"


def gpu_hours(number: float) -> str:
    size = abs(number)
    return f"{whole(number)} GPU-hours" if size >= 10 else f"{number:.1f} GPU-hours"
