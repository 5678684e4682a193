"""What in a bundle shows that an autoscaler removes nodes: pools, node classes, controllers, settings of providers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kube_gaplint.facts import surroundings as facts
from kube_gaplint.facts.instances import machine
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Set
from kube_gaplint.model.surroundings import Autoscaler, Evidence

if TYPE_CHECKING:
    from kube_gaplint.bundle.bundle import Bundle
    from kube_gaplint.bundle.objects import KubeObject


_CLOUDS = (
    ("google", "gcp"), ("gcp", "gcp"), ("azure", "azure"), ("eksctl", "aws"), ("k8s.aws", "aws"), ("amazonaws", "aws"),
)  # fmt: skip
"""By part of an object's API group: the only cloud that it can be about."""


def autoscalers_in(bundle: Bundle, profile: Profile) -> tuple[dict[Autoscaler, Evidence], set[str]]:
    """The first evidence of each autoscaler, and the names of node pools that surely keep their size.

    A Karpenter pool that surely has no GPUs says nothing of GPU nodes, and neither does one of several clusters that
    eksctl makes: which of them the jobs run in is not known.
    """
    found: dict[Autoscaler, Evidence] = {}
    fixed: set[str] = set()
    clusters = bundle.by_kind("eksctl.io", "ClusterConfig")
    pools = [item for item in bundle.objects if (item.group, item.kind) in facts.KARPENTER_POOLS]
    for pool in pools:
        if _may_carry_gpus(pool, bundle, profile):
            root = Part.of(pool.node)
            node_class = root.text("spec", "template", "spec", "nodeClassRef", "group") or ""
            found.setdefault("karpenter", _evidence(pool, root, node_class))
    for item in bundle.objects:
        key, root = (item.group, item.kind), Part.of(item.node)
        if key in facts.KARPENTER_KINDS and not pools:
            found.setdefault("karpenter", _evidence(item, root))
        elif key in facts.AUTOSCALER_KINDS:
            found.setdefault("cluster-autoscaler", _evidence(item, root))
        elif item.is_a("apps", "Deployment", "DaemonSet"):
            for name, part in _controllers(root):
                found.setdefault(name, _evidence(item, part))
        elif key == ("eksctl.io", "ClusterConfig"):
            for name, part in _of_eksctl(root) if len(clusters) == 1 else ():
                found.setdefault(name, _evidence(item, part))
            fixed |= {group.text("name") or "" for group in _node_groups(root) if _keeps_size(group)}
        else:
            scales = _provider_pool(item, root)
            if scales is not None and scales.present:
                found.setdefault("cluster-autoscaler", _evidence(item, scales))
            elif scales is not None and scales.state is False:
                fixed.add(item.name)
    return found, fixed - {""}


def _evidence(item: KubeObject, part: Part, group: str = "") -> Evidence:
    """What an object shows, about the cloud of its own API group or of another one."""
    cloud = next((cloud for sign, cloud in _CLOUDS if sign in (group or item.group)), "")
    return Evidence(f"{item.kind} {item.name}".strip(), part.origin, cloud)


def _may_carry_gpus(pool: KubeObject, bundle: Bundle, profile: Profile) -> bool:
    from kube_gaplint.kinds.context import Context
    from kube_gaplint.kinds.karpenter import carries_gpus

    return carries_gpus(Context(bundle, pool, profile)).answer != "no"


def _controllers(root: Part) -> Iterator[tuple[Autoscaler, Part]]:
    """Autoscalers by the images of a Deployment."""
    for container in root.at("spec", "template", "spec", "containers").items():
        image = container.text("image") or ""
        if facts.matches(image, facts.AUTOSCALER_IMAGES):
            yield "cluster-autoscaler", container.at("image")
        if facts.matches(image, facts.KARPENTER_IMAGES):
            yield "karpenter", container.at("image")


# Providers


def _of_eksctl(root: Part) -> Iterator[tuple[Autoscaler, Part]]:
    """Karpenter and EKS Auto Mode as eksctl installs them, and node groups that may be scaled by the autoscaler."""
    if root.at("karpenter", "version").present:
        yield "karpenter", root.at("karpenter")
    auto = root.at("autoModeConfig", "enabled")
    if _is_true(auto):
        yield "karpenter", auto
    for group in _node_groups(root):
        allowed = group.at("iam", "withAddonPolicies", "autoScaler")
        carries = machine(group.text("instanceType") or "")
        bare = carries is not None and not carries.accelerator
        if _is_true(allowed) and not _keeps_size(group) and not bare:
            yield "cluster-autoscaler", allowed


def _node_groups(root: Part) -> Iterator[Part]:
    for key in ("managedNodeGroups", "nodeGroups"):
        yield from root.at(key).items()


def _keeps_size(group: Part) -> bool:
    """An eksctl node group of one size."""
    least, most = group.string("minSize"), group.string("maxSize")
    return isinstance(least, Set) and isinstance(most, Set) and least.value == most.value


def _provider_pool(item: KubeObject, root: Part) -> Part | None:
    """What makes a pool of GKE or AKS grow and shrink, written or not; None for other kinds."""
    spec = root.at("spec")
    if item.kind in ("ContainerNodePool", "NodePool") and any(one in item.group for one in ("google", "gcp")):
        inner = spec.at("forProvider") if spec.at("forProvider").present else spec
        return inner.at("autoscaling")
    if (item.group, item.kind) == ("containerservice.azure.com", "ManagedClustersAgentPool"):
        enabled = spec.at("enableAutoScaling")
        return enabled if _is_true(enabled) or enabled.state is False else None
    return None


def _is_true(part: Part) -> bool:
    value = part.boolean()
    return isinstance(value, Set) and value.value
