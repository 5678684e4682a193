"""DaemonSets: kured, host shells, and the network, driver and device plugin that running jobs depend on.

Source rows: k8s.md D "kured", "host-shell DaemonSet", E "CNI change", "NVIDIA device plugin".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint import lazy_re
from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.facts import daemons, instances
from kube_gaplint.facts.daemons import Daemon
from kube_gaplint.kinds import host_commands
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence
from kube_gaplint.kinds.host_access import may_enter_host
from kube_gaplint.kinds.pods import read_pod
from kube_gaplint.launch.options import OptionSpec, parse_options
from kube_gaplint.model.nodes import (
    CarriesGpus,
    HostAgent,
    NodeBootstrap,
    NodeDaemon,
    UpgradeAgent,
)
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options
from kube_gaplint.model.workload import Container, Pod

API = "the DaemonSet API's default"
KURED_DOES = "drains and reboots nodes"

_NO_WINDOW = {"start-time": ("0:00", "00:00"), "end-time": ("23:59:59", "23:59")}
_IMAGE = lazy_re.compile(r"[a-z0-9][\w.:/@-]{0,500}")
_ALL_DAYS = frozenset({"mo", "tu", "we", "th", "fr", "sa", "su"})

View = UpgradeAgent | HostAgent | NodeBootstrap | NodeDaemon


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[View]:
    """The views of a DaemonSet."""
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    template = spec.at("template")
    images = tuple(
        image
        for key in ("containers", "initContainers")
        for container in template.at("spec", key).items()
        if (image := container.text("image"))
    )
    gpus = pod_gpus(template.at("spec"))
    row = daemons.daemon(images, item.name)
    if any(daemons.KURED.search(_bare(image)) for image in images):
        yield _kured(context, read_pod(template, context), gpus)
        return
    if row is not None:
        yield _daemon(context, spec, row, gpus)
    if may_enter_host(template.at("spec")):
        yield from host_views(context, read_pod(template, context), gpus, row)


def _bare(image: str) -> str:
    image = image.partition("@")[0]
    return image.rpartition(":")[0] if ":" in image.rpartition("/")[2] else image


def pod_gpus(spec: Part) -> CarriesGpus:
    """Whether a pod runs on GPU nodes alone, on others alone, or may run on both."""
    evidence = Evidence()
    evidence.pod_spec(spec)
    answer = evidence.answer()
    if answer.answer == "unknown":
        for container in spec.at("containers").items():
            for key, amount in container.texts("resources", "limits").items():
                evidence.label(key, amount)
        answer = evidence.answer()
    if answer.answer == "unknown":
        for item in spec.at("tolerations").items():
            if instances.node_key(item.text("key") or "") is not None:
                return CarriesGpus("yes", f"it tolerates the taint {item.text('key')}", item.origin)
    if answer.answer == "unknown" and answer.origin is None:
        everywhere = not spec.at("nodeSelector").present and not spec.at("affinity", "nodeAffinity").present
        return CarriesGpus("unknown", "it runs on every node, GPU nodes included", spec.origin, everywhere)
    return answer


def host_views(
    context: Context, pod: Pod, gpus: CarriesGpus, row: Daemon | None = None
) -> Iterator[HostAgent | NodeBootstrap]:
    """What a pod's commands do to its host."""
    commands = host_commands.host_commands(pod)
    if not commands:
        return
    if row is not None and row.role in daemons.GPU_ROLES and gpus.answer == "unknown":
        gpus = CarriesGpus("yes", f"{row.title} runs on GPU nodes", context.origin)
    found = host_commands.actions(commands)
    if found:
        every = [command for container in (*pod.init_containers, *pod.containers) for command in container.commands]
        yield HostAgent(
            subject=context.subject,
            origin=pod.origin,
            gpus=gpus,
            actions=found,
            drains_first=host_commands.drains(every),
            cdi=_cdi(context),
        )
    upgrades = host_commands.upgrades(commands).actions()
    if upgrades:
        yield NodeBootstrap(
            subject=context.subject,
            origin=pod.origin,
            gpus=gpus,
            os=Unknown("the nodes' image is not seen", pod.origin),
            actions=upgrades,
        )


def _cdi(context: Context) -> Setting[bool] | None:
    """Whether the GPU Operator of the given paths hands GPUs out through CDI."""
    for policy in context.bundle.by_kind("nvidia.com", "ClusterPolicy"):
        enabled = Part.of(policy.node).boolean("spec", "cdi", "enabled")
        if not isinstance(enabled, Absent):
            return enabled
    return None


# kured


def _kured(context: Context, pod: Pod, gpus: CarriesGpus) -> UpgradeAgent:
    """kured reboots a node whenever the sentinel is there: at any hour of any day unless its flags say otherwise."""
    container = next((one for one in pod.containers if _is_kured(one)), None)
    home = pod.origin if container is None else container.origin
    options = Options((), (), home, "its arguments are not seen")
    if container is not None:
        words = tuple(word for command in container.commands for word in command.words)
        options = parse_options(words, home, OptionSpec(overrides=False))
        if isinstance(container.args, Unknown) or isinstance(container.command, Unknown):
            options = Options(options.occurrences, options.positionals, home, "its arguments are not seen")
    names = ("period", "start-time", "end-time", "reboot-days", "time-zone", "concurrency", "drain-timeout",
             "force-reboot", "blocking-pod-selector", "reboot-sentinel", "prometheus-url")  # fmt: skip
    return UpgradeAgent(
        subject=context.subject,
        origin=home,
        kind="kured",
        title="kured",
        gpus=gpus,
        active=Set(True, Origin(home.place, "derived", node=home.node)),
        restraint=kured_restraint({name: options.get(name) for name in names}, home),
        does=KURED_DOES,
        object_at=context.origin,
        fields={name: options.get(name) for name in names},
    )


def _is_kured(container: Container) -> bool:
    return isinstance(container.image, Set) and daemons.KURED.search(_bare(container.image.value)) is not None


def kured_restraint(flags: dict[str, Setting[str]], home: Origin) -> Setting[str]:
    """A window, days, or a selector of pods that hold a reboot back."""
    for name in ("blocking-pod-selector", "prometheus-url"):
        value = flags.get(name, Absent(home))
        if isinstance(value, Set) and value.value:
            return Set(f"--{name} {value.value}", value.origin)
    for name, everything in _NO_WINDOW.items():
        value = flags.get(name, Absent(home))
        if isinstance(value, Set) and value.value and value.value not in everything:
            return Set(f"--{name} {value.value}", value.origin)
    days = flags.get("reboot-days", Absent(home))
    if isinstance(days, Set) and days.value:
        named = {day.strip().lower()[:2] for day in days.value.strip("[]").split(",")}
        if not named >= _ALL_DAYS:
            return Set(f"--reboot-days {days.value}", days.origin)
    for value in flags.values():
        if isinstance(value, Unknown):
            return value
    return Absent(home)


# Network, drivers, device plugins


def _daemon(context: Context, spec: Part, row: Daemon, gpus: CarriesGpus) -> NodeDaemon:
    if row.role in daemons.GPU_ROLES and gpus.answer == "unknown":
        gpus = CarriesGpus("yes", f"{row.title} runs on GPU nodes", context.origin)
    update = spec.at("updateStrategy")
    containers = spec.at("template", "spec", "containers").items()
    main = next(
        (one for one in containers if daemons.daemon((one.text("image") or "",), "") is row),
        containers[0] if containers else spec,
    )
    image = main.string("image")
    if isinstance(image, Set) and not _IMAGE.fullmatch(image.value):
        image = Unknown("an operator fills the image in", image.origin)
    return NodeDaemon(
        subject=context.subject,
        origin=spec.origin,
        role=row.role,
        title=row.title,
        gpus=gpus,
        strategy=update.string("type", default="RollingUpdate", note=API),
        max_unavailable=update.string("rollingUpdate", "maxUnavailable", default="1", note=API),
        image=image,
        pull_policy=main.string("imagePullPolicy", default=_pull_policy(image), note="Kubernetes' default"),
    )


def _pull_policy(image: Setting[str]) -> str:
    if not isinstance(image, Set):
        return "IfNotPresent"
    tag = image.value.rpartition("/")[2].partition(":")[2]
    return "Always" if "@" not in image.value and tag in ("", "latest") else "IfNotPresent"
