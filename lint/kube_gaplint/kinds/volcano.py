"""Volcano Job (batch.volcano.sh, kind Job).

`Workload.fields`: paths from the object, with what the webhook fills in: `spec.maxRetry` (3, also for an explicit 0),
`spec.minAvailable` (the sum of the tasks', also for 0), `spec.schedulerName` (volcano), `spec.queue` (default).
`Role.fields`: the task (`minAvailable`, `replicas`, `maxRetry`). Policies: `model.retry.policies` of the workload and
of roles, a task's own first.
(facts of Kubernetes objects, A6)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import (
    FAILURE,
    LOSS,
    assemble,
    helpers_do_not_train,
    text_setting,
    total,
)
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gang import gang_of
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.kinds.volumes import claim_volume
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.retry import CRASH, LifecyclePolicy
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import UNBOUNDED, Mount, RestartLayer, Role, Scope, Volume, Workload

WEBHOOK = "Volcano's webhook"
MAX_RETRY = 3
_SCOPES: dict[str, Scope] = {
    "RestartJob": "workload",
    "RestartTask": "role",
    "RestartPartition": "role",
    "RestartPod": "pod",
}
_MASTER_PORT = 23456


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    tasks = spec.at("tasks").items()
    names = [task.text("name") or f"default{index}" for index, task in enumerate(tasks)]
    counts = [task.integer("replicas", default=1, note="Volcano's default") for task in tasks]
    scheduler = spec.string("schedulerName", default="volcano", note=WEBHOOK)
    roles = [
        _role(task, name, count, context, scheduler, _injected(spec, names, counts))
        for task, name, count in zip(tasks, names, counts, strict=True)
    ]
    helpers_do_not_train(roles)
    retry = spec.integer("maxRetry", default=MAX_RETRY, note=WEBHOOK)
    if isinstance(retry, Set) and retry.value == 0:
        retry = Set(MAX_RETRY, replace(retry.origin, note="Volcano's webhook turns 0 into 3"))
    least = _min_available(spec, tasks, counts)
    rules = read_policies(spec)
    yield assemble(
        context,
        roles,
        _layers(spec, roles, rules, retry),
        gang=_gang(context, roles, scheduler),
        effective={
            "spec.maxRetry": text_setting(retry),
            "spec.minAvailable": text_setting(least),
            "spec.schedulerName": scheduler,
            "spec.queue": spec.string("queue", default="default", note=WEBHOOK),
        },
        exposed={"policies": rules},
    )


def _role(
    task: Part,
    name: str,
    count: Setting[int],
    context: Context,
    scheduler: Setting[str],
    variables: Mapping[str, Setting[str]],
) -> Role:
    template = task.at("template")
    fields: dict[str, Setting[str]] = {"schedulerName": scheduler}
    host = template.boolean("spec", "hostNetwork")
    if isinstance(host, Set) and host.value:
        origin = Origin(template.place, "injected", WEBHOOK)
        fields["dnsPolicy"] = Set("ClusterFirstWithHostNet", origin)
    priority = context.root.string("spec", "priorityClassName")
    if not isinstance(priority, Absent):
        fields["priorityClassName"] = priority
    volumes, mounts = _job_volumes(context)
    making = Making(fields=fields, variables=variables, volumes=volumes, mounts=mounts)
    return Role(
        name=name,
        origin=task.origin,
        pod=read_pod(template, context, making),
        replicas=count,
        fields=fields_of(
            task,
            {
                "replicas": text_setting(count),
                "minAvailable": text_setting(_least_of(task, count)),
                "maxRetry": text_setting(task.integer("maxRetry", default=MAX_RETRY, note=WEBHOOK)),
            },
        ),
        exposed={"policies": read_policies(task)},
    )


def _least_of(task: Part, count: Setting[int]) -> Setting[int]:
    least: Setting[int] = task.integer("minAvailable")
    return count if isinstance(least, Absent) else least


def _min_available(spec: Part, tasks: list[Part], counts: list[Setting[int]]) -> Setting[int]:
    least: Setting[int] = spec.integer("minAvailable")
    if isinstance(least, Unknown) or (isinstance(least, Set) and least.value != 0):
        return least
    found = total((_least_of(task, count) for task, count in zip(tasks, counts, strict=True)), spec.origin)
    return (
        replace(found, origin=replace(found.origin, via="default", note=WEBHOOK)) if isinstance(found, Set) else found
    )


def _job_volumes(context: Context) -> tuple[tuple[Volume, ...], tuple[Mount, ...]]:
    """`spec.volumes`: claims that are mounted into every container."""
    volumes, mounts = [], []
    for index, item in enumerate(context.root.at("spec", "volumes").items()):
        claim = item.string("volumeClaimName")
        name = f"job-volume-{index}"
        if isinstance(claim, Absent) and item.at("volumeClaim").present:
            claim = Set(name, replace(item.at("volumeClaim").origin, via="derived"))
        volumes.append(claim_volume(name, item, claim, context, item.at("volumeClaim")))
        mounts.append(Mount(item.string("mountPath"), name, "", False, item.origin))
    return tuple(volumes), tuple(mounts)


# Policies


def read_policies(part: Part) -> tuple[LifecyclePolicy, ...]:
    found = []
    for item in part.at("policies").items():
        events = [text for one in item.at("events").items() if (text := one.text()) is not None]
        event = item.text("event")
        found.append(
            LifecyclePolicy(
                events=tuple([*events, event] if event is not None else events),
                action=item.string("action"),
                exit_code=item.integer("exitCode"),
                origin=item.origin,
            )
        )
    return tuple(found)


def _reaction(rules: tuple[LifecyclePolicy, ...], event: str, exit_code: int | None) -> LifecyclePolicy | None:
    """The first policy that an event triggers."""
    for rule in rules:
        if event in rule.events or "*" in rule.events:
            return rule
        if exit_code is not None and isinstance(rule.exit_code, Set) and rule.exit_code.value == exit_code:
            return rule
    return None


def _layers(
    spec: Part, roles: list[Role], rules: tuple[LifecyclePolicy, ...], retry: Setting[int]
) -> list[RestartLayer]:
    """What the policies do with a failed and with an evicted pod; nothing without a policy.

    Under OnFailure and Always the kubelet restarts a crashed container in its pod: PodFailed never comes about.
    """
    role = _largest(roles)
    if role is None:
        return []
    own = role.exposed.get("policies")
    rules = (*(own if isinstance(own, tuple) else ()), *rules)
    policies = spec.at("policies")
    layers = []
    for event, code, on in (("PodFailed", CRASH, FAILURE), ("PodEvicted", None, LOSS)):
        rule = _reaction(rules, event, code)
        if rule is None:
            reason = policies.open_list
            none: Setting[int] = Unknown(reason, policies.origin) if reason else Set(0, policies.origin)
            layers.append(RestartLayer("Volcano", "workload", none, policies.origin, on, f"no policy for {event}"))
        elif not isinstance(rule.action, Set):
            unknown = Unknown("the action of a policy is not known", rule.origin)
            layers.append(RestartLayer("Volcano", "workload", unknown, rule.origin, on))
        elif rule.action.value in _SCOPES:
            note = f"{event}: {rule.action.value}"
            layers.append(RestartLayer("Volcano", _SCOPES[rule.action.value], retry, rule.origin, on, note))
        else:
            note = f"{event}: {rule.action.value}"
            layers.append(RestartLayer("Volcano", "workload", Set(0, rule.origin), rule.origin, on, note))
    restart = role.pod.restart_policy
    if isinstance(restart, Set) and restart.value in ("Always", "OnFailure"):
        origin = restart.origin
        note = f"restartPolicy {restart.value}: the container restarts in its pod, and no policy hears of it"
        layers.append(RestartLayer("kubelet", "container", Set(UNBOUNDED, origin), origin, FAILURE, note))
    return layers


def _largest(roles: list[Role]) -> Role | None:
    best, most = None, -1
    for role in roles:
        size = role.replicas.value if isinstance(role.replicas, Set) else 1
        if role.trains and size > most:
            best, most = role, size
    return best


def _gang(context: Context, roles: list[Role], scheduler: Setting[str]) -> Setting[bool]:
    """Volcano's scheduler starts minAvailable pods or none."""
    if isinstance(scheduler, Set) and scheduler.value == "volcano":
        return Set(True, replace(scheduler.origin, note="Volcano"))
    metadata = context.root.at("metadata")
    return gang_of(context, roles, metadata.texts("labels"), metadata.texts("annotations"))


# Plugins


def _injected(spec: Part, names: list[str], counts: list[Setting[int]]) -> dict[str, Setting[str]]:
    """Variables of the plugins that are switched on. (pkg/controllers/job/plugins)"""
    plugins = {name for name, _ in spec.at("plugins").entries()}
    origin = Origin(spec.place, "injected", "a Volcano plugin")
    found: dict[str, Setting[str]] = {}
    if plugins & {"svc", "pytorch", "tensorflow", "mpi", "ray"}:
        for name, count in zip(names, counts, strict=True):
            key = name.replace("-", "_").upper()
            found[f"VC_{key}_HOSTS"] = Unknown("the svc plugin lists the hosts", origin)
            number = text_setting(count)
            found[f"VC_{key}_NUM"] = Set(number.value, origin) if isinstance(number, Set) else Unknown("it is counted")
    if "env" in plugins:
        for key in ("VK_TASK_INDEX", "VC_TASK_INDEX"):
            found[key] = Unknown("it is the pod's index", origin)
    if "pytorch" in plugins:
        size = total(counts, spec.origin)
        found["MASTER_ADDR"] = Unknown("the pytorch plugin names the master", origin)
        found["MASTER_PORT"] = Unknown("the pytorch plugin's port", origin)
        if not any(item.text() and "port" in (item.text() or "") for item in spec.at("plugins", "pytorch").items()):
            found["MASTER_PORT"] = Set(str(_MASTER_PORT), origin)
        found["WORLD_SIZE"] = (
            Set(str(size.value), origin) if isinstance(size, Set) else Unknown("it is counted", origin)
        )
        found["RANK"] = Unknown("it is the pod's rank", origin)
    if "tensorflow" in plugins:
        found["TF_CONFIG"] = Unknown("it lists the cluster", origin)
    if "mpi" in plugins:
        found["MPI_HOST"] = Unknown("the mpi plugin lists the hosts", origin)
    return found
