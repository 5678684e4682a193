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
from kube_gaplint.kinds.gpu_nodes import Evidence
from kube_gaplint.kinds.variables import word_of
from kube_gaplint.launch.start import start
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.nodes import CarriesGpus, NodeBootstrap, UpgradeAgent
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Files, PlacedText

BRUPOP = "bottlerocket-update-operator"
DEFAULT_CRON = ("* * * * * * *", "* * * * * *")


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
        restraint = Set(f"a schedule ({strategy.text('cron') or ''})", strategy.origin)
    elif strategy.unknown:
        restraint = Unknown(strategy.unknown, strategy.origin)
    evidence = Evidence()
    evidence.selector(spec.at("planSpec", "commands"))
    return UpgradeAgent(
        subject=context.subject,
        origin=spec.at("channel").origin,
        kind="k0s",
        title="k0s autopilot",
        gpus=CarriesGpus("unknown", "it upgrades all workers, GPU nodes included", spec.origin, everywhere=True),
        active=Set(True, spec.origin),
        restraint=restraint,
        does="replaces k0s on every worker when its channel moves",
        object_at=context.origin,
    )


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
    restraint: Setting[str] = Absent(home.origin)
    if isinstance(schedule, Set) and schedule.value.strip() not in DEFAULT_CRON:
        restraint = Set(f"a schedule ({schedule.value})", schedule.origin)
    elif isinstance(schedule, Unknown):
        restraint = schedule
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
