"""What the views of nodes and of workloads tell one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from kube_gaplint.kinds.drafts import drafts
from kube_gaplint.model.nodes import CarriesGpus, HostAgent, NodeDaemon, NodePool, UpgradeAgent
from kube_gaplint.model.surroundings import Pools
from kube_gaplint.model.tenants import Barriers, Tenant, Tenants

_CONTROLLERS = frozenset({"karpenter", "eks-auto"})
"""Of pools that make nodes for whatever is pending: workloads are to know of them."""


class Housing:
    """The pools of the given paths, for workloads to know."""

    def __init__(self, views: Iterable[object], templates: Sequence[str] = ()) -> None:
        """`templates`: the texts of those that are not filled in."""
        self._templates = templates
        self._told = [view for view in views if must_be_told(view)]
        self.pools = tuple(pool for pool in self._told if pool.controller in _CONTROLLERS)
        self._barriers = [(pool, pool.barriers) for pool in self.pools]
        self._kinds_of_barriers = frozenset(barriers for _, barriers in self._barriers if barriers)
        self._open: dict[frozenset[Barriers], Pools] = {}
        """By the taints that keep a workload out."""
        self._named: dict[str, Pools] = {}

    def of(self, tenant: Tenant | None) -> Pools:
        """The pools that a workload's pods may land on."""
        if tenant is None or tenant.pool is None:
            return Pools()
        if not tenant.pool:
            return self._open_to(tenant)
        named = self._named.get(tenant.pool)
        if named is None:
            chosen = tuple(pool for pool in self._told if pool.own_label == tenant.pool)
            named = Pools(tuple(pool for pool in self.pools if pool.own_label == tenant.pool), chosen)
            self._named[tenant.pool] = named
        return named

    def _open_to(self, tenant: Tenant) -> Pools:
        """Those whose taints do not keep a workload out that names none."""
        shut = frozenset(filter(tenant.is_kept_out, self._kinds_of_barriers))
        found = self._open.get(shut)
        if found is None:
            members = tuple(pool for pool, barriers in self._barriers if barriers not in shut)
            found = Pools(members, closed=tuple(pool for pool, barriers in self._barriers if barriers in shut))
            self._open[shut] = found
        return found

    def tell(self, tenants: Iterable[Tenant]) -> None:
        """Tell all pools which GPU workloads there are."""
        if self._told:
            known = Tenants.of(tenants)
            known.drafts = tuple(drafts(self._templates))
            for pool in self._told:
                pool.tenants = known
                if pool.gpus.answer == "yes":
                    known.settle(pool.labels)


def must_be_told(view: object) -> TypeGuard[NodePool]:
    """Whether a view is of a pool that workloads may choose by its name, or land on."""
    return isinstance(view, NodePool) and (view.controller in _CONTROLLERS or view.by_name)


def must_know_workloads(view: object) -> bool:
    """Whether a view is of a pool that workloads may land on, or of something on every node of the cluster: on GPU
    nodes too, if there are any."""
    if must_be_told(view):
        return True
    return isinstance(view, UpgradeAgent | HostAgent | NodeDaemon) and view.gpus.everywhere


def cover(views: Iterable[object], tenant: Tenant | None) -> None:
    """Where the paths hold a GPU workload, what covers every node of the cluster covers GPU nodes."""
    if tenant is None:
        return
    subject = f"{tenant.subject.kind} {tenant.subject.name}"
    for view in views:
        if isinstance(view, UpgradeAgent | HostAgent | NodeDaemon) and view.gpus.everywhere:
            reason = f"{view.gpus.reason}: {subject} runs on some"
            view.gpus = CarriesGpus("yes", reason, view.gpus.origin or view.origin, everywhere=True)
