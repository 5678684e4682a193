"""Admission webhooks that stand in the way of pods and jobs.

Defaults (admissionregistration.k8s.io/v1): failurePolicy Fail, timeoutSeconds 10, empty selectors match everything.
Source row: k8s.md E "mutating/validating webhook".
"""

from __future__ import annotations

from collections.abc import Iterable

from kube_gaplint import lazy_re
from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.selectors import demands, select
from kube_gaplint.model.nodes import Webhook
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.text.nodes import Scalar

API = "the API server's default"

TRAINING = {
    ("", "pods"), ("batch", "jobs"), ("batch", "cronjobs"), ("jobset.x-k8s.io", "jobsets"),
    ("kubeflow.org", "pytorchjobs"), ("kubeflow.org", "mpijobs"), ("kubeflow.org", "tfjobs"),
    ("trainer.kubeflow.org", "trainjobs"), ("batch.volcano.sh", "jobs"), ("ray.io", "rayjobs"),
    ("ray.io", "rayclusters"), ("leaderworkerset.x-k8s.io", "leaderworkersets"),
}  # fmt: skip
"""API group and resource of what a training run is made of."""

_OF_TRAINING = frozenset(group for group, _ in TRAINING)
_BUILT_IN = lazy_re.compile(r"[^.]*|(?!.*x-k8s\.io$).*\.k8s\.io")
"""API groups of Kubernetes itself; its projects' custom resources are in groups below x-k8s.io."""
_SYSTEM = lazy_re.compile(
    r"kube-(system|public|node-lease)|.*-system|.*-operator|cert-manager|gatekeeper.*|kyverno|istio.*|default|monitoring"
)
_NAME_LABEL = "kubernetes.io/metadata.name"
_NAMES = (_NAME_LABEL, "name")
"""Labels by which namespaces are told apart, rather than opted in."""


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[Webhook]:
    """Each webhook of a configuration."""
    context = Context(bundle, item, profile)
    parts = context.root.at("webhooks").items()
    of_operator = any(_has_own_kinds(part) for part in parts)
    for part in parts:
        yield _webhook(context, part, of_operator)


def _has_own_kinds(webhook: Part) -> bool:
    """Whether a webhook admits custom resources that are no training jobs: the kinds of the operator behind it."""
    for rule in webhook.at("rules").items():
        groups = rule.strings("apiGroups")
        if isinstance(groups, Set) and any(
            group not in _OF_TRAINING and not _BUILT_IN.fullmatch(group) for group in groups.value
        ):
            return True
    return False


def _webhook(context: Context, part: Part, of_operator: bool) -> Webhook:
    targets: list[str] = []
    on_create = False
    for rule in part.at("rules").items():
        groups, resources = rule.strings("apiGroups"), rule.strings("resources")
        operations = rule.strings("operations")
        if not (isinstance(groups, Set) and isinstance(resources, Set)):
            continue
        covered = _covered(groups.value, resources.value)
        targets.extend(name for name in covered if name not in targets)
        if covered and (not isinstance(operations, Set) or {"CREATE", "*"} & set(operations.value)):
            on_create = True
    namespaces = part.at("namespaceSelector")
    return Webhook(
        subject=context.subject,
        origin=part.origin,
        name=part.text("name") or "",
        mutating=context.object.kind == "MutatingWebhookConfiguration",
        failure_policy=part.string("failurePolicy", default=_failure_default(context.object), note=API),
        timeout_seconds=part.number("timeoutSeconds", default=_timeout_default(context.object), note=API),
        targets=tuple(targets),
        on_create=on_create,
        namespace_selector=_selector(namespaces),
        object_selector=_selector(part.at("objectSelector")),
        excludes_system_only=_only_system(namespaces),
        opt_in=_wants_labels(part.at("objectSelector")) or _nobody_opted_in(namespaces, context.bundle),
        of_operator=of_operator,
        match_conditions=bool(part.at("matchConditions").items()),
        object_at=context.origin,
        replicas=_replicas(context, part.at("clientConfig", "service")),
    )


def _failure_default(item: KubeObject) -> str:
    return "Ignore" if item.version == "v1beta1" else "Fail"


def _timeout_default(item: KubeObject) -> float:
    return 30.0 if item.version == "v1beta1" else 10.0


def _covered(groups: tuple[str, ...], resources: tuple[str, ...]) -> list[str]:
    found = []
    for group, name in sorted(TRAINING):
        if (group in groups or "*" in groups) and ({name, "*", f"{name}/*", "*/*"} & set(resources)):
            shown = name if group in ("", "batch") else f"{name}.{group}"
            found.append(shown)
    return found


def _selector(part: Part) -> Setting[str]:
    """A selector in words; absent where it selects everything."""
    if part.unknown:
        return Unknown(part.unknown, part.origin)
    labels = part.texts("matchLabels")
    terms = [f"{key}={value.value}" if isinstance(value, Set) else f"{key}={{…}}" for key, value in labels.items()]
    for item in part.at("matchExpressions").items():
        values = item.strings("values")
        shown = f" {', '.join(values.value)}" if isinstance(values, Set) else ""
        terms.append(f"{item.text('key') or ''} {item.text('operator') or ''}{shown}")
    return Set("; ".join(terms), part.origin) if terms else Absent(part.origin)


def _only_system(part: Part) -> bool:
    """Whether a selector does no more than leave out namespaces of the platform."""
    expressions = part.at("matchExpressions").items()
    if part.texts("matchLabels") or not expressions:
        return False
    for item in expressions:
        values = item.strings("values")
        if item.text("key") not in (*_NAMES, "control-plane") or not isinstance(values, Set):
            if item.text("operator") == "DoesNotExist" and item.text("key") in ("control-plane", "runlevel"):
                continue
            return False
        if item.text("operator") != "NotIn" or not all(_SYSTEM.fullmatch(value) for value in values.value):
            return False
    return True


def _nobody_opted_in(selector: Part, bundle: Bundle) -> bool:
    """Whether a namespace has to carry a label of the webhook's own, and none of those in the paths does."""
    asked = demands(selector) if _wants_labels(selector) else None
    if asked is None:
        return False
    return not any(
        select(asked, Part.of(item.node).texts("metadata", "labels")) is not False
        for item in bundle.by_kind("", "Namespace")
        if not _SYSTEM.fullmatch(item.name) or item.name == "default"
    )


def _wants_labels(selector: Part) -> bool:
    """Whether a selector covers only what somebody labelled: one by the names of namespaces covers those."""
    if any(key not in _NAMES for key in selector.texts("matchLabels")):
        return True
    return any(
        item.text("operator") in ("In", "Exists") and item.text("key") not in _NAMES
        for item in selector.at("matchExpressions").items()
    )


def _replicas(context: Context, service: Part) -> Setting[int]:
    """Replicas of the Deployment that the webhook's Service leads to: by its selector, else by its name."""
    name, namespace = service.text("name"), service.text("namespace")
    if not name:
        return Unknown("the webhook is not a Service", service.origin)
    wanted: dict[str, str] = {}
    for item in context.bundle.by_kind("", "Service"):
        if item.name == name and (not namespace or not item.namespace or item.namespace == namespace):
            selector = Part.of(item.node).texts("spec", "selector")
            wanted = {key: value.value for key, value in selector.items() if isinstance(value, Set)}
    for item in context.bundle.by_kind("apps", "Deployment"):
        if namespace and item.namespace and item.namespace != namespace:
            continue
        root = Part.of(item.node)
        labels = root.texts("spec", "template", "metadata", "labels")
        own = {key: value.value for key, value in labels.items() if isinstance(value, Set)}
        if (wanted and wanted.items() <= own.items()) or (not wanted and item.name == name):
            replicas = root.at("spec", "replicas")
            if isinstance(replicas.node, Scalar) or not replicas.present:
                return root.integer("spec", "replicas", default=1, note=API)
    return Unknown("the Deployment behind it is not in the given paths", service.origin)
