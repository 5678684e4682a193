"""Tekton: Task, ClusterTask, TaskRun, Pipeline, PipelineRun (tekton.dev).

The steps of a task are the containers of one pod, one after the other. `Workload.fields`: paths from the object, and
`timeout` (60m by default, 0 for none), `retries` (0), `task`: its name in a pipeline.
(facts of Kubernetes objects, A13)
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import assemble, text_setting
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.merge import list_of, merged, table
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting
from kube_gaplint.model.workload import RestartLayer, Role, Workload
from kube_gaplint.text.nodes import Mapping, Node, Scalar, Sequence

DEFAULT = "Tekton's default-timeout-minutes"
DEFAULT_SECONDS = 3600.0
_POD_FIELDS = (
    "nodeSelector", "tolerations", "affinity", "securityContext", "volumes", "runtimeClassName", "schedulerName",
    "priorityClassName", "hostNetwork", "dnsPolicy", "imagePullSecrets",
)  # fmt: skip


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    root = Part.of(item.node)
    spec = root.at("spec")
    if item.kind in ("Task", "ClusterTask"):
        tasks = [("", spec, spec)]
    elif item.kind == "TaskRun":
        tasks = [("", spec.at("taskSpec"), spec)]
    else:
        holder = spec.at("pipelineSpec") if item.kind == "PipelineRun" else spec
        tasks = [(one.text("name") or "", one.at("taskSpec"), one) for one in holder.at("tasks").items()]
    for name, task, holder in tasks:
        if task.at("steps").items():
            yield _workload(Context(bundle, item, profile), name, task, holder)


def _workload(context: Context, name: str, task: Part, holder: Part) -> Workload:
    spec = context.root.at("spec")
    pod_template = spec.at("podTemplate")
    if not pod_template.present:
        pod_template = spec.at("taskRunTemplate", "podTemplate")
    making = Making(restart_default="Never", restart_note="Tekton's pods restart nothing themselves")
    pod = read_pod(_pod_template(task, pod_template), context, making)
    role = Role(name, task.origin, pod, Set(1, Origin(task.place, "derived")))
    retries = holder.integer("retries", default=0, note="Tekton's default")
    timeout = _timeout(spec, holder, context.object.kind)
    deadline: Setting[float] = timeout
    if isinstance(timeout, Set) and timeout.value == 0:
        deadline = Absent(timeout.origin)
    return assemble(
        context,
        [role],
        [RestartLayer("Tekton", "workload", retries, retries.origin or holder.origin)],
        deadline=deadline,
        effective={
            "timeout": text_setting(timeout),
            "retries": text_setting(retries),
            "task": Set(name, task.origin),
        },
    )


def _timeout(spec: Part, holder: Part, kind: str) -> Setting[float]:
    """The first that is set: the task's own, the run's, else the configuration's 60 minutes. A Task has none."""
    for part in (
        holder.at("timeout"),
        spec.at("timeouts", "tasks"),
        spec.at("timeouts", "pipeline"),
        spec.at("timeout"),
    ):
        found = part.seconds()
        if not isinstance(found, Absent):
            return found
    if kind in ("Task", "ClusterTask", "Pipeline"):
        return Absent(spec.origin)
    return spec.at("timeouts").default(DEFAULT_SECONDS, DEFAULT)


def _pod_template(task: Part, template: Part) -> Part:
    place = task.place
    defaults = task.at("stepTemplate").node
    steps = [merged(defaults, _step(item.node)) for item in task.at("steps").items() if item.node is not None]
    sidecars = [item.node for item in task.at("sidecars").items() if item.node is not None]
    fields: dict[str, Node | None] = {
        "containers": list_of(place, *[step for step in steps if step is not None], *sidecars)
    }
    for key in _POD_FIELDS:
        fields[key] = template.at(key).node
    volumes = [item.node for part in (task, template) for item in part.at("volumes").items() if item.node is not None]
    fields["volumes"] = list_of(place, *volumes) if volumes else None
    return Part.of(table(place, {"spec": table(place, fields)}))


def _step(node: Node) -> Node:
    """A step with a script runs it by its #! line, or with sh; newer ones call resources `computeResources`."""
    if not isinstance(node, Mapping):
        return node
    fields: dict[str, Node | None] = {entry.name: entry.value for entry in node}
    script = fields.pop("script", None)
    if "computeResources" in fields:
        fields["resources"] = fields.pop("computeResources")
    if isinstance(script, Scalar):
        first = script.text.split("\n", 1)[0]
        shell = first.split("/")[-1].strip() if first.startswith("#!") else "sh"
        words = [Scalar(node.source, node.span, word, word) for word in (*shell.removeprefix("env ").split()[:1], "-c")]
        fields["command"] = list_of(script.place, *words, script)
        fields.pop("args", None)
    elif not isinstance(fields.get("command"), Sequence | None):
        fields.pop("command")
    return table(node.place, fields)
