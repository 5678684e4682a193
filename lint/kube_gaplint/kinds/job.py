"""batch/v1 Job and CronJob, and the plain owners of pods: Pod, Deployment, ReplicaSet, StatefulSet.

`Workload.fields` of a Job: paths from the object (`spec.backoffLimit`, `spec.completionMode` …) with the API's
defaults. Of a CronJob: paths from its job template, so that rules on Jobs hold for it, and the CronJob's own as
`cron.concurrencyPolicy`, `cron.startingDeadlineSeconds`, `cron.suspend`, `cron.schedule`. `Role.fields` of both: the
Job's spec (`backoffLimit`).
(facts of Kubernetes objects, A1)
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import ALL, FAILURE, LOSS, assemble, product, text_setting
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.retry import CRASH, PodFailureRule, action_on
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Role, Scope, Workload

API = "the Job API's default"
BACKOFF_LIMIT = 6


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    if item.kind == "Job":
        yield _job(context, context.root)
    elif item.kind == "CronJob":
        yield _job(context, context.root.at("spec", "jobTemplate"), cron=context.root.at("spec"))
    elif item.kind == "Pod":
        yield _pod(context)
    else:
        yield _kept(context)


# Jobs


class JobPart(Struct, frozen=True):
    """A Job's spec as read, be it an object or a template in another one."""

    role: Role
    backoff: Setting[int]
    on_crash: str
    """What the podFailurePolicy does with exit code 1: an action, or "" where no rule speaks of it."""
    on_disruption: str
    """What it does with an evicted pod or a lost node."""
    deadline: Setting[float]

    def layers(self, owner: str = "Job") -> list[RestartLayer]:
        """The Job's own restarts: failures and disruptions apart where its policy tells them apart."""
        restart = self.role.pod.restart_policy
        in_place = isinstance(restart, Set) and restart.value == "OnFailure"
        crash, disruption = self._budget(self.on_crash), self._budget(self.on_disruption)
        scope: Scope = "container" if in_place else "pod"
        if crash is disruption:
            return [RestartLayer(owner, scope, crash, _place(crash, self.role), ALL)]
        return [
            RestartLayer(owner, scope, crash, _place(crash, self.role), FAILURE, _of_policy(self.on_crash)),
            RestartLayer(owner, "pod", disruption, _place(disruption, self.role), LOSS, _of_policy(self.on_disruption)),
        ]

    def _budget(self, action: str) -> Setting[int]:
        origin = _place(self.backoff, self.role)
        if action == "Ignore":
            return Set(UNBOUNDED, replace(origin, via="derived"))
        return Set(0, origin) if action in ("FailJob", "FailIndex") else self.backoff


def _of_policy(action: str) -> str:
    return f"podFailurePolicy: {action}" if action else ""


def _place(setting: Setting[int], role: Role) -> Origin:
    return setting.origin or role.origin


def read_job(
    spec: Part,
    context: Context,
    name: str,
    *,
    restart_default: str | None = None,
    mode_default: str = "NonIndexed",
    replicas: Setting[int] | None = None,
    making: Making | None = None,
    note: str = API,
) -> JobPart:
    """Read a Job's spec. `replicas` multiplies its pods (JobSet); `restart_default` and `mode_default` are what a
    webhook fills in (`note` names it)."""
    making = making or Making()
    mode = spec.string("completionMode", default=mode_default, note=note)
    variables = dict(making.variables)
    if isinstance(mode, Set) and mode.value == "Indexed":
        origin = Origin(spec.place, "injected", "the Job controller, for an indexed Job")
        variables.setdefault("JOB_COMPLETION_INDEX", Unknown("it is the pod's index", origin))
    making = replace(making, variables=variables, restart_default=restart_default, restart_note=note)
    pod = read_pod(spec.at("template"), context, making)
    per_index = spec.integer("backoffLimitPerIndex")
    default = BACKOFF_LIMIT if isinstance(per_index, Absent) else UNBOUNDED
    backoff = spec.integer("backoffLimit", default=default, note=API)
    policy = spec.at("podFailurePolicy")
    rules = _failure_rules(policy)
    replacement = "TerminatingOrFailed" if policy.state is False else "Failed"
    pods = _pods_at_once(spec)
    role = Role(
        name=name,
        origin=spec.origin,
        pod=pod,
        replicas=pods if replicas is None else product(replicas, pods),
        fields=fields_of(
            spec,
            {
                "backoffLimit": text_setting(backoff),
                "completionMode": mode,
                "parallelism": text_setting(spec.integer("parallelism", default=1, note=API)),
                "podReplacementPolicy": spec.string("podReplacementPolicy", default=replacement, note=API),
                "suspend": text_setting(spec.boolean("suspend", default=False, note=API)),
            },
        ),
        exposed={} if policy.state is False else {"pod_failure_policy": rules},
    )
    deadline = _earliest(
        spec.seconds("activeDeadlineSeconds"), spec.seconds("template", "spec", "activeDeadlineSeconds")
    )
    return JobPart(
        role, backoff, action_on(rules, exit_code=CRASH), action_on(rules, condition="DisruptionTarget"), deadline
    )


def _pods_at_once(spec: Part) -> Setting[int]:
    """Pods that run at the same time: parallelism, never more than completions."""
    parallelism = spec.integer("parallelism", default=1, note=API)
    completions = spec.integer("completions")
    if isinstance(parallelism, Set) and isinstance(completions, Set) and completions.value < parallelism.value:
        return completions
    return completions if isinstance(completions, Unknown) else parallelism


def _earliest(first: Setting[float], second: Setting[float]) -> Setting[float]:
    if isinstance(first, Set) and isinstance(second, Set):
        return first if first.value <= second.value else second
    return second if isinstance(first, Absent) else first


def _failure_rules(policy: Part) -> tuple[PodFailureRule, ...]:
    found = []
    for item in policy.at("rules").items():
        codes = item.at("onExitCodes")
        found.append(
            PodFailureRule(
                action=item.string("action"),
                exit_operator=codes.text("operator") or "",
                exit_codes=codes.strings("values"),
                conditions=tuple(
                    text for one in item.at("onPodConditions").items() if (text := one.text("type")) is not None
                ),
                origin=item.origin,
            )
        )
    return tuple(found)


def _job(context: Context, root: Part, cron: Part | None = None) -> Workload:
    spec = root.at("spec")
    job = read_job(spec, context, "")
    effective = {f"spec.{key}": value for key, value in job_effective(job).items()}
    if cron is not None:
        effective["cron.concurrencyPolicy"] = cron.string(
            "concurrencyPolicy", default="Allow", note="the API's default"
        )
        effective["cron.schedule"] = cron.string("schedule")
        effective["cron.suspend"] = text_setting(cron.boolean("suspend", default=False, note="the API's default"))
        effective["cron.startingDeadlineSeconds"] = cron.string("startingDeadlineSeconds")
    labels = {**root.texts("metadata", "labels"), **context.root.texts("metadata", "labels")}
    annotations = {**root.texts("metadata", "annotations"), **context.root.texts("metadata", "annotations")}
    return assemble(
        context,
        [job.role],
        job.layers(),
        part=root,
        deadline=job.deadline,
        effective=effective,
        labels=labels,
        annotations=annotations,
    )


def job_effective(job: JobPart) -> dict[str, Setting[str]]:
    """The effective values of a Job's spec by path."""
    names = ("backoffLimit", "completionMode", "parallelism", "podReplacementPolicy", "suspend")
    return {name: job.role.fields[name] for name in names}


# Plain owners of pods


def _pod(context: Context) -> Workload:
    """A Pod that nothing makes again: the kubelet restarts its containers, and that is all."""
    root = context.root
    pod = read_pod(root, context)
    restart = pod.restart_policy
    origin = restart.origin or context.origin
    budget: Setting[int] = Unknown("the restart policy is not known", origin)
    if isinstance(restart, Set):
        budget = Set(0 if restart.value == "Never" else UNBOUNDED, origin)
    role = Role("", root.origin, pod, Set(1, Origin(context.object.place, "derived")))
    layers = [RestartLayer("kubelet", "container", budget, origin, FAILURE)]
    return assemble(context, [role], layers, deadline=root.seconds("spec", "activeDeadlineSeconds"))


def _kept(context: Context) -> Workload:
    """Deployment, ReplicaSet, StatefulSet: pods are made again for ever, after success too."""
    root = context.root
    spec = root.at("spec")
    claims = {}
    if context.object.kind == "StatefulSet":
        for item in spec.at("volumeClaimTemplates").items():
            name = item.text("metadata", "name")
            if name is not None:
                claims[name] = item
    pod = read_pod(spec.at("template"), context, Making(claims=claims))
    replicas = spec.integer("replicas", default=1, note="the API's default")
    role = Role("", spec.origin, pod, replicas, fields=fields_of(spec))
    origin = spec.origin
    kind = context.object.kind
    on = FAILURE | {"eviction"} if kind == "StatefulSet" else ALL
    layers = [RestartLayer(kind, "pod", Set(UNBOUNDED, replace(origin, via="derived")), origin, on)]
    return assemble(context, [role], layers, effective={"spec.replicas": text_setting(replicas)})
