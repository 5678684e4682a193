"""The inputs of a plan as a workload gives them: the same numbers that the rules judge by."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kube_gaplint.facts.reliability import DEFAULT_RATE
from kube_gaplint.model.pace import Pace
from kube_gaplint.model.plan import Inputs, Known, Missing, Number, Plan, completed, plan, with_given
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.scale import duration, shares_machines
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Workload

RATE = Known(
    DEFAULT_RATE,
    "default",
    "BLOOM had 3.0, Llama 3 3.8, RSC-1 6.5, on nodes with 8 GPUs",
)
PER_NODE = Known(8.0, "default", "as where the failure rates were published")


def plan_of(
    workload: Workload,
    profile: Profile,
    *,
    given: Mapping[str, Known] | None = None,
    places: Mapping[str, str] | None = None,
    quantile: float = 0.99,
    within: float = 0.1,
) -> Plan:
    """The plan of a workload.

    `given` are numbers from the command line, by the fields of `Inputs`; they win. `places` tells where the
    configuration sets a key (`profile.step_seconds` → `.gaplint.yaml:4`). Raises ValueError where sizes that are given
    do not agree with one another.
    """
    process = _saving_process(workload)
    inputs = completed(with_given(inputs_of(workload, profile, places or {}), given or {}), _per_node(workload))
    notes = _notes(workload, given or {}, process)
    return plan(inputs, title_of(workload), quantile, within, notes, workload.origin)


def _per_node(workload: Workload) -> Number:
    """What stands in for the GPUs of a node: nothing, where a manifest could have said it."""
    each = workload.accelerators_per_node
    return Missing(("--gpus-per-node",), "" if isinstance(each, Set) else _reason(each))


def _reason(setting: Absent | Unknown) -> str:
    return setting.reason if isinstance(setting, Unknown) else "the manifest asks for none"


def of_profile(profile: Profile, places: Mapping[str, str]) -> Inputs:
    """What the profile alone tells of any run."""
    blank = Inputs()

    def declared(key: str, value: float | None, otherwise: Number) -> Number:
        return otherwise if value is None else Known(value, "configuration", _place(key, places))

    rate = profile.failures_per_1000_node_days
    return Inputs(
        gpus_per_node=declared("gpus_per_node", profile.gpus_per_node, blank.gpus_per_node),
        days=declared("run_days", profile.run_days, blank.days),
        step_seconds=declared("step_seconds", profile.step_seconds, blank.step_seconds),
        save_seconds=declared("save_seconds", profile.save_seconds, blank.save_seconds),
        rate=RATE if rate == DEFAULT_RATE else declared("failures_per_1000_node_days", rate, RATE),
    )


def _place(key: str, places: Mapping[str, str]) -> str:
    return places.get(f"profile.{key}", f"the profile's {key}")


def inputs_of(workload: Workload, profile: Profile, places: Mapping[str, str]) -> Inputs:
    """What a workload and the profile tell of it."""
    base = of_profile(profile, places)
    process = _saving_process(workload)
    interval, steps = _interval(process, profile)

    def taken(setting: Setting[int] | Setting[float], missing: Number, least: float = 0.0) -> Number:
        return _number(setting, missing, places, least)

    return Inputs(
        nodes=taken(workload.nodes, base.nodes, 1),
        gpus=taken(workload.accelerators, base.gpus, 1),
        gpus_per_node=taken(workload.accelerators_per_node, base.gpus_per_node, 1),
        days=taken(workload.run_days, base.days),
        total_steps=_total(process, profile),
        step_seconds=taken(workload.step_seconds, base.step_seconds),
        save_seconds=taken(workload.save_seconds, base.save_seconds),
        interval=interval,
        interval_steps=steps,
        rate=base.rate,
        budget=taken(workload.restart_budget, Missing(reason="unknown: the manifest does not show it")),
    )


def _number(setting: Setting[int] | Setting[float], missing: Number, places: Mapping[str, str], least: float) -> Number:
    """A setting as an input; `missing` where it is absent, or holds what cannot be."""
    if isinstance(setting, Absent):
        return missing
    if not isinstance(setting, Set):
        if isinstance(missing, Known):
            return missing
        return Missing(missing.ask, setting.reason if missing.ask else f"unknown: {setting.reason}")
    value = float(setting.value)
    if not math.isfinite(value) or value < least:
        return missing
    return _known(value, setting.origin, places)


def _known(value: float, origin: Origin, places: Mapping[str, str] | None = None) -> Known:
    if origin.via != "default":
        return Known(value, "manifest", "" if origin.via == "written" else origin.note, origin)
    key = origin.note.removeprefix("the profile's ")
    if key != origin.note:
        return Known(value, "configuration", _place(key, places or {}))
    return Known(value, "default", origin.note, origin)


def _saving_process(workload: Workload) -> TrainingProcess | None:
    """The process whose interval counts: the first that says one, else the first."""
    said = (one for one in workload.processes if isinstance(one.settings.save_interval, Set))
    return next(said, None) or next(iter(workload.processes), None)


def _interval(process: TrainingProcess | None, profile: Profile) -> tuple[Number, Number]:
    """The interval between saves in seconds where it is written as a time, and in steps where it is not."""
    blank = Inputs()
    if process is None:
        return Missing(("--interval-minutes",), "no training program is seen"), blank.interval_steps
    setting, saving = process.settings.save_interval, process.settings.saving
    if isinstance(setting, Absent) or (isinstance(saving, Set) and not saving.value):
        none = Missing(reason="none: the program saves nothing by itself")
        return none, none
    if not isinstance(setting, Set):
        return Missing(("--interval-minutes",), setting.reason), blank.interval_steps
    quantity = setting.value
    if quantity.seconds is not None:
        return _known(quantity.seconds, setting.origin), blank.interval_steps
    steps = Pace.of(process, profile).steps(quantity)
    if steps is None or steps <= 0:
        return Missing(("--interval-minutes",), f"it is written as {quantity}"), blank.interval_steps
    number = _known(steps, setting.origin)
    return blank.interval, number


def _total(process: TrainingProcess | None, profile: Profile) -> Number:
    total = None if process is None else process.settings.total
    steps = None if process is None else Pace.of(process, profile).total_steps
    if steps is None or steps <= 0 or not isinstance(total, Set):
        return Inputs().total_steps
    return _known(steps, total.origin)


def _notes(workload: Workload, given: Mapping[str, Known], process: TrainingProcess | None) -> tuple[str, ...]:
    """What the reader should know of how the manifest was taken."""
    notes = []
    nodes = workload.nodes
    if shares_machines(workload) and "nodes" not in given and isinstance(nodes, Set) and nodes.value > 1:
        notes.append(
            f"each of the {nodes.value:,} pods is taken as a machine of its own; where several share one, give --nodes"
        )
    if process is None:
        return tuple(notes)
    settings = process.settings
    if isinstance(settings.in_memory, Set) and settings.in_memory.value:
        notes.append("copies in memory between the saves make most failures cheaper than is shown")
    if isinstance(settings.asynchronous, Set) and settings.asynchronous.value:
        notes.append("saves are asynchronous: what counts is how long one stops training, not how long it takes")
    timeout = settings.timeout
    if isinstance(timeout, Set) and math.isfinite(timeout.value) and "detection" not in given:
        notes.append(
            f"a hang is noticed after {duration(timeout.value)}, the collective timeout: "
            f"--detection-minutes {timeout.value / 60:g} counts all failures as hangs"
        )
    return tuple(notes)


def title_of(workload: Workload) -> str:
    """`PyTorchJob research/llm`."""
    subject = workload.subject
    name = f"{subject.namespace}/{subject.name}" if subject.namespace else subject.name
    return f"{subject.kind} {name}".rstrip()
