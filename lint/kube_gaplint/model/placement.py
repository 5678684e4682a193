"""Where pods may run, as far as it decides how often they are taken down."""

from __future__ import annotations

from collections.abc import Iterable

from kube_gaplint.facts.placement import is_spot
from kube_gaplint.model.pod import affinity
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import Pod, Role


def spot(pod: Pod) -> Origin | None:
    """What sends a pod to spot or preemptible nodes: a selector or a required affinity.

    A toleration alone is no placement: it lets the pod go there, and on-demand nodes may still take it.
    """
    for key, label in pod.node_selector.items():
        if isinstance(label, Set) and is_spot(key, label.value):
            return label.origin
    for term in affinity(pod).nodes:
        if not term.required:
            continue
        values = term.values.value if isinstance(term.values, Set) else ()
        if term.operator == "In" and values and all(is_spot(term.key, value) for value in values):
            return term.origin
        if term.operator == "Exists" and is_spot(term.key, "true"):
            return term.origin
    return None


def any_spot(roles: Iterable[Role]) -> Origin | None:
    """The same for the first of several roles."""
    return next((found for role in roles if (found := spot(role.pod)) is not None), None)
