"""What in a bundle shows that an autoscaler removes nodes: pools, node classes, controllers, settings of providers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint.facts import purposes
from kube_gaplint.facts import surroundings as facts
from kube_gaplint.facts.instances import INSTANCE_TYPE_KEYS, NONE, devices_of, machine
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.pod import affinity, tolerations
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.surroundings import Autoscaler, Evidence
from kube_gaplint.model.workload import Role, Workload

if TYPE_CHECKING:
    from kube_gaplint.bundle.bundle import Bundle
    from kube_gaplint.bundle.objects import KubeObject
    from kube_gaplint.model.nodes import Answer

_CLOUDS = (
    ("google", "gcp"), ("gcp", "gcp"), ("azure", "azure"), ("eksctl", "aws"), ("k8s.aws", "aws"), ("amazonaws", "aws"),
)  # fmt: skip
"""By part of an object's API group: the only cloud that it can be about."""


class Autoscalers:
    """The autoscalers that may remove the nodes of workloads, by the objects of a bundle, the pods and the profile."""

    def __init__(self, bundle: Bundle, profile: Profile) -> None:
        by_profile: dict[str, Autoscaler] = {"karpenter": "karpenter", "cluster-autoscaler": "cluster-autoscaler"}
        name = by_profile.get(profile.autoscaler)
        self._declared = {} if name is None else {name: Evidence(f"the profile's autoscaler {name}")}
        self._off = profile.autoscaler == "none"
        self._scaling = Scaling() if self._off else scaling_in(bundle, profile)

    def of(self, workload: Workload) -> Mapping[Autoscaler, Evidence]:
        """What the workload's own pods show, else the evidence of the bundle; the profile's in any case.

        A pod that names one autoscaler's nodes is not taken by another one, a pool of a fixed size by none, and a pod
        on one cloud not by what scales another.
        """
        if self._off or any(_pool_of(role) in self._scaling.fixed for role in workload.roles):
            return self._declared
        own: dict[Autoscaler, Evidence] = {}
        placed = False
        for role in workload.roles:
            for key, what, origin in _node_keys(role):
                name = _autoscaler_of(key)
                if name is not None:
                    own.setdefault(name, Evidence(f"{what} {key}", origin, of_pods=True))
                    placed = placed or what != "annotation"
        found = own
        if not placed:
            clouds = {cloud for role in workload.roles if (cloud := _cloud_of(role))}
            around = self._scaling.evidence.items()
            found = {**own, **{name: one for name, one in around if not one.cloud or clouds <= {one.cloud}}}
        if self._scaling.keeps_gpu_nodes:
            found.pop("cluster-autoscaler", None)
        return {**found, **self._declared}


def _node_keys(role: Role) -> Iterator[tuple[str, str, Origin]]:
    """Keys by which a role's pods choose nodes or speak to autoscalers: the key, what it is, and where it stands."""
    pod = role.pod
    for what, settings in (("node label", pod.node_selector), ("annotation", pod.annotations)):
        for key, setting in settings.items():
            if not isinstance(setting, Absent):
                yield key, what, setting.origin or pod.origin
    for term in affinity(pod).nodes:
        yield term.key, "node label", term.origin
    for toleration in tolerations(pod):
        if isinstance(toleration.key, Set):
            yield toleration.key.value, "taint", toleration.origin


def _autoscaler_of(key: str) -> Autoscaler | None:
    """The autoscaler that a node label, a taint or an annotation is of; the name of a pool is of none."""
    if key in facts.POOL_KEYS:
        return None
    if facts.matches(key, facts.KARPENTER_KEYS):
        return "karpenter"
    return "cluster-autoscaler" if facts.matches(key, facts.AUTOSCALER_KEYS) else None


def _cloud_of(role: Role) -> str:
    """The cloud on whose nodes a role's pods run, by the labels, taints and machine types that they name."""
    by_key = next(
        (cloud for key, what, _ in _node_keys(role) if what != "annotation" and (cloud := facts.cloud_of(key))), ""
    )
    if by_key:
        return by_key
    for key in INSTANCE_TYPE_KEYS:
        chosen = role.pod.node_selector.get(key)
        if isinstance(chosen, Set):
            found = machine(chosen.value.removeprefix("ml."))
            if found is not None:
                return "hyperpod" if chosen.value.startswith("ml.") else found.cloud
    return ""


def _pool_of(role: Role) -> str:
    """The node pool of a provider that a role's pods choose by name; empty where they choose none."""
    for key in facts.POOL_KEYS:
        chosen = role.pod.node_selector.get(key)
        if isinstance(chosen, Set):
            return chosen.value
    return ""


class Scaling(Struct):
    """What a bundle says of autoscalers: the first evidence of each, and pools of providers that keep their size."""

    evidence: dict[Autoscaler, Evidence] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    """Names of pools that surely keep their size."""
    gpu_pools: list[bool] = field(default_factory=list)
    """For each pool of a provider that surely has GPUs: whether it surely keeps its size."""

    @property
    def keeps_gpu_nodes(self) -> bool:
        """All pools with GPUs that are in the paths keep their size."""
        return bool(self.gpu_pools) and all(self.gpu_pools)

    def shows(self, name: Autoscaler, item: KubeObject, part: Part, group: str = "") -> None:
        """Take an object as evidence, about the cloud of its own API group or of another one."""
        cloud = next((cloud for sign, cloud in _CLOUDS if sign in (group or item.group)), "")
        self.evidence.setdefault(name, Evidence(f"{item.kind} {item.name}".strip(), part.origin, cloud))

    def add(self, pool: _Pool, item: KubeObject, *, counts: bool) -> None:
        """Take a provider's pool into account; as evidence only where it `counts`."""
        if pool.keeps_size and pool.name:
            self.fixed.add(pool.name)
        if pool.gpus == "yes":
            self.gpu_pools.append(pool.keeps_size)
        if counts and pool.scaled is not None and not pool.keeps_size and pool.gpus != "no":
            self.shows("cluster-autoscaler", item, pool.scaled)


class _Pool(Struct, frozen=True):
    """A node pool of a provider. `scaled` lets the autoscaler change its size; None where nothing is written."""

    name: str
    gpus: Answer
    scaled: Part | None
    keeps_size: bool


def scaling_in(bundle: Bundle, profile: Profile) -> Scaling:
    """What the objects of a bundle show.

    A Karpenter pool that surely has no GPUs says nothing of GPU nodes, and neither does a node class without a pool
    that is named for serving, nor one of several clusters that eksctl makes: which of them the jobs run in is not
    known.
    """
    found = Scaling()
    one_cluster = len(bundle.by_kind("eksctl.io", "ClusterConfig")) == 1
    karpenter = [item for item in bundle.objects if (item.group, item.kind) in facts.KARPENTER_POOLS]
    for item in karpenter:
        if _may_carry_gpus(item, bundle, profile):
            root = Part.of(item.node)
            node_class = root.text("spec", "template", "spec", "nodeClassRef", "group") or ""
            found.shows("karpenter", item, root, node_class)
    for item in bundle.objects:
        key, root = (item.group, item.kind), Part.of(item.node)
        if key in facts.KARPENTER_KINDS and not karpenter and not _serves(item.name):
            found.shows("karpenter", item, root)
        elif key in facts.AUTOSCALER_KINDS:
            found.shows("cluster-autoscaler", item, root)
        elif item.is_a("apps", "Deployment", "DaemonSet"):
            for name, part in _controllers(root):
                found.shows(name, item, part)
        elif key == ("eksctl.io", "ClusterConfig"):
            made = _eksctl_karpenter(root)
            if made is not None and one_cluster:
                found.shows("karpenter", item, made)
            for pool in _eksctl_pools(root):
                found.add(pool, item, counts=one_cluster)
        else:
            for pool in _other_pools(item, root):
                found.add(pool, item, counts=True)
    return found


def _serves(name: str) -> bool:
    """Whether the name of a node class says that its nodes serve, and not that they train."""
    words = purposes.words_of(name)
    return not purposes.SERVING_WORDS.isdisjoint(words) and purposes.TRAINING_WORDS.isdisjoint(words)


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


def _eksctl_karpenter(root: Part) -> Part | None:
    """Karpenter, or EKS Auto Mode, as eksctl installs them."""
    if root.at("karpenter", "version").present:
        return root.at("karpenter")
    auto = root.at("autoModeConfig", "enabled")
    return auto if auto.is_true() else None


def _eksctl_pools(root: Part) -> Iterator[_Pool]:
    """The node groups of a cluster; the autoscaler may change those whose policy allows it."""
    for key in ("managedNodeGroups", "nodeGroups"):
        for group in root.at(key).items():
            kind = machine(group.text("instanceType") or "")
            gpus: Answer = "unknown" if kind is None else "yes" if kind.accelerator else "no"
            allowed = group.at("iam", "withAddonPolicies", "autoScaler")
            fixed = _same(group, "minSize", "maxSize")
            yield _Pool(group.text("name") or "", gpus, allowed if allowed.is_true() else None, fixed)


def gpus_of_groups(root: Part) -> Iterator[Set[int] | None]:
    """The GPUs of a node of each of a cluster's groups that may have some; None where their number is not known."""
    for key in ("managedNodeGroups", "nodeGroups"):
        for group in root.at(key).items():
            one, several = group.string("instanceType"), group.strings("instanceTypes")
            names = [one.value] if isinstance(one, Set) else [*several.value] if isinstance(several, Set) else [""]
            for name in names:
                kind = machine(name)
                if kind is None or kind.accelerator != NONE:
                    count = devices_of(name)
                    yield None if count is None else Set(count, group.origin)


def _other_pools(item: KubeObject, root: Part) -> Iterator[_Pool]:
    """Pools of GKE and AKS that are objects of their own."""
    spec = root.at("spec")
    if item.kind in ("ContainerNodePool", "NodePool") and any(one in item.group for one in ("google", "gcp")):
        from kube_gaplint.kinds.gke import config_gpus

        inner = spec.at("forProvider") if spec.at("forProvider").present else spec
        scaled = inner.at("autoscaling")
        fixed = scaled.state is False or _same(scaled, "minNodeCount", "maxNodeCount")
        gpus = config_gpus(inner.at("nodeConfig")).answer
        yield _Pool(item.name, gpus, scaled if scaled.present else None, fixed)
    elif (item.group, item.kind) == ("containerservice.azure.com", "ManagedClustersAgentPool"):
        enabled = spec.at("enableAutoScaling")
        value = enabled.boolean(default=False)
        fixed = (isinstance(value, Set) and not value.value) or _same(spec, "minCount", "maxCount")
        kind = machine(spec.text("vmSize") or "")
        gpus = "unknown" if kind is None else "yes" if kind.accelerator else "no"
        yield _Pool(item.name, gpus, enabled if enabled.is_true() else None, fixed)


def _same(part: Part, first: str, second: str) -> bool:
    """Whether two numbers are surely equal: the least and the greatest size of a pool."""
    least, most = part.string(first), part.string(second)
    return isinstance(least, Set) and isinstance(most, Set) and least.value == most.value
