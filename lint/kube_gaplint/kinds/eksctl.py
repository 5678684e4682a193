"""Node groups of EKS outside Karpenter: eksctl, ACK, Cluster API's managed pools, Crossplane.

EKS does not roll managed nodes by itself: a release that is not pinned shows at scale-out, when new nodes differ from
old ones. Source rows: k8s.md D "eksctl", "EKS node groups elsewhere".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import cloudinit, node_os
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence
from kube_gaplint.model.nodes import NodeBootstrap, NodeImage, NodePool
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text

NEWEST = "the newest release at creation"
_FIELDS = (
    "maxInstanceLifetime",
    "spot",
    "updateConfig.maxUnavailable",
    "updateConfig.maxUnavailablePercentage",
    "nodeRepairConfig.enabled",
)


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[NodePool | NodeBootstrap]:
    """The node groups of a cluster object, or the one that an object is."""
    context = Context(bundle, item, profile)
    if item.kind == "ClusterConfig":
        yield from _eksctl(context)
    else:
        spec = context.root.at("spec")
        spec = spec.at("forProvider") if spec.at("forProvider").present else spec
        release = "amiVersion" if item.kind == "AWSManagedMachinePool" else "releaseVersion"
        yield node_group(context.subject, spec, release=release)


# eksctl


def _eksctl(context: Context) -> Iterator[NodePool | NodeBootstrap]:
    for key in ("managedNodeGroups", "nodeGroups"):
        for group in context.root.at(key).items():
            yield from _group(context, group, managed=key == "managedNodeGroups")


def _group(context: Context, group: Part, *, managed: bool) -> Iterator[NodePool | NodeBootstrap]:
    subject = context.subject.in_container(group.text("name") or "")
    evidence = Evidence()
    evidence.machine(group.string("instanceType"))
    types = [*group.at("instanceTypes").items(), *group.at("instancesDistribution", "instanceTypes").items()]
    evidence.machines(item.string() for item in types)
    evidence.labels(group.texts("labels"))
    for key, value in group.texts("taints").items():  # nodeGroups may give taints as a mapping
        evidence.taint(key, value.value if isinstance(value, Set) else "", group.at("taints").origin)
    evidence.taints(group.at("taints"))
    gpus = evidence.answer()
    family = group.string("amiFamily", default="AmazonLinux2023", note="eksctl's default")
    system = node_os.of_family(family)
    yield NodePool(
        subject=subject,
        origin=group.origin,
        gpus=gpus,
        images=_group_images(group, managed=managed),
        os=system,
        fields={name: group.string(*name.split(".")) for name in _FIELDS},
        controller="eksctl",
    )
    setup = cloudinit.Setup()
    for command in group.at("preBootstrapCommands").items():
        cloudinit.run_item(command, None, setup)
    override = group.at("overrideBootstrapCommand")
    if isinstance(override.node, Scalar):
        cloudinit.read_user_data(scalar_text(override.node), override.chain, setup)
    if group.at("preBootstrapCommands").open_list or override.unknown:
        setup.close("the bootstrap commands are not seen whole")
    yield NodeBootstrap(
        subject=subject,
        origin=group.origin,
        gpus=gpus,
        os=system,
        actions=setup.actions(),
        opaque_because=setup.opaque_because,
    )


def _group_images(group: Part, *, managed: bool) -> tuple[NodeImage, ...]:
    ami, release = group.at("ami"), group.at("releaseVersion")
    value = group.string("ami")
    if isinstance(value, Set):
        floats = value.value in ("auto", "auto-ssm") or value.value.startswith("resolve:ssm")
        return (NodeImage("id", value, Set(floats, ami.origin), ami.origin),)
    if isinstance(value, Unknown):
        return (NodeImage("id", value, value, ami.origin),)
    if not managed:
        newest: Setting[str] = ami.default(NEWEST, "eksctl's default, auto-ssm")
        return (NodeImage("release", newest, Set(True, ami.origin), group.origin),)
    return (_release(release),)


def _release(part: Part) -> NodeImage:
    value = part.string()
    if isinstance(value, Absent):
        return NodeImage("release", part.default(NEWEST, "EKS' default"), Set(True, part.origin), part.origin)
    floats: Setting[bool] = Set(False, part.origin) if isinstance(value, Set) else Unknown("not known", part.origin)
    return NodeImage("release", value, floats, part.origin)


# Node groups as objects of their own


def node_group(
    subject: Subject, spec: Part, *, release: str = "releaseVersion", launch: Part | None = None
) -> NodePool:
    """ACK's Nodegroup, Crossplane's NodeGroup, CAPA's AWSManagedMachinePool, CloudFormation's AWS::EKS::Nodegroup.

    `release` is the key of the image's release, `launch` the data of the launch template where it is seen: it gives
    the machine type, and an image of its own.
    """
    evidence = Evidence()
    evidence.machine(spec.string("instanceType"))
    evidence.machines(item.string() for item in spec.at("instanceTypes").items())
    if launch is not None:
        evidence.machine(launch.string("instanceType"))
    evidence.labels(spec.texts("labels"))
    evidence.taints(spec.at("taints"))
    if not spec.at("taint").unknown:
        evidence.taints(spec.at("taint"))
    kind = spec.text("amiType") or ""
    if "GPU" in kind or "NVIDIA" in kind or "NEURON" in kind:
        evidence.has(f"amiType {kind}", spec.at("amiType").origin)
    images: tuple[NodeImage, ...] = ()
    elsewhere = launch is None and (spec.at("launchTemplate").present or spec.at("awsLaunchTemplate").present)
    if not (kind == "CUSTOM" or elsewhere):
        images = (_release(spec.at(release)),)
    system: Setting[str] = Unknown("the image is not known", spec.origin)
    for word, name in (("BOTTLEROCKET", "bottlerocket"), ("AL2", "amazon-linux"), ("WINDOWS", "windows")):
        if kind.startswith(word):
            system = Set(name, spec.at("amiType").origin)
    return NodePool(
        subject=subject,
        origin=spec.origin,
        gpus=evidence.answer(),
        images=images,
        os=system,
        fields={name: spec.string(*name.split(".")) for name in _FIELDS},
        controller="eks",
    )
