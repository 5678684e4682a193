"""GKE through Config Connector (container.cnrm.cloud.google.com) and Crossplane: node pools that upgrade themselves.

GKE upgrades nodes unless a pool says otherwise, waits at most an hour for disruption budgets, and in a release channel
auto-upgrade cannot be off. A maintenance exclusion or window of the cluster keeps it back. Source row: k8s.md D "GKE".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import node_os
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence
from kube_gaplint.model.nodes import CarriesGpus, NodeImage, NodePool, UpgradeAgent
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Link, Origin, Set, Setting, Unknown

DOES = "drains and recreates nodes, and waits at most an hour for them"
NODE_SCOPES = frozenset({"NO_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"})
_WINDOWS = ("dailyMaintenanceWindow", "recurringWindow")


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[NodePool | UpgradeAgent]:
    """A node pool, or the default pool that a cluster object holds."""
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    if spec.at("forProvider").present:
        spec = spec.at("forProvider")
    config = spec.at("nodeConfig")
    if item.kind in ("ContainerCluster", "Cluster"):
        if not config.present:
            return
        yield from _pool(context, spec, config, _restraint(Part.of(item.node), spec))
        return
    yield from _pool(context, spec, config, _cluster_restraint(context, spec))


def _pool(context: Context, spec: Part, config: Part, restraint: Setting[str]) -> Iterator[NodePool | UpgradeAgent]:
    gpus = config_gpus(config)
    driver = config.at("guestAccelerator")
    images = []
    for item in driver.items():
        for part in (
            item.at("gpuDriverInstallationConfig", "gpuDriverVersion"),
            *(one.at("gpuDriverVersion") for one in item.at("gpuDriverInstallationConfig").items()),
        ):
            value = part.string()
            if isinstance(value, Set):
                images.append(
                    NodeImage("driver", value, Set(value.value.upper() == "LATEST", part.origin), part.origin)
                )
    system = node_os.of_family(config.string("imageType", default="COS_CONTAINERD", note="GKE's default"))
    yield NodePool(
        subject=context.subject,
        origin=config.origin if config.present else spec.origin,
        gpus=gpus,
        images=tuple(images),
        os=system,
        fields={"management.autoRepair": spec.string("management", "autoRepair")},
        controller="gke",
    )
    if context.object.kind in ("ContainerCluster", "Cluster"):
        return
    upgrade = spec.at("management", "autoUpgrade")
    for item in spec.at("management").items():  # Crossplane: a list of one
        upgrade = item.at("autoUpgrade")
    active = upgrade.boolean(default=True, note="GKE's default")
    yield UpgradeAgent(
        subject=context.subject,
        origin=upgrade.origin,
        kind="gke",
        title="GKE node auto-upgrade",
        gpus=gpus,
        active=active,
        restraint=restraint,
        does=DOES,
        object_at=context.origin,
    )


def config_gpus(config: Part) -> CarriesGpus:
    """Whether a node configuration carries GPUs."""
    evidence = Evidence()
    if config.at("guestAccelerator").items():
        kinds = ", ".join(item.text("type") or "?" for item in config.at("guestAccelerator").items())
        evidence.has(f"guestAccelerator {kinds}", config.at("guestAccelerator").origin)
    machine = config.string("machineType")
    if evidence.yes is None:
        evidence.machine(machine)
        if isinstance(machine, Set) and machine.value.startswith("n1-") and not config.at("guestAccelerator").unknown:
            evidence.lacks(f"{machine.value} without guestAccelerator", machine.origin)
    evidence.labels(config.texts("labels"))
    evidence.taints(config.at("taint"))
    return evidence.answer()


def _cluster_restraint(context: Context, spec: Part) -> Setting[str]:
    """What the pool's cluster sets against upgrades; unknown where the cluster is not in the paths."""
    ref = spec.at("clusterRef")
    name = ref.text("name")
    if not name:
        return Unknown("the cluster is not in the given paths, so its windows and exclusions are not known", ref.origin)
    for kind in ("ContainerCluster", "Cluster"):
        found = context.find(context.object.group, kind, name)
        if isinstance(found, KubeObject):
            root = Part.of(found.node, (Link(ref.place, f"{kind} {name}"),))
            inner = root.at("spec")
            return _restraint(root, inner.at("forProvider") if inner.at("forProvider").present else inner)
    return Unknown("the cluster is not in the given paths, so its windows and exclusions are not known", ref.origin)


def _restraint(root: Part, spec: Part) -> Setting[str]:
    policy = spec.at("maintenancePolicy")
    if policy.unknown:
        return Unknown(policy.unknown, policy.origin)
    blocks = policy.items() or [policy]
    for block in blocks:
        for item in block.at("maintenanceExclusion").items():
            scope = item.string("exclusionOptions", "scope", default="NO_UPGRADES", note="GKE's default")
            if isinstance(scope, Unknown):
                return scope
            if isinstance(scope, Set) and scope.value in NODE_SCOPES:
                return Set(f"maintenance exclusion {scope.value}", item.origin)
        for name in _WINDOWS:
            if block.at(name).present:
                return Set(f"a maintenance window ({name})", block.at(name).origin)
        if block.unknown or block.at("maintenanceExclusion").open_list:
            return Unknown("the maintenance policy is not seen whole", block.origin)
    return Absent(Origin(policy.place, chain=root.chain, node=policy.home))
