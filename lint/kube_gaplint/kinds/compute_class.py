"""GKE's ComputeClass: the nodes that GKE makes for pods which choose the class, in order of preference.

`activeMigration.optimizeRulePriority` moves running pods to nodes of a higher priority; GKE's documentation advises
against it for workloads that cannot bear disruption. `driverVersion: latest` takes another driver with new nodes.
Source: https://docs.cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.facts import instances
from kube_gaplint.facts.resources import COMPUTE_CLASS
from kube_gaplint.kinds import node_os
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gke import DOES
from kube_gaplint.kinds.gpu_nodes import Evidence, either
from kube_gaplint.model.nodes import CarriesGpus, NodeImage, NodePool, SpotNodes, UpgradeAgent
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Unknown

MIGRATION = "activeMigration.optimizeRulePriority"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[NodePool | UpgradeAgent]:
    """The class as a pool, and its own word on upgrades."""
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    config = spec.at("nodePoolConfig")
    gpus = _gpus(spec, config)
    yield NodePool(
        subject=context.subject,
        origin=spec.origin,
        gpus=gpus,
        images=tuple(_drivers(spec)),
        os=node_os.of_family(config.string("imageType", default="COS_CONTAINERD", note="GKE's default")),
        fields={
            MIGRATION: spec.string("activeMigration", "optimizeRulePriority", default="false", note="GKE's default")
        },
        controller="gke",
        name_label=COMPUTE_CLASS,
        spot=_spot(spec),
    )
    upgrade = config.boolean("autoUpgrade")
    if isinstance(upgrade, Absent):
        return  # the cluster decides
    yield UpgradeAgent(
        subject=context.subject,
        origin=config.at("autoUpgrade").origin,
        kind="gke",
        title="GKE node auto-upgrade",
        gpus=gpus,
        active=upgrade,
        restraint=Unknown("the windows and exclusions of the cluster are not in the given paths", config.origin),
        does=DOES,
        object_at=context.origin,
    )


def _spot(spec: Part) -> SpotNodes | None:
    """By the priorities: GKE goes down the list where the machines of one are not to be had."""
    priorities = list(spec.at("priorities").items())
    found = [one.at("spot").origin for one in priorities if one.is_true("spot")]
    return SpotNodes(found[0], len(found) == len(priorities)) if found else None


def _gpus(spec: Part, config: Part) -> CarriesGpus:
    """By the priorities: the nodes are of one of them."""
    whole = Evidence()
    whole.labels(config.texts("nodeLabels"))
    whole.taints(config.at("taints"))
    if whole.yes is not None:
        return whole.answer()
    answers = []
    for priority in spec.at("priorities").items():
        one = Evidence()
        if priority.at("gpu").present:
            one.has(f"gpu {priority.text('gpu', 'type') or ''}".rstrip(), priority.at("gpu").origin)
        elif priority.at("machineType").present:
            one.machine(priority.string("machineType"))
        else:
            family = priority.string("machineFamily")
            found = instances.machine(f"{family.value}-standard-8") if isinstance(family, Set) else None
            if isinstance(family, Set) and found is not None and not found.accelerator:
                one.lacks(f"machine family {family.value}", family.origin)
        answers.append(one.answer())
    if not answers:
        return CarriesGpus("unknown", "the class names no machines", spec.origin)
    return either(answers)


def _drivers(spec: Part) -> Iterator[NodeImage]:
    for priority in spec.at("priorities").items():
        version = priority.at("gpu", "driverVersion")
        value = version.string()
        if isinstance(value, Set):
            yield NodeImage("driver", value, Set(value.value.lower() == "latest", version.origin), version.origin)
