"""Objects of unknown kinds that hold pod templates: claimed only as far as it can be proven.

A pod template is a mapping with `spec.containers`, or a mapping with `containers` of its own, whose containers have an
image or a command. Which controller stands behind it is not known, so restarts, counts and defaults are unknown; what
the template itself says is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import assemble
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import RestartLayer, Role, Workload
from kube_gaplint.text import nodes
from kube_gaplint.text.limits import PARTS, TEMPLATES, reached
from kube_gaplint.text.nodes import Sequence

_DEEPEST = 24

# Kinds that hold containers or whole templates and start no pods of their own.
NO_WORKLOADS = frozenset({
    "CustomResourceDefinition", "ConfigMap", "Secret", "PodTemplate", "Kustomization", "Component", "Application",
    "ApplicationSet", "HelmRelease", "HelmChart", "ClusterPolicy", "NicClusterPolicy", "NVIDIADriver", "List",
    "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "ConstraintTemplate", "Policy", "AppWrapper",
    "Workload", "PodGroup", "ClusterQueue", "LocalQueue", "ResourceFlavor", "NodePool", "EC2NodeClass", "NodeSet",
    "SlurmCluster", "Controller", "LoginSet", "Accounting", "RestApi", "Prometheus", "Alertmanager", "PodMonitor",
    "ServiceMonitor", "KubeadmConfig", "KubeadmConfigTemplate", "MachineConfig", "DaemonSet",
    "ClusterServiceVersion", "Plan", "Model", "Experiment", "Trial", "NodeConfigurator", "ActiveCheck",
    "JailedConfig", "Template", "ManifestWork", "Object", "PrometheusRule",
})  # fmt: skip


class UserKind(Struct, frozen=True):
    """A kind of the user's own, from the configuration: where its pod templates stand.

    Paths are dotted from the object, with `*` for every element of a list or value of a mapping
    (`spec.groups.*.podTemplate`). `replicas` is the name of the count beside a template.
    """

    group: str
    kind: str
    pod_templates: tuple[str, ...]
    replicas: str = "replicas"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile, user_kind: UserKind | None = None) -> Iterator[Workload]:
    """The workload in an object of an unknown kind, or in one whose templates the user has shown."""
    if user_kind is None and item.kind in NO_WORKLOADS:
        return
    context = Context(bundle, item, profile)
    found = pod_templates(context.root.at("spec")) if user_kind is None else _shown(context.root, user_kind)
    if not found:
        return
    unseen = f"what {item.kind} does with its pods is not known"
    roles = []
    for path, template, holder in found:
        replicas: Setting[int] = holder.integer("replicas" if user_kind is None else user_kind.replicas)
        if not isinstance(replicas, Set):
            replicas = Unknown(f"how many pods {item.kind} makes is not known", template.origin)
        restart = template.string("spec", "restartPolicy")
        if not isinstance(restart, Set):
            restart = Unknown(unseen, template.origin)
        making = Making(restart_policy=restart, unseen=unseen)
        name = holder.text("name") or path.rpartition(".")[2]
        roles.append(Role(name, template.origin, read_pod(template, context, making), replicas))
    if user_kind is None and not any(container.accelerators for role in roles for container in role.pod.containers):
        return
    origin = context.origin
    layer = RestartLayer(item.kind, "workload", Unknown(unseen, origin), origin)
    yield assemble(
        context,
        roles,
        [layer],
        nodes=Unknown(unseen, origin),
        gang=Unknown(unseen, origin),
        elastic=Unknown(unseen, origin),
        exposed={} if (saves := _own_checkpoints(context.root.at("spec"))) is None else {"controller_saves": saves},
    )


def _own_checkpoints(spec: Part) -> Origin | None:
    """A field by which the controller is told of checkpoints, outside the pod templates: it may take them itself, of
    the whole container even."""
    parts = [spec, *(part for _, part in spec.entries())]
    for part in parts:
        if _is_pod_spec(part) or _is_pod_spec(part.at("spec")):
            continue
        for name, value in part.entries():
            if any(word in name.lower() for word in ("checkpoint", "snapshot")) and not _is_off(value):
                return value.origin
    return None


def _is_off(part: Part) -> bool:
    switches = (part.boolean(), part.boolean("enabled"))
    if any(isinstance(one, Set) and not one.value for one in switches):
        return True
    return (part.text() or "").lower() in {"none", "never", "disabled"}


def _shown(root: Part, user_kind: UserKind) -> list[tuple[str, Part, Part]]:
    """The pod templates at the paths of a user's kind."""
    found: list[tuple[str, Part, Part]] = []
    for path in user_kind.pod_templates:
        parts: list[tuple[str, Part, Part]] = [("", root, root)]
        for step in path.split("."):
            below: list[tuple[str, Part, Part]] = []
            for name, part, _ in parts:
                if step != "*":
                    below.append((f"{name}.{step}", part.at(step), part))
                    continue
                below.extend((f"{name}.{key}", child, part) for key, child in part.entries())
                below.extend(
                    (f"{name}.{child.text('name') or index}", child, part) for index, child in enumerate(part.items())
                )
            if len(below) > TEMPLATES.most:
                reached(TEMPLATES, root.origin.place)
            parts = below[: TEMPLATES.most]
        for name, part, holder in parts:
            if _is_pod_spec(part.at("spec")):
                found.append((name, part, holder))
            elif _is_pod_spec(part):
                found.append((name, _as_template(part), holder))
    return found


def pod_templates(root: Part) -> list[tuple[str, Part, Part]]:
    """Pod templates below a part as (path, template, the mapping that holds it), in document order.

    A pod spec that stands without a template around it (`podSpec: {containers: …}`) counts as a template of its own.
    """
    found: list[tuple[str, Part, Part]] = []
    stack: list[tuple[str, Part, Part, int]] = [("spec", root, root, 0)]
    left = PARTS.most
    while stack and left > 0 and len(found) < TEMPLATES.most:
        path, part, holder, depth = stack.pop()
        left -= 1
        if depth > _DEEPEST:
            continue
        if _is_pod_spec(part.at("spec")):
            found.append((path, part, holder))
            continue
        if _is_pod_spec(part):
            found.append((path, _as_template(part), holder))
            continue
        below: list[tuple[str, Part, Part, int]] = []
        for name, child in part.entries():
            below.append((f"{path}.{name}", child, part, depth + 1))
        for index, child in enumerate(part.items()):
            below.append((f"{path}[{child.text('name') or index}]", child, part, depth + 1))
        stack.extend(reversed(below))
    if stack and found:
        reached(TEMPLATES if left > 0 else PARTS, root.origin.place)
    return found


def _is_pod_spec(part: Part) -> bool:
    containers = part.at("containers")
    if not isinstance(containers.node, Sequence) or not containers.items():
        return False
    return all(
        isinstance(item.node, nodes.Mapping) and (item.at("image").present or item.at("command").present)
        for item in containers.items()
    )


def _as_template(spec: Part) -> Part:
    """A template around a bare pod spec; its nodes stay those of the file."""
    node = spec.node
    assert node is not None
    key = nodes.Scalar(node.source, node.span, "spec", "spec")
    template = nodes.Mapping(node.source, node.span, entries=[nodes.Entry(key, node)])
    return Part(template, spec.place, spec.home, spec.chain)
