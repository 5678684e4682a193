"""Run:ai workloads (run.ai), read shallowly: fields are wrapped as `spec.<field>.value`.

Image, command, arguments, variables and GPU counts are read; what Run:ai's own templates add is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import assemble
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.generic import pod_templates
from kube_gaplint.kinds.merge import list_of, table
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import RestartLayer, Role, Workload
from kube_gaplint.text.nodes import Mapping, Node, Scalar

UNSEEN = "Run:ai's templates and policies add fields that are not in the manifest"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    found = pod_templates(spec)
    template = found[0][1] if found else _template(spec)  # RunaiJob has a plain pod template
    making = Making(unseen=UNSEEN)
    role = Role("", spec.origin, read_pod(template, context, making), _workers(spec, item.kind))
    origin = context.origin
    layer = RestartLayer("Run:ai", "workload", Unknown("Run:ai's backoffLimit is not seen", origin), origin)
    limit = spec.integer("backoffLimit", "value")
    if not isinstance(limit, Absent):
        layer = RestartLayer("Run:ai", "workload", limit, limit.origin or origin)
    gang: Setting[bool] = Set(True, Origin(item.place, "derived", "Run:ai's scheduler"))
    yield assemble(context, [role], [layer], gang=gang)


def _workers(spec: Part, kind: str) -> Setting[int]:
    if kind != "DistributedWorkload":
        return Set(1, Origin(spec.place, "derived"))
    for key in ("numWorkers", "workers", "processes"):
        count = spec.integer(key, "value")
        if not isinstance(count, Absent):
            return count
    return Unknown("the number of workers is not seen", spec.origin)


def _value(spec: Part, *keys: str) -> Node | None:
    for key in keys:
        node = spec.at(key, "value").node
        if node is not None:
            return node
    return None


def _template(spec: Part) -> Part:
    """A pod template out of the wrapped fields."""
    place = spec.place
    gpus = _value(spec, "gpuDevices", "gpu")
    limits = table(place, {"nvidia.com/gpu": gpus})
    words = {key: _as_list(_value(spec, key)) for key in ("command", "arguments")}
    fields: dict[str, Node | None] = {
        "name": Scalar(place.source, place.span, "main", "main"),
        "image": _value(spec, "image"),
        "command": words["command"],
        "args": words["arguments"],
        "env": _variables(spec),
        "resources": table(place, {"limits": limits}) if gpus is not None else None,
    }
    pod = table(place, {"containers": list_of(place, table(place, fields))})
    return Part.of(table(place, {"spec": pod}))


def _as_list(node: Node | None) -> Node | None:
    """One text is split at blanks, as a shell would."""
    if not isinstance(node, Scalar):
        return node
    words = [Scalar(node.source, node.span, word, word) for word in node.text.split()]
    return list_of(node.place, *words)


def _variables(spec: Part) -> Node | None:
    items = spec.at("environment", "items")
    if not isinstance(items.node, Mapping):
        return None
    entries = []
    for name, part in items.entries():
        key = Scalar(part.place.source, part.place.span, name, name)
        entries.append(table(part.place, {"name": key, "value": part.at("value").node}))
    return list_of(items.place, *entries)
