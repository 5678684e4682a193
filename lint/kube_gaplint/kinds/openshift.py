"""OpenShift: machine config pools that roll by themselves, and what a MachineConfig writes to nodes.

Any change of a pool's configuration drains and reboots its nodes one after the other (`maxUnavailable` 1, where 0 falls
back to 1) unless the pool is paused. Source row: k8s.md D "OpenShift".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import cloudinit
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence
from kube_gaplint.model.nodes import CarriesGpus, NodeBootstrap, UpgradeAgent
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown, mapped

ROLE = "machineconfiguration.openshift.io/role"
_CONTROL_PLANE = frozenset({"master", "control-plane", "infra"})


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[UpgradeAgent | NodeBootstrap]:
    """A pool as an agent, a MachineConfig as a bootstrap."""
    context = Context(bundle, item, profile)
    if item.kind == "MachineConfigPool":
        yield from _pool(context)
    else:
        yield from _config(context)


def pool_gpus(pool: Part, name: str) -> CarriesGpus:
    """Whether the nodes of a pool carry GPUs."""
    evidence = Evidence()
    selector = pool.at("spec", "nodeSelector")
    evidence.selector(selector)
    answer = evidence.answer()
    if name in _CONTROL_PLANE:
        return CarriesGpus("no", f"pool {name}", selector.origin)
    if answer.origin is None:
        return CarriesGpus("unknown", f"nothing tells whether pool {name} holds GPU nodes", selector.origin)
    return answer


def _pool(context: Context) -> Iterator[UpgradeAgent]:
    spec = context.root.at("spec")
    paused = spec.boolean("paused", default=False, note="OpenShift's default")
    active: Setting[bool] = mapped(paused, lambda value: not value)
    versions = context.bundle.by_kind("config.openshift.io", "ClusterVersion")
    channels = [Part.of(version.node).string("spec", "channel") for version in versions]
    if isinstance(active, Set) and active.value and not any(isinstance(channel, Set) for channel in channels):
        active = Unknown("no ClusterVersion with a channel is in the given paths", spec.origin)
    related = tuple(channel.origin for channel in channels if isinstance(channel, Set))
    yield UpgradeAgent(
        subject=context.subject,
        origin=spec.at("paused").origin,
        kind="openshift",
        title=f"machine config pool {context.object.name}",
        gpus=pool_gpus(context.root, context.object.name),
        active=active,
        restraint=Absent(spec.origin),
        does="drains and reboots its nodes with every update of the cluster or of its configuration",
        object_at=context.origin,
        related=related,
        fields={"maxUnavailable": spec.string("maxUnavailable", default="1", note="OpenShift's default")},
    )


def _config(context: Context) -> Iterator[NodeBootstrap]:
    role = context.root.text("metadata", "labels", ROLE) or ""
    gpus = CarriesGpus("unknown", f"nothing tells whether role {role} has GPU nodes", context.origin)
    if role in _CONTROL_PLANE:
        gpus = CarriesGpus("no", f"role {role}", context.origin)
    for pool in context.bundle.by_kind("machineconfiguration.openshift.io", "MachineConfigPool"):
        if pool.name == role:
            gpus = pool_gpus(Part.of(pool.node), pool.name)
    setup = cloudinit.Setup()
    config = context.root.at("spec", "config")
    cloudinit.ignition(config, None, setup)
    actions = setup.actions()
    if actions:
        system: Setting[str] = Set("rhcos", context.origin)
        yield NodeBootstrap(context.subject, config.origin, gpus, system, actions, setup.opaque_because)
