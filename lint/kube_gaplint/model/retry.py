"""Rules by which controllers react to failures, as rules of gaplint read them.

| on | key | value |
|---|---|---|
| Role | `pod_failure_policy` | tuple of `PodFailureRule` (Job, child Job of a JobSet); missing without a policy |
| Role | `policies` | tuple of `LifecyclePolicy` of a Volcano task |
| Workload | `failure_rules` | tuple of `JobSetRule` |
| Workload | `policies` | tuple of `LifecyclePolicy` of a Volcano Job |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from kube_gaplint.facts.retry import DISRUPTION
from kube_gaplint.model.setting import Absent, Origin, Set, Setting

if TYPE_CHECKING:
    from kube_gaplint.model.workload import Role, Workload

T = TypeVar("T")

_ENDS = frozenset({"FailJob", "FailIndex", "FailJobSet"})

FAILS_THE_SET = "a rule of the failurePolicy with action FailJobSet"
"""The note of a budget of 0 that a rule of a JobSet gives: no number of restarts changes it."""

CRASH = 1
"""The exit code of torchrun, and of Python after an uncaught CUDA or NCCL error."""


class PodFailureRule(Struct, frozen=True):
    """A rule of a Job's podFailurePolicy. `exit_operator` is empty and `conditions` holds types, or the reverse."""

    action: Setting[str]
    exit_operator: str
    exit_codes: Setting[tuple[str, ...]]
    conditions: tuple[str, ...]
    origin: Origin


class JobSetRule(Struct, frozen=True):
    """A rule of a JobSet's failurePolicy. Empty `reasons` and `targets` match every failure of every child."""

    name: str
    action: Setting[str]
    reasons: tuple[str, ...]
    targets: tuple[str, ...]
    origin: Origin

    @property
    def ignores_budget(self) -> bool:
        """Whether its restarts do not count towards maxRestarts."""
        return getattr(self.action, "value", "") in (
            "RestartJobSetAndIgnoreMaxRestarts",
            "RestartJobAndIgnoreMaxRestarts",
        )


class LifecyclePolicy(Struct, frozen=True):
    """A policy of a Volcano Job or task: what is done on which events. `events` is empty for one by exit code."""

    events: tuple[str, ...]
    action: Setting[str]
    exit_code: Setting[int]
    origin: Origin


def _tuple_of(exposed: Mapping[str, object], key: str, kind: type[T]) -> tuple[T, ...]:
    found = exposed.get(key)
    return tuple(item for item in found if isinstance(item, kind)) if isinstance(found, tuple) else ()


def pod_failure_policy(role: Role) -> tuple[PodFailureRule, ...] | None:
    """The rules of the role's podFailurePolicy; None where there is no policy at all."""
    return (
        _tuple_of(role.exposed, "pod_failure_policy", PodFailureRule) if "pod_failure_policy" in role.exposed else None
    )


def action_on(rules: tuple[PodFailureRule, ...], *, exit_code: int | None = None, condition: str = "") -> str:
    """The action of the first rule that matches a failed pod; "" where none does, and the failure counts as usual."""
    for rule in rules:
        if condition and condition in rule.conditions:
            return rule.action.value if isinstance(rule.action, Set) else ""
        if exit_code is None or not rule.exit_operator or not isinstance(rule.exit_codes, Set):
            continue
        listed = str(exit_code) in rule.exit_codes.value
        if listed if rule.exit_operator == "In" else not listed:
            return rule.action.value if isinstance(rule.action, Set) else ""
    return ""


def failure_rules(workload: Workload) -> tuple[JobSetRule, ...]:
    return _tuple_of(workload.exposed, "failure_rules", JobSetRule)


def policies(part: Workload | Role) -> tuple[LifecyclePolicy, ...]:
    return _tuple_of(part.exposed, "policies", LifecyclePolicy)


def restart_policies(workload: Workload) -> dict[str, str]:
    """The effective restart policies of replicas (Kubeflow's kinds) by role, where they are known."""
    found = {}
    for role in workload.roles:
        policy = role.fields.get("restartPolicy")
        if isinstance(policy, Set):
            found[role.name] = policy.value
    return found


def disruptions_are_ignored(workload: Workload) -> bool:
    """Whether pods that are evicted, preempted or lost with their node are started again without spending retries: all
    pods that train, of any role."""
    roles = [role for role in workload.roles if role.trains] or workload.roles
    return bool(roles) and all(spares_retries(workload, role) for role in roles)


def spares_retries(workload: Workload, role: Role) -> bool | None:
    """Whether a disruption of a pod of one role spends no retries: its Job ignores it, or fails by its podFailurePolicy
    and the set is restarted uncounted for that. None where a rule that may decide it is not known."""
    rules = pod_failure_policy(role)
    if rules == ():
        return None
    decides = next((rule for rule in rules or () if DISRUPTION in rule.conditions), None)
    if decides is not None and not isinstance(decides.action, Set):
        return None
    action = decides.action.value if decides is not None and isinstance(decides.action, Set) else ""
    if action == "Ignore":
        return True
    reason = reason_of_failure(fails_the_job=action == "FailJob")
    outer = rule_for(failure_rules(workload), role.name, reason)
    if outer is not None and not isinstance(outer.action, Set):
        return None
    return outer is not None and outer.ignores_budget


def reason_of_failure(*, fails_the_job: bool) -> str:
    """The reason with which a Job fails: a rule of its podFailurePolicy failed it, or its retries are spent."""
    return "PodFailurePolicy" if fails_the_job else "BackoffLimitExceeded"


def rule_for(rules: tuple[JobSetRule, ...], job: str, reason: str) -> JobSetRule | None:
    """The first rule of a JobSet that holds for a child Job by its name and the reason of its failure."""
    for rule in rules:
        if (not rule.reasons or reason in rule.reasons) and (not rule.targets or job in rule.targets):
            return rule
    return None


def _names_disruptions(workload: Workload) -> bool:
    """Whether any rule is there for disruptions, be it half of what it takes."""
    return any(rule.ignores_budget for rule in failure_rules(workload)) or any(
        isinstance(rule.action, Set) and rule.action.value == "Ignore" and DISRUPTION in rule.conditions
        for role in workload.roles
        for rule in pod_failure_policy(role) or ()
    )


def ends_for_errors(workload: Workload) -> bool:
    """Whether a rule ends the job for exit codes or reasons that a retry does not mend; an unknown action may."""
    actions = [rule.action for role in workload.roles for rule in pod_failure_policy(role) or () if rule.exit_operator]
    actions += [rule.action for rule in failure_rules(workload)]
    return any(not isinstance(action, Set) or action.value in _ENDS for action in actions)


def tells_errors_apart(workload: Workload) -> bool:
    """Whether the controllers treat a lost node or an exit code other than any failure: by a rule for disruptions or
    exit codes, by ExitCode, or by a policy of Volcano for an exit code."""
    if _names_disruptions(workload) or ends_for_errors(workload):
        return True
    if any(rule.exit_operator for role in workload.roles for rule in pod_failure_policy(role) or ()):
        return True
    if "ExitCode" in restart_policies(workload).values():
        return True
    parts: tuple[Workload | Role, ...] = (workload, *workload.roles)
    return any(not isinstance(policy.exit_code, Absent) for part in parts for policy in policies(part))
