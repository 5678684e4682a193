"""Where pods may run, and the contexts in which they do: tolerations, affinity, spread, security, probes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.pod import (
    Action,
    Affinity,
    NodeTerm,
    PodTerm,
    Port,
    Probe,
    ProbeKind,
    Security,
    Spread,
    Toleration,
)
from kube_gaplint.model.setting import Absent, Origin, Set, Setting

KUBELET = "the kubelet's default"


def read_tolerations(spec: Part) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(
            key=item.string("key"),
            operator=item.string("operator", default="Equal", note="Kubernetes' default"),
            value=item.string("value"),
            effect=item.string("effect"),
            seconds=item.seconds("tolerationSeconds"),
            origin=item.origin,
        )
        for item in spec.at("tolerations").items()
        if not item.unknown
    )


def read_affinity(spec: Part) -> Affinity:
    affinity = spec.at("affinity")
    terms: list[NodeTerm] = []
    node = affinity.at("nodeAffinity")
    required = node.at("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    preferred = node.at("preferredDuringSchedulingIgnoredDuringExecution")
    alternative = len(required.items()) > 1 or bool(required.open_list)
    for item in required.items():
        terms.extend(_node_terms(item, True, alternative))
    for item in preferred.items():
        terms.extend(_node_terms(item.at("preference"), False))
    pods: list[PodTerm] = []
    for key, anti in (("podAffinity", False), ("podAntiAffinity", True)):
        part = affinity.at(key)
        for item in part.at("requiredDuringSchedulingIgnoredDuringExecution").items():
            pods.append(_pod_term(item, anti, True))
        for item in part.at("preferredDuringSchedulingIgnoredDuringExecution").items():
            pods.append(_pod_term(item.at("podAffinityTerm"), anti, False))
    open_because = affinity.unknown or node.unknown or required.open_list or preferred.open_list
    return Affinity(tuple(terms), tuple(pods), open_because)


def _node_terms(part: Part, required: bool, alternative: bool = False) -> Iterator[NodeTerm]:
    for key in ("matchExpressions", "matchFields"):
        for item in part.at(key).items():
            name = item.text("key")
            if name is not None:
                operator, values = item.text("operator") or "In", item.strings("values")
                yield NodeTerm(name, operator, values, required, item.origin, alternative)


def _pod_term(part: Part, anti: bool, required: bool) -> PodTerm:
    labels = part.texts("labelSelector", "matchLabels")
    for item in part.at("labelSelector", "matchExpressions").items():
        name, values = item.text("key"), item.strings("values")
        if name is not None and isinstance(values, Set) and len(values.value) == 1 and item.text("operator") == "In":
            labels[name] = Set(values.value[0], values.origin)
    return PodTerm(part.text("topologyKey") or "", anti, required, labels, part.origin)


def read_spread(spec: Part) -> tuple[Spread, ...]:
    return tuple(
        Spread(item.text("topologyKey") or "", item.integer("maxSkew"), item.string("whenUnsatisfiable"), item.origin)
        for item in spec.at("topologySpreadConstraints").items()
        if not item.unknown
    )


def read_security(part: Part, pod: Security | None = None) -> Security:
    """The security context of a pod, or of a container with the pod's values where it has none of its own."""
    context = part.at("securityContext")
    if pod is not None and context.state is False:
        origin = context.origin  # privileges and capabilities exist on containers alone
        return replace(pod, privileged=Absent(origin), added={}, dropped={}, origin=origin)
    user: Setting[int] = context.integer("runAsUser")
    non_root: Setting[bool] = context.boolean("runAsNonRoot")
    privileged: Setting[bool] = context.boolean("privileged")
    if pod is not None:
        user = pod.run_as_user if isinstance(user, Absent) else user
        non_root = pod.run_as_non_root if isinstance(non_root, Absent) else non_root
    capabilities = context.at("capabilities")
    open_because = context.unknown or capabilities.unknown
    lists: list[dict[str, Origin]] = []
    for key in ("add", "drop"):
        names: dict[str, Origin] = {}
        open_because = open_because or capabilities.at(key).open_list
        for item in capabilities.at(key).items():
            text = item.text()
            if text is not None:
                names[text.upper().removeprefix("CAP_")] = item.scalar_origin
        lists.append(names)
    return Security(user, non_root, privileged, lists[0], lists[1], context.origin, open_because)


_ACTIONS: tuple[tuple[str, Action], ...] = (
    ("exec", "exec"), ("httpGet", "http"), ("tcpSocket", "tcp"), ("grpc", "grpc"), ("sleep", "sleep"),
)  # fmt: skip


def action_of(part: Part) -> Action:
    return next((action for key, action in _ACTIONS if part.at(key).present), "unknown")


def read_probe(container: Part, key: str, kind: ProbeKind) -> Probe | None:
    part = container.at(key)
    if not part.present or part.unknown:
        return None
    return Probe(
        kind=kind,
        action=action_of(part),
        command=part.strings("exec", "command"),
        initial_delay=part.seconds("initialDelaySeconds", default=0.0, note=KUBELET),
        period=part.seconds("periodSeconds", default=10.0, note=KUBELET),
        timeout=part.seconds("timeoutSeconds", default=1.0, note=KUBELET),
        failure_threshold=part.integer("failureThreshold", default=3, note=KUBELET),
        grace=part.seconds("terminationGracePeriodSeconds"),
        origin=part.origin,
    )


def verbatim_strings(part: Part) -> Setting[tuple[str, ...]]:
    if not part.present:
        return part.strings()
    found = [item.verbatim() for item in part.items()]
    texts = tuple(item.value for item in found if isinstance(item, Set))
    return Set(texts, part.origin) if len(texts) == len(found) else part.strings()


def read_ports(container: Part, host_network: bool) -> tuple[Port, ...]:
    """Container ports; under hostNetwork each is a port of the node."""
    found = []
    for item in container.at("ports").items():
        own = item.integer("containerPort")
        host: Setting[int] = item.integer("hostPort")
        if host_network and isinstance(host, Absent) and isinstance(own, Set):
            host = Set(own.value, replace(own.origin, via="derived", note="hostNetwork"))
        found.append(Port(own, host, item.origin))
    return tuple(found)
