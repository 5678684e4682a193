"""JobSet (jobset.x-k8s.io).

`Workload.fields`: paths from the object, with the defaults of the webhook and the controller:
`spec.failurePolicy.maxRestarts` (0; `Absent` without a failurePolicy), `spec.failurePolicy.restartStrategy`
(Recreate), `spec.network.enableDNSHostnames`, `spec.network.publishNotReadyAddresses` (true). `Role.fields`: the child
Job's spec (`backoffLimit`, `completionMode`, `parallelism`). See also `model.retry`.
(facts of Kubernetes objects, A2)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import FAILURE, LOSS, assemble, helpers_do_not_train, text_setting
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.job import JobPart, read_job
from kube_gaplint.kinds.pods import Making
from kube_gaplint.kinds.volumes import claim_volume
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.retry import FAILS_THE_SET, JobSetRule, reason_of_failure, rule_for
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Volume, Workload

WEBHOOK = "JobSet's webhook"
CONTROLLER = "JobSet's default"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    jobs = read_children(spec, context)
    yield assemble(
        context,
        [job.role for job in jobs],
        restart_layers(spec, jobs),
        deadline=child_deadline(jobs),
        effective={f"spec.{key}": value for key, value in effective(spec).items()},
        exposed={"failure_rules": failure_rules(spec)},
    )


def read_children(spec: Part, context: Context, making: Making | None = None) -> list[JobPart]:
    """The child Jobs of a JobSet's spec, with what its webhook fills in and the claims that it makes for them."""
    making = replace(making or Making(), volumes=_claims(spec, context))
    jobs = []
    for item in spec.at("replicatedJobs").items():
        jobs.append(
            read_job(
                item.at("template", "spec"),
                context,
                item.text("name") or "",
                restart_default="OnFailure",
                mode_default="Indexed",
                replicas=item.integer("replicas", default=1, note=CONTROLLER),
                making=making,
                note=WEBHOOK,
            )
        )
    helpers_do_not_train([job.role for job in jobs])
    return jobs


def _claims(spec: Part, context: Context) -> tuple[Volume, ...]:
    """Volumes of volumeClaimPolicies: one claim for the whole set, mounted by the template's name."""
    found = []
    for policy in spec.at("volumeClaimPolicies").items():
        for template in policy.at("templates").items():
            name = template.text("metadata", "name")
            if name is not None:
                source = Set(f"{name}-{context.object.name}", replace(template.origin, via="derived"))
                found.append(claim_volume(name, template, source, context, template.at("spec")))
    return tuple(found)


def child_deadline(jobs: Sequence[JobPart]) -> Setting[float]:
    """The deadline of the child Job that trains."""
    for job in jobs:
        if job.role.trains and not isinstance(job.deadline, Absent):
            return job.deadline
    return jobs[0].deadline if jobs else Unknown("there is no child Job")


def effective(spec: Part) -> dict[str, Setting[str]]:
    policy, network = spec.at("failurePolicy"), spec.at("network")
    found: dict[str, Setting[str]] = {
        "network.enableDNSHostnames": text_setting(network.boolean("enableDNSHostnames", default=True, note=WEBHOOK)),
        "network.publishNotReadyAddresses": text_setting(
            network.boolean("publishNotReadyAddresses", default=True, note=WEBHOOK)
        ),
    }
    if policy.state:
        found["failurePolicy.maxRestarts"] = text_setting(policy.integer("maxRestarts", default=0, note=CONTROLLER))
        found["failurePolicy.restartStrategy"] = policy.string("restartStrategy", default="Recreate", note=CONTROLLER)
    return found


def failure_rules(spec: Part) -> tuple[JobSetRule, ...]:
    policy = spec.at("failurePolicy")
    part = policy.at("rules")
    found = []
    for item in part.items():
        found.append(
            JobSetRule(
                name=item.text("name") or "",
                action=item.string("action"),
                reasons=_texts(item.at("onJobFailureReasons")),
                targets=_texts(item.at("targetReplicatedJobs")),
                origin=item.origin,
            )
        )
    if not policy.unknown and part.open_list:
        unseen = Unknown(part.open_list, part.origin)
        found.append(JobSetRule(name="", action=unseen, reasons=(), targets=(), origin=part.origin))
    return tuple(found)


def _texts(part: Part) -> tuple[str, ...]:
    return tuple(text for item in part.items() if (text := item.text()) is not None)


class _Policy(Struct, frozen=True):
    """A failurePolicy: what happens after a child Job has failed."""

    rules: tuple[JobSetRule, ...]
    maximum: Setting[int]

    def budget(self, job: str, reason: str) -> Setting[int]:
        """Restarts of the set after child Jobs of this name fail for this reason."""
        rule = rule_for(self.rules, job, reason)
        if rule is None:
            return self.maximum
        if not isinstance(rule.action, Set):
            return Unknown("the action of a failure rule is not known", rule.origin)
        if rule.action.value == "FailJobSet":
            return Set(0, rule.origin if rule.reasons else replace(rule.origin, note=FAILS_THE_SET))
        return Set(UNBOUNDED, rule.origin) if rule.ignores_budget else self.maximum


def restart_layers(spec: Part, jobs: Sequence[JobPart]) -> list[RestartLayer]:
    """The layers of a JobSet: the whole set above, the child Job that trains below.

    Without a failurePolicy the first child Job that fails ends the set. A rule may restart without counting, and only
    for disruptions; then failures and losses have layers of their own.
    """
    part = spec.at("failurePolicy")
    rules = failure_rules(spec)
    if part.unknown:
        maximum: Setting[int] = Unknown(part.unknown, part.origin)
    elif not part.present:
        maximum = Set(
            0, replace(part.origin, via="default", note="without a failurePolicy a failed child ends the set")
        )
    else:
        maximum = part.integer("maxRestarts", default=0, note=CONTROLLER)
    policy = _Policy(rules, maximum)
    job = leading(jobs)
    name = job.role.name if job is not None else ""
    crash = policy.budget(name, _reason(job.on_crash if job else ""))
    loss = policy.budget(name, _reason(job.on_disruption if job else ""))
    if isinstance(loss, Set) and loss.value == UNBOUNDED:
        others = (policy.budget(one.role.name, _reason(one.on_disruption)) for one in jobs if one.role.trains)
        loss = maximum if maximum in others else loss  # the losses of one child Job count
    own = job.layers("Job") if job is not None else []
    if crash is loss or (isinstance(crash, Set) and isinstance(loss, Set) and crash.value == loss.value):
        both = loss if loss is maximum else crash  # a rule for some failures does not explain them all
        return [RestartLayer("JobSet", "workload", both, _place(both, part)), *own]
    return [
        RestartLayer("JobSet", "workload", crash, _place(crash, part), FAILURE),
        RestartLayer("JobSet", "workload", loss, _place(loss, part), LOSS, "by a rule of the failurePolicy"),
        *own,
    ]


def leading(jobs: Sequence[JobPart]) -> JobPart | None:
    """The child Job with most pods of the collective."""
    best: JobPart | None = None
    most = -1
    for job in jobs:
        size = job.role.replicas.value if isinstance(job.role.replicas, Set) else 1
        if job.role.trains and size > most:
            best, most = job, size
    return best


def _reason(action: str) -> str:
    """The reason with which a child Job fails, after what its podFailurePolicy did."""
    return reason_of_failure(fails_the_job=action == "FailJob")


def _place(setting: Setting[int], part: Part) -> Origin:
    return setting.origin or part.origin
