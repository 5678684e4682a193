"""Plans as one JSON document: every number with its unit and where it comes from, or why it is not known.

Fields may be added within a version, never renamed.
"""

from __future__ import annotations

import math
from typing import Any

from kube_gaplint import __version__
from kube_gaplint.model.plan import Curve, Inputs, Missing, Number, Plan
from kube_gaplint.model.workload import UNBOUNDED
from kube_gaplint.report.escape import encodable, json_text

VERSION = 1

INPUTS = (
    ("nodes", "nodes", "nodes"),
    ("gpus", "gpus", "GPUs"),
    ("gpusPerNode", "gpus_per_node", "GPUs"),
    ("runLength", "days", "days"),
    ("failureRate", "rate", "failures per 1000 node-days"),
    ("stepTime", "step_seconds", "seconds"),
    ("saveTime", "save_seconds", "seconds"),
    ("interval", "interval", "seconds"),
    ("intervalSteps", "interval_steps", "steps"),
    ("detectionTime", "detection", "seconds"),
    ("restartTime", "restart", "seconds"),
    ("restartBudget", "budget", "failures"),
)
"""Name in JSON, field of `Inputs`, unit."""
RESULTS = (
    ("expectedFailures", "expected", "failures"),
    ("meanTimeBetweenFailures", "mtbf", "seconds"),
    ("chanceOfNoFailure", "unharmed", "share"),
    ("restartsNeeded", "retries", "failures"),
    ("chanceThatBudgetSuffices", "enough", "share"),
    ("bestInterval", "daly", "seconds"),
    ("bestIntervalFirstOrder", "young", "seconds"),
    ("goodIntervalFrom", "flat_from", "seconds"),
    ("goodIntervalTo", "flat_to", "seconds"),
    ("savingNow", "saving_now", "share"),
    ("savingAtBest", "saving_best", "share"),
    ("failureCostNow", "loss_now", "GPU-hours"),
    ("failureCostAtBest", "loss_best", "GPU-hours"),
    ("goodputNow", "goodput_now", "share"),
    ("goodputAtBest", "goodput_best", "share"),
    ("gained", "gained", "GPU-hours"),
)
"""Name in JSON, field of `Plan`, unit."""


def render(plans: list[Plan]) -> str:
    """One line of ASCII."""
    tool = {"name": "gaplint", "version": __version__}
    return json_text({"version": VERSION, "tool": tool, "plans": [_plan(one) for one in plans]})


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "title": encodable(plan.title),
        "quantile": plan.quantile,
        "within": plan.within,
        "inputs": {name: _number(_field(plan.inputs, field), unit) for name, field, unit in INPUTS},
        "results": {name: _number(_field(plan, field), unit) for name, field, unit in RESULTS},
        "curve": None if plan.curve is None else _points(plan.curve),
        "notes": [encodable(note) for note in plan.notes],
    }


def _field(holder: Inputs | Plan, name: str) -> Number:
    number: Number = getattr(holder, name)
    return number


def _number(number: Number, unit: str) -> dict[str, Any]:
    if isinstance(number, Missing):
        return {"value": None, "unit": unit, "unknown": encodable(str(number))}
    value: float | str = number.value
    if unit == "failures" and number.value >= UNBOUNDED and number.via != "computed":
        value = "unbounded"
    elif math.isfinite(number.value) and number.value.is_integer() and abs(number.value) < 2**53:
        value = int(number.value)
    out: dict[str, Any] = {"value": value, "unit": unit, "via": number.via}
    if number.note:
        out["note"] = encodable(number.note)
    if number.via == "manifest" and number.origin is not None:
        place = number.origin.place
        out["location"] = {"file": encodable(place.source.path), "line": place.start.line, "column": place.start.column}
    return out


def _points(curve: Curve) -> list[dict[str, float]]:
    """The curve at intervals that lie a tenth of a power of ten apart, from a tenth to ten times the optimum."""
    intervals = [curve.best * 10 ** (number / 10) for number in range(-10, 11)]
    return [{"interval": interval, "lost": curve.lost(interval)} for interval in intervals]
