"""Workloads as trees: size, restarts, roles, containers, environment, what is around them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kube_gaplint.report.show.shape import (
    Accelerators,
    Container,
    Environment,
    Location,
    Named,
    Priority,
    RestartLayer,
    Role,
    Script,
    Surroundings,
    Volume,
    Watch,
    Workload,
)
from kube_gaplint.report.show.tree import Branch, Row, Run
from kube_gaplint.report.show.tree_batch import batch_branch
from kube_gaplint.report.show.tree_parts import amounts, given, heading, listed, not_seen, table, variables
from kube_gaplint.report.show.tree_processes import process_branch
from kube_gaplint.report.show.words import Places, days, failures, seconds, spaced, text, times, words_of
from kube_gaplint.report.words import count

_VOLUMES_OF_FILES = frozenset({"config-map", "secret", "projected", "downward", "image"})
_VOLUMES_BY_THEMSELVES = frozenset({"memory", "empty-dir"})


def workload_branch(workload: Workload) -> Branch:
    places = Places(workload.location.file)
    places.add(workload.location)
    rows = [
        Row("class", [(workload.purpose, "good" if workload.purpose == "training" else "title"), *_why(workload)]),
        Row("nodes", places.value(workload.nodes)),
        Row("accelerators a node", places.value(workload.accelerators_per_node)),
        Row("world size", _world_size(workload)),
        Row(
            "survives",
            places.value(workload.restart_budget, failures),
            [_layer(layer, places) for layer in workload.restarts],
        ),
        Row("deadline", places.value(workload.deadline_seconds, seconds)),
        Row("gang", places.value(workload.gang_scheduled)),
        Row("elastic", places.value(workload.elastic)),
    ]
    rows += given(
        places,
        ("run", workload.run_days, days),
        ("step", workload.step_seconds, seconds),
        ("save", workload.save_seconds, seconds),
    )
    rows += table("spec", [Named(one.name.removeprefix("spec."), one.value) for one in workload.fields], places)
    branches = [] if workload.batch is None else [batch_branch(workload.batch, places)]
    shown = Twins(sum(len(role.containers) for role in workload.roles) > 1)
    for role in workload.roles:
        branches.append(_role(role, places, shown))
    branches += _surroundings(workload.surroundings, places)
    branches += not_seen(workload.notes, workload.unresolved, places)
    return Branch([*heading(workload.object, workload.location), *_through(workload, places)], rows, branches)


def _why(workload: Workload) -> list[Run]:
    return [(f": {workload.purpose_reason}", "")] if workload.purpose_reason else []


def _through(workload: Workload, places: Places) -> list[Run]:
    return [
        (f" through {one.note} at {places.name(one.location)}".replace("  ", " "), "where") for one in workload.through
    ]


def _world_size(workload: Workload) -> list[Run]:
    """What follows from the two lines above it; a reason that stands there is not said again."""
    value = workload.world_size
    if value.state == "set":
        return [(text(value.value), "")]
    return [("none", "")] if value.state == "absent" else [("unknown", "unknown"), (f": {value.reason}", "")]


def _layer(layer: RestartLayer, places: Places) -> Row:
    runs: list[Run] = [(f"the {layer.scope}, ", ""), *places.value(layer.budget, times)]
    on = f", on {', '.join(layer.on)}" if layer.on else ", on nothing"
    above = "; counted by the layer above" if layer.counted_above else ""
    note = f"; {layer.note}" if layer.note else ""
    return Row(layer.owner, [*runs, (on + above + note, "")])


def _role(role: Role, places: Places, shown: Twins) -> Branch:
    places.add(role.location)
    title: list[Run] = [(f"role {role.name}" if role.name else "pods", "title"), (" × ", "")]
    title += places.value(role.replicas)
    if not role.trains:
        title.append((", no ranks of its own", ""))
    if twin := shown.of_role(role):
        return Branch([*title, (f": the same as role {twin}, in its own lines", "")])
    if twin := shown.of_pods(role):
        title.append((f": its pods are as those of role {twin}", ""))
        return Branch(title, [], [_container(container, role, places, shown) for container in role.containers])
    rows = list(
        given(places, ("restart policy", role.restart_policy, text), ("grace period", role.grace_seconds, seconds))
    )
    rows += [Row(one.name, places.value(one.value)) for one in role.pod if one.value.via != "default"]
    rows += table("node selector", role.node_selector, places)
    rows += table("annotations", role.annotations, places)
    if role.tolerations:
        rows.append(Row("tolerates", listed(role.tolerations, places)))
    if role.unseen:
        rows.append(Row("unseen", [(role.unseen, "")]))
    if role.volumes:
        rows.append(Row("volumes", [], [_volume(volume, places) for volume in role.volumes]))
    return Branch(title, rows, [_container(container, role, places, shown) for container in role.containers])


class Twins:
    """Roles and containers that are drawn already, so that what is the same need not be read twice.

    Names of roles, numbers of pods and places of values do not count.
    """

    def __init__(self, many: bool) -> None:
        """`many`: there is more than one container to compare."""
        self._many = many
        self._roles: list[tuple[Any, str]] = []
        self._pods: list[tuple[Any, str]] = []
        self._containers: list[tuple[Any, Container, str]] = []

    def of_role(self, role: Role) -> str:
        """The name of a role that was drawn and is the same; empty where there is none, and then this one counts."""
        return self._of(role, frozenset({"name", "replicas"}), self._roles)

    def of_pods(self, role: Role) -> str:
        """The same, with only what the role says of its pods compared, not their containers."""
        return self._of(role, frozenset({"name", "replicas", "containers"}), self._pods)

    def _of(self, role: Role, but: frozenset[str], drawn: list[tuple[Any, str]]) -> str:
        if not self._many:
            return ""
        bare = _without(role, but)
        found = next((name for other, name in drawn if other == bare), "")
        if not found:
            drawn.append((bare, role.name))
        return found

    def of_container(self, container: Container, role: Role) -> tuple[Container, str] | None:
        """A container that was drawn and is the same but for its variables, with its role; else this one counts."""
        if not self._many:
            return None
        bare = _without(container, frozenset({"environment"}))
        found = next(((other, name) for drawn, other, name in self._containers if drawn == bare), None)
        if found is None:
            self._containers.append((bare, container, role.name))
        return found


def _like(title: list[Run], container: Container, twin: Container, role: str, places: Places) -> Branch:
    """A container that is the same as another one, with the variables that are not."""
    others = [_without(one, frozenset()) for one in twin.environment.variables]
    own = [one for one in container.environment.variables if _without(one, frozenset()) not in others]
    names = {one.name for one in container.environment.variables}
    missing = [one.name for one in twin.environment.variables if one.name not in names]
    title = [*title, (f": the same as in role {role}, in its own lines", "")]
    rows = variables(Environment("", own), places)
    if missing:
        rows.append(Row("", [(f"without {', '.join(missing)}", "")]))
    return Branch([*title, (", but for these variables", "")] if rows else title, rows)


def _without(part: Any, names: frozenset[str]) -> Any:
    if isinstance(part, Location):
        return None
    if isinstance(part, Struct):
        return [
            _without(getattr(part, name), frozenset({"role", "through"}))
            for name in part.__struct_fields__
            if name not in names
        ]
    return [_without(item, names) for item in part] if isinstance(part, list | tuple) else part


def _volume(volume: Volume, places: Places) -> Row:
    places.add(volume.location)
    runs: list[Run] = [(volume.kind, "")]
    if volume.kind in _VOLUMES_BY_THEMSELVES:
        runs += places.source(volume.source)
    elif volume.source.state != "absent":
        runs += [(" ", ""), *places.value(volume.source)]
    if volume.per_pod:
        runs.append((", one for each pod", ""))
    if volume.kind not in _VOLUMES_OF_FILES:
        facts = [
            ("outlives the pod", "goes with the pod", volume.durable),
            ("shared by nodes", "of one node at a time", volume.shared),
        ]
        if volume.durable.state == "set" and not volume.durable.value:
            del facts[1]
        for yes, no, value in facts:
            if value.state == "set":
                runs.append((f"; {yes if value.value else no}", ""))
            elif value.state == "unknown":
                runs += [(f"; {yes}: ", ""), ("unknown", "unknown"), (f", {value.reason}", "")]
    for label, value in (
        ("size limit", volume.size_limit),
        ("access modes", volume.access_modes),
        ("storage class", volume.storage_class),
        ("size", volume.capacity),
    ):
        if value.state == "set":
            runs += [(f"; {label} ", ""), *places.value(value)]
    return Row(volume.name, runs)


def _container(container: Container, role: Role, places: Places, shown: Twins) -> Branch:
    places.add(container.location)
    kind = {"init": "init container ", "sidecar": "sidecar ", "main": "container "}[container.kind]
    title: list[Run] = [(f"{kind}{container.name}" if container.name else "every node", "title")]
    twin = shown.of_container(container, role)
    if twin is not None:
        return _like(title, container, *twin, places)
    rows = list(given(places, ("image", container.image, text), ("command", container.command, words_of)))
    rows += given(places, ("args", container.args, words_of))
    if container.entrypoint_unknown:
        rows.append(Row("starts", [("unknown", "unknown"), (f": {container.entrypoint_unknown}", "")]))
    rows += [Row("devices", _device(one, places)) for one in container.accelerators]
    devices = {one.resource for one in container.accelerators}
    for label, held in (("limits", container.limits), ("requests", container.requests)):
        rows += amounts(label, [one for one in held if one.name not in devices], places)
    for watch in container.watches:
        rows.append(_watch(watch, places))
    for mount in container.mounts:
        places.add(mount.location)
    if container.mounts:
        rows.append(
            Row(
                "mounts",
                [],
                [
                    Row(
                        "",
                        [
                            *places.value(mount.path),
                            (f" ← {mount.volume}", ""),
                            (f"/{mount.sub_path}" if mount.sub_path else "", ""),
                            (", read-only" if mount.read_only else "", ""),
                        ],
                    )
                    for mount in container.mounts
                ],
            )
        )
    rows += [_script(script, places) for script in container.scripts]
    branches = [process_branch(process, places) for process in container.processes]
    branches.append(_environment(container.environment, places))
    return Branch(title, rows, branches)


def _device(one: Accelerators, places: Places) -> list[Run]:
    partial = ", in parts or shared" if one.partial else ""
    return [(f"{one.resource} × ", ""), *places.value(one.count), (partial, "")]


def _watch(watch: Watch, places: Places) -> Row:
    runs: list[Run] = [(watch.action, "")]
    if watch.command is not None:
        runs += [(" ", ""), *places.value(watch.command, words_of)]
    for one in watch.settings:
        runs += [(f"; {spaced(one.name).removesuffix(' seconds')} ", "")]
        runs += places.value(one.value, seconds if one.name.endswith("Seconds") else text)
    return Row(watch.kind, [*runs, *places.at(watch.location)])


def _environment(environment: Environment, places: Places) -> Branch:
    """What Kubernetes or Slurm gives to a container."""
    title: list[Run] = [("environment", "title")]
    if environment.open_because:
        title += [(", ", ""), ("open", "unknown"), (f": {environment.open_because}", "")]
    elif not environment.variables:
        title.append((": nothing sets a variable", ""))
    else:
        title.append((", complete", ""))
    return Branch(title, variables(environment, places))


def _script(script: Script, places: Places) -> Row:
    form = {"string": "-c string", "file": "file", "stdin": "standard input", "source": "sourced file"}.get(script.form)
    what = f"{script.shell} {form}" if form else f"{script.shell} script"
    runs = [(f"{what}, {count(script.commands, 'command')}", ""), *places.at(script.location)]
    sub = [Row("", [("not seen", "unknown"), (f": {one.what}", ""), *places.at(one.location)]) for one in script.unread]
    if script.not_understood:
        lines = ", ".join(places.name(one) for one in script.not_understood[:8])
        sub.append(Row("", [("not understood", "unknown"), (f": {lines}", "")]))
    return Row("script", runs, sub)


def _surroundings(found: Surroundings, places: Places) -> list[Branch]:
    rows = [Row("autoscaler", [(one.what, ""), *places.at(one.location)]) for one in found.autoscalers]
    for label, one in (("service mesh", found.mesh), ("node health", found.node_health)):
        if one is not None:
            rows.append(Row(label, [(one.what, ""), *places.at(one.location)]))
    for budget in found.disruption_budgets:
        runs: list[Run] = [(budget.name, ""), *places.at(budget.location)]
        for label, value in (("min available", budget.min_available), ("max unavailable", budget.max_unavailable)):
            if value.state != "absent":
                runs += [(f"; {label} ", ""), *places.value(value)]
        rows.append(Row("disruption budget", runs))
    for name, roles in _by_class(found.priorities).items():
        first = roles[0]
        runs = [(name, ""), (f" of {', '.join(one.role for one in roles)}" if first.role else "", "")]
        rows.append(Row("priority class", [*runs, (": ", ""), *places.value(first.value)]))
    for service in found.services:
        runs = [(service.name, ""), *places.at(service.location)]
        runs += [("; headless ", ""), *places.value(service.headless)]
        runs += [("; publishes unready addresses ", ""), *places.value(service.publishes_unready)]
        rows.append(Row("service", runs))
    rows += amounts("default limits", found.limit_defaults, places)
    rows += amounts("namespace labels", found.namespace_labels, places)
    rows += amounts("reclaim policies", found.reclaim_policies, places)
    return [Branch([("cluster, as far as the paths tell", "title")], rows)] if rows else []


def _by_class(priorities: list[Priority]) -> dict[str, list[Priority]]:
    """Roles by the name of their priority class."""
    found: dict[str, list[Priority]] = {}
    for one in priorities:
        name = text(one.name.value) if one.name.state == "set" else f"unknown: {one.name.reason}"
        found.setdefault(name, []).append(one)
    return found
