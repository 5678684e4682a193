"""Workloads as plain values: roles, pods, containers, restarts, batch scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kube_gaplint import lazy_re
from kube_gaplint.facts.credentials import without_credentials
from kube_gaplint.model import pod as pods
from kube_gaplint.model import slurm, surroundings, workload
from kube_gaplint.model.command import Command
from kube_gaplint.model.command import Script as ModelScript
from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.report.show.processes import process_of
from kube_gaplint.report.show.shape import (
    Accelerators,
    Batch,
    Container,
    Directive,
    DisruptionBudget,
    Mount,
    Named,
    Noted,
    Object,
    Priority,
    Process,
    RestartLayer,
    Role,
    Script,
    Service,
    Step,
    Surroundings,
    Unresolved,
    Value,
    Volume,
    Watch,
    Workload,
)
from kube_gaplint.report.show.values import (
    all_named,
    budget,
    environment_of,
    location_of,
    named,
    noted,
    origin_location,
    through,
    value_of,
)

POD_FIELDS = (
    "hostNetwork", "hostIPC", "hostPID", "shareProcessNamespace", "priorityClassName", "runtimeClassName",
    "schedulerName", "dnsPolicy", "subdomain", "serviceAccountName", "activeDeadlineSeconds",
)  # fmt: skip
"""Fields of a pod that are shown besides those that the model has a place for."""

# Parts of an object that are shown as roles, pods and containers, or that say nothing of the run.
_SHOWN_ELSEWHERE = lazy_re.compile(
    r"(?:^|\.)(?:apiVersion|kind|metadata|status|template|\w*[tT]emplates?|\w*ReplicaSpecs|replicatedJobs|tasks"
    r"|\w+GroupSpecs?|containers|initContainers|volumes|podSpec|resources\w*|env|command|args|image)(?:[.\[]|$)"
    r"|(?<!policies)\["
)
_EVENTS = ("failure", "eviction", "node-loss")
_MOST_FIELDS = 60
_MOST_COMMAND_WORDS = 200


def workload_of(found: workload.Workload, unresolved: Iterable[Unresolved]) -> Workload:
    subject = found.subject
    processes: dict[int, list[Process]] = {}
    for process in found.processes:
        processes.setdefault(id(process.container), []).append(process_of(process))
    return Workload(
        object=Object(subject.kind, subject.api_version, subject.namespace, subject.name),
        location=location_of(found.origin.place),
        through=list(through(found.origin)),
        purpose=found.purpose,
        purpose_reason=found.classified.reason,
        nodes=value_of(found.nodes),
        accelerators_per_node=value_of(found.accelerators_per_node),
        world_size=value_of(found.accelerators),
        restart_budget=value_of(found.restart_budget, budget),
        restarts=[_layer(layer) for layer in found.restarts],
        deadline_seconds=value_of(found.deadline_seconds),
        gang_scheduled=value_of(found.gang_scheduled),
        elastic=value_of(found.elastic),
        run_days=value_of(found.run_days),
        step_seconds=value_of(found.step_seconds),
        save_seconds=value_of(found.save_seconds),
        fields=[] if found.batch is not None or subject.kind == "Pod" else _fields(found.fields, "spec."),
        roles=[_role(role, processes, found) for role in found.roles],
        batch=None if found.batch is None else _batch(found.batch),
        surroundings=_surroundings(found.surroundings),
        notes=list(found.notes),
        unresolved=list(unresolved),
    )


def _layer(layer: workload.RestartLayer) -> RestartLayer:
    return RestartLayer(
        layer.owner,
        layer.scope,
        [event for event in _EVENTS if event in layer.on],
        value_of(layer.budget, budget),
        layer.counted_above,
        layer.note,
    )


def _fields(fields: Mapping[str, Setting[str]], below: str = "") -> list[Named]:
    """Scalars of an object that are shown nowhere else."""
    found: list[Named] = []
    for path in fields:
        if len(found) >= _MOST_FIELDS:
            break
        if path.startswith(below) and not _SHOWN_ELSEWHERE.search(path):
            setting = fields[path]
            if not isinstance(setting, Absent):
                found.append(named(path, setting))
    return found


def _role(role: workload.Role, processes: Mapping[int, list[Process]], owner: workload.Workload) -> Role:
    pod = role.pod
    own = {
        path: role.fields[path]
        for path in role.fields
        if path not in ("name", "groupName", "replicas", "restartPolicy") and f"spec.{path}" not in owner.fields
    }
    return Role(
        name=role.name,
        location=location_of(role.origin.place),
        replicas=value_of(role.replicas),
        trains=role.trains,
        restart_policy=value_of(pod.restart_policy),
        grace_seconds=value_of(pod.grace_seconds),
        unseen=pod.overrides_unknown,
        pod=[
            *_fields(own),
            *(
                named(path, setting)
                for path in POD_FIELDS
                if (setting := pod.fields.get(path)) is not None and not isinstance(setting, Absent)
            ),
        ],
        node_selector=all_named(pod.node_selector),
        annotations=all_named(pod.annotations),
        tolerations=[noted(_toleration(one), one.origin) for one in pods.tolerations(pod)],
        volumes=[_volume(volume) for volume in pod.volumes],
        containers=[
            *(_container(one, processes) for one in pod.init_containers),
            *(_container(one, processes) for one in pod.containers),
        ],
    )


def _toleration(one: pods.Toleration) -> str:
    def text(setting: Setting[str], absent: str) -> str:
        return setting.value if isinstance(setting, Set) else absent if isinstance(setting, Absent) else "…"

    key, effect = text(one.key, "everything"), text(one.effect, "")
    if isinstance(one.value, Set) and text(one.operator, "Equal") == "Equal":
        key += f"={one.value.value}"
    return f"{key}:{effect}" if effect else key


def _volume(volume: workload.Volume) -> Volume:
    return Volume(
        volume.name,
        volume.kind,
        value_of(volume.source),
        value_of(volume.durable),
        value_of(volume.shared),
        value_of(volume.size_limit),
        value_of(volume.access_modes),
        value_of(volume.storage_class),
        value_of(volume.capacity),
        volume.per_pod,
        location_of(volume.origin.place),
    )


def _container(container: workload.Container, processes: Mapping[int, list[Process]]) -> Container:
    return Container(
        name=container.name,
        kind="sidecar" if container.sidecar else "init" if container.init else "main",
        location=origin_location(container.origin),
        image=value_of(container.image),
        command=value_of(container.command),
        args=value_of(container.args),
        entrypoint_unknown=container.entrypoint_unknown,
        accelerators=[
            Accelerators(one.resource, value_of(one.count), one.vendor, one.partial) for one in container.accelerators
        ],
        requests=all_named(container.requests),
        limits=all_named(container.limits),
        environment=environment_of(container.environment),
        mounts=[
            Mount(value_of(mount.path), mount.volume, mount.sub_path, mount.read_only, location_of(mount.origin.place))
            for mount in container.mounts
        ],
        watches=list(_watches(container)),
        scripts=[_script(script) for script in container.scripts],
        processes=processes.get(id(container), []),
    )


def _watches(container: workload.Container) -> Iterator[Watch]:
    kinds: tuple[pods.ProbeKind, ...] = ("liveness", "readiness", "startup")
    for kind in kinds:
        probe = pods.probe(container, kind)
        if probe is not None:
            settings: dict[str, Setting[float] | Setting[int]] = {
                "initialDelaySeconds": probe.initial_delay,
                "periodSeconds": probe.period,
                "timeoutSeconds": probe.timeout,
                "failureThreshold": probe.failure_threshold,
                "graceSeconds": probe.grace,
            }
            yield Watch(
                f"{kind} probe", probe.action, _given(probe.command), all_named(settings), origin_location(probe.origin)
            )
    for when, title in (("pre_stop", "preStop hook"), ("post_start", "postStart hook")):
        hook = pods.hook(container, when)  # type: ignore[arg-type]
        if hook is not None:
            sleep = all_named({"sleepSeconds": hook.sleep})
            yield Watch(title, hook.action, _given(hook.command), sleep, origin_location(hook.origin))


def _given(setting: Setting[tuple[str, ...]]) -> Value | None:
    return None if isinstance(setting, Absent) else value_of(setting)


def _script(script: ModelScript) -> Script:
    text = script.text
    return Script(
        shell=script.shell,
        form=script.form,
        location=location_of(text.place(0, min(len(text.text), 1))),
        commands=len(script.commands),
        unread=[
            *(Noted(f"sources {without_credentials(word.shown)}", location_of(word.place)) for word in script.sources),
            *(Noted(f"starts {without_credentials(word.shown)}", location_of(word.place)) for word in script.unseen),
        ],
        not_understood=[location_of(place) for place in script.errors],
    )


# Batch scripts


def _batch(batch: slurm.Batch) -> Batch:
    conf = batch.conf
    return Batch(
        directives=[
            Directive(one.name, named(one.name, one.value).value, one.in_force, one.problem) for one in batch.directives
        ],
        requeue=value_of(batch.requeue),
        continuation=value_of(batch.continuation),
        open_mode=value_of(batch.open_mode),
        slurm_conf=None if conf is None else location_of(conf.origin.place),
        steps=[_step(step) for step in batch.steps],
    )


def _step(step: slurm.Step) -> Step:
    return Step(
        launcher=step.launcher,
        command=command_line(step.command),
        trains=step.trains,
        location=origin_location(step.origin),
        nodes=value_of(step.nodes),
        tasks=value_of(step.tasks),
        kill_on_bad_exit=value_of(step.kill_on_bad_exit),
        wait_seconds=value_of(step.wait_seconds),
        no_kill=value_of(step.no_kill),
        image=None if step.image is None or isinstance(step.image, Absent) else value_of(step.image),
    )


def command_line(command: Command) -> str:
    """The command as far as it is known, unknown parts as an ellipsis."""
    words = [word.shown for word in command.words[:_MOST_COMMAND_WORDS]]
    text = " ".join(word if word and not re.search(r"\s", word) else f"'{word}'" for word in words)
    return without_credentials(text + (" …" if len(command.words) > len(words) else ""))


# Surroundings


def _surroundings(found: surroundings.Surroundings) -> Surroundings:
    return Surroundings(
        autoscalers=[
            noted(f"{name}: {evidence.what}", evidence.origin) for name, evidence in found.autoscalers.items()
        ],
        mesh=_evidence(found.mesh),
        node_health=_evidence(found.node_health),
        disruption_budgets=[
            DisruptionBudget(
                one.name,
                list(one.roles),
                value_of(one.min_available),
                value_of(one.max_unavailable),
                location_of(one.origin.place),
            )
            for one in found.budgets
        ],
        priorities=[
            Priority(one.role, value_of(one.name), value_of(one.value), value_of(one.preemption_policy))
            for one in found.priorities
        ],
        services=[
            Service(
                one.name,
                list(one.roles),
                value_of(one.headless),
                value_of(one.publishes_unready),
                list(one.ports),
                location_of(one.origin.place),
            )
            for one in found.services
        ],
        limit_defaults=[item for limit in found.limits for item in all_named(limit.defaults)],
        namespace_labels=all_named(found.namespace_labels),
        reclaim_policies=all_named(found.reclaim_policies),
    )


def _evidence(evidence: surroundings.Evidence | None) -> Noted | None:
    return None if evidence is None else noted(evidence.what, evidence.origin)
