"""Helm values of charts that people edit instead of manifests, recognised by their keys; and other plain documents.

gpu-operator, network-operator, kured, slurm (Slinky), soperator, SUNK, the Bottlerocket update operator; cloud-config
files, Butane, Talos machine configurations. The keys of a chart may stand at the root, or below the chart's name where
the file belongs to an umbrella chart. Source rows: k8s.md B1 to B3, D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.facts.instances import sets_up_a_service
from kube_gaplint.kinds import cloudformation_values, cloudinit, slurm_conf, slurm_sites
from kube_gaplint.kinds.agents import scheduled
from kube_gaplint.kinds.daemonsets import KURED_DOES, kured_restraint, pod_gpus
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence
from kube_gaplint.kinds.operators import driver_upgrade
from kube_gaplint.model.nodes import CarriesGpus, DriverUpgrade, NodeBootstrap, NodeImage, NodePool, UpgradeAgent
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown, mapped
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.nodes import Document, Mapping, Sequence
from kube_gaplint.text.source import WholeText

KIND = "Helm values"


class _Chart(Struct, frozen=True):
    """A chart: the keys that tell it (all of `all_of`, and `least` of `some_of`), and what reads its values."""

    name: str
    all_of: tuple[str, ...]
    some_of: tuple[str, ...]
    read: Callable[[Part, Subject], Iterable[object]]
    least: int = 1
    aliases: tuple[str, ...] = ()
    """Other names under which it is installed."""
    inside: str = ""
    """The key of the mapping that `some_of` are looked for in; empty for the root."""
    by_its_keys: bool = False
    """A key of its name alone does not tell the chart: the name is an everyday word, or a switch that has it installed
    (`gpu-operator: {enabled: true}`)."""

    told_by: tuple[str, ...] = ()
    """The path of a key that tells it without any of these."""

    def below(self, root: Part) -> Part | None:
        """Its values within those of an umbrella chart."""
        for name in (self.name, *self.aliases):
            part = root.at(name)
            if isinstance(part.node, Mapping):
                keys = (*self.all_of, *self.some_of)
                return None if self.by_its_keys and not any(key in part.node for key in keys) else part
        return None

    def fits(self, part: Part) -> bool:
        node = part.node
        if not isinstance(node, Mapping):
            return False
        if self.inside:
            inner = node.get(self.inside)
            return isinstance(inner, Mapping) and sum(key in inner for key in self.some_of) >= self.least
        if self.told_by and part.at(*self.told_by).present:
            return True
        return all(key in node for key in self.all_of) and sum(key in node for key in self.some_of) >= self.least


def adapt_document(document: Document, bundle: Bundle, _profile: Profile) -> Iterable[object]:
    """The views of a document that is no Kubernetes object."""
    if not isinstance(document.root, Mapping):
        return
    root = Part.of(document.root)
    name = document.source.path.replace("\\", "/").rpartition("/")[2]
    if document.source.text[:200].lstrip().startswith("#cloud-config"):
        yield from _cloud_config(document, Subject("cloud-config", name=name))
        return
    if "variant" in document.root and ("storage" in document.root or "systemd" in document.root):
        yield from _butane(root, Subject("Butane", name=name))
        return
    if cloudformation_values.is_template(document.root):
        from kube_gaplint.kinds import cloudformation

        yield from cloudformation.adapt(document.root)
        return
    if "machine" in document.root and root.at("machine", "install").present:
        yield from _talos(root, Subject("Talos", name=name))
        return
    for view in read_values(root):
        if isinstance(view, DriverUpgrade) and isinstance(view.automatic, Set) and not view.automatic.origin.written:
            told = bundle.speaks_of(_POLICY, document.source)
            if told:
                view.automatic = Unknown(f"{told} may give the chart its {_POLICY}", view.automatic.origin)
        yield view


_POLICY = "upgradePolicy"
"""What other values, a `--set` or Terraform for the same chart say where they decide how a driver is upgraded."""


def read_values(root: Part) -> Iterator[object]:
    """The views of the charts whose values stand in a mapping."""
    for chart in _CHARTS:
        if chart.fits(root):
            yield from chart.read(root, Subject(KIND, name=chart.name))
            return
        below = chart.below(root)
        if below is not None:
            yield from chart.read(below, Subject(KIND, name=chart.name))


def read_chart(name: str, root: Part, subject: Subject) -> Iterator[object]:
    """The views of a chart that is known by name: what its values do not say is its default."""
    chart = next((chart for chart in _CHARTS if name in (chart.name, *chart.aliases)), None)
    if chart is not None:
        yield from chart.read(root, subject)
    elif isinstance(root.node, Mapping):
        for one in _CHARTS:  # an umbrella chart
            below = one.below(root)
            if below is not None:
                yield from one.read(below, subject.in_container(one.name))


# Drivers


def _gpu_operator(root: Part, subject: Subject) -> Iterator[object]:
    yield driver_upgrade(
        subject, root.at("driver"), automatic=True, whose="the chart's default", deletion="gpuPodDeletion"
    )


def _network_operator(root: Part, subject: Subject) -> Iterator[object]:
    driver = root.at("ofedDriver")
    if driver.at("upgradePolicy").present:
        yield driver_upgrade(
            subject, driver, automatic=False, whose="the chart's default", network=True, switch="deploy"
        )


# Agents


_KURED_KEYS = {
    "startTime": "start-time",
    "endTime": "end-time",
    "rebootDays": "reboot-days",
    "blockingPodSelector": "blocking-pod-selector",
    "prometheusUrl": "prometheus-url",
    "forceReboot": "force-reboot",
    "drainTimeout": "drain-timeout",
    "concurrency": "concurrency",
    "period": "period",
}


def _kured(root: Part, subject: Subject) -> Iterator[object]:
    configuration = root.at("configuration")
    flags: dict[str, Setting[str]] = {}
    for key, flag in _KURED_KEYS.items():
        part = configuration.at(key)
        items = part.items()
        if items:  # rebootDays and blockingPodSelector are lists in the chart
            texts = part.strings()
            flags[flag] = mapped(texts, ",".join)
        elif isinstance(part.node, Sequence):  # the chart's own default is an empty list
            flags[flag] = Absent(part.origin)
        else:
            flags[flag] = part.string()
    home = configuration if configuration.present else root
    yield UpgradeAgent(
        subject=subject,
        origin=home.origin,
        kind="kured",
        title="kured",
        gpus=pod_gpus(root),  # the chart hands these values on to the pod as they are
        active=Set(True, home.origin),
        restraint=kured_restraint(flags, home.origin),
        does=KURED_DOES,
        object_at=root.origin,
        fields=flags,
    )


def _brupop(root: Part, subject: Subject) -> Iterator[object]:
    schedule = root.string("scheduler_cron_expression")
    restraint = scheduled(schedule, root.origin)
    yield UpgradeAgent(
        subject=subject,
        origin=root.at("scheduler_cron_expression").origin,
        kind="bottlerocket",
        title="the Bottlerocket update operator",
        gpus=CarriesGpus("unknown", "it updates every node that carries its label", root.origin),
        active=Set(True, root.origin),
        restraint=restraint,
        does="drains nodes and reboots them into the new image",
        object_at=root.origin,
    )


# Slurm


def _slinky(root: Part, subject: Subject) -> Iterator[object]:
    controller = root.at("controller")
    nodesets = root.at("nodesets")
    if nodesets.present and not nodesets.unknown and not list(nodesets.entries()) and not nodesets.items():
        return  # a chart's own defaults: no node, so no job
    yield slurm_conf.slinky(controller, subject, controller.origin if controller.present else root.origin)
    for name, part in nodesets.entries():
        if part.text("enabled") != "false":
            yield slurm_sites.slinky_node_set(subject.in_container(name), part)
    for part in nodesets.items() or root.at("compute", "nodesets").items():
        yield slurm_sites.slinky_node_set(subject.in_container(part.text("name") or ""), part)


def _soperator(root: Part, subject: Subject) -> Iterator[object]:
    yield slurm_conf.soperator(root, subject, chart=True)


def _soperator_node_sets(root: Part, subject: Subject) -> Iterator[object]:
    for part in root.at("nodesets").items():
        yield slurm_sites.soperator_node_set(subject.in_container(part.text("name") or ""), part)


def _sunk(root: Part, subject: Subject) -> Iterator[object]:
    yield slurm_conf.sunk(root.at("slurmConfig"), subject, root.origin)


_CHARTS: tuple[_Chart, ...] = (
    _Chart(
        "gpu-operator",
        ("driver",),
        ("toolkit", "devicePlugin", "dcgmExporter", "migManager", "gfd", "nodeStatusExporter", "validator", "dcgm",
         "mig", "gds", "gdrcopy", "vgpuManager", "vgpuDeviceManager", "vfioManager", "sandboxDevicePlugin"),
        _gpu_operator,
        least=2,
        aliases=("gpuOperator", "nvidia-gpu-operator"),
        by_its_keys=True,
        told_by=("driver", "upgradePolicy"),
    ),
    _Chart(
        "network-operator",
        ("ofedDriver",),
        ("deployCR", "sriovNetworkOperator", "rdmaSharedDevicePlugin", "secondaryNetwork", "nvIpam", "nfd"),
        _network_operator,
        aliases=("networkOperator", "nvidia-network-operator"),
    ),
    _Chart(
        "kured",
        ("configuration",),
        ("rebootSentinel", "rebootSentinelCommand", "rebootDays", "blockingPodSelector", "lockTtl", "forceReboot",
         "rebootCommand", "drainPodSelector", "rebootDelay"),
        _kured,
        inside="configuration",
    ),
    _Chart(
        "slurm",
        ("controller",),
        ("nodesets", "loginsets", "slurmKeyRef", "jwtHs256KeyRef", "partitions", "restapi", "compute"),
        _slinky,
        by_its_keys=True,
    ),
    _Chart("slurm-cluster", ("slurmNodes",), ("slurmConfig", "customSlurmConfig", "clusterName", "k8sNodeFilters"),
           _soperator, aliases=("helm-slurm-cluster",)),
    _Chart("sunk", ("slurmConfig", "compute"), ("scheduler", "login", "directoryService", "accounting"), _sunk),
    _Chart("nodesets", ("nodesets",), ("priorityClasses", "images", "nodeExporter", "clusterName"),
           _soperator_node_sets, aliases=("helm-nodesets",), by_its_keys=True),
    _Chart("bottlerocket-update-operator", ("scheduler_cron_expression",), (), _brupop, least=0),
)  # fmt: skip


# Plain documents


def _cloud_config(document: Document, subject: Subject) -> Iterator[NodeBootstrap]:
    setup = cloudinit.read_user_data(WholeText(document.source))
    home = Origin(document.root.place if document.root is not None else WholeText(document.source).place(0, 0))
    yield from _bootstrap(setup, subject, home)


def _butane(root: Part, subject: Subject) -> Iterator[NodeBootstrap]:
    setup = cloudinit.Setup()
    cloudinit.ignition(root, None, setup)
    yield from _bootstrap(setup, subject, root.origin)


def _bootstrap(setup: cloudinit.Setup, subject: Subject, home: Origin) -> Iterator[NodeBootstrap]:
    actions = setup.actions()
    if actions:
        service = sets_up_a_service(subject.name)
        gpus = CarriesGpus("unknown", "nothing tells which nodes it sets up", home)
        if service:
            gpus = CarriesGpus("no", f"by its name it sets up a machine for {service}", home)
        system: Setting[str] = Unknown("the image is not seen", home)
        yield NodeBootstrap(subject, home, gpus, system, actions, setup.opaque_because)


def _talos(root: Part, subject: Subject) -> Iterator[NodePool]:
    """Talos does not update by itself; an installer image without a version is another one at each install."""
    machine = root.at("machine")
    image = machine.at("install", "image")
    value = image.string()
    if not isinstance(value, Set):
        return
    evidence = Evidence()
    evidence.labels(machine.texts("nodeLabels"))
    for module in machine.at("kernel", "modules").items():
        if (module.text("name") or "").startswith("nvidia"):
            evidence.has("kernel module nvidia", module.origin)
    if machine.text("type") == "controlplane":
        evidence.lacks("a control plane machine", machine.at("type").origin)
    tag = value.value.rpartition("/")[2].partition(":")[2]
    floats = Set("@" not in value.value and tag in ("", "latest"), image.origin)
    images = (NodeImage("installer", value, floats, image.origin),)
    system: Setting[str] = Set("talos", image.origin)
    yield NodePool(subject, machine.origin, evidence.answer(), images, system, controller="talos")
