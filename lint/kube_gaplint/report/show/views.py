"""Views of nodes and Slurm in short form: what rules ask of them, as facts under names.

Adding a view here is one function and one row; a view without a row is still listed by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import Struct, field

from kube_gaplint.facts.credentials import without_credentials
from kube_gaplint.model import manifest, nodes, slurm
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.report.show.shape import Named, Noted, Object, Plain, Unresolved, View
from kube_gaplint.report.show.values import (
    all_named,
    location_of,
    named,
    noted,
    release,
    stated,
)

_MOST_ITEMS = 200


class _Facts(Struct):
    """What is said of one view, in order."""

    facts: list[Named] = field(default_factory=list)
    items: list[Noted] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def set(self, name: str, setting: Setting[Any] | None) -> None:
        """A setting; nothing where it is surely absent."""
        if setting is not None and not isinstance(setting, Absent):
            self.facts.append(named(name, setting))

    def say(self, name: str, value: Plain, origin: Origin | None = None, note: str = "") -> None:
        """A fact that is no setting; nothing where it is empty or false."""
        if value:
            self.facts.append(Named(name, stated(value, origin, note)))

    def gpus(self, gpus: nodes.CarriesGpus) -> None:
        reason = without_credentials(gpus.reason)
        setting: Setting[bool]
        if gpus.answer == "unknown":
            setting = Unknown(reason, gpus.origin)
            self.set("carriesGpus", setting)
        else:
            self.facts.append(Named("carriesGpus", stated(gpus.answer == "yes", gpus.origin, reason)))

    def item(self, what: str, origin: Origin | None) -> None:
        if len(self.items) < _MOST_ITEMS:
            self.items.append(noted(without_credentials(what), origin))


def view_of(view: Any, unresolved: Iterable[Unresolved]) -> View:
    """A view of any type, in the form of all."""
    subject: Subject = view.subject
    found = _Facts()
    tell = TELLERS.get(type(view))
    if tell is not None:
        tell(view, found)
    return View(
        type(view).__name__,
        Object(subject.kind, subject.api_version, subject.namespace, subject.name),
        subject.container,
        location_of(view.object_origin.place),
        found.facts,
        found.items,
        found.notes,
        list(unresolved),
    )


def _shown(setting: Setting[Any]) -> str:
    if isinstance(setting, Set):
        value = setting.value
        return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return "none" if isinstance(setting, Absent) else f"unknown ({setting.reason})"


def _pool(pool: nodes.NodePool, say: _Facts) -> None:
    say.say("controller", pool.controller)
    say.gpus(pool.gpus)
    say.set("os", pool.os)
    say.say("replacesDriftedNodes", pool.replaces_drifted)
    say.facts.extend(all_named(pool.fields))
    for image in pool.images:
        floats = {"True": "changes by itself", "False": "pinned"}.get(_shown(image.floats), _shown(image.floats))
        say.item(f"image by {image.form} {_shown(image.value)}: {floats}", image.origin)
    for budget in pool.budgets:
        words = [f"disruption budget {_shown(budget.nodes)}"]
        if not isinstance(budget.reasons, Absent):
            words.append(f"for {_shown(budget.reasons)}")
        if not isinstance(budget.schedule, Absent):
            words.append(f"at {_shown(budget.schedule)} for {_shown(budget.duration)}")
        say.item(" ".join(words), budget.origin)
    for tenant in pool.may_carry():
        subject = tenant.subject
        say.item(f"may carry {subject.kind} {subject.name}".rstrip(), tenant.origin)


def _bootstrap(bootstrap: nodes.NodeBootstrap, say: _Facts) -> None:
    say.gpus(bootstrap.gpus)
    say.set("os", bootstrap.os)
    say.say("osRelease", release(bootstrap.release))
    for action in bootstrap.actions:
        doubt = "" if action.explicit else ", by default"
        again = ", again and again" if action.recurring else ""
        say.item(f"{action.kind}: {action.what}{doubt}{again}", action.origin)
    if bootstrap.opaque_because:
        say.notes.append(f"not all of the set-up is seen: {bootstrap.opaque_because}")


def _upgrade_agent(agent: nodes.UpgradeAgent, say: _Facts) -> None:
    say.say("what", agent.title)
    say.gpus(agent.gpus)
    say.set("active", agent.active)
    say.say("does", agent.does)
    say.facts.append(named("restraint", agent.restraint))
    say.facts.extend(all_named(agent.fields))


def _driver_upgrade(upgrade: nodes.DriverUpgrade, say: _Facts) -> None:
    say.say("driver", upgrade.driver)
    say.set("managed", upgrade.managed)
    say.set("automatic", upgrade.automatic)
    say.set("version", upgrade.version)
    say.facts.append(named("waitsForPods", upgrade.wait_selector))
    say.set("waitSeconds", upgrade.wait_seconds)
    say.set("deletesPodsByForce", upgrade.deletes_by_force)
    say.set("drains", upgrade.drains)
    say.set("drainsByForce", upgrade.drains_by_force)


def _daemon(daemon: nodes.NodeDaemon, say: _Facts) -> None:
    say.say("what", daemon.title)
    say.say("role", daemon.role)
    say.gpus(daemon.gpus)
    say.set("image", daemon.image)
    say.set("imagePullPolicy", daemon.pull_policy)
    say.set("updateStrategy", daemon.strategy)
    say.set("maxUnavailable", daemon.max_unavailable)


def _host_agent(agent: nodes.HostAgent, say: _Facts) -> None:
    say.gpus(agent.gpus)
    say.facts.append(Named("drainsFirst", stated(agent.drains_first)))
    say.set("cdi", agent.cdi)
    for action in agent.actions:
        say.item(f"{action.kind}: {action.what}", action.origin)


def _webhook(webhook: nodes.Webhook, say: _Facts) -> None:
    say.say("webhook", webhook.name)
    say.say("kind", "mutating" if webhook.mutating else "validating")
    say.set("failurePolicy", webhook.failure_policy)
    say.set("timeoutSeconds", webhook.timeout_seconds)
    say.say("covers", list(webhook.targets))
    say.facts.append(Named("onCreate", stated(webhook.on_create)))
    say.facts.append(named("namespaceSelector", webhook.namespace_selector))
    say.set("objectSelector", webhook.object_selector)
    say.set("replicas", webhook.replicas)


def _slurm_conf(conf: slurm.SlurmConf, say: _Facts) -> None:
    say.say("writer", conf.writer)
    say.facts.append(Named("whole", stated(conf.whole)))
    say.facts.extend(all_named(conf.values))
    if not conf.whole:
        say.notes.append("the rest of slurm.conf is not seen")


def _node_set(found: slurm.SlurmNodeSet, say: _Facts) -> None:
    say.say("operator", found.operator)
    say.gpus(found.gpus)
    say.set("replicas", found.replicas)
    say.set("updateStrategy", found.strategy)
    say.set("maxUnavailable", found.max_unavailable)
    say.set("protectsRunningJobs", found.protected)
    say.facts.extend(all_named(found.fields))


def _health_check(check: slurm.HealthCheck, say: _Facts) -> None:
    say.set("suspended", check.suspended)
    say.set("schedule", check.schedule)
    say.set("runsAfterCreation", check.runs_after_creation)
    say.facts.append(named("onFailure", check.reacts))


def _manifest(found: manifest.Manifest, say: _Facts) -> None:
    say.say("what", "training jobs take their pods from it")
    say.say("version", found.version)


Teller: TypeAlias = Callable[[Any, _Facts], None]

TELLERS: dict[type, Teller] = {
    nodes.NodePool: _pool,
    nodes.NodeBootstrap: _bootstrap,
    nodes.UpgradeAgent: _upgrade_agent,
    nodes.DriverUpgrade: _driver_upgrade,
    nodes.NodeDaemon: _daemon,
    nodes.HostAgent: _host_agent,
    nodes.Webhook: _webhook,
    slurm.SlurmConf: _slurm_conf,
    slurm.SlurmNodeSet: _node_set,
    slurm.HealthCheck: _health_check,
    manifest.Manifest: _manifest,
}
