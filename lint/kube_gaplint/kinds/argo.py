"""Argo Workflows: Workflow, WorkflowTemplate, ClusterWorkflowTemplate, CronWorkflow (argoproj.io).

Each template that runs containers is a workload of its own: its pods run at their own time. Jobs in
`resource.manifest` are objects of the bundle, with the workflow as their outer owner (`owners`).
`Workload.fields`: paths from the template (`retryStrategy.limit`, `activeDeadlineSeconds`), `workflow.podGC.strategy`,
`workflow.ttlStrategy.secondsAfterCompletion`, `workflow.activeDeadlineSeconds`; `template`: the template's name.
(facts of Kubernetes objects, A13)
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import assemble
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.merge import list_of, merged, table
from kube_gaplint.kinds.owners import argo_retries, argo_spec
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.text.nodes import Mapping, Node, Scalar, Sequence

# Fields of a workflow and of its templates that go to the pod as they are; the template's win.
_SHARED = (
    "nodeSelector", "tolerations", "affinity", "serviceAccountName", "hostAliases", "imagePullSecrets",
    "securityContext", "schedulerName", "priorityClassName", "hostNetwork", "dnsPolicy", "dnsConfig",
)  # fmt: skip
_EXTENDED = ("volumes", "initContainers", "sidecars")


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    spec = argo_spec(item)
    for template in spec.at("templates").items():
        containers = _containers(template)
        if containers:
            yield _workload(Context(bundle, item, profile), spec, template, containers)


def _workload(context: Context, spec: Part, template: Part, containers: list[Node]) -> Workload:
    patched = template.at("podSpecPatch").present or spec.at("podSpecPatch").present
    unseen = "a podSpecPatch may change the pod" if patched else ""
    making = Making(restart_default="Never", restart_note="Argo's pods restart nothing themselves", unseen=unseen)
    name = template.text("name") or ""
    pod = read_pod(_pod_template(spec, template, containers), context, making)
    artifacts = tuple(_output_paths(template))
    for container in pod.containers if artifacts else ():
        container.exposed = {**container.exposed, "artifacts": artifacts}
    role = Role(name, template.origin, pod, Set(1, Origin(template.place, "derived")))
    layer = argo_retries(spec, template)
    deadline: Setting[float] = template.seconds("activeDeadlineSeconds")
    whole = spec.seconds("activeDeadlineSeconds")
    if isinstance(deadline, Absent):
        deadline = whole
    return assemble(
        context,
        [role],
        [layer] if layer is not None else [],
        part=template,
        deadline=deadline,
        effective={
            "template": Set(name, template.origin),
            "workflow.podGC.strategy": spec.string("podGC", "strategy"),
            "workflow.ttlStrategy.secondsAfterCompletion": spec.string("ttlStrategy", "secondsAfterCompletion"),
            "workflow.activeDeadlineSeconds": spec.string("activeDeadlineSeconds"),
        },
        annotations={**context.root.texts("metadata", "annotations"), **template.texts("metadata", "annotations")},
        labels={**context.root.texts("metadata", "labels"), **template.texts("metadata", "labels")},
    )


def _containers(template: Part) -> list[Node]:
    """The containers of a template: `container`, `script` (its source as the last argument), or a containerSet."""
    own = template.at("container").node
    if isinstance(own, Mapping):
        return [_named(own)]
    script = template.at("script").node
    if isinstance(script, Mapping):
        return [_of_script(script)]
    return [item.node for item in template.at("containerSet", "containers").items() if isinstance(item.node, Mapping)]


def _output_paths(template: Part) -> Iterator[str]:
    """The paths that Argo's executor takes to the artifact store when the step ends."""
    for artifact in template.at("outputs", "artifacts").items():
        path = artifact.text("path")
        if path is not None and path.startswith("/"):
            yield path


def _named(container: Mapping) -> Node:
    """Argo calls the container `main`."""
    if "name" in container:
        return container
    return merged(table(container.place, {"name": _text("main", container)}), container) or container


def _of_script(script: Mapping) -> Node:
    """A script template runs `command file`; reading it as `command -c source` shows the same programs."""
    command, source = script.get("command"), script.get("source")
    if not isinstance(command, Sequence) or source is None:
        return _named(script)
    words = [*command, _text("-c", script), source]
    rest = {entry.name: entry.value for entry in script if entry.name not in ("command", "args", "source")}
    return _named(table(script.place, {**rest, "command": list_of(script.place, *words)}))


def _text(text: str, near: Node) -> Node:
    return Scalar(near.source, near.span, text, text)


def _pod_template(spec: Part, template: Part, containers: list[Node]) -> Part:
    place = template.place
    fields: dict[str, Node | None] = {"containers": list_of(place, *containers)}
    for key in _SHARED:
        own = template.at(key)
        fields[key] = own.node if own.present else spec.at(key).node
    for key in _EXTENDED:
        items = [part.node for whole in (spec, template) for part in whole.at(key).items() if part.node is not None]
        if items and key == "sidecars":
            fields["containers"] = list_of(place, *containers, *items)
        elif items:
            fields[key] = list_of(place, *items)
    metadata = merged(spec.at("podMetadata").node, template.at("metadata").node)
    return Part.of(table(place, {"metadata": metadata, "spec": table(place, fields)}))
