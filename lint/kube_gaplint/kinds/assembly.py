"""Putting a workload together from what an adapter has read: the answers that all kinds give in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gang import gang_of
from kube_gaplint.kinds.owners import outer_layers
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.units import as_number
from kube_gaplint.model.workload import UNBOUNDED, Classified, RestartLayer, Role, Workload

DAY = 86_400.0

FAILURE = frozenset({"failure"})
LOSS = frozenset({"eviction", "node-loss"})
ALL = frozenset({"failure", "eviction", "node-loss"})


def assemble(
    context: Context,
    roles: Sequence[Role],
    restarts: Sequence[RestartLayer],
    *,
    part: Part | None = None,
    nodes: Setting[int] | None = None,
    gang: Setting[bool] | None = None,
    elastic: Setting[bool] | None = None,
    deadline: Setting[float] | None = None,
    effective: Mapping[str, Setting[str]] | None = None,
    exposed: Mapping[str, object] | None = None,
    annotations: Mapping[str, Setting[str]] | None = None,
    labels: Mapping[str, Setting[str]] | None = None,
) -> Workload:
    """A workload. `part` is the object that `fields` are read from, where it is not the whole object.

    Settings that are not given are derived: nodes from the roles that train, the gang from labels and schedulers, the
    budget from the layers.
    """
    root = context.root
    origin = context.origin
    annotations = root.texts("metadata", "annotations") if annotations is None else annotations
    labels = root.texts("metadata", "labels") if labels is None else labels
    for role in roles:
        if role.pod.overrides_unknown:
            context.note(f"{role.name or 'the pod template'}: {role.pod.overrides_unknown}")
    nodes = collective_nodes(roles, origin) if nodes is None else nodes
    layers = (*outer_layers(context, labels, annotations), *restarts)
    deadline = Absent(origin) if deadline is None else deadline
    return Workload(
        subject=context.subject,
        origin=origin,
        roles=tuple(roles),
        classified=Classified("unknown", "not judged yet"),
        restarts=layers,
        nodes=nodes,
        accelerators_per_node=accelerators_per_node(roles, context, origin),
        restart_budget=whole_budget(layers, origin),
        gang_scheduled=gang_of(context, roles, labels, annotations) if gang is None else gang,
        elastic=Set(False, Origin(context.object.place, "derived")) if elastic is None else elastic,
        deadline_seconds=deadline,
        run_days=_run_days(context, roles, annotations, deadline),
        step_seconds=_declared("step-seconds", context.profile.step_seconds, context, roles, annotations),
        save_seconds=_declared("save-seconds", context.profile.save_seconds, context, roles, annotations),
        annotations=annotations,
        labels=labels,
        fields=fields_of(root if part is None else part, effective),
        exposed=dict(exposed or {}),
        notes=context.notes,
    )


# Size


def product(first: Setting[int], second: Setting[int]) -> Setting[int]:
    """Replicas of a role whose kind multiplies two counts."""
    if isinstance(first, Set) and isinstance(second, Set):
        origin = first.origin if first.origin.written else second.origin
        return Set(first.value * second.value, replace(origin, via="derived") if origin.written else origin)
    return first if isinstance(first, Unknown) else second


def total(counts: Iterable[Setting[int]], origin: Origin) -> Setting[int]:
    """The sum of counts; unknown as soon as one is."""
    found: list[Set[int]] = []
    for count in counts:
        if isinstance(count, Unknown):
            return count
        if isinstance(count, Set):
            found.append(count)
    if not found:
        return Absent(origin)
    if len(found) == 1:
        return found[0]
    return Set(sum(count.value for count in found), Origin(origin.place, "derived", node=origin.node))


def collective_nodes(roles: Sequence[Role], origin: Origin) -> Setting[int]:
    """Pods of the roles that train."""
    return total((role.replicas for role in roles if role.trains), origin)


def helpers_do_not_train(roles: Sequence[Role]) -> None:
    """Roles without accelerators beside roles with them are drivers, servers, submitters: they hold no rank."""
    if any(not isinstance(role.pod.accelerator_count, Absent) for role in roles if role.trains):
        for role in roles:
            if isinstance(role.pod.accelerator_count, Absent) and not role.pod.overrides_unknown:
                role.trains = False


def accelerators_per_node(roles: Sequence[Role], context: Context, origin: Origin) -> Setting[int]:
    """Accelerators of a pod of the largest training role."""
    counts: list[tuple[int, Setting[int]]] = []
    for role in roles:
        if role.trains:
            replicas = role.replicas.value if isinstance(role.replicas, Set) else 1
            count = role.pod.accelerator_count
            if isinstance(count, Absent) and role.pod.overrides_unknown:
                count = Unknown(role.pod.overrides_unknown, count.origin)
            counts.append((replicas, count))
    best: Setting[int] = Absent(origin)
    most = -1
    for replicas, count in counts:
        if not isinstance(count, Absent) and replicas > most:
            best, most = count, replicas
    if isinstance(best, Unknown) and context.profile.gpus_per_node is not None:
        return Set(context.profile.gpus_per_node, Origin(origin.place, "default", "the profile's gpus_per_node"))
    return best


# Restarts


def whole_budget(layers: Sequence[RestartLayer], origin: Origin) -> Setting[int]:
    """Failures that the whole survives, through every layer that reacts to failures.

    A layer that restarts n times gives everything below it n further chances: the budgets multiply, as
    (n + 1) × (m + 1) − 1. A layer whose restarts are counted above it adds nothing.
    """
    return over(layers, Set(0, Origin(origin.place, "derived", node=origin.node)))


def over(layers: Sequence[RestartLayer], inner: Setting[int]) -> Setting[int]:
    """The budget `inner` with layers around it."""
    unknown: Unknown | None = inner if isinstance(inner, Unknown) else None
    attempts = inner.value + 1 if isinstance(inner, Set) else 1
    best: Origin | None = inner.origin if isinstance(inner, Set) and inner.value > 0 else None
    for layer in reversed(layers):
        if "failure" not in layer.on or layer.counted_above:
            continue
        budget = layer.budget
        if isinstance(budget, Unknown):
            unknown = unknown or budget
        elif isinstance(budget, Set) and budget.value > 0:
            attempts = min(attempts * (budget.value + 1), UNBOUNDED + 1)
            best = best or budget.origin
    if attempts > UNBOUNDED:
        return Set(UNBOUNDED, best or _origin_of(inner, layers))
    if unknown is not None:
        return unknown
    return Set(attempts - 1, best or _origin_of(inner, layers))


def _origin_of(inner: Setting[int], layers: Sequence[RestartLayer]) -> Origin:
    """Where a budget of zero stands: the innermost layer that could have one, else the object."""
    for layer in reversed(layers):
        if "failure" in layer.on:
            return layer.origin
    if isinstance(inner, Unknown):
        raise ValueError("an unknown budget has no place")
    return inner.origin


# Declared numbers


def _run_days(
    context: Context, roles: Sequence[Role], annotations: Mapping[str, Setting[str]], deadline: Setting[float]
) -> Setting[float]:
    declared = _declared("run-days", context.profile.run_days, context, roles, annotations)
    if isinstance(declared, Absent) and isinstance(deadline, Set) and deadline.value >= DAY:
        return Set(deadline.value / DAY, replace(deadline.origin, via="derived", note="the deadline"))
    return declared


def _declared(
    name: str, profile: float | None, context: Context, roles: Sequence[Role], annotations: Mapping[str, Setting[str]]
) -> Setting[float]:
    """One of the workload's own numbers: annotation on the object or a pod template, else the profile."""
    for table in (annotations, *(role.pod.annotations for role in roles)):
        found = table.get(f"gaplint.dev/{name}")
        if found is not None and not isinstance(found, Absent):
            return as_number(found)
    if profile is not None:
        key = name.replace("-", "_")
        return Set(profile, Origin(context.object.place, "default", f"the profile's {key}"))
    return Absent(context.origin)


def text_setting(setting: Setting[int] | Setting[float] | Setting[bool]) -> Setting[str]:
    """A typed setting as the text that `fields` hold."""
    if not isinstance(setting, Set):
        return setting
    value = setting.value
    text = str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
    return Set(text, setting.origin)
