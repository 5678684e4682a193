"""Where pods may run, as far as it decides how often they are taken down and what they share a node with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint.facts.placement import KINDS_OF_NODES, Notice, is_spot, notice
from kube_gaplint.model.pod import affinity, only_choices, spread
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import Pod, Role, Workload

if TYPE_CHECKING:
    from kube_gaplint.model.nodes import NodePool


class SpotChoice(Struct, frozen=True):
    """What sends a pod to spot or preemptible nodes: the key of a node label, and where it stands."""

    key: str
    origin: Origin

    @property
    def notice(self) -> Notice | None:
        """How long the provider lets the pod run before it takes the node; None where the provider is not known."""
        return notice(self.key)


def spot_choice(pod: Pod) -> SpotChoice | None:
    """What sends a pod to spot or preemptible nodes: a selector or a required affinity.

    A toleration alone is no placement: it lets the pod go there, and on-demand nodes may still take it.
    """
    for key, label in pod.node_selector.items():
        if isinstance(label, Set) and is_spot(key, label.value):
            return SpotChoice(key, label.origin)
    for term in affinity(pod).nodes:
        if not term.required:
            continue
        values = term.values.value if isinstance(term.values, Set) else ()
        if term.operator == "In" and values and all(is_spot(term.key, value) for value in values):
            return SpotChoice(term.key, term.origin)
        if term.operator == "Exists" and is_spot(term.key, "true"):
            return SpotChoice(term.key, term.origin)
    return None


def spot_pool(workload: Workload, pod: Pod) -> NodePool | None:
    """The pool of the given paths that a pod names in its node selector, where nodes of it are, or may be, spot ones,
    and the pod asks for no kind of nodes itself."""
    keys = (*pod.node_selector, *(term.key for term in affinity(pod).nodes if term.required))
    if any(key.startswith(KINDS_OF_NODES) for key in keys):
        return None
    for pool in workload.surroundings.pools.chosen:
        label = pod.node_selector.get(pool.name_label)
        if pool.spot is not None and isinstance(label, Set) and label.value == pool.name:
            return pool
    return None


def spot(pod: Pod) -> Origin | None:
    """Where it stands that a pod goes to spot or preemptible nodes; None where nothing says so."""
    found = spot_choice(pod)
    return None if found is None else found.origin


def any_spot(roles: Iterable[Role]) -> Origin | None:
    """The same for the first of several roles."""
    return next((found for role in roles if (found := spot(role.pod)) is not None), None)


HOSTNAME = "kubernetes.io/hostname"


def names_its_host(pod: Pod) -> bool:
    """Whether the pod asks for one node by its name."""
    if isinstance(pod.node_selector.get(HOSTNAME), Set):
        return True
    return any(term.key == HOSTNAME for term, _ in only_choices(pod))


def joins_others(pod: Pod) -> bool:
    """Whether the pod must come to a node that other pods are on already."""
    return any(term.required and not term.anti and term.topology_key == HOSTNAME for term in affinity(pod).pods)


def kept_apart(pod: Pod) -> bool:
    """Whether anti-affinity or a spread over nodes keeps, or may keep, like pods off one node."""
    found = affinity(pod)
    if found.open_because or any(term.anti and term.topology_key in (HOSTNAME, "") for term in found.pods):
        return True
    for one in spread(pod):
        loose = isinstance(one.when_unsatisfiable, Set) and one.when_unsatisfiable.value == "ScheduleAnyway"
        if one.topology_key == HOSTNAME and not loose:
            return True
    return False
