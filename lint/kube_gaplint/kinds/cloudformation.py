"""Node groups in CloudFormation templates: AWS::EKS::Nodegroup, and Auto Scaling groups of nodes that join alone.

Instance type, image and user data may stand in a launch template or configuration of the same template. An Auto
Scaling group counts as nodes of a cluster where its tags or its user data say so, or where it has GPUs. EKS does not
roll managed nodes by itself: an image that floats shows at scale-out. Source rows: k8s.md D "EKS node groups
elsewhere".
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from kube_gaplint import lazy_re
from kube_gaplint.kinds import cloudinit, eksctl, node_os
from kube_gaplint.kinds.cloudformation_values import Template
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence
from kube_gaplint.model.nodes import CarriesGpus, NodeBootstrap, NodeImage, NodePool
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown, mapped
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.nodes import Entry, Mapping, Node, Scalar, mapping, text_at
from kube_gaplint.text.scalar_text import scalar_text

NODEGROUP = "AWS::EKS::Nodegroup"
GROUP = "AWS::AutoScaling::AutoScalingGroup"
LAUNCHES = ("AWS::EC2::LaunchTemplate", "AWS::AutoScaling::LaunchConfiguration")

_SSM = lazy_re.compile(r"\{\{resolve:ssm(?:-secure)?:(?P<name>[^:{}]+)(?P<version>:\d+)?\}\}")
_JOINS = lazy_re.compile(
    r"/etc/eks/bootstrap\.sh|\bnodeadm\b|node\.eks\.aws/|\bkubeadm join\b|\[settings\.kubernetes\]"
)
_HINTS = "k8s.io/cluster-autoscaler/node-template/"


class _Launch(Struct):
    """A launch template or configuration, and the evidence of the groups that start machines from it."""

    entry: Entry
    data: Part
    users: list[CarriesGpus] = field(default_factory=list)

    @property
    def gpus(self) -> CarriesGpus:
        """What its machines carry: of several users the one with GPUs counts."""
        own = Evidence()
        own.machine(self.data.string("instanceType"))
        known = [own.answer(), *self.users]
        for answer in ("yes", "no"):
            found = next((one for one in known if one.answer == answer), None)
            if found is not None:
                return found
        return known[0]


def adapt(root: Mapping) -> Iterator[NodePool | NodeBootstrap]:
    """The node groups of a template, and how the operating systems of their machines are set up."""
    template = Template(root)
    launches = {name: _launch(template, entry) for name, entry in template.resources(*LAUNCHES).items()}
    for name, entry in template.resources(NODEGROUP).items():
        yield _managed(template, name, entry, launches)
    for name, entry in template.resources(GROUP).items():
        pool = _self_managed(template, name, entry, launches)
        if pool is not None:
            yield pool
    for name, launch in launches.items():
        if launch.users:
            yield from _bootstrap(name, launch)


def _launch(template: Template, entry: Entry) -> _Launch:
    part = _properties(template, entry)
    return _Launch(entry, part.at("launchTemplateData") if part.at("launchTemplateData").present else part)


def _properties(template: Template, entry: Entry) -> Part:
    """The properties of a resource; a message about something missing points at the resource."""
    return Part(template.properties(entry), entry, entry.value)


def _raw(entry: Entry, *path: str) -> Node | None:
    """A value of a resource as it is written: a reference has not been answered yet."""
    node: Node | None = mapping(entry.value, "Properties")
    for step in path:
        node = node.get(step) if isinstance(node, Mapping) else None
    return node


def _launch_of(
    template: Template, specification: Node | None, launches: dict[str, _Launch], *keys: str
) -> tuple[bool, _Launch | None]:
    """Whether a group names a launch template, and the one that it names where it is seen."""
    if not isinstance(specification, Mapping):
        return specification is not None, None
    for key in keys:
        value = specification.get(key)
        if value is None:
            continue
        found = launches.get(template.named(value))
        if found is None and isinstance(value, Scalar):  # by its own name
            name = value.text
            found = next((one for one in launches.values() if _is_named(template, one, name)), None)
        return True, found
    return False, None


def _is_named(template: Template, launch: _Launch, name: str) -> bool:
    given = _properties(template, launch.entry).text("launchTemplateName")
    return given is not None and given == name


# Managed node groups


def _managed(template: Template, name: str, entry: Entry, launches: dict[str, _Launch]) -> NodePool:
    spec = _properties(template, entry)
    _, launch = _launch_of(template, _raw(entry, "LaunchTemplate"), launches, "Id", "Name")
    subject = Subject(NODEGROUP, name=name)
    pool = eksctl.node_group(subject, spec, launch=None if launch is None else launch.data)
    if launch is not None and launch.data.at("imageId").present:
        pool.images = _images(launch.data)
        pool.os = _system(launch.data)
    if launch is not None:
        launch.users.append(pool.gpus)
    return pool


# Auto Scaling groups


def _self_managed(template: Template, name: str, entry: Entry, launches: dict[str, _Launch]) -> NodePool | None:
    spec = _properties(template, entry)
    mixed = _raw(entry, "MixedInstancesPolicy", "LaunchTemplate", "LaunchTemplateSpecification")
    by_id = ("LaunchTemplateId", "LaunchTemplateName")
    _, launch = _launch_of(template, _raw(entry, "LaunchTemplate") or mixed, launches, *by_id)
    if launch is None:
        launch = launches.get(template.named(_raw(entry, "LaunchConfigurationName")))
    evidence = Evidence()
    overrides = spec.at("mixedInstancesPolicy", "launchTemplate", "overrides").items()
    if overrides:
        evidence.machines(one.string("instanceType") for one in overrides)
    elif launch is not None:
        evidence.machine(launch.data.string("instanceType"))
    tags = {tag.text("Key") or "": tag.string("Value") for tag in spec.at("tags").items()}
    for key, value in tags.items():
        _hint(evidence, key, value)
    gpus = evidence.answer()
    joins = any(key.startswith("kubernetes.io/cluster/") for key in tags) or (launch is not None and _joins(launch))
    if launch is None or not (joins or gpus.answer == "yes"):
        return None
    launch.users.append(gpus)
    return NodePool(
        subject=Subject(GROUP, name=name),
        origin=spec.origin,
        gpus=gpus,
        images=_images(launch.data),
        os=_system(launch.data),
        fields={"maxInstanceLifetime": spec.string("maxInstanceLifetime")},
        controller="asg",
    )


def _hint(evidence: Evidence, tag: str, value: Setting[str]) -> None:
    """What a tag tells the cluster autoscaler of the nodes that a group would give."""
    what, _, key = tag.removeprefix(_HINTS).partition("/") if tag.startswith(_HINTS) else ("", "", "")
    origin = value.origin
    if what == "label":
        evidence.label(key, value)
    elif what == "taint" and origin is not None:
        evidence.taint(key, value.value.partition(":")[0] if isinstance(value, Set) else "", origin)
    elif what == "resources" and origin is not None and "gpu" in key:
        evidence.has(f"tag {tag}", origin)


def _joins(launch: _Launch) -> bool:
    """Whether its user data makes a machine a node."""
    data = launch.data.at("userData").node
    return isinstance(data, Scalar) and _JOINS.search(data.text) is not None


# Images and user data


def _images(data: Part) -> tuple[NodeImage, ...]:
    part = data.at("imageId")
    node = part.node
    parameter = _SSM.fullmatch(node.text) if isinstance(node, Scalar) else None
    if parameter is not None:
        value: Setting[str] = Set(parameter["name"], part.origin)
        return (NodeImage("ssm", value, Set(parameter["version"] is None, part.origin), part.origin),)
    value = part.string()
    if isinstance(value, Absent):
        return ()
    return (NodeImage("id", value, mapped(value, lambda _: False), part.origin),)


def _system(data: Part) -> Setting[str]:
    part = data.at("imageId")
    if isinstance(part.node, Scalar) and _SSM.fullmatch(part.node.text):
        return node_os.of_image(Set(part.node.text, part.origin))
    return Unknown("the image is not known", part.origin)


def _bootstrap(name: str, launch: _Launch) -> Iterator[NodeBootstrap]:
    part = launch.data.at("userData")
    setup = cloudinit.Setup()
    if isinstance(part.node, Scalar) and not (part.unknown and "\n" not in part.node.text):
        cloudinit.read_user_data(scalar_text(part.node), part.chain, setup)
    elif part.present:
        setup.close("the user data is not seen")
    yield NodeBootstrap(
        subject=Subject(text_at(launch.entry.value, "Type") or LAUNCHES[0], name=name),
        origin=part.origin,
        gpus=launch.gpus,
        os=_system(launch.data),
        actions=setup.actions(),
        opaque_because=setup.opaque_because,
    )
