"""What node pools are told of the GPU workloads that may land on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from kube_gaplint.facts.resources import COMPUTE_CLASS
from kube_gaplint.model.pod import Tolerances
from kube_gaplint.model.setting import Origin, Set, Setting
from kube_gaplint.model.subject import Subject

if TYPE_CHECKING:
    from kube_gaplint.model.workload import Purpose

POOL_LABEL = "karpenter.sh/nodepool"
NAMING_LABELS = (POOL_LABEL, COMPUTE_CLASS)
"""Labels of nodes whose value is the name of their Karpenter pool or GKE compute class."""
SPARED = ("karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-evict")
"""Annotations of a pod that keep Karpenter's voluntary disruptions from it; the second until v1beta1."""


Barriers: TypeAlias = frozenset[tuple[str, str, str]]
"""Taints that keep pods off a pool's nodes: key, value and effect."""


class Tenant(Struct, frozen=True):
    """One GPU workload of the given paths, as far as it matters to the pools under it."""

    subject: Subject
    origin: Origin
    purpose: Purpose
    pool: str | None
    """The label by which its node selector names a pool, as `key=value`; empty where any pool will do, None where its
    roles name different ones."""
    spared: bool
    """Karpenter disrupts none of its pods by itself: each is annotated so, or may be."""
    deadline_seconds: Setting[float]
    wants: Mapping[str, str] = field(default_factory=dict)
    """The node labels that its pods with GPUs select, as far as they are known."""
    tolerances: tuple[Tolerances, ...] = ()
    """Of its pods with GPUs."""

    def is_kept_out(self, barriers: Barriers) -> bool:
        """Whether none of its pods with GPUs tolerates the taints, as far as all of that is known."""
        return bool(self.tolerances) and all(
            any(one.cover(*barrier) is False for barrier in barriers) for one in self.tolerances
        )

    def names(self, barriers: Barriers) -> bool:
        """Whether one of its pods with GPUs is made for nodes with these taints: it names the keys of all."""
        return bool(barriers) and any(all(one.name(key) for key, _, _ in barriers) for one in self.tolerances)

    @property
    def serves(self) -> bool:
        """It serves, or is for people: its pods may be started elsewhere."""
        return self.purpose in {"inference", "interactive"}

    @property
    def may_move(self) -> bool:
        """It serves, or its kind replaces its pods one by one, and nothing says that it trains."""
        return self.serves or (self.purpose == "unknown" and self.subject.kind in _REPLACES_ITS_PODS)


class Draft(Struct, frozen=True):
    """A GPU workload in a template that is not filled in, as far as its text shows it. It is a hint of what a pool is
    for, and only ever a reason to keep quiet."""

    serves: bool
    may_move: bool
    """It serves, or its kind replaces its pods one by one, and nothing says that it trains."""
    pairs: frozenset[tuple[str, str]]
    """Keys and plain values of its text, wherever they stand."""

    def names(self, label: tuple[str, str], labels: Mapping[str, str], barriers: Iterable[str]) -> bool:
        """Whether it speaks of a pool: by the label with its name, a label of its nodes, or the keys of its taints."""
        keys = [("key", key) for key in barriers]
        return (
            label in self.pairs
            or not self.pairs.isdisjoint(labels.items())
            or bool(keys and self.pairs.issuperset(keys))
        )


class Group(Struct, dict=True, eq=False):
    """Tenants that the same pools may carry. What all of them have in common is worked out once."""

    members: list[Tenant] = field(default_factory=list)

    @cached_property
    def lasting(self) -> list[Tenant]:
        """Those by which the use of a pool is known: a test of seconds may run on any."""
        return [one for one in self.members if one.purpose != "smoke"]

    @cached_property
    def spared(self) -> bool:
        return all(one.spared for one in self.members)

    @cached_property
    def serves(self) -> bool:
        return bool(self.lasting) and all(one.serves for one in self.lasting)

    @cached_property
    def may_move(self) -> bool:
        return all(one.may_move for one in self.lasting)

    @cached_property
    def longest_seconds(self) -> float:
        """The latest deadline; infinite where one of them has none that is known, 0 for no members."""
        limits = [one.deadline_seconds for one in self.members]
        return max((limit.value if isinstance(limit, Set) else float("inf") for limit in limits), default=0.0)


Selector: TypeAlias = frozenset[tuple[str, str]]
"""Labels that a pod wants its node to have."""

_REPLACES_ITS_PODS = frozenset({"Deployment", "ReplicaSet"})
NOBODY = Group()


def _fit(labels: Mapping[str, str], wants: Selector) -> bool:
    own = ((key, value) for key, value in wants if key in labels or "/" not in key)
    return bool(labels.items() & wants) and all(labels.get(key) == value for key, value in own)


class Tenants(Struct, eq=False):
    """All GPU workloads of the given paths: those that name a pool, by its label, those that any pool may carry, and
    everyone: these, and those whose roles name different pools."""

    named: dict[str, Group] = field(default_factory=dict)
    anywhere: Group = field(default_factory=Group)
    everyone: Group = field(default_factory=Group)
    by_selector: dict[Selector, Group] = field(default_factory=dict)
    """Of those that any pool may carry, the ones that want the same labels."""
    settled: set[Selector] = field(default_factory=set)
    """Of those, the labels that a pool has which surely carries GPUs: another pool with them need not carry any."""
    drafts: tuple[Draft, ...] = ()
    _by_barriers: dict[Barriers, tuple[Group, Group]] = field(default_factory=dict)

    @classmethod
    def of(cls, tenants: Iterable[Tenant]) -> Tenants:
        found = cls()
        for one in tenants:
            found.everyone.members.append(one)
            if one.pool:
                found.named.setdefault(one.pool, Group()).members.append(one)
            elif one.pool is not None:
                found.anywhere.members.append(one)
                if one.wants:
                    found.by_selector.setdefault(frozenset(one.wants.items()), Group()).members.append(one)
        return found

    @property
    def drafts_serve(self) -> bool:
        """There are workloads in templates that are not filled in, and all of them serve."""
        return bool(self.drafts) and all(draft.serves for draft in self.drafts)

    def naming(self, pool: str) -> Group:
        """Those whose node selectors hold a pool's own label (`key=value`)."""
        return self.named.get(pool, NOBODY)

    def selecting(self, labels: Mapping[str, str]) -> list[Group]:
        """Those that name no pool, but select a label that somebody gave a pool's nodes, and no other one of somebody's
        own making: without a domain in front (`team`), it would stand on the pool as well."""
        return [group for wants, group in self.by_selector.items() if _fit(labels, wants)]

    def settle(self, labels: Mapping[str, str]) -> None:
        """A pool whose nodes have these labels surely carries GPUs."""
        self.settled.update(wants for wants in self.by_selector if _fit(labels, wants))

    def want(self, labels: Mapping[str, str]) -> bool:
        """Whether one of them selects such a label, and finds it on no pool that surely carries GPUs."""
        return any(_fit(labels, wants) for wants in self.by_selector if wants not in self.settled)

    def admitted(self, barriers: Barriers) -> Group:
        """Those that name no pool, and may land on one with these taints."""
        return self._behind(barriers)[0] if barriers else self.anywhere

    def tolerating(self, barriers: Barriers) -> Group:
        """Those of them that are made for nodes with these taints."""
        return self._behind(barriers)[1] if barriers else NOBODY

    def _behind(self, barriers: Barriers) -> tuple[Group, Group]:
        found = self._by_barriers.get(barriers)
        if found is None:
            admitted = [one for one in self.anywhere.members if not one.is_kept_out(barriers)]
            found = Group(admitted), Group([one for one in admitted if one.names(barriers)])
            self._by_barriers[barriers] = found
        return found
