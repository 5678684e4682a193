"""Objects that upgrade nodes by themselves: system-upgrade-controller, k0s autopilot, Bottlerocket, Flatcar operators.

Source rows: k8s.md D "k3s/RKE2", "k0s", "Bottlerocket".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import cloudinit
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence, either
from kube_gaplint.kinds.variables import word_of
from kube_gaplint.launch.start import start
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.nodes import CarriesGpus, NodeBootstrap, UpgradeAgent
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Files, PlacedText

BRUPOP = "bottlerocket-update-operator"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[UpgradeAgent | NodeBootstrap]:
    """The agent that an object is, or orders."""
    context = Context(bundle, item, profile)
    if item.group == "upgrade.cattle.io":
        yield from _plan(context)
    elif item.kind == "UpdateConfig":
        yield _k0s(context)
    elif item.kind == "Deployment":
        yield from _brupop(context)


# system-upgrade-controller


def _plan(context: Context) -> Iterator[UpgradeAgent | NodeBootstrap]:
    """A Plan with a channel upgrades whenever the channel moves; a version wins over it."""
    spec = context.root.at("spec")
    evidence = Evidence()
    evidence.selector(spec.at("nodeSelector"))
    gpus = evidence.answer()
    if gpus.answer == "unknown" and gpus.origin is None:
        reason = "its nodeSelector covers GPU nodes as well, if there are any"
        everywhere = not spec.at("nodeSelector").present
        gpus = CarriesGpus("unknown", reason, spec.at("nodeSelector").origin, everywhere)
    version, channel = spec.string("version"), spec.string("channel")
    active: Setting[bool] = Set(False, spec.origin)
    origin = spec.origin
    if isinstance(version, Unknown):
        active = version
    elif isinstance(version, Absent) and not isinstance(channel, Absent):
        origin = spec.at("channel").origin
        active = Set(True, origin)
    yield UpgradeAgent(
        subject=context.subject,
        origin=origin,
        kind="plan",
        title="a Plan that follows a channel" if isinstance(version, Absent) else "a Plan",
        gpus=gpus,
        active=active,
        restraint=_window(spec.at("window")),
        does="drains and upgrades nodes whenever the channel names a new version",
        object_at=context.origin,
        fields={
            name: spec.string(*name.split("."))
            for name in ("concurrency", "drain.force", "drain.disableEviction", "drain.deleteEmptydirData", "version")
        },
    )
    upgrade = spec.at("upgrade")
    environment = Environment(upgrade.origin, open_because="the controller adds to it")
    words = tuple(word_of(item, environment) for key in ("command", "args") for item in upgrade.at(key).items())
    if words:
        setup = cloudinit.Setup()
        previous = None
        for command in start(words, environment, _secret_files(context, spec)).commands:
            cloudinit.one_command(setup, command, previous, recurring=True)
            previous = command
        actions = setup.actions()
        if actions:
            system: Setting[str] = Unknown("the nodes' image is not seen", spec.origin)
            yield NodeBootstrap(context.subject, upgrade.origin, gpus, system, actions)


def _secret_files(context: Context, spec: Part) -> Files:
    """Scripts of a Plan stand in Secrets, which the controller mounts below `secrets/<name>/` of the host."""
    texts: dict[str, PlacedText] = {}
    for item in spec.at("secrets").items():
        name = item.text("name")
        found = context.find("", "Secret", name) if name else None
        if isinstance(found, KubeObject):
            for key, part in Part.of(found.node).at("stringData").entries():
                if isinstance(part.node, Scalar):
                    texts[f"/{name}/{key}"] = scalar_text(part.node)
    return lambda path: next((text for tail, text in texts.items() if path.endswith(tail)), None)


def _window(part: Part) -> Setting[str]:
    if part.unknown:
        return Unknown(part.unknown, part.origin)
    if not part.present:
        return Absent(part.origin)
    days = part.strings("days")
    text = ", ".join(days.value) if isinstance(days, Set) else "every day"
    return Set(f"a window ({text} {part.text('startTime') or ''}–{part.text('endTime') or ''})", part.origin)


# k0s autopilot


def _k0s(context: Context) -> UpgradeAgent:
    """An UpdateConfig polls a channel and makes plans of its own; a strategy can keep it to some hours."""
    spec = context.root.at("spec")
    strategy = spec.at("upgradeStrategy")
    restraint: Setting[str] = Absent(spec.origin)
    if strategy.text("type") == "periodic" and strategy.at("periodic").present:
        periodic = strategy.at("periodic")
        days = periodic.strings("days")
        restraint = Set(
            f"a window ({', '.join(days.value) if isinstance(days, Set) else 'every day'})", periodic.origin
        )
    elif strategy.text("type") == "cron":
        restraint = scheduled(strategy.string("cron"), strategy.origin)
    elif strategy.unknown:
        restraint = Unknown(strategy.unknown, strategy.origin)
    return UpgradeAgent(
        subject=context.subject,
        origin=spec.at("channel").origin,
        kind="k0s",
        title="k0s autopilot",
        gpus=_k0s_workers(spec),
        active=Set(True, spec.origin),
        restraint=restraint,
        does="replaces k0s on every worker when its channel moves",
        object_at=context.origin,
    )


def _k0s_workers(spec: Part) -> CarriesGpus:
    """Which workers its plans are for: all of them, those with some labels, or those of a list of names."""
    answers, everywhere = [], True
    for command in spec.at("planSpec", "commands").items():
        for _, update in command.entries():
            discovery = update.at("targets", "workers", "discovery")
            labels = discovery.at("selector").string("labels")
            evidence = Evidence()
            evidence.selector_text(labels)
            answers.append(evidence.answer())
            everywhere = everywhere and isinstance(labels, Absent) and not discovery.at("static").present
    found = either(answers)
    if found.origin is not None:
        return found
    reason = "it upgrades all workers, GPU nodes included" if everywhere else "nothing tells whether its workers do"
    return CarriesGpus("unknown", reason, spec.origin, everywhere)


def scheduled(cron: Setting[str], home: Origin) -> Setting[str]:
    """A schedule that keeps an agent to some hours or days; one that names every hour of every day does not."""
    if not isinstance(cron, Set):
        return cron
    if _names_every_hour(cron.value):
        return Absent(home)
    return Set(f"a schedule ({cron.value})", cron.origin)


def _names_every_hour(cron: str) -> bool:
    """Of five fields, the second is the hour; six or seven begin with the second (and end with the year)."""
    fields = cron.split()
    if len(fields) not in (5, 6, 7):
        return cron.strip() == "@hourly"
    hour, *days = fields[1:5] if len(fields) == 5 else fields[2:6]
    return (hour.startswith("*") or hour == "0-23") and all(day in ("*", "?") for day in days)


# Bottlerocket's update operator


def _brupop(context: Context) -> Iterator[UpgradeAgent]:
    """The controller's Deployment: `SCHEDULER_CRON_EXPRESSION` says when nodes may update; by default always."""
    for container in context.root.at("spec", "template", "spec", "containers").items():
        image = container.text("image") or ""
        if BRUPOP not in image:
            continue
        variables = {item.text("name"): item for item in container.at("env").items()}
        schedule = variables.get("SCHEDULER_CRON_EXPRESSION")
        if "MAX_CONCURRENT_UPDATE" not in variables and schedule is None:
            continue
        yield bottlerocket(
            context, Absent(container.origin) if schedule is None else schedule.string("value"), container
        )


def bottlerocket(context: Context, schedule: Setting[str], home: Part) -> UpgradeAgent:
    """The operator with its schedule."""
    restraint = scheduled(schedule, home.origin)
    gpus = CarriesGpus("unknown", "it updates every node that carries its label", home.origin)
    return UpgradeAgent(
        subject=context.subject,
        origin=home.origin,
        kind="bottlerocket",
        title="the Bottlerocket update operator",
        gpus=_labelled(context) or gpus,
        active=Set(True, home.origin),
        restraint=restraint,
        does="drains nodes and reboots them into the new image",
        object_at=context.origin,
    )


UPDATER_LABEL = "bottlerocket.aws/updater-interface-version"


def _labelled(context: Context) -> CarriesGpus | None:
    """Whether a GPU pool of the given paths puts the operator's label on its nodes."""
    from kube_gaplint.kinds import karpenter

    for pool in context.bundle.by_kind("karpenter.sh", "NodePool"):
        root = Part.of(pool.node)
        label = root.at("spec", "template", "metadata", "labels", UPDATER_LABEL)
        if label.present and karpenter.carries_gpus(Context(context.bundle, pool, context.profile)).answer == "yes":
            return CarriesGpus("yes", f"GPU pool {pool.name} carries its label", label.origin)
    return None
