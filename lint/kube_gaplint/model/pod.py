"""Structured parts of pods and containers, as rules read them.

`Pod.exposed` and `Container.exposed` hold these under the keys below; the functions at the end give them with their
types. Fields that Kubernetes defaults have their effective values.

| on | key | value |
|---|---|---|
| Pod | `tolerations` | tuple of `Toleration` |
| Pod | `affinity` | `Affinity` |
| Pod | `security` | `Security` of the pod |
| Pod | `spread` | tuple of `Spread` |
| Pod | `claims` | tuple of `DeviceClaim` (dynamic resource allocation) |
| Pod | `pull_secrets` | tuple of names |
| Pod | `open_parts` | names of pod fields that an unseen template may extend, with the reason |
| Container | `liveness`, `readiness`, `startup` | `Probe` |
| Container | `pre_stop`, `post_start` | `Hook` |
| Container | `security` | `Security`, the pod's values included |
| Container | `ports` | tuple of `Port` |
| Container | `claims` | names of the pod's device claims that the container uses |
| Container | `folders` | a function that gives the working directories of the Dockerfiles of its image |
| Container | `image_starts` | a function that gives the words of its image's own entry point |
| Container | `files` | a function from a path in the container to the text of the ConfigMap file mounted there |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from msgspec import Struct, field

from kube_gaplint.facts import probes
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.text.nodes import Scalar

if TYPE_CHECKING:
    from kube_gaplint.model.workload import Container, Pod

T = TypeVar("T")

DEFAULT_GRACE = 30.0
"""Kubernetes' terminationGracePeriodSeconds where nothing is written, in seconds."""


class Toleration(Struct, frozen=True):
    """`operator` is Equal by default; an absent key with Exists tolerates everything; an absent effect means all.

    `seconds`: how long a NoExecute taint is tolerated; absent for ever.
    """

    key: Setting[str]
    operator: Setting[str]
    value: Setting[str]
    effect: Setting[str]
    seconds: Setting[float]
    origin: Origin


class Tolerances(Struct, frozen=True):
    """What a pod tolerates. `closed`: nothing unseen may add to the list."""

    listed: tuple[Toleration, ...] = ()
    closed: bool = True

    def cover(self, key: str, value: str, effect: str) -> bool | None:
        """Whether they tolerate a taint; None where that is not known."""
        sure = self.closed
        for one in self.listed:
            if any(isinstance(part, Unknown) for part in (one.key, one.operator, one.value, one.effect)):
                sure = False
                continue
            operator = one.operator.value if isinstance(one.operator, Set) else "Equal"
            of_key = one.key.value if isinstance(one.key, Set) else ""
            of_value = one.value.value if isinstance(one.value, Set) else ""
            of_effect = one.effect.value if isinstance(one.effect, Set) else ""
            fits = of_key == key or (not of_key and operator == "Exists")
            if fits and of_effect in ("", effect) and (operator == "Exists" or of_value == value):
                return True
        return False if sure else None

    def name(self, key: str) -> bool:
        """Whether one of them names the key of a taint: the pod is meant for nodes that have it."""
        return any(isinstance(one.key, Set) and one.key.value == key for one in self.listed)


class NodeTerm(Struct, frozen=True):
    """One expression of node affinity. `required`: the scheduler must keep it. `alternative`: or another term, whose
    expressions it need not keep with it."""

    key: str
    operator: str
    values: Setting[tuple[str, ...]]
    required: bool
    origin: Origin
    alternative: bool = False


class PodTerm(Struct, frozen=True):
    """One term of pod affinity (`anti`: anti-affinity)."""

    topology_key: str
    anti: bool
    required: bool
    labels: Mapping[str, Setting[str]]
    origin: Origin


class Affinity(Struct, frozen=True):
    """Affinity of a pod. `open_because`: a template expression may hold more terms."""

    nodes: tuple[NodeTerm, ...] = ()
    pods: tuple[PodTerm, ...] = ()
    open_because: str = ""


class Security(Struct, frozen=True):
    """A security context. `added`: capabilities by name, without `CAP_`."""

    run_as_user: Setting[int]
    run_as_non_root: Setting[bool]
    privileged: Setting[bool]
    added: Mapping[str, Origin]
    dropped: Mapping[str, Origin]
    origin: Origin
    open_because: str = ""

    def has_capability(self, name: str) -> bool | None:
        """Whether a capability is there: True, False, or None where a template expression may add it."""
        if name in self.added or "ALL" in self.added:
            return True
        if isinstance(self.privileged, Set) and self.privileged.value:
            return True
        if self.open_because or not isinstance(self.privileged, Set | Absent):
            return None
        return False


class Spread(Struct, frozen=True):
    """A topology spread constraint."""

    topology_key: str
    max_skew: Setting[int]
    when_unsatisfiable: Setting[str]
    origin: Origin


class DeviceClaim(Struct, frozen=True):
    """A claim of dynamic resource allocation. `device_class` is known where the claim's template is in the paths."""

    name: str
    device_class: Setting[str]
    count: Setting[int]
    origin: Origin


ProbeKind: TypeAlias = Literal["liveness", "readiness", "startup"]
Action: TypeAlias = Literal["exec", "http", "tcp", "grpc", "sleep", "unknown"]


class Probe(Struct, frozen=True):
    """A probe with the kubelet's defaults applied; times are seconds."""

    kind: ProbeKind
    action: Action
    command: Setting[tuple[str, ...]]
    initial_delay: Setting[float]
    period: Setting[float]
    timeout: Setting[float]
    failure_threshold: Setting[int]
    grace: Setting[float]
    """`terminationGracePeriodSeconds` of the probe itself."""
    origin: Origin


class Hook(Struct, frozen=True):
    """A lifecycle hook. `sleep`: seconds of the sleep action; `command`: of the exec action, scripts unread.
    `seconds`: for how long it surely sleeps, by the one or the other; None where it surely does not."""

    action: Action
    command: Setting[tuple[str, ...]]
    sleep: Setting[float]
    seconds: float | None
    origin: Origin


class Port(Struct, frozen=True):
    """A container port. `host`: the node's port, absent where none is taken."""

    container: Setting[int]
    host: Setting[int]
    origin: Origin


class Surplus(Struct, frozen=True):
    """A list or mapping of a pod that may hold more than is seen."""

    reasons: Mapping[str, str] = field(default_factory=dict)

    def __contains__(self, part: str) -> bool:
        return part in self.reasons


def _typed(exposed: Mapping[str, object], key: str, kind: type[T]) -> T | None:
    found = exposed.get(key)
    return found if isinstance(found, kind) else None


def _tuple_of(exposed: Mapping[str, object], key: str, kind: type[T]) -> tuple[T, ...]:
    found = exposed.get(key)
    return tuple(item for item in found if isinstance(item, kind)) if isinstance(found, tuple) else ()


def on_host_network(pod: Pod) -> bool | None:
    """Whether a pod shares its node's network; None where that is not known."""
    found = pod.fields.get("hostNetwork")
    if found is None or isinstance(found, Absent):
        return False
    return found.value == "true" if isinstance(found, Set) else None


def tolerations(pod: Pod) -> tuple[Toleration, ...]:
    return _tuple_of(pod.exposed, "tolerations", Toleration)


def tolerances(pod: Pod) -> Tolerances:
    return Tolerances(tolerations(pod), "tolerations" not in open_parts(pod) and not pod.overrides_unknown)


def wanted_labels(pod: Pod) -> dict[str, str]:
    """The labels that a node must have to take the pod, with the only value that will do, as far as they are known: its
    node selector, and required node affinity without an alternative."""
    wanted = {term.key: value for term, value in only_choices(pod) if not term.alternative}
    return wanted | {key: one.value for key, one in pod.node_selector.items() if isinstance(one, Set)}


def affinity(pod: Pod) -> Affinity:
    return _typed(pod.exposed, "affinity", Affinity) or Affinity()


def only_choices(pod: Pod) -> Iterator[tuple[NodeTerm, str]]:
    """The expressions of required node affinity that leave a single value, with that value."""
    for term in affinity(pod).nodes:
        if term.required and term.operator == "In" and isinstance(term.values, Set) and len(term.values.value) == 1:
            yield term, term.values.value[0]


def spread(pod: Pod) -> tuple[Spread, ...]:
    return _tuple_of(pod.exposed, "spread", Spread)


def device_claims(pod: Pod) -> tuple[DeviceClaim, ...]:
    return _tuple_of(pod.exposed, "claims", DeviceClaim)


def pull_secrets(pod: Pod) -> tuple[str, ...]:
    return _tuple_of(pod.exposed, "pull_secrets", str)


def open_parts(pod: Pod) -> Surplus:
    """Fields of the pod (`volumes`, `tolerations` …) that something unseen may extend, with the reasons."""
    return _typed(pod.exposed, "open_parts", Surplus) or Surplus()


def probe(container: Container, kind: ProbeKind) -> Probe | None:
    return _typed(container.exposed, kind, Probe)


def hook(container: Container, when: Literal["pre_stop", "post_start"]) -> Hook | None:
    return _typed(container.exposed, when, Hook)


_SHELLS = frozenset({"sh", "bash", "dash", "ash"})
_SHELL_OPTIONS = frozenset({"-c", "-lc", "-ec", "-ce", "-xc"})


def asks_no_program(found: Probe) -> bool:
    """Whether a probe surely asks nothing of the program that it watches: it looks into the process list, for a file,
    at the driver."""
    if found.action != "exec" or not isinstance(found.command, Set):
        return False
    words = found.command.value
    if len(words) == 3 and words[1] in _SHELL_OPTIONS and words[0].rsplit("/", 1)[-1] in _SHELLS:
        parts = [part.replace(">", " >").split() for part in probes.PARTS.split(words[2])]
    else:
        parts = [list(words)]
    names = [name for part in parts if (name := _first_command(part))]
    return bool(names) and all(name.rsplit("/", 1)[-1] in probes.ASKS_NO_PROGRAM for name in names)


def _first_command(words: list[str]) -> str:
    return next((word.strip("\"'") for word in words if word not in probes.WORDS_BEFORE), "")


def security(part: Pod | Container) -> Security:
    """The security context of a pod, or the effective one of a container."""
    found = _typed(part.exposed, "security", Security)
    if found is not None:
        return found
    nothing = Absent(part.origin)
    return Security(nothing, nothing, nothing, {}, {}, part.origin)


def ports(container: Container) -> tuple[Port, ...]:
    return _tuple_of(container.exposed, "ports", Port)


def is_text(setting: Setting[str]) -> bool:
    """Whether a value is a string to Kubernetes: an unquoted `true` or `8` is not, and annotations must be strings."""
    if not isinstance(setting, Set):
        return True
    node = setting.origin.node
    return not isinstance(node, Scalar) or isinstance(node.value, str)
