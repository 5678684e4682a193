"""What the given paths say about the cluster around a workload.

Only evidence that stands in the paths counts: an autoscaler that nobody wrote down is not known to be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

from kube_gaplint.model.setting import Absent, Origin, Setting

if TYPE_CHECKING:
    from kube_gaplint.model.nodes import NodePool

Autoscaler: TypeAlias = Literal["karpenter", "cluster-autoscaler"]


class Evidence(Struct, frozen=True):
    """Something that shows a fact: what it is, in words, and where it stands (None: the profile says so)."""

    what: str
    origin: Origin | None = None
    cloud: str = ""
    """The only cloud whose nodes it can be about (aws, gcp, azure …); empty where it may be any."""
    of_pods: bool = False
    """The workload's own pods show it, not something that stands around them."""


class DisruptionBudget(Struct, frozen=True):
    """A PodDisruptionBudget that selects pods of the workload. Amounts as written: a number or a percentage."""

    name: str
    roles: tuple[str, ...]
    min_available: Setting[str]
    max_unavailable: Setting[str]
    origin: Origin
    sure: bool = True
    """It surely selects them; False where values or a namespace that are not known decide."""


class Priority(Struct, frozen=True):
    """The PriorityClass of a role's pods. `value` and the rest are unknown where the class is not in the paths."""

    role: str
    name: Setting[str]
    value: Setting[int]
    preemption_policy: Setting[str]
    origin: Origin
    """Where the class is referred to."""


class NetworkService(Struct, frozen=True):
    """A Service that selects pods of the workload."""

    name: str
    roles: tuple[str, ...]
    headless: Setting[bool]
    publishes_unready: Setting[bool]
    ports: tuple[int, ...]
    origin: Origin


class LimitDefaults(Struct, frozen=True):
    """A LimitRange of the workload's namespace: defaults for containers by resource."""

    defaults: Mapping[str, Setting[str]]
    requests: Mapping[str, Setting[str]]
    origin: Origin


class PodGroup(Struct, frozen=True):
    """A PodGroup object that pods of the workload name. `least`: how many pods start together or not at all."""

    name: str
    roles: tuple[str, ...]
    least: Setting[int]
    origin: Origin


class Pools(Struct, dict=True, eq=False):
    """Karpenter's pools that some pods may land on. What all have in common is worked out once for many workloads."""

    members: tuple[NodePool, ...] = ()
    chosen: tuple[NodePool, ...] = ()
    """Those that the pods' node selectors name, compute classes of GKE too."""
    closed: tuple[NodePool, ...] = ()
    """Those whose taints keep the pods out."""

    @cached_property
    def api_versions(self) -> frozenset[str]:
        return frozenset(pool.subject.api_version for pool in (*self.members, *self.closed))

    @cached_property
    def with_gpus(self) -> tuple[NodePool, ...]:
        """Those that may have GPUs."""
        return tuple(pool for pool in self.members if pool.gpus.answer != "no")

    @cached_property
    def keep_out(self) -> bool:
        """There are some that may have GPUs, and all of those have taints that keep the pods out."""
        return not self.with_gpus and any(pool.gpus.answer != "no" for pool in self.closed)

    @cached_property
    def leave_running_pods(self) -> bool:
        """There are some that may have GPUs, and from none of those Karpenter takes running pods by its own choice."""
        return bool(self.with_gpus) and all(pool.leaves_running_pods for pool in self.with_gpus)

    def likeliest(self, path: str, wants: Mapping[str, str]) -> NodePool | None:
        """The one of them that a workload most likely runs on, of those that Karpenter takes running pods from: it has
        the node labels that the pods want, and lies nearest to the workload's file. None where there is none."""
        key = _folder_of(path), frozenset(wants.items())
        if key not in self._likeliest:
            misfits = [_misfit(pool.labels, wants) for pool in self._taking]
            least = min(misfits, default=None)
            best = [pool for pool, one in zip(self._taking, misfits, strict=True) if one == least]
            self._likeliest[key] = min(best, key=lambda pool: _apart(key[0], _folder_of(pool.path)), default=None)
        return self._likeliest[key]

    @cached_property
    def _likeliest(self) -> dict[tuple[tuple[str, ...], frozenset[tuple[str, str]]], NodePool | None]:
        return {}

    @cached_property
    def _taking(self) -> tuple[NodePool, ...]:
        """Those that may have GPUs and that Karpenter takes running pods from."""
        return tuple(pool for pool in self.with_gpus if not pool.leaves_running_pods)

    @cached_property
    def are_for_serving(self) -> bool:
        """There are some that may have GPUs, and all of those say by their names, labels or taints that they serve."""
        return bool(self.with_gpus) and all(pool.says_serving for pool in self.with_gpus)

    @cached_property
    def labels(self) -> frozenset[tuple[str, str]]:
        """The labels that they give their nodes, as far as they are known."""
        return frozenset(pair for pool in self.members for pair in pool.labels.items())


def _misfit(labels: Mapping[str, str], wants: Mapping[str, str]) -> tuple[int, int]:
    """How badly labels of nodes fit those that pods want, to compare: other values first, then fewer of the same."""
    others = sum(labels.get(key, value) != value for key, value in wants.items())
    return others, -sum(labels.get(key) == value for key, value in wants.items())


def _folder_of(path: str) -> tuple[str, ...]:
    return tuple(path.replace("\\", "/").split("/")[:-1])


def _apart(here: tuple[str, ...], there: tuple[str, ...]) -> int:
    """How many folders lie between two."""
    common = next(
        (at for at, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there))
    )
    return len(here) + len(there) - 2 * common


class Surroundings(Struct, frozen=True):
    """What stands around one workload. Empty fields: the paths say nothing of it."""

    autoscalers: Mapping[Autoscaler, Evidence] = field(default_factory=dict)
    mesh: Evidence | None = None
    """A service mesh injects sidecars into the namespace's pods."""
    node_health: Evidence | None = None
    """Something in the paths watches nodes and takes bad ones out, or the profile says so."""
    log_shipper: Evidence | None = None
    """Something in the paths carries the logs of containers out of the cluster's nodes."""
    budgets: tuple[DisruptionBudget, ...] = ()
    priorities: tuple[Priority, ...] = ()
    services: tuple[NetworkService, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    memlock: Evidence | None = None
    """Something in the paths raises the limit of locked memory on nodes, or the profile says so."""
    limits: tuple[LimitDefaults, ...] = ()
    fills_requests: Evidence | None = None
    """What gives requests to pods that have none: GKE Autopilot, a VerticalPodAutoscaler that names the workload."""
    single_process_kill: Evidence | None = None
    """The kubelet is told to kill the process that ran out of memory alone (`singleProcessOOMKill`)."""
    shared_devices: Evidence | None = None
    """NVIDIA's device plugin is told to hand each card to several pods: one `nvidia.com/gpu` is a share of it."""
    namespace_labels: Mapping[str, Setting[str]] = field(default_factory=dict)
    reclaim_policies: Mapping[str, Setting[str]] = field(default_factory=dict)
    """By StorageClass name, for the classes in the paths."""
    cleaned_claims: Mapping[str, Evidence] = field(default_factory=dict)
    """Claims on which another workload in the paths deletes files, by their names."""
    pull_secrets: Evidence | None = None
    """The service account `default` of the namespace has pull secrets, which go along with its pods."""
    registry_mirror: Evidence | None = None
    """The nodes in the paths pull images of Docker Hub through a mirror."""
    most_gpus_per_node: Setting[int] | None = None
    """The most GPUs that a node of the pools has which commands beside the manifest make."""
    pools: Pools = field(default_factory=Pools)
    """Karpenter's pools in the paths that the workload's pods may land on."""

    def priority_of(self, role: str) -> Priority | None:
        return next((priority for priority in self.priorities if priority.role == role), None)

    def default_limit(self, resource: str) -> Setting[str] | None:
        """The limit that a LimitRange gives to containers without one; None where no LimitRange speaks of it."""
        for limit in self.limits:
            found = limit.defaults.get(resource)
            if found is not None and not isinstance(found, Absent):
                return found
        return None
