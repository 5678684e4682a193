"""The nodes under the jobs: pools, images, bootstrap scripts, and what upgrades them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint.facts import purposes
from kube_gaplint.facts.accelerators import device, selects
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.tenants import NOBODY, POOL_LABEL, Barriers, Group, Tenant, Tenants
from kube_gaplint.model.training import Release

Answer: TypeAlias = Literal["yes", "no", "unknown"]


class CarriesGpus(Struct, frozen=True):
    """Whether nodes of a pool carry GPUs, and by what this is known (instance types, labels, taints, accelerators)."""

    answer: Answer
    reason: str
    origin: Origin | None = None
    everywhere: bool = False
    """It covers every node of the cluster: GPU nodes too, if the cluster has any."""


class NodeImage(Struct, frozen=True):
    """One term that chooses a machine image.

    `form`: alias, id, name, ssm, tags, family, release … `floats`: whether the image behind it changes without an
    edit of the manifest (`Unknown` for templated versions).
    """

    form: str
    value: Setting[str]
    floats: Setting[bool]
    origin: Origin
    repeated: bool = False
    """Another pool of the same node class comes first and carries the term already: it is reported there."""


class Budget(Struct, frozen=True):
    """A disruption budget of a Karpenter pool: how many nodes may go at once, for which reasons and when.

    `reasons` is empty where it covers all of them (`Underutilized`, `Empty`, `Drifted`). A budget with a `schedule`
    is in force only for `duration` after each of its times.
    """

    nodes: Setting[str]
    reasons: Setting[tuple[str, ...]]
    schedule: Setting[str]
    duration: Setting[str]
    origin: Origin

    def covers(self, reason: str) -> bool | None:
        """Whether it speaks of a reason; None where its reasons are not seen."""
        if isinstance(self.reasons, Unknown):
            return None
        return isinstance(self.reasons, Absent) or not self.reasons.value or reason in self.reasons.value

    def forbids(self, reason: str) -> bool | None:
        """Whether it lets no node go for a reason, at all times; None where it is not seen."""
        covers = self.covers(reason)
        if not covers or isinstance(self.nodes, Unknown):
            return covers and None
        if not isinstance(self.schedule, Absent):
            return False
        return isinstance(self.nodes, Set) and self.nodes.value.strip() in {"0", "0%"}


class Taint(Struct, frozen=True):
    """A taint that the nodes of a pool have for good. An empty value is one that is not written."""

    key: str
    value: str
    effect: str
    origin: Origin


class SpotNodes(Struct, frozen=True):
    """That nodes of a pool are spot or preemptible ones, which the provider takes back when it wants them."""

    origin: Origin
    only: bool
    """All of them are; else some may be."""


class NodePool(Struct, eq=False):
    """A group of like nodes: Karpenter NodePool with its node class, eksctl node group, GKE node pool …"""

    subject: Subject
    origin: Origin
    gpus: CarriesGpus
    images: tuple[NodeImage, ...]
    os: Setting[str]
    """ubuntu, debian, amazon-linux, bottlerocket, flatcar, talos, cos, rhel …"""
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)
    """`expireAfter`, `consolidationPolicy` … with the controller's defaults applied."""
    exposed: Mapping[str, object] = field(default_factory=dict)
    replaces_drifted: bool = False
    """The controller replaces nodes whose image is no longer the current one (Karpenter drift).

    False for a static pool whose `limits.nodes` leaves no room for the replacement.
    """
    controller: str = ""
    """What manages the nodes: `karpenter`, `eks-auto`, `eksctl`, `eks`, `gke`, `aks`, `cluster-api`, `kops` …"""
    budgets: tuple[Budget, ...] = ()
    """Karpenter's disruption budgets, the default (10 %) where none is written."""
    taints: tuple[Taint, ...] = ()
    """Of a Karpenter pool, without those that only last while a node starts."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Those that a Karpenter pool gives its nodes, as far as they are known."""
    tenants: Tenants = field(default_factory=Tenants)
    """The GPU workloads of the given paths, some of which may land on the pool."""
    name_label: str = POOL_LABEL
    """The label of its nodes that holds the pool's name."""
    spot: SpotNodes | None = None
    """None where nothing says that nodes of it are, or may be, spot ones."""

    @property
    def object_origin(self) -> Origin:
        return self.origin

    @property
    def path(self) -> str:
        """The file in which it stands."""
        return self.origin.place.source.path

    @property
    def name(self) -> str:
        """The pool's own name: that of a node group within its cluster object, else the object's."""
        return self.subject.container or self.subject.name

    @property
    def by_name(self) -> bool:
        """Pods land on it only where they choose it by its name: a compute class of GKE, whose nodes are tainted."""
        return self.name_label != POOL_LABEL

    @property
    def is_chosen(self) -> bool:
        """Whether a GPU workload names the pool, or selects a label of its nodes that no pool of sure GPUs has."""
        return bool(self._naming.members) or self.tenants.want(self.labels)

    @property
    def own_label(self) -> str:
        """The label that names the pool on its nodes, as `key=value`."""
        return f"{self.name_label}={self.name}"

    @property
    def _naming(self) -> Group:
        return self.tenants.naming(self.own_label)

    @property
    def _anywhere(self) -> Group:
        """Those that name no pool, where they may land on this one."""
        return NOBODY if self.by_name else self.tenants.admitted(self.barriers)

    @property
    def barriers(self) -> Barriers:
        """Its taints that keep pods out. One that is named after a device does not: admission may tolerate it for the
        pods that ask for the device, as GKE's does."""
        return frozenset(
            (taint.key, taint.value, taint.effect)
            for taint in self.taints
            if taint.effect in _KEEPING_OUT and device(taint.key) is None and not selects(taint.key)
        )

    def may_carry(self) -> Iterator[Tenant]:
        """The GPU workloads of the given paths that may land on it."""
        yield from self._naming.members
        yield from self._anywhere.members

    @property
    def has_tenants(self) -> bool:
        """Whether any GPU workload of the given paths may land on the pool."""
        return bool(self._naming.members) or bool(self._anywhere.members)

    @property
    def spares_its_tenants(self) -> bool:
        """There are GPU workloads in the given paths, and Karpenter disrupts none of them by itself."""
        return self.has_tenants and self._naming.spared and self._anywhere.spared

    @property
    def only_serves(self) -> bool:
        """Its pods may move: they serve, or are for people.

        Those are the GPU workloads of the given paths that choose the pool by its name, by a label of its nodes or by
        tolerating its taints. Here a Deployment of which nothing is seen counts as a server. Where none chooses it, the
        pool's own name, labels and taints may say it, or all GPU workloads that may land anywhere, or those in
        templates that are not filled in.
        """
        choosing = (self._naming, *self.tenants.selecting(self.labels))
        if not self.by_name:
            choosing = (*choosing, self.tenants.tolerating(self.barriers))
        if any(group.lasting for group in choosing):
            return all(group.may_move for group in choosing)
        if self._says(purposes.TRAINING_WORDS):
            return False
        return self.says_serving or self._anywhere.serves or self._serves_drafts

    @property
    def says_serving(self) -> bool:
        """Its name, or a label or taint of its nodes, says that it serves, and none that it trains."""
        return self._says(purposes.SERVING_WORDS) and not self._says(purposes.TRAINING_WORDS)

    @property
    def stands_among_serving(self) -> bool:
        """No GPU workload of the given paths may land on it, and all that there are serve or are for people.

        That is a hint of what the pool is for, no proof: they name other pools.
        """
        everyone = self.tenants.everyone
        serve = everyone.serves or (not everyone.lasting and self.tenants.drafts_serve)
        return not self.has_tenants and serve and not self._says(purposes.TRAINING_WORDS)

    @property
    def _serves_drafts(self) -> bool:
        """No GPU workload may land on it but those in templates that are not filled in, some of these name the pool,
        and none of them trains."""
        if self._anywhere.lasting or not all(draft.may_move for draft in self.tenants.drafts):
            return False
        name, keys = (self.name_label, self.name), [taint.key for taint in self.taints]
        return any(draft.names(name, self.labels, keys) for draft in self.tenants.drafts)

    def _says(self, words: frozenset[str]) -> bool:
        """Whether the pool's name, or a label or taint of its nodes, holds one of the words."""
        texts = [self.name]
        for key, value in (*self.labels.items(), *((taint.key, taint.value) for taint in self.taints)):
            if value.lower() not in _DENIALS:
                texts += [key, value]
        return any(words.intersection(purposes.words_of(text)) for text in texts)

    def outlives(self, seconds: float) -> bool:
        """Whether a node of this age outlives every GPU workload of the given paths: each has an earlier deadline."""
        longest = max(self._naming.longest_seconds, self._anywhere.longest_seconds)
        return self.has_tenants and longest < seconds

    @property
    def leaves_running_pods(self) -> bool:
        """Karpenter surely takes no node with running pods by its own choice: neither to consolidate nor for drift."""
        return self.consolidates is False and (not self.replaces_drifted or self.forbids("Drifted") is True)

    @property
    def consolidates(self) -> bool | None:
        """Whether Karpenter takes nodes with running pods to save cost; None where that is not seen.

        A pool of a fixed size (`replicas`) is no candidate, and `consolidateAfter: Never` switches consolidation off.
        """
        policy, after = self.fields.get("consolidationPolicy"), self.fields.get("consolidateAfter")
        fixed = isinstance(self.fields.get("replicas"), (Set, Unknown))
        never = isinstance(after, Set) and after.value == "Never"
        keeps = isinstance(policy, Set) and policy.value in KEEPING_POLICIES
        forbidden = self.forbids("Underutilized")
        if fixed or never or keeps or forbidden:
            return False
        seen = isinstance(policy, Set) and not isinstance(after, Unknown) and forbidden is False
        return True if seen else None

    def forbids(self, reason: str) -> bool | None:
        """Whether the budgets let no node go for a reason (`Underutilized`, `Drifted`, `Empty`), at all times."""
        answers = [budget.forbids(reason) for budget in self.budgets]
        if True in answers:
            return True
        return None if None in answers else False


_KEEPING_OUT = frozenset({"NoSchedule", "NoExecute"})
_DENIALS = frozenset({"false", "no", "none", "disabled", "off", "0"})
"""Values of a label that deny what its key says."""
KEEPING_POLICIES = frozenset({"WhenEmpty", "Never"})
"""Values of `consolidationPolicy` that leave nodes with pods on them alone."""


UpgradeKind: TypeAlias = Literal[
    "package-upgrade",  # cloud-init package_upgrade: true
    "unattended-on",  # unattended-upgrades / dnf-automatic switched on
    "unattended-off",  # switched off, masked, removed
    "held",  # apt-mark hold, blacklist, versionlock
    "upgrade-command",  # apt/dnf/yum upgrade in a script
    "os-update-agent",  # an operating system that updates and reboots by itself
    "default-automatic",  # an installer's default that switches unattended upgrades on
    "unpinned-install",  # a kernel or driver package installed without a version
]


class UpgradeAction(Struct, frozen=True):
    """Something in a node's configuration that upgrades it, or keeps it from being upgraded."""

    kind: UpgradeKind
    what: str
    """The line or setting, short, for the message."""
    origin: Origin
    explicit: bool = True
    """False where a default does it."""
    recurring: bool = False
    """It runs again and again on a living node, not only at its first boot."""


class NodeBootstrap(Struct, eq=False):
    """How a node's operating system is set up: cloud-init, kubeadm commands, MachineConfig, kOps, host DaemonSets."""

    subject: Subject
    origin: Origin
    gpus: CarriesGpus
    os: Setting[str]
    actions: tuple[UpgradeAction, ...]
    opaque_because: str = ""
    """Not empty where part of the set-up is not seen: then a missing switch-off is unknown."""
    release: Release = ()

    @property
    def object_origin(self) -> Origin:
        return self.origin


AgentKind: TypeAlias = Literal[
    "gke", "aks-os", "aks-kubernetes", "plan", "k0s", "bottlerocket", "openshift", "kured", "flatcar", "kops", "talos",
]  # fmt: skip


class UpgradeAgent(Struct, eq=False):
    """Something that upgrades, reboots or replaces nodes by itself: GKE auto-upgrade, a Plan, kured …

    It is a danger to a run where `active` is set to True and no restraint is in force.
    """

    subject: Subject
    origin: Origin
    """What switches it on, or the object where a default does."""
    kind: AgentKind
    title: str
    """In words, for the message: `GKE node auto-upgrade`."""
    gpus: CarriesGpus
    active: Setting[bool]
    """Whether it acts by itself; `via` tells a default from a written value."""
    restraint: Setting[str]
    """What keeps it from a running job: a window, an exclusion, a pause, a pinned version, a blocking selector.

    `Absent`: nothing does. `Unknown`: it may stand in an object that is not in the given paths.
    """
    does: str = ""
    """What it does to a node, completing "it …"."""
    object_at: Origin | None = None
    related: tuple[Origin, ...] = ()
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)

    @property
    def object_origin(self) -> Origin:
        return self.object_at or self.origin


class DriverUpgrade(Struct, eq=False):
    """How an operator upgrades the kernel drivers of GPU nodes: ClusterPolicy, NVIDIADriver, NicClusterPolicy.

    Defaults are applied; they differ: the GPU Operator's Helm chart and NVIDIADriver upgrade by themselves,
    ClusterPolicy and NicClusterPolicy do not.
    """

    subject: Subject
    origin: Origin
    """The upgrade policy, or what stands nearest to it."""
    driver: Literal["GPU driver", "network driver"]
    managed: Setting[bool]
    """Whether the operator installs the driver at all."""
    automatic: Setting[bool]
    wait_selector: Setting[str]
    """`waitForCompletion.podSelector`: jobs that an upgrade waits for; `Absent` where it waits for none."""
    wait_seconds: Setting[float]
    """How long it waits; 0 is for ever."""
    deletes_by_force: Setting[bool]
    """`podDeletion.force` (Helm: `gpuPodDeletion.force`)."""
    drains: Setting[bool]
    drains_by_force: Setting[bool]
    version: Setting[str]

    @property
    def object_origin(self) -> Origin:
        return self.origin


DaemonRole: TypeAlias = Literal["cni", "gpu-driver", "device-plugin", "network-driver", "storage", "node-agent"]


class NodeDaemon(Struct, eq=False):
    """A DaemonSet that running jobs depend on: the network, the driver, the device plugin."""

    subject: Subject
    origin: Origin
    role: DaemonRole
    title: str
    """What it is: `Calico`, `NVIDIA device plugin`."""
    gpus: CarriesGpus
    strategy: Setting[str]
    """RollingUpdate (the default) or OnDelete."""
    max_unavailable: Setting[str]
    """Of a rolling update: a number or a percentage; 1 by default."""
    image: Setting[str]
    pull_policy: Setting[str]

    @property
    def object_origin(self) -> Origin:
        return self.origin

    @property
    def image_floats(self) -> bool:
        """Each start of a pod may bring another version: no tag or `latest`, and pulled always."""
        image, policy = self.image, self.pull_policy
        if not isinstance(image, Set) or not isinstance(policy, Set) or policy.value != "Always":
            return False
        return "@" not in image.value and image.value.rpartition("/")[2].partition(":")[2] in ("", "latest")


class HostAction(Struct, frozen=True):
    """A command that changes a host under its running containers."""

    kind: Literal["daemon-reload", "runtime-restart", "kubelet-restart", "driver-reload", "reboot"]
    what: str
    """The command, short, for the message."""
    origin: Origin


class HostAgent(Struct, eq=False):
    """A DaemonSet, Pod or Job whose containers run commands in the host's own namespaces."""

    subject: Subject
    origin: Origin
    gpus: CarriesGpus
    actions: tuple[HostAction, ...]
    drains_first: bool = False
    """It cordons and drains its node before it acts."""
    cdi: Setting[bool] | None = None
    """Whether containers get their GPUs through CDI, which survives a daemon-reload; None where nothing tells."""

    @property
    def object_origin(self) -> Origin:
        return self.origin

    @property
    def cdi_may_be_on(self) -> bool:
        """CDI is declared, or what declares it is not known."""
        return isinstance(self.cdi, Unknown) or (isinstance(self.cdi, Set) and self.cdi.value)


class Webhook(Struct, eq=False):
    """One webhook of an admission configuration, with the API server's defaults applied."""

    subject: Subject
    origin: Origin
    name: str
    mutating: bool
    failure_policy: Setting[str]
    timeout_seconds: Setting[float]
    targets: tuple[str, ...]
    """Which of `pods`, `jobs` and other training resources its rules cover; empty where they cover none."""
    on_create: bool
    namespace_selector: Setting[str]
    """In words; `Absent` where it covers every namespace."""
    object_selector: Setting[str]
    replicas: Setting[int]
    """Replicas of the Deployment behind it; `Unknown` where that is not in the given paths."""
    excludes_system_only: bool = False
    """Its selector only leaves out system namespaces, so training namespaces are covered."""
    opt_in: bool = False
    """It covers only namespaces, or objects, with a label of its own, which no namespace in the given paths carries."""
    match_conditions: bool = False
    of_operator: bool = False
    """Its configuration also admits custom resources of its own: it came with an operator that the jobs need anyway."""
    object_at: Origin | None = None
    """The configuration that holds it."""

    @property
    def object_origin(self) -> Origin:
        return self.object_at or self.origin

    @property
    def covers_everything(self) -> bool:
        """It covers training namespaces and all objects in them; False where a selector may leave them out."""
        if not isinstance(self.object_selector, Absent):
            return False
        return isinstance(self.namespace_selector, Absent) or self.excludes_system_only
