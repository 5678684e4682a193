"""Karpenter: NodePools with the node class that they use, for AWS (v1, v1beta1, Provisioner), EKS Auto Mode, Azure.

Source rows: k8s.md D "Karpenter AMI", "Karpenter node life", "EKS Auto Mode".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.facts.placement import CAPACITY_TYPE
from kube_gaplint.kinds import cloudinit, node_os
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence, either
from kube_gaplint.model.nodes import Budget, CarriesGpus, NodeBootstrap, NodeImage, NodePool, SpotNodes, Taint
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Link, Origin, Set, Setting, Unknown, mapped
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text

POOLS = (("karpenter.sh", "NodePool"), ("karpenter.sh", "Provisioner"))
CLASSES = (
    ("karpenter.k8s.aws", "EC2NodeClass"),
    ("karpenter.k8s.aws", "AWSNodeTemplate"),
    ("karpenter.azure.com", "AKSNodeClass"),
)
AUTO = "eks.amazonaws.com"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[NodePool | NodeBootstrap]:
    """The views of a pool or a node class."""
    context = Context(bundle, item, profile)
    if item.kind in ("NodePool", "Provisioner"):
        yield _pool(context)
    elif item.group != AUTO:
        yield from _node_class(context)


# Pools


def _pool(context: Context) -> NodePool:
    node_class = _class_of(context)
    template = _template(context)
    auto = _ref_group(context) == AUTO
    fields, budgets = _life(context, auto)
    found = isinstance(node_class, KubeObject) and node_class.group != AUTO
    images: tuple[NodeImage, ...] = ()
    system: Setting[str] = Unknown("the node class is not in the given paths", context.origin)
    if found and isinstance(node_class, KubeObject):
        images = _images(node_class, context, _comes_later(context, node_class))
        system = os_of(Part.of(node_class.node).at("spec"), images)
    elif auto:
        system = Set("bottlerocket", context.origin)
    return NodePool(
        subject=context.subject,
        origin=template.origin if template.present else context.origin,
        gpus=carries_gpus(context),
        images=images,
        os=system,
        fields=fields,
        replaces_drifted=context.object.kind == "NodePool" and not _is_full(context.root.at("spec")),
        controller="eks-auto" if auto else "karpenter",
        budgets=budgets,
        taints=tuple(_taints(template)),
        labels={key: value.value for key, value in _labels(context).items() if isinstance(value, Set)},
        spot=_spot(template),
    )


def _spot(template: Part) -> SpotNodes | None:
    """By the requirement on the capacity type: of several kinds Karpenter takes spot nodes first."""
    for requirement in template.at("requirements").items():
        if requirement.text("key") != CAPACITY_TYPE or requirement.text("operator") != "In":
            continue
        values = [one.text() for one in requirement.at("values").items()]
        if "spot" in values:
            return SpotNodes(requirement.origin, all(value == "spot" for value in values))
    return None


def _is_full(spec: Part) -> bool:
    """Whether a static pool has no room for a second node beside a drifted one; so too where that is not known.

    Karpenter starts the replacement first: at `limits.nodes` it leaves the drifted node alone (karpenter v1.8,
    pkg/controllers/disruption/staticdrift.go; the gate TerminateFirstDrift, off by default, would end it first).
    """
    replicas, limit = spec.count("replicas"), spec.at("limits").count("nodes")
    if isinstance(replicas, Absent) or isinstance(limit, Absent):
        return False
    return isinstance(replicas, Unknown) or isinstance(limit, Unknown) or limit.value <= replicas.value


def _taints(template: Part) -> Iterator[Taint]:
    """Taints that are wholly known."""
    for item in template.at("taints").items():
        key, effect = item.text("key"), item.text("effect")
        if key and effect and not item.at("value").unknown:
            yield Taint(key, item.text("value") or "", effect, item.origin)


def _template(context: Context) -> Part:
    spec = context.root.at("spec")
    return spec if context.object.kind == "Provisioner" else spec.at("template", "spec")


def _labels(context: Context) -> Mapping[str, Setting[str]]:
    """The labels of the pool's nodes that somebody made up: written as labels, or a requirement with one value."""
    spec = context.root.at("spec")
    of_nodes = ("labels",) if context.object.kind == "Provisioner" else ("template", "metadata", "labels")
    required: dict[str, Setting[str]] = {}
    for item in _template(context).at("requirements").items():
        key, values = item.text("key"), item.strings("values")
        if (
            key
            and "/" not in key
            and item.text("operator") == "In"
            and isinstance(values, Set)
            and len(values.value) == 1
        ):
            required[key] = Set(values.value[0], values.origin)
    return required | spec.at(*of_nodes).texts()


def carries_gpus(context: Context) -> CarriesGpus:
    """Whether a pool carries GPUs."""
    evidence = Evidence()
    spec, template = context.root.at("spec"), _template(context)
    evidence.requirements(template.at("requirements"))
    evidence.taints(template.at("taints"))
    evidence.taints(template.at("startupTaints"))
    evidence.labels(_labels(context))
    limits = spec.at("limits", "resources") if context.object.kind == "Provisioner" else spec.at("limits")
    for key, amount in limits.texts().items():
        evidence.label(key, amount)
    answer = evidence.answer()
    if answer.answer == "unknown" and answer.origin is None:
        reason = "nothing restricts the pool to machines with or without GPUs"
        if template.at("requirements").unknown:
            reason = f"its requirements are {template.at('requirements').unknown}"
        return CarriesGpus("unknown", reason, template.origin)
    return answer


def _ref(context: Context) -> Part:
    template = _template(context)
    return template.at("providerRef") if context.object.kind == "Provisioner" else template.at("nodeClassRef")


def _ref_group(context: Context) -> str:
    ref = _ref(context)
    return ref.text("group") or (ref.text("apiVersion") or "").partition("/")[0]


def _class_of(context: Context) -> KubeObject | Unknown | None:
    ref = _ref(context)
    name, kind = ref.text("name"), ref.text("kind")
    if not name:
        return Unknown("the reference to the node class is not known", ref.origin)
    default = "AWSNodeTemplate" if context.object.kind == "Provisioner" else "EC2NodeClass"
    return context.find(_ref_group(context) or "karpenter.k8s.aws", kind or default, name, cluster_wide=True)


def _life(context: Context, auto: bool) -> tuple[dict[str, Setting[str]], tuple[Budget, ...]]:
    """How long nodes live and what removes them, with the controller's defaults."""
    spec, template = context.root.at("spec"), _template(context)
    if context.object.kind == "Provisioner":
        return _provisioner_life(spec), ()
    disruption = spec.at("disruption")
    old = context.object.version == "v1beta1"
    lifetime = "336h" if auto else "720h"
    whose = "EKS Auto Mode's default" if auto else "Karpenter's default"
    policy = "WhenUnderutilized" if old else "WhenEmptyOrUnderutilized"
    fields = {
        "expireAfter": (disruption if old else template).string("expireAfter", default=lifetime, note=whose),
        "consolidationPolicy": disruption.string("consolidationPolicy", default=policy, note="Karpenter's default"),
        "consolidateAfter": disruption.string("consolidateAfter", default="0s", note="Karpenter's default"),
        "terminationGracePeriod": template.string("terminationGracePeriod"),
        "replicas": spec.string("replicas"),
    }
    return fields, _budgets(disruption.at("budgets"))


def _provisioner_life(spec: Part) -> dict[str, Setting[str]]:
    consolidation = spec.at("consolidation")
    enabled = consolidation.boolean("enabled")
    policy: Setting[str] = Set("WhenEmpty", spec.origin)
    if isinstance(enabled, Unknown):
        policy = enabled
    elif isinstance(enabled, Set) and enabled.value:
        policy = Set("WhenUnderutilized", enabled.origin)
    expiry = spec.number("ttlSecondsUntilExpired")
    lifetime: Setting[str] = Set("Never", Origin(spec.place, "default", "Karpenter's default", node=spec.node))
    if isinstance(expiry, Unknown):
        lifetime = expiry
    elif isinstance(expiry, Set):
        lifetime = Set(f"{expiry.value:g}s", expiry.origin)
    return {"expireAfter": lifetime, "consolidationPolicy": policy, "consolidateAfter": Absent(spec.origin)}


def _budgets(part: Part) -> tuple[Budget, ...]:
    if part.unknown or part.open_list:
        unknown = Unknown(part.unknown or part.open_list, part.origin)
        return (Budget(unknown, unknown, unknown, unknown, part.origin),)
    if not part.present:
        nothing = Absent(part.origin)
        return (Budget(part.default("10%", "Karpenter's default"), nothing, nothing, nothing, part.origin),)
    return tuple(
        Budget(
            item.string("nodes", default="10%", note="Karpenter's default"),
            item.strings("reasons"),
            item.string("schedule"),
            item.string("duration"),
            item.origin,
        )
        for item in part.items()
    )


# Node classes


def _pools_of(context: Context) -> Sequence[KubeObject]:
    """The pools in the paths that refer to the node class in hand."""
    return _pools_by_class(context.bundle, context.profile).get(id(context.object), ())


@lru_cache(maxsize=1)  # each class and each pool asks
def _pools_by_class(bundle: Bundle, profile: Profile) -> dict[int, list[KubeObject]]:
    """The pools of each node class, by its identity."""
    found: dict[int, list[KubeObject]] = {}
    for group, kind in POOLS:
        for pool in bundle.by_kind(group, kind):
            node_class = _class_of(Context(bundle, pool, profile))
            if isinstance(node_class, KubeObject):
                found.setdefault(id(node_class), []).append(pool)
    return found


def _comes_later(context: Context, node_class: KubeObject) -> bool:
    """Whether another pool that can carry GPUs uses the same class and comes first."""
    own = context.object
    for pool in _pools_of(Context(context.bundle, node_class, context.profile)):
        if pool is own:
            return False
        if carries_gpus(Context(context.bundle, pool, context.profile)).answer != "no":
            return True
    return False


def _node_class(context: Context) -> Iterator[NodeBootstrap]:
    spec = context.root.at("spec")
    answers = [carries_gpus(Context(context.bundle, pool, context.profile)) for pool in _pools_of(context)]
    gpus = either(answers)
    if not answers:
        gpus = CarriesGpus("unknown", "no pool in the given paths refers to the node class")
    system = os_of(spec, _images(context.object, context, repeated=False))
    data = spec.at("userData")
    setup = cloudinit.Setup()
    origin = spec.origin
    if data.node is not None and isinstance(data.node, Scalar):
        setup = cloudinit.read_user_data(scalar_text(data.node), data.chain)
        origin = data.origin
        if data.unknown:
            setup.opaque_because = setup.opaque_because or data.unknown
    elif data.unknown:
        setup.opaque_because = data.unknown
    yield NodeBootstrap(
        subject=context.subject,
        origin=origin,
        gpus=gpus,
        os=system,
        actions=setup.actions(),
        opaque_because=setup.opaque_because,
    )


def _images(node_class: KubeObject, context: Context, repeated: bool) -> tuple[NodeImage, ...]:
    """What chooses the machine image in a node class."""
    root = Part.of(node_class.node)
    if node_class is not context.object:
        ref = _ref(context)
        root = Part.of(node_class.node, (Link(ref.place, f"{node_class.kind} {node_class.name}"),))
    spec = root.at("spec")
    if node_class.kind == "AKSNodeClass":
        return _azure_images(spec, repeated)
    terms = spec.at("amiSelectorTerms")
    if node_class.kind == "AWSNodeTemplate":
        terms = spec.at("amiSelector")
    if terms.unknown:
        return ()
    if not terms.present:
        return _family_image(spec, node_class, repeated)
    if node_class.kind == "AWSNodeTemplate":
        return ()  # tags and ids of one's own
    return tuple(image for item in terms.items() for image in _term(item, repeated))


def _family_image(spec: Part, node_class: KubeObject, repeated: bool) -> tuple[NodeImage, ...]:
    """Without terms, the older versions take the newest image of the family; v1 refuses the object."""
    if node_class.version == "v1" or spec.text("launchTemplate"):
        return ()
    family = spec.string("amiFamily", default="AL2", note="Karpenter's default")
    if isinstance(family, Set) and family.value == "Custom":
        return ()
    origin = spec.at("amiFamily").origin
    return (NodeImage("family", family, Set(True, origin), origin, repeated),)


def _azure_images(spec: Part, repeated: bool) -> tuple[NodeImage, ...]:
    family = spec.at("imageFamily")
    value = spec.string("imageFamily", default="Ubuntu2204", note="Karpenter's default")
    return (NodeImage("family", value, Set(True, family.origin), family.origin, repeated),)


def _term(item: Part, repeated: bool) -> Iterator[NodeImage]:
    alias, name, parameter = item.at("alias"), item.at("name"), item.at("ssmParameter")
    value = item.string("alias")
    if not isinstance(value, Absent):
        floats: Setting[bool] = Unknown("the version is not known", alias.origin)
        if isinstance(value, Set):
            floats = Set(value.value.rpartition("@")[2] == "latest", alias.origin)
        yield NodeImage("alias", value, floats, alias.origin, repeated)
    value = item.string("name")
    if not isinstance(value, Absent):
        tagged = item.at("tags").present
        floats = value if isinstance(value, Unknown) else Set("*" in value.value and not tagged, name.origin)
        yield NodeImage("name", value, floats, name.origin, repeated)
    value = item.string("ssmParameter")
    if not isinstance(value, Absent):
        floats = value if isinstance(value, Unknown) else _parameter_floats(value.value, parameter.origin)
        yield NodeImage("ssm", value, floats, parameter.origin, repeated)
    for form in ("id", "tags"):
        part = item.at(form)
        if part.present and not name.present:
            text = part.string() if form == "id" else Set("tags", part.origin)
            yield NodeImage(form, text, Set(False, part.origin), part.origin, repeated)


def _parameter_floats(name: str, origin: Origin) -> Setting[bool]:
    """A public parameter that names the newest image moves; one that names a version does not."""
    parts = name.lower().split("/")
    if "latest" in parts or "recommended" in parts:
        return Set(True, origin)
    if name.startswith("/aws/service/"):
        return Set(False, origin)
    return Unknown("the parameter is in the account's own hands", origin)


def os_of(spec: Part, images: tuple[NodeImage, ...]) -> Setting[str]:
    """The operating system, from the alias, the family, or the name of the image."""
    family = spec.string("amiFamily")
    for image in images:
        if image.form == "alias":
            family = mapped(image.value, lambda alias: alias.partition("@")[0])
        elif image.form == "family":
            family = image.value
    known = node_os.of_family(family)
    if isinstance(known, Set):
        return known
    for image in images:
        named = node_os.of_image(image.value)
        if isinstance(named, Set):
            return named
    return Unknown("the image does not tell its operating system", spec.origin)
