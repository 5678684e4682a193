"""AKS through Azure Service Operator, Crossplane and Cluster API: upgrade channels of the node image and of Kubernetes.

`nodeOSUpgradeChannel` is NodeImage by default since API 2023-06-01: the nodes are reimaged weekly. `Unmanaged` leaves
Ubuntu's unattended-upgrades on, every day. Source row: k8s.md D "AKS".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence, either
from kube_gaplint.model.nodes import CarriesGpus, NodeBootstrap, UpgradeAction, UpgradeAgent
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting

NODE_IMAGE_SINCE = 20230601
OS_SCHEDULE = "aksManagedNodeOSUpgradeSchedule"
KUBERNETES_SCHEDULE = "aksManagedAutoUpgradeSchedule"

_OS_ACTIVE = {
    "nodeimage": "reimages the nodes, weekly by default",
    "securitypatch": "patches the nodes and reimages them where a patch asks for it",
}
_KUBERNETES_ACTIVE = frozenset({"patch", "stable", "rapid", "node-image"})


class _Shape(Struct, frozen=True):
    """Where a kind of cluster object keeps its channels, and where its node pools stand."""

    os_channel: tuple[str, ...]
    kubernetes_channel: tuple[str, ...]
    pools: tuple[str, ...]
    pool_kinds: tuple[str, ...]
    owner: tuple[str, ...]
    windows: tuple[tuple[str, ...], ...] = ()


_ASO = _Shape(
    ("autoUpgradeProfile", "nodeOSUpgradeChannel"),
    ("autoUpgradeProfile", "upgradeChannel"),
    ("agentPoolProfiles",),
    ("ManagedClustersAgentPool",),
    ("owner", "name"),
)
_CROSSPLANE = _Shape(
    ("nodeOsUpgradeChannel",),
    ("automaticUpgradeChannel",),
    ("defaultNodePool",),
    ("KubernetesClusterNodePool",),
    ("kubernetesClusterIdRef", "name"),
    (("maintenanceWindowNodeOs",), ("maintenanceWindowAutoUpgrade",), ("maintenanceWindow",)),
)
_CAPZ = _Shape(
    ("autoUpgradeProfile", "nodeOSUpgradeChannel"),
    ("autoUpgradeProfile", "upgradeChannel"),
    (),
    ("AzureManagedMachinePool",),
    (),
)
_SHAPES = {
    "ManagedCluster": _ASO,
    "KubernetesCluster": _CROSSPLANE,
    "AzureManagedControlPlane": _CAPZ,
}


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[UpgradeAgent | NodeBootstrap]:
    """The upgrade channels of a cluster."""
    context = Context(bundle, item, profile)
    shape = _SHAPES[item.kind]
    spec = context.root.at("spec")
    if item.kind == "KubernetesCluster":
        spec = spec.at("forProvider")
    gpus = _gpus(context, spec, shape)
    yield from _os(context, spec, shape, gpus)
    yield from _kubernetes(context, spec, shape, gpus)


def _os(context: Context, spec: Part, shape: _Shape, gpus: CarriesGpus) -> Iterator[UpgradeAgent | NodeBootstrap]:
    part = spec.at(*shape.os_channel)
    channel = part.string()
    if isinstance(channel, Absent):
        if not _defaults_to_node_image(context.object):
            return
        channel = part.default("NodeImage", "AKS' default")
    if not isinstance(channel, Set):
        return
    value = channel.value.lower()
    if value == "unmanaged":
        action = UpgradeAction("unattended-on", f"{shape.os_channel[-1]}: {channel.value}", part.origin, recurring=True)
        system: Setting[str] = Set("ubuntu", part.origin)
        yield NodeBootstrap(context.subject, part.origin, gpus, system, (action,))
        return
    yield UpgradeAgent(
        subject=context.subject,
        origin=part.origin,
        kind="aks-os",
        title=f"AKS node OS channel {channel.value}",
        gpus=gpus,
        active=Set(value in _OS_ACTIVE, channel.origin),
        restraint=_schedule(context, spec, shape, OS_SCHEDULE),
        does=_OS_ACTIVE.get(value, ""),
        object_at=context.origin,
    )


def _kubernetes(context: Context, spec: Part, shape: _Shape, gpus: CarriesGpus) -> Iterator[UpgradeAgent]:
    part = spec.at(*shape.kubernetes_channel)
    if not part.present and context.object.kind == "KubernetesCluster":
        part = spec.at("automaticChannelUpgrade")
    channel = part.string()
    if isinstance(channel, Set):
        yield UpgradeAgent(
            subject=context.subject,
            origin=part.origin,
            kind="aks-kubernetes",
            title=f"AKS upgrade channel {channel.value}",
            gpus=gpus,
            active=Set(channel.value.lower() in _KUBERNETES_ACTIVE, channel.origin),
            restraint=_schedule(context, spec, shape, KUBERNETES_SCHEDULE),
            does="drains and reimages the nodes for each new version",
            object_at=context.origin,
        )


def _defaults_to_node_image(item: KubeObject) -> bool:
    """By the date in the API version (`v1api20240901`); Crossplane and Cluster API leave the field to Azure."""
    found = re.search(r"(\d{8})", item.version)
    return found is None or int(found.group(1)) >= NODE_IMAGE_SINCE


def _schedule(context: Context, spec: Part, shape: _Shape, name: str) -> Setting[str]:
    """The maintenance configuration of the cluster that keeps an upgrade to its hours."""
    for path in shape.windows:
        if spec.at(*path).present:
            return Set(f"a maintenance window ({path[-1]})", spec.at(*path).origin)
    for kind in ("MaintenanceConfiguration", "ManagedClustersMaintenanceConfiguration"):
        for item in context.bundle.by_kind("containerservice.azure.com", kind):
            own = Part.of(item.node).at("spec")
            named = own.text("azureName") or item.name
            if own.text("owner", "name") == context.object.name and named in (name, "default"):
                return Set(f"maintenance configuration {named}", Part.of(item.node).origin)
    return Absent(spec.origin)


def _gpus(context: Context, spec: Part, shape: _Shape) -> CarriesGpus:
    """Over all node pools of the cluster, those in objects of their own included."""
    answers = []
    pools = spec.at(*shape.pools) if shape.pools else Part(None, spec.place)
    for item in pools.items() or ([pools] if pools.present and shape is _CROSSPLANE else []):
        answers.append(pool_gpus(item))
    for kind in shape.pool_kinds:
        for pool in context.bundle.by_kind(None, kind):
            own = Part.of(pool.node).at("spec")
            inner = own.at("forProvider") if own.at("forProvider").present else own
            if not shape.owner or _owns(context, pool, inner.text(*shape.owner)):
                answers.append(pool_gpus(inner))
    if not answers:
        return CarriesGpus("unknown", "no node pool of the cluster is in the given paths")
    if pools.unknown and all(answer.answer == "no" for answer in answers):
        return CarriesGpus("unknown", "not all node pools are seen")
    return either(answers)


def _owns(context: Context, pool: KubeObject, name: str | None) -> bool:
    own = context.object
    return name == own.name and context.bundle.find(own.group, own.kind, own.name, pool.namespace, pool) is own


def pool_gpus(spec: Part) -> CarriesGpus:
    """Whether an AKS node pool carries GPUs."""
    evidence = Evidence()
    for name in ("vmSize", "sku"):
        evidence.machine(spec.string(name))
    evidence.labels(spec.texts("nodeLabels"))
    for item in spec.at("nodeTaints").items():
        key, _, rest = (item.text() or "").partition("=")
        evidence.taint(key, rest.partition(":")[0], item.origin)
    profile = spec.text("gpuInstanceProfile")
    if profile:
        evidence.has(f"gpuInstanceProfile {profile}", spec.at("gpuInstanceProfile").origin)
    return evidence.answer()
