"""Whether the pods of a job start together or not at all, by what its manifest and the queues around it show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.facts import schedulers
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import Role


def gang_of(
    context: Context,
    roles: Sequence[Role],
    labels: Mapping[str, Setting[str]],
    annotations: Mapping[str, Setting[str]],
) -> Setting[bool]:
    """Whether a queue, a scheduler, an owner or a group of pods sees to it; false only where none of them is in sight
    and the default scheduler places the pods."""
    for found in (
        *_by_owner(context),
        *_by_labels(context, roles, labels),
        *_by_annotations(roles, annotations),
        *_by_groups(roles),
        *_by_operator(context),
    ):
        return found
    decided = _by_scheduler(roles)
    if decided is not None:
        return decided
    for queue in context.bundle.by_kind("kueue.x-k8s.io", "LocalQueue"):
        namespace = context.object.namespace
        if queue.name == schedulers.DEFAULT_QUEUE and namespace and queue.namespace == namespace:
            return Set(True, Origin(queue.place, note="Kueue's default queue of the namespace"))
    if context.profile.gang_scheduler:
        return Set(True, Origin(context.object.place, "default", "the profile's gang_scheduler"))
    return Set(False, Origin(context.object.place, "derived", node=context.object.node))


def _by_owner(context: Context) -> Iterator[Setting[bool]]:
    for owner in context.object.wrapped_by:
        system = schedulers.GANG_OWNERS.get(owner.kind)
        if system is not None:
            yield Set(True, Origin(owner.place, note=system, node=owner.node))


def _by_operator(context: Context) -> Iterator[Setting[bool]]:
    """The operator of the job's kind, where it is in the given paths and makes a group of each job's pods."""
    if context.object.group == "kubeflow.org":
        found = _gang_operators(context.bundle).get(context.object.kind)
        if found is not None:
            yield found


@lru_cache(maxsize=1)  # each job asks
def _gang_operators(bundle: Bundle) -> dict[str, Set[bool]]:
    """By the kind of job, the operator that is started with gang scheduling on."""
    found: dict[str, Set[bool]] = {}
    for item in bundle.by_kind("apps", "Deployment"):
        for container in Part.of(item.node).at("spec", "template", "spec", "containers").items():
            image = (container.text("image") or "").partition("@")[0].rpartition("/")[2].partition(":")[0]
            for kind in schedulers.OPERATORS.get(image, ()):
                for argument in (*container.at("command").items(), *container.at("args").items()):
                    name, _, value = (argument.text() or "").lstrip("-").partition("=")
                    if name in schedulers.OPERATOR_FLAGS and value not in schedulers.OPERATOR_FLAGS_OFF:
                        found[kind] = Set(True, replace(argument.origin, note=f"{image} with --{name}"))
    return found


def _by_labels(context: Context, roles: Sequence[Role], labels: Mapping[str, Setting[str]]) -> Iterator[Setting[bool]]:
    owners = [Part.of(owner.node).texts("metadata", "labels") for owner in context.object.wrapped_by]
    for table in (labels, *owners, *(role.pod.labels for role in roles)):
        for key, system in schedulers.QUEUE_LABELS.items():
            yield from _named(table, key, system)
        scheduler = table.get(schedulers.SCHEDULER_LABEL)
        if isinstance(scheduler, Unknown):
            yield scheduler
        elif isinstance(scheduler, Set) and scheduler.value in schedulers.GANG_SCHEDULERS:
            yield Set(True, replace(scheduler.origin, note=schedulers.GANG_SCHEDULERS[scheduler.value]))


def _by_annotations(roles: Sequence[Role], annotations: Mapping[str, Setting[str]]) -> Iterator[Setting[bool]]:
    for table in (annotations, *(role.pod.annotations for role in roles)):
        for key, system in schedulers.PLACEMENT_ANNOTATIONS.items() if table else ():
            yield from _named(table, key, system)


def _by_groups(roles: Sequence[Role]) -> Iterator[Setting[bool]]:
    """Pods that name their group, whatever its name is."""
    for role in roles:
        for table, keys in (
            (role.pod.annotations, schedulers.POD_GROUP_KEYS),
            (role.pod.labels, schedulers.POD_GROUP_KEYS),
            (role.pod.fields, schedulers.POD_GROUP_FIELDS),
            (role.fields, schedulers.JOB_GANG_FIELDS),
        ):
            for key, system in keys.items():
                found = table.get(key)
                if found is not None and not isinstance(found, Absent):
                    yield Set(True, replace(found.origin or role.pod.origin, note=system))


def _named(table: Mapping[str, Setting[str]], key: str, system: str) -> Iterator[Setting[bool]]:
    found = table.get(key)
    if isinstance(found, Set):
        yield Set(True, replace(found.origin, note=system))
    elif isinstance(found, Unknown):
        yield found


def _by_scheduler(roles: Sequence[Role]) -> Setting[bool] | None:
    """What the pods' schedulers do; None where all are known to place pods one by one."""
    unknown: Unknown | None = None
    for role in roles:
        scheduler = role.pod.fields.get("schedulerName")
        gate = role.pod.fields.get("schedulingGates[0].name")
        if isinstance(scheduler, Set) and scheduler.value in schedulers.GANG_SCHEDULERS:
            return Set(True, replace(scheduler.origin, note=schedulers.GANG_SCHEDULERS[scheduler.value]))
        if isinstance(scheduler, Set) and scheduler.value not in schedulers.SINGLE_SCHEDULERS:
            unknown = unknown or Unknown(f"what scheduler {scheduler.value} does is not known", scheduler.origin)
        elif isinstance(scheduler, Unknown):
            unknown = unknown or scheduler
        elif gate is not None and not isinstance(gate, Absent):
            unknown = unknown or Unknown("somebody opens the scheduling gate of its pods", gate.origin)
        elif role.pod.overrides_unknown:
            unknown = unknown or Unknown(role.pod.overrides_unknown, role.pod.origin)
    return unknown
