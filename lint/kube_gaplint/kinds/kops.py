"""kOps: the cluster's update policy and its instance groups.

`updatePolicy` is automatic by default: kOps installs unattended-upgrades on Debian and Ubuntu. On Flatcar it masks
locksmithd whatever the policy is. Source row: k8s.md D "kOps".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import cloudinit, node_os
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence, either
from kube_gaplint.model.nodes import CarriesGpus, NodeBootstrap, NodeImage, NodePool, UpgradeAction
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text

GROUP = "kops.k8s.io"
CLUSTER_LABEL = "kops.k8s.io/cluster"
_APT_SYSTEMS = frozenset({"ubuntu", "debian"})


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[NodePool | NodeBootstrap]:
    """The views of a cluster or of an instance group."""
    context = Context(bundle, item, profile)
    if (context.root.at("spec").text("configBase") or "").startswith("memfs://"):
        return  # the state store of kOps' own tests: no cluster comes of it
    if item.kind == "Cluster":
        yield from _cluster(context)
    else:
        yield from _group(context)


def _cluster(context: Context) -> Iterator[NodeBootstrap]:
    spec = context.root.at("spec")
    groups = [group for group in context.bundle.by_kind(GROUP, "InstanceGroup") if _belongs(context, group)]
    workers = [group for group in groups if not _is_control_plane(group)]
    gpus = either(group_gpus(group) for group in workers)
    if not workers:
        gpus = CarriesGpus("unknown", "no instance group in the given paths belongs to the cluster")
    carriers = [group for group in workers if group_gpus(group).answer == gpus.answer]
    policies = [Part.of(group.node).at("spec").text("updatePolicy") for group in carriers]
    system = _system(carriers, spec)
    actions: tuple[UpgradeAction, ...] = ()
    if not (policies and all(policy == "external" for policy in policies)):
        actions = policy_actions(spec, system)
    yield NodeBootstrap(
        subject=context.subject,
        origin=spec.origin,
        gpus=gpus,
        os=system,
        actions=actions,
    )


def policy_actions(spec: Part, system: Setting[str]) -> tuple[UpgradeAction, ...]:
    """What the update policy does to nodes of an operating system."""
    part = spec.at("updatePolicy")
    policy = part.string()
    if isinstance(policy, Unknown):
        return ()
    if isinstance(policy, Set) and policy.value == "external":
        return (UpgradeAction("unattended-off", "updatePolicy: external", part.origin),)
    if isinstance(system, Set) and system.value not in _APT_SYSTEMS:
        return ()
    if isinstance(policy, Set):
        return (UpgradeAction("unattended-on", f"updatePolicy: {policy.value}", part.origin, recurring=True),)
    what = "kOps' default updatePolicy, automatic"
    return (UpgradeAction("default-automatic", what, part.origin, explicit=False, recurring=True),)


def _belongs(context: Context, group: KubeObject) -> bool:
    """Whether an instance group is of the cluster: by its label, and nearest to it where several have the name."""
    cluster = context.object
    label = group.labels.get(CLUSTER_LABEL)
    if label is None or group.source is cluster.source:
        return group.source is cluster.source and (label is None or label.text == cluster.name)
    return label.text == cluster.name and context.bundle.find(GROUP, "Cluster", label.text, None, group) is cluster


def _is_control_plane(group: KubeObject) -> bool:
    role = (Part.of(group.node).at("spec").text("role") or "").lower()
    return role in ("master", "control-plane", "controlplane", "bastion", "apiserver")


def group_gpus(group: KubeObject) -> CarriesGpus:
    """Whether an instance group's machines carry GPUs."""
    evidence = Evidence()
    spec = Part.of(group.node).at("spec")
    if _is_control_plane(group):
        evidence.lacks("control plane nodes", spec.origin)
    mixed = spec.at("mixedInstancesPolicy", "instances").items()
    if mixed:
        evidence.machines(item.string() for item in mixed)
    else:
        names = [name.strip() for name in (spec.text("machineType") or "").split(",") if name.strip()]
        origin = spec.at("machineType").origin
        evidence.machines(Set(name, origin) for name in names)
    if spec.at("guestAccelerators").items():
        evidence.has("guestAccelerators", spec.at("guestAccelerators").origin)
    evidence.labels(spec.texts("nodeLabels"))
    for taint in spec.at("taints").items():
        key, _, rest = (taint.text() or "").partition("=")
        evidence.taint(key.partition(":")[0], rest.partition(":")[0], taint.origin)
    return evidence.answer()


def _system(groups: list[KubeObject], spec: Part) -> Setting[str]:
    for group in groups:
        found = node_os.of_image(Part.of(group.node).at("spec").string("image"))
        if isinstance(found, Set):
            return found
    return Unknown("the image of the instance groups is not known", spec.origin)


def _group(context: Context) -> Iterator[NodePool | NodeBootstrap]:
    spec = context.root.at("spec")
    if _is_control_plane(context.object):
        return
    gpus = group_gpus(context.object)
    image = spec.at("image")
    value = image.string()
    images: tuple[NodeImage, ...] = ()
    if isinstance(value, Set):
        floats = value.value.startswith("ssm:")
        images = (NodeImage("ssm" if floats else "name", value, Set(floats, image.origin), image.origin),)
    elif isinstance(value, Unknown):
        images = (NodeImage("name", value, value, image.origin),)
    system = node_os.of_image(value) if not isinstance(value, Absent) else Unknown("no image is named", image.origin)
    yield NodePool(context.subject, spec.origin, gpus, images, system, controller="kops")
    setup = cloudinit.Setup()
    for data in spec.at("additionalUserData").items():
        content = data.at("content")
        if isinstance(content.node, Scalar):
            cloudinit.read_user_data(scalar_text(content.node), content.chain, setup)
    actions = setup.actions()
    if spec.at("updatePolicy").present:
        actions = (*actions, *policy_actions(spec, system))
    if actions:
        yield NodeBootstrap(context.subject, spec.origin, gpus, system, actions, setup.opaque_because)
