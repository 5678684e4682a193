"""Evidence about the cluster around workloads, from the other objects of the given paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint.facts import instances
from kube_gaplint.facts import surroundings as facts
from kube_gaplint.facts.candidates import NODE_REPAIR_MARK, SHARING_MARK
from kube_gaplint.facts.schedulers import POD_GROUP_KEYS
from kube_gaplint.facts.storage import DELETES
from kube_gaplint.kinds.autoscalers import Autoscalers, gpus_of_groups
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.selectors import Demand, demands, pairs, select
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Link, Origin, Set, Setting, Unknown
from kube_gaplint.model.surroundings import (
    DisruptionBudget,
    Evidence,
    LimitDefaults,
    NetworkService,
    PodGroup,
    Pools,
    Priority,
    Surroundings,
)
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.text import nodes
from kube_gaplint.text.nodes import Node, Scalar
from kube_gaplint.text.templates import placeholder

if TYPE_CHECKING:
    from kube_gaplint.bundle.bundle import Bundle
    from kube_gaplint.bundle.objects import KubeObject

# Labels that controllers put on the pods of a role, beside those of the template: {name} is the object's, {role} the
# role's. They are what Services and PodDisruptionBudgets select by.
_CONTROLLER_LABELS: dict[str, tuple[tuple[str, str], ...]] = {
    "Job": (
        ("job-name", "{name}"), ("batch.kubernetes.io/job-name", "{name}"), ("volcano.sh/job-name", "{name}"),
        ("volcano.sh/task-spec", "{role}"),
    ),
    "JobSet": (("jobset.sigs.k8s.io/jobset-name", "{name}"), ("jobset.sigs.k8s.io/replicatedjob-name", "{role}")),
    "TrainJob": (("jobset.sigs.k8s.io/jobset-name", "{name}"), ("jobset.sigs.k8s.io/replicatedjob-name", "{role}")),
    "PyTorchJob": (
        ("training.kubeflow.org/job-name", "{name}"), ("training.kubeflow.org/replica-type", "{role_lower}"),
        ("pytorch-job-name", "{name}"), ("pytorch-replica-type", "{role_lower}"),
    ),
    "TFJob": (("training.kubeflow.org/job-name", "{name}"), ("training.kubeflow.org/replica-type", "{role_lower}")),
    "MPIJob": (
        ("training.kubeflow.org/job-name", "{name}"), ("training.kubeflow.org/job-role", "{role_lower}"),
        ("training.kubeflow.org/replica-type", "{role_lower}"),
    ),
    "RayJob": (("ray.io/group", "{role}"), ("ray.io/node-type", "{ray_type}")),
    "RayCluster": (("ray.io/cluster", "{name}"), ("ray.io/group", "{role}"), ("ray.io/node-type", "{ray_type}")),
    "LeaderWorkerSet": (("leaderworkerset.sigs.k8s.io/name", "{name}"),),
}  # fmt: skip


_NO_LABEL = ("", "")
_MOST_BUDGETS = 256
"""PodDisruptionBudgets that are kept under one label: nobody has more, and each is looked at for every workload."""


class Around(Struct, dict=True):
    """Everything in a bundle that may stand around a workload, looked through once."""

    bundle: Bundle
    profile: Profile
    _node_health: Evidence | None = None
    _log_shipper: Evidence | None = None
    _fills_requests: Evidence | None = None
    _registry_mirror: Evidence | None = None
    _single_process_kill: Evidence | None = None
    _memlock: Evidence | None = None
    _mesh_kinds: list[KubeObject] = field(default_factory=list)
    _selectors: dict[tuple[str, str], list[KubeObject]] = field(default_factory=dict)
    _budgets: dict[tuple[str, str], list[tuple[KubeObject, tuple[Demand, ...]]]] = field(default_factory=dict)
    _bounds: dict[int, tuple[Setting[str], Setting[str], Origin]] = field(default_factory=dict)
    """By identity, what each PodDisruptionBudget allows."""
    _reclaim: dict[str, Setting[str]] = field(default_factory=dict)
    _cleaners: list[tuple[str, str, Evidence]] = field(default_factory=list)
    """Namespace and claim of what deletes files on a claim."""
    _pulling: list[tuple[str, Evidence]] = field(default_factory=list)
    """The namespaces whose account `default` has pull secrets."""
    _by_namespace: dict[str, tuple[LimitDefaults, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._declared()
        for item in self.bundle.objects:
            self._look_at(item)
        for document in self.bundle.others:
            if self._node_health is None and NODE_REPAIR_MARK in document.source.text:
                found = facts.REPAIRS_NODES.search(document.source.text)
                if found is not None and document.root is not None:
                    self._node_health = Evidence("a CloudFormation template", Origin(document.root.place))

    @cached_property
    def _shared_devices(self) -> Evidence | None:
        """A configuration of NVIDIA's device plugin, in a ConfigMap or in Helm values, by which pods share cards."""
        maps = [(f"ConfigMap {item.name}", item.node) for item in self.bundle.by_kind("", "ConfigMap")]
        values = [
            ("the device plugin's values", document.root)
            for document in self.bundle.others
            if document.root is not None and SHARING_MARK in document.source.text
        ]
        for what, root in (*maps, *values):
            found = _text_in(root, facts.SHARES_DEVICES)
            if found is not None:
                return Evidence(what, Origin(found.place, node=found))
        return None

    def _most_gpus(self, near: KubeObject) -> Setting[int] | None:
        """The most GPUs of a node, by what stands beside the manifest, else by eksctl's node groups."""
        told = self.bundle.gpus_of_nodes(near.file)
        return self._gpus_of_groups if told is None else told

    @cached_property
    def _gpus_of_groups(self) -> Set[int] | None:
        """The most GPUs of a node of eksctl's node groups in the paths, where that is known of all and nothing else
        makes nodes."""
        if any((item.group, item.kind) in facts.KARPENTER_POOLS for item in self.bundle.objects):
            return None
        found = [
            one
            for item in self.bundle.by_kind("eksctl.io", "ClusterConfig")
            for one in gpus_of_groups(Part.of(item.node))
        ]
        known = [one for one in found if one is not None]
        return max(known, key=lambda one: one.value, default=None) if len(known) == len(found) else None

    @cached_property
    def _autoscalers(self) -> Autoscalers:
        return Autoscalers(self.bundle, self.profile)

    def _declared(self) -> None:
        if self.profile.node_health or self.profile.supervisor:
            self._node_health = Evidence("the profile says so")
        if self.profile.memlock_unlimited:
            self._memlock = Evidence("the profile says so")

    def _look_at(self, item: KubeObject) -> None:
        key = (item.group, item.kind)
        what = f"{item.kind} {item.name}".strip()
        origin = Part.of(item.node).origin
        if key in facts.NODE_HEALTH_KINDS and self._node_health is None:
            self._node_health = Evidence(what, origin)
        if self._memlock is None and item.kind in facts.NODE_SETUP_KINDS:
            raised = _text_in(item.node, facts.RAISES_MEMLOCK)
            self._memlock = None if raised is None else Evidence(what, Origin(raised.place, node=raised))
        mirrors = facts.MIRRORS_DOCKER_HUB if item.kind in facts.NODE_SETUP_KINDS else facts.NAMES_DOCKER_HUB
        if self._registry_mirror is None and (item.kind in facts.NODE_SETUP_KINDS or key in facts.MIRROR_KINDS):
            mirrored = _text_in(item.node, mirrors)
            self._registry_mirror = None if mirrored is None else Evidence(what, Origin(mirrored.place, node=mirrored))
        if key in facts.MESH_KINDS:
            self._mesh_kinds.append(item)
        for path in facts.NODE_REPAIR.get(key, ()):
            if self._node_health is None and any(part.is_true() for part in _parts(Part.of(item.node), path)):
                self._node_health = Evidence(what, origin)
        for path in facts.CHARTS.get(key, ()):
            for chart in _parts(Part.of(item.node), path):
                self._by_name(chart.text() or "", Evidence(what, chart.origin))
        for path in facts.AUTOPILOT.get(key, ()):
            if Part.of(item.node).is_true(*path):
                self._fills_requests = Evidence(f"GKE Autopilot ({what})", origin)
        for path in facts.SINGLE_PROCESS_KILL.get(key, ()):
            if Part.of(item.node).is_true(*path):
                self._single_process_kill = Evidence(what, origin)
        if item.is_a("apps", "Deployment", "DaemonSet"):
            self._by_image(item, what)
            self._cleaners += _cleaned(item, what)
        elif item.is_a("policy", "PodDisruptionBudget"):
            self._index_budget(item)
        elif item.is_a("", "Service"):
            self._index(item, Part.of(item.node).at("spec", "selector"))
        elif item.is_a("", "ServiceAccount") and item.name == "default":
            if Part.of(item.node).at("imagePullSecrets").items():
                self._pulling.append((item.namespace, Evidence(what, origin)))
        elif item.is_a("batch", "CronJob"):
            self._cleaners += _cleaned(item, what)
        elif item.is_a("storage.k8s.io", "StorageClass"):
            default = "the default of a StorageClass"
            self._reclaim[item.name] = Part.of(item.node).string("reclaimPolicy", default="Delete", note=default)

    def _by_image(self, item: KubeObject, what: str) -> None:
        for container in Part.of(item.node).at("spec", "template", "spec", "containers").items():
            self._by_name(container.text("image") or "", Evidence(what, container.at("image").origin))
            gates = container.at("env").named("FEATURE_GATES")  # of Karpenter's controller
            if gates is not None and "NodeRepair=true" in (gates.text("value") or ""):
                self._node_health = self._node_health or Evidence(what, gates.origin)

    def _by_name(self, name: str, evidence: Evidence) -> None:
        """What an image, or a chart, is for."""
        if self._node_health is None and facts.matches(name, facts.NODE_HEALTH_IMAGES):
            self._node_health = evidence
        if self._log_shipper is None and facts.matches(name, facts.LOG_SHIPPER_IMAGES):
            self._log_shipper = evidence
        if self._registry_mirror is None and facts.matches(name, facts.REGISTRY_MIRROR_IMAGES):
            self._registry_mirror = evidence

    def _index(self, item: KubeObject, selector: Part) -> None:
        """Keep an object under the first label that it selects by."""
        first = next(selector.entries(), None)
        if first is not None:
            self._selectors.setdefault((first[0], first[1].text() or ""), []).append(item)

    def _index_budget(self, item: KubeObject) -> None:
        """Keep a PodDisruptionBudget under the labels that pods have one of; under nothing where they need none."""
        asked = demands(Part.of(item.node).at("spec", "selector"))
        if asked is None or (item.version == "v1beta1" and not asked):  # there an empty selector selects no pod
            return
        for pair in set(pairs(asked)) or {_NO_LABEL}:
            kept = self._budgets.setdefault(pair, [])
            if len(kept) < _MOST_BUDGETS:
                kept.append((item, asked))

    # One workload

    def of(self, workload: Workload, near: KubeObject | None, pools: Pools) -> Surroundings:
        """What stands around a workload; `near` is the object that it was read from (None: a script)."""
        if near is None:
            return Surroundings(self._autoscalers.of(workload), node_health=self._node_health, pools=pools)
        namespace = near.namespace
        labels = {role.name: self._pod_labels(workload, role, near) for role in workload.roles}
        return Surroundings(
            autoscalers=self._autoscalers.of(workload),
            mesh=self._mesh(namespace, near),
            node_health=self._node_health,
            log_shipper=self._log_shipper,
            budgets=tuple(self._budgets_of(labels, near)),
            priorities=tuple(self._priorities(workload, near)),
            services=tuple(_service(item, roles) for item, roles in self._selected(labels, namespace)),
            pod_groups=tuple(self._pod_groups(workload, near)),
            memlock=self._memlock,
            limits=self._limits_in(namespace),
            fills_requests=self._fills_requests,
            single_process_kill=self._single_process_kill,
            shared_devices=self._shared_devices,
            namespace_labels=self._namespace_labels(namespace, near),
            reclaim_policies=self._reclaim,
            cleaned_claims={claim: evidence for own, claim, evidence in self._cleaners if _may_share(own, namespace)},
            pull_secrets=next((one for own, one in self._pulling if _may_share(own, namespace)), None),
            registry_mirror=self._registry_mirror,
            pools=pools,
            most_gpus_per_node=self._most_gpus(near) if _shares_nodes(workload) else None,
        )

    def _pod_labels(self, workload: Workload, role: Role, near: KubeObject) -> dict[str, Setting[str]]:
        labels = dict(role.pod.labels)
        names = {"name": near.name, "role": role.name, "role_lower": role.name.lower()}
        names["ray_type"] = "head" if role.name == "head" else "worker"
        for key, pattern in _CONTROLLER_LABELS.get(workload.subject.kind, ()):
            labels.setdefault(key, Set(pattern.format_map(names), role.pod.origin))
        return labels

    def _selected(
        self, labels: Mapping[str, Mapping[str, Setting[str]]], namespace: str
    ) -> list[tuple[KubeObject, tuple[str, ...]]]:
        """Services that select pods of some roles, with those roles."""
        found: dict[int, tuple[KubeObject, list[str]]] = {}
        for role, settings in labels.items():
            own = {key: value.value for key, value in settings.items() if isinstance(value, Set)}
            for pair in own.items():
                for item in self._selectors.get(pair, ()):
                    if _may_share(item.namespace, namespace) and _matches(item, own):
                        found.setdefault(id(item), (item, []))[1].append(role)
        return [(item, tuple(roles)) for item, roles in found.values()]

    def _budgets_of(
        self, labels: Mapping[str, Mapping[str, Setting[str]]], near: KubeObject
    ) -> Iterable[DisruptionBudget]:
        """PodDisruptionBudgets that select pods of some roles, or may do so."""
        found: dict[int, tuple[KubeObject, dict[str, bool]]] = {}
        for role, own in labels.items():
            known = [(key, value.value) for key, value in own.items() if isinstance(value, Set)]
            for pair in (*known, *((key, "") for key in own), _NO_LABEL):
                for item, asked in self._budgets.get(pair, ()):
                    if not _may_share(item.namespace, near.namespace):
                        continue
                    answer = select(asked, own)
                    if answer is not False:
                        sure = answer is True and (pair != _NO_LABEL or _in_one_namespace(item, near))
                        found.setdefault(id(item), (item, {}))[1].setdefault(role, sure)
        for item, roles in found.values():
            bounds = self._bounds.get(id(item))
            if bounds is None:
                bounds = self._bounds[id(item)] = _bounds_of(item)
            yield DisruptionBudget(item.name, tuple(roles), *bounds, sure=all(roles.values()))

    def _pod_groups(self, workload: Workload, near: KubeObject) -> Iterable[PodGroup]:
        """PodGroup objects that the pods' labels or annotations name."""
        roles: dict[str, list[str]] = {}
        for role in workload.roles:
            for table in (role.pod.labels, role.pod.annotations):
                for key in POD_GROUP_KEYS.keys() & table.keys():
                    name = table[key]
                    if isinstance(name, Set) and role.name not in roles.setdefault(name.value, []):
                        roles[name.value].append(role.name)
        for group, members in roles.items():
            found = self.bundle.find(None, "PodGroup", group, near.namespace, near)
            if found is not None and not isinstance(found, Unknown):
                part = Part.of(found.node)
                yield PodGroup(group, tuple(members), part.integer("spec", "minMember"), part.origin)

    def _priorities(self, workload: Workload, near: KubeObject) -> Iterable[Priority]:
        for role in workload.roles:
            name = role.pod.fields.get("priorityClassName", Absent(role.pod.origin))
            if isinstance(name, Absent):
                continue
            origin = name.origin or role.pod.origin
            unknown = Unknown("the class is not in the given paths", origin)
            value: Setting[int] = unknown
            policy: Setting[str] = unknown
            if isinstance(name, Set):
                found = self.bundle.find("scheduling.k8s.io", "PriorityClass", name.value, None, near)
                if found is not None and not isinstance(found, Unknown):
                    part = Part.of(found.node, (Link(origin.place, "priorityClassName"),))
                    value = part.integer("value")
                    policy = part.string("preemptionPolicy", default="PreemptLowerPriority", note="the API's default")
            yield Priority(role.name, name, value, policy, origin)

    def _namespace_labels(self, namespace: str, near: KubeObject) -> Mapping[str, Setting[str]]:
        if not namespace or placeholder(namespace):
            return {}
        found = self.bundle.find("", "Namespace", namespace, None, near)
        if found is None or isinstance(found, Unknown):
            return {}
        return Part.of(found.node).texts("metadata", "labels")

    def _mesh(self, namespace: str, near: KubeObject) -> Evidence | None:
        """What shows that sidecars are injected. Istio's ambient mode has none, and a namespace may be left out."""
        labels = self._namespace_labels(namespace, near)
        injection, ambient = labels.get("istio-injection"), labels.get("istio.io/dataplane-mode")
        if isinstance(ambient, Set) or (isinstance(injection, Set) and injection.value != "enabled"):
            return None
        for key in ("istio-injection", "istio.io/rev"):
            value = labels.get(key)
            if isinstance(value, Set):
                return Evidence(f"namespace label {key}: {value.value}", value.origin)
        kubeflow = labels.get("app.kubernetes.io/part-of")
        if isinstance(kubeflow, Set) and kubeflow.value == "kubeflow-profile":
            return Evidence("a Kubeflow profile's namespace", kubeflow.origin)
        for item in self._mesh_kinds:
            own = item.name if item.kind == "Profile" else item.namespace
            if own and own == namespace:
                return Evidence(f"{item.kind} {item.name}", Part.of(item.node).origin)
        return None

    def _limits_in(self, namespace: str) -> tuple[LimitDefaults, ...]:
        known = self._by_namespace.get(namespace)
        if known is None:
            known = self._by_namespace[namespace] = tuple(self._limits(namespace))
        return known

    def _limits(self, namespace: str) -> Iterable[LimitDefaults]:
        for item in self.bundle.by_kind("", "LimitRange"):
            if not _may_share(item.namespace, namespace):
                continue
            for limit in Part.of(item.node).at("spec", "limits").items():
                if limit.text("type") == "Container":
                    yield LimitDefaults(limit.texts("default"), limit.texts("defaultRequest"), limit.origin)


def _shares_nodes(workload: Workload) -> bool:
    """Whether its pods ask for so few GPUs that it matters how many a node has."""
    from kube_gaplint.facts.instances import GPUS_OF_A_BOARD

    counts = (role.pod.accelerator_count for role in workload.roles if role.trains)
    return any(isinstance(count, Set) and 0 < count.value < GPUS_OF_A_BOARD for count in counts)


def _cleaned(item: KubeObject, what: str) -> Iterator[tuple[str, str, Evidence]]:
    """The claims that a CronJob or the like mounts and deletes files on, by its commands or its name."""
    above = ("spec", "jobTemplate") if item.kind == "CronJob" else ()
    spec = Part.of(item.node).at(*above, "spec", "template", "spec")
    claims = {
        one.text("name"): claim
        for one in spec.at("volumes").items()
        if (claim := one.text("persistentVolumeClaim", "claimName"))
    }
    for container in spec.at("containers").items() if claims else ():
        command, args = container.at("command"), container.at("args")
        told = [one.node for one in (command, args) if one.node is not None]
        found = next((text for node in told if (text := _text_in(node, DELETES)) is not None), None)
        if found is None and DELETES.search(item.name) is None:
            continue
        origin = container.origin if found is None else Origin(found.place, node=found)
        for mount in container.at("volumeMounts").items():
            claim = claims.get(mount.text("name"))
            if claim is not None and not mount.is_true("readOnly"):
                yield item.namespace, claim, Evidence(what, origin)


def _text_in(root: Node, pattern: re.Pattern[str]) -> Scalar | None:
    """The first scalar below a node in which a pattern is found; without recursion, for nesting may be hostile."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Mapping):
            stack.extend(entry.value for entry in reversed(list(node)))
        elif isinstance(node, nodes.Sequence):
            stack.extend(reversed(list(node)))
        elif isinstance(node, Scalar) and pattern.search(node.text):
            return node
    return None


def _matches(item: KubeObject, labels: Mapping[str, str]) -> bool:
    selector = nodes.mapping(item.node, "spec", "selector")
    return selector is not None and all(
        labels.get(entry.name) == (entry.value.text if isinstance(entry.value, nodes.Scalar) else None)
        for entry in selector
    )


def _may_share(one: str, other: str) -> bool:
    """Whether two namespaces may be the same: one that is not written may be any."""
    return not (one and other) or one == other


def _in_one_namespace(one: KubeObject, other: KubeObject) -> bool:
    """The same namespace is written in both; or none, within one file."""
    return one.namespace == other.namespace and bool(one.namespace or one.source.path == other.source.path)


def _bounds_of(item: KubeObject) -> tuple[Setting[str], Setting[str], Origin]:
    """What a PodDisruptionBudget allows, and where it stands."""
    root = Part.of(item.node)
    return root.string("spec", "minAvailable"), root.string("spec", "maxUnavailable"), root.origin


def _service(item: KubeObject, roles: tuple[str, ...]) -> NetworkService:
    spec = Part.of(item.node).at("spec")
    address = spec.string("clusterIP")
    headless: Setting[bool] = Unknown("its clusterIP is not known", spec.origin)
    if isinstance(address, Set):
        headless = Set(address.value == "None", address.origin)
    elif isinstance(address, Absent):
        headless = Set(False, address.origin)
    ports = tuple(port.value for one in spec.at("ports").items() if isinstance(port := one.integer("port"), Set))
    unready = spec.boolean("publishNotReadyAddresses", default=False, note="the API's default")
    return NetworkService(item.name, roles, headless, unready, ports, Part.of(item.node).origin)


def _parts(root: Part, path: tuple[str, ...]) -> list[Part]:
    """The parts at a path of `facts.surroundings`."""
    if "[]" not in path:
        return [root.at(*path)]
    at = path.index("[]")
    return [part.at(*path[at + 1 :]) for part in root.at(*path[:at]).items() if not _without_gpus(part)]


def _without_gpus(group: Part) -> bool:
    """Whether the machines of a group of nodes are surely without GPUs."""
    machine = instances.machine(group.text("instanceType") or "")
    return machine is not None and machine.accelerator == instances.NONE
