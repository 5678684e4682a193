"""The arithmetic of one run: what is known of it, and what follows from that.

Inputs come from the command line, from a workload as the rules see it, or from the profile; each says where it comes
from. What follows from an input that is not known is not known either, and says what to give. The formulas themselves
are those of `facts.reliability`. Times are seconds, the length of the run is in days, shares are from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint.facts.reliability import (
    DAY,
    FLAT_FACTOR,
    HOUR,
    chance_of_at_most,
    daly,
    expected_failures,
    failures_at_quantile,
    flat_range,
    goodput,
    job_mtbf_seconds,
    lost_gpu_hours,
    young,
)
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.workload import UNBOUNDED

Via: TypeAlias = Literal["given", "manifest", "configuration", "default", "computed"]


class Known(Struct, frozen=True):
    """A number and where it comes from.

    `note` says it in words: the option, the owner of a default with its source, the formula. `origin` is the place in
    a manifest; `note` is then what stands beside it.
    """

    value: float
    via: Via
    note: str = ""
    origin: Origin | None = None


class Missing(Struct, frozen=True):
    """A number that is not known: `ask` names the options that would tell, `reason` may say why they are needed.

    Without `ask` there is no such number, and `reason` says why.
    """

    ask: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        if not self.ask:
            return self.reason
        *first, last = self.ask
        asked = f"unknown: give {', '.join(first)} and {last}" if first else f"unknown: give {last}"
        return f"{asked} ({self.reason})" if self.reason else asked


Number: TypeAlias = Known | Missing

DEFAULT_RESTART = Known(
    300.0,
    "default",
    "assumed by Kokolis et al., who saw 5 to 20 min",
)
DEFAULT_DETECTION = Known(0.0, "default", "a crash is seen at once, a hang at its timeout")


class Inputs(Struct, frozen=True):
    """What is known of a run before anything is computed."""

    nodes: Number = Missing(("--nodes",))
    gpus: Number = Missing(("--gpus",))
    gpus_per_node: Number = Missing(("--gpus-per-node",))
    days: Number = Missing(("--days",))
    total_steps: Number = Missing(("--days",))
    """The length of the run in steps, where it is given so."""
    step_seconds: Number = Missing(("--step-seconds",))
    save_seconds: Number = Missing(("--save-seconds",))
    """For how long a save stops training; of an asynchronous save only the blocking part."""
    interval: Number = Missing(("--interval-minutes",))
    """Seconds of training between two saves."""
    interval_steps: Number = Missing(("--interval-steps",))
    """The same in steps, where it is given so."""
    rate: Number = Missing(("--failures-per-1000-node-days",))
    """Failures that end the job, per thousand nodes and day."""
    restart: Number = DEFAULT_RESTART
    """From the moment that a failure is noticed until training goes on."""
    detection: Number = DEFAULT_DETECTION
    """From a failure until it is noticed."""
    budget: Number = Missing()
    """The failures that the job's controllers let it survive; `UNBOUNDED` for all. Without a manifest there is none."""


class Curve(Struct, frozen=True):
    """What a plot of the cost over the interval needs; all in seconds. `now` is None where it is not known."""

    blocking: float
    mtbf: float
    recovery: float
    best: float
    flat: tuple[float, float]
    now: float | None
    step: float | None
    """Seconds of a step, to show intervals in steps as well."""

    @property
    def verdict(self) -> Literal["good", "fair", "bad"] | None:
        """How today's interval compares: within the flat range, near enough for the rules to let it be, or beyond."""
        if self.now is None:
            return None
        if self.flat[0] <= self.now <= self.flat[1]:
            return "good"
        return "fair" if self.best / FLAT_FACTOR <= self.now <= self.best * FLAT_FACTOR else "bad"

    def lost(self, interval: float) -> float:
        """The share of time that is lost at an interval."""
        return 1.0 - goodput(interval, self.blocking, self.mtbf, self.recovery)


class Plan(Struct, frozen=True):
    """What follows from the inputs. GPU-hours count all GPUs of the job."""

    title: str
    inputs: Inputs
    quantile: float
    within: float
    expected: Number
    """Failures over the run."""
    mtbf: Number
    """Mean time between failures of the whole job."""
    unharmed: Number
    """The chance of a run without any failure."""
    retries: Number
    """Restarts that suffice with probability `quantile`."""
    enough: Number
    """The chance that the budget in the manifest suffices."""
    young: Number
    daly: Number
    flat_from: Number
    flat_to: Number
    recovery: Number
    """From a failure until training goes on."""
    saving_now: Number
    """The share of time that saves take at today's interval, apart from failures."""
    saving_best: Number
    loss_now: Number
    """GPU-hours that one failure costs: half an interval, noticing it and starting again."""
    loss_best: Number
    goodput_now: Number
    goodput_best: Number
    gained: Number
    """GPU-hours over the run that the best interval gains against today's."""
    curve: Curve | None
    notes: tuple[str, ...] = ()
    """What the reader should know of how the manifest was taken."""
    home: Origin | None = None
    """The object that the plan is of; None where no manifest is given."""


def plan(
    inputs: Inputs,
    title: str = "",
    quantile: float = 0.99,
    within: float = 0.1,
    notes: tuple[str, ...] = (),
    home: Origin | None = None,
) -> Plan:
    """Compute all that follows from the inputs."""
    nodes, rate, save, interval = inputs.nodes, inputs.rate, inputs.save_seconds, inputs.interval
    expected = _of(lambda n, d, r: expected_failures(int(n), d, r), nodes, inputs.days, rate)
    mtbf = _of(lambda n, r: job_mtbf_seconds(int(n), r), nodes, rate)
    recovery = _of(lambda seconds, more: seconds + more, inputs.detection, inputs.restart)
    best = _optimum(daly, save, mtbf)
    flat = _flat(save, mtbf, within)
    return Plan(
        title=title,
        inputs=inputs,
        quantile=quantile,
        within=within,
        expected=expected,
        mtbf=_endless(mtbf),
        unharmed=_of(lambda mean: math.exp(-mean), expected),
        retries=_of(lambda mean: failures_at_quantile(mean, quantile), expected),
        enough=_of(lambda mean, b: 1.0 if b >= UNBOUNDED else chance_of_at_most(int(b), mean), expected, inputs.budget),
        young=_optimum(young, save, mtbf),
        daly=best,
        flat_from=flat[0],
        flat_to=flat[1],
        recovery=recovery,
        saving_now=_of(_saving, interval, save),
        saving_best=_of(_saving, best, save),
        loss_now=_of(_loss, interval, recovery, inputs.gpus),
        loss_best=_of(_loss, best, recovery, inputs.gpus),
        goodput_now=_of(goodput, interval, save, mtbf, recovery),
        goodput_best=_of(goodput, best, save, mtbf, recovery),
        gained=_of(
            lambda t, b, d, m, r, g, days: max(0.0, goodput(b, d, m, r) - goodput(t, d, m, r)) * g * days * DAY / HOUR,
            *(interval, best, save, mtbf, recovery, inputs.gpus, inputs.days),
        ),
        curve=_curve(inputs, mtbf, recovery, best, flat),
        notes=(*notes, *_longer_than_the_run(best, inputs.days)),
        home=home,
    )


def _longer_than_the_run(best: Number, days: Number) -> tuple[str, ...]:
    if not (isinstance(best, Known) and isinstance(days, Known)) or best.value < days.value * DAY:
        return ()
    return (
        "the best interval is longer than the run, in which hardly a failure is to be expected: save at its end, and "
        "before any time limit that may end it",
    )


def _of(formula: Callable[..., float], *inputs: Number) -> Number:
    """The value of a formula; not known where one of its inputs is not."""
    missing = [one for one in inputs if isinstance(one, Missing)]
    if not missing:
        return Known(float(formula(*(one.value for one in inputs if isinstance(one, Known)))), "computed")
    final = next((one for one in missing if not one.ask), None)
    if final is not None:
        return final
    return Missing(tuple(dict.fromkeys(option for one in missing for option in one.ask)))


def _optimum(formula: Callable[[float, float], float], save: Number, mtbf: Number) -> Number:
    """An optimum that exists only where saves cost something and failures come."""
    if isinstance(save, Known) and save.value == 0:
        return Missing(reason="none: a save that stops nothing can be as frequent as storage allows")
    if isinstance(mtbf, Known) and math.isinf(mtbf.value):
        return Missing(reason="none: without failures no save is needed")
    return _of(formula, save, mtbf)


def _endless(mtbf: Number) -> Number:
    """No failures: there is no time between them."""
    return Missing(reason="none: no failures") if isinstance(mtbf, Known) and math.isinf(mtbf.value) else mtbf


def _saving(interval: float, save: float) -> float:
    return save / (interval + save) if interval + save > 0 else 0.0


def _loss(interval: float, recovery: float, gpus: float) -> float:
    return lost_gpu_hours(interval, gpus) + recovery / HOUR * gpus


def _flat(save: Number, mtbf: Number, within: float) -> tuple[Number, Number]:
    best = _optimum(young, save, mtbf)
    if not (isinstance(best, Known) and isinstance(save, Known) and isinstance(mtbf, Known)):
        return best, best
    low, high = flat_range(save.value, mtbf.value, within)
    if math.isinf(high):
        hopeless = Missing(reason="none: nearly all time is lost at any interval")
        return hopeless, hopeless
    return Known(low, "computed"), Known(high, "computed")


def _curve(inputs: Inputs, mtbf: Number, recovery: Number, best: Number, flat: tuple[Number, Number]) -> Curve | None:
    save, interval, step = inputs.save_seconds, inputs.interval, inputs.step_seconds
    if not (isinstance(save, Known) and isinstance(mtbf, Known) and isinstance(recovery, Known)):
        return None
    if not (isinstance(best, Known) and isinstance(flat[0], Known) and isinstance(flat[1], Known)):
        return None
    return Curve(
        blocking=save.value,
        mtbf=mtbf.value,
        recovery=recovery.value,
        best=best.value,
        flat=(flat[0].value, flat[1].value),
        now=interval.value if isinstance(interval, Known) and interval.value > 0 else None,
        step=step.value if isinstance(step, Known) and step.value > 0 else None,
    )


def completed(inputs: Inputs, gpus_per_node: Number) -> Inputs:
    """The inputs with what follows from one another: sizes, the interval in seconds, the length of the run in days.

    `gpus_per_node` stands in where nothing says it. Raises ValueError for three sizes that do not agree.
    """
    return _with_days(_with_interval(_with_size(inputs, gpus_per_node)))


def _with_size(inputs: Inputs, default: Number) -> Inputs:
    nodes, gpus, each = inputs.nodes, inputs.gpus, inputs.gpus_per_node
    if isinstance(nodes, Known) and isinstance(gpus, Known):
        if isinstance(each, Known) and nodes.value * each.value == gpus.value:
            return inputs
        if isinstance(each, Missing) or each.via != "given":
            return replace(inputs, gpus_per_node=Known(gpus.value / nodes.value, "computed", "GPUs ÷ nodes"))
        if not (nodes.value - 1) * each.value < gpus.value < nodes.value * each.value:
            raise ValueError(f"{nodes.value:,.0f} nodes with {each.value:g} GPUs are not {gpus.value:,.0f} GPUs")
        return inputs
    if isinstance(each, Missing):
        if isinstance(nodes, Missing) and isinstance(gpus, Missing):
            return inputs
        each = default
    if isinstance(each, Missing):
        gpus = gpus if isinstance(gpus, Known) else each
        nodes = nodes if isinstance(nodes, Known) else each
    elif isinstance(nodes, Known):
        gpus = Known(nodes.value * each.value, "computed", "nodes × GPUs a node")
    elif isinstance(gpus, Known):
        nodes = Known(float(math.ceil(gpus.value / each.value)), "computed", "GPUs ÷ GPUs a node")
    return replace(inputs, nodes=nodes, gpus=gpus, gpus_per_node=each)


def _with_interval(inputs: Inputs) -> Inputs:
    steps, step = inputs.interval_steps, inputs.step_seconds
    if isinstance(inputs.interval, Known) or isinstance(steps, Missing):
        return inputs
    if isinstance(step, Missing):
        return replace(inputs, interval=Missing(("--step-seconds",)))
    return replace(inputs, interval=replace(steps, value=steps.value * step.value))


def _with_days(inputs: Inputs) -> Inputs:
    total, step = inputs.total_steps, inputs.step_seconds
    if isinstance(inputs.days, Known) or isinstance(total, Missing) or isinstance(step, Missing):
        return inputs
    days = total.value * step.value / DAY
    return replace(inputs, days=replace(total, value=days, note=f"{total.value:,.0f} steps × {step.value:g} s"))


def with_given(inputs: Inputs, given: Mapping[str, Known]) -> Inputs:
    """The inputs with numbers from the command line, by the names of the fields, in the place of others.

    A size replaces the other size as a whole, and so does an interval in one unit that in the other.
    """
    changed: dict[str, Number] = dict(given)
    blank = Inputs()
    for one, other in (("nodes", "gpus"), ("interval", "interval_steps")):
        for name, twin in ((one, other), (other, one)):
            if name in given and twin not in given:
                changed[twin] = getattr(blank, twin)
    return replace(inputs, **changed)
