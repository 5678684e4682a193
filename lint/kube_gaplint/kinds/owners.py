"""What stands above a job and starts it again: wrappers in the manifest, tools that labels give away, queues."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.facts.owners import outer_tool
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer
from kube_gaplint.text.nodes import Node

APPWRAPPER_RETRIES = 3
"""retryLimit of the AppWrapper operator (appwrapper v1.2.1 pkg/config/config.go)."""

_APPLIES_ONLY = {
    "ManifestWork", "Object", "Template", "List",
}  # fmt: skip


def outer_layers(
    context: Context, labels: Mapping[str, Setting[str]], annotations: Mapping[str, Setting[str]]
) -> list[RestartLayer]:
    """Layers above the object, outermost first."""
    layers = []
    for owner in context.object.wrapped_by:
        layer = _of_owner(owner, context)
        if layer is not None:
            layers.append(layer)
    tool = outer_tool([*labels, *annotations])
    references = context.root.at("metadata", "ownerReferences")
    if not context.object.wrapped_by and (tool or references.items()):
        name = tool or references.items()[0].text("kind") or "its owner"
        origin = context.origin
        layers.append(
            RestartLayer(name, "workload", Unknown(f"{name} retries it by settings of its own", origin), origin)
        )
    resume = annotations.get("sagemaker.amazonaws.com/enable-job-auto-resume")
    if isinstance(resume, Set) and resume.value == "true":
        limit = context.root.integer("metadata", "annotations", "sagemaker.amazonaws.com/job-max-retry-count")
        if isinstance(limit, Absent):
            limit = Unknown("how often HyperPod resumes the job is not written", resume.origin)
        note = "a job on a faulty node is restarted"
        layers.append(RestartLayer("HyperPod", "workload", limit, resume.origin, frozenset({"node-loss"}), note))
    queue = labels.get("kueue.x-k8s.io/queue-name")
    if queue is not None and not isinstance(queue, Absent):
        layers.append(_kueue(queue.origin or context.origin))
    return layers


def _kueue(origin: Origin) -> RestartLayer:
    return RestartLayer(
        "Kueue",
        "workload",
        Set(UNBOUNDED, origin),
        origin,
        frozenset({"eviction"}),
        "a preempted job is admitted again",
    )


def _of_owner(owner: KubeObject, context: Context) -> RestartLayer | None:
    root = Part.of(owner.node)
    if owner.is_a("workload.codeflare.dev", "AppWrapper") and owner.version != "v1beta1":
        limit = root.at("metadata", "annotations").integer(
            "workload.codeflare.dev.appwrapper/retryLimit",
            default=APPWRAPPER_RETRIES,
            note="the AppWrapper operator's retryLimit",
        )
        origin = limit.origin if isinstance(limit, Set) else root.origin
        return RestartLayer("AppWrapper", "workload", limit, origin, note="everything in it is deleted and made again")
    if owner.kind == "AppWrapper":
        unknown = Unknown("MCAD requeues by settings of its own", root.origin)
        return RestartLayer("AppWrapper", "workload", unknown, root.origin)
    if owner.group == "argoproj.io":
        return argo_layer(owner, context.object.node)
    if owner.kind in _APPLIES_ONLY:
        return None
    unknown = Unknown(f"what {owner.kind} does after a failure is not known", root.origin)
    return RestartLayer(owner.kind, "workload", unknown, root.origin)


def argo_spec(owner: KubeObject) -> Part:
    """The workflow's spec, wherever its kind keeps it."""
    root = Part.of(owner.node)
    return root.at("spec", "workflowSpec") if owner.kind == "CronWorkflow" else root.at("spec")


def argo_layer(owner: KubeObject, inside: Node) -> RestartLayer | None:
    """The retry strategy of the Argo template that holds a node."""
    spec = argo_spec(owner)
    holder = next((item for item in spec.at("templates").items() if _holds(item.node, inside)), spec)
    return argo_retries(spec, holder)


def argo_retries(spec: Part, template: Part) -> RestartLayer | None:
    """The retry strategy in force for one Argo template: its own, else that of templateDefaults.

    Without one nothing is retried; with one and without a limit, for ever. `OnFailure` is the policy by default
    (`Always` where an expression stands), and does not cover a lost node, which Argo takes for an error.
    (argo-workflows docs/retries.md)
    """
    strategy = template.at("retryStrategy")
    if strategy.state is False:
        strategy = spec.at("templateDefaults", "retryStrategy")
    if strategy.unknown:
        return RestartLayer("Argo Workflow", "workload", Unknown(strategy.unknown, strategy.origin), strategy.origin)
    if not strategy.present:
        return RestartLayer(
            "Argo Workflow", "workload", Set(0, replace(template.origin, via="default")), template.origin
        )
    limit = strategy.integer("limit", default=UNBOUNDED, note="Argo's default: no limit")
    policy = strategy.text("retryPolicy") or ("Always" if strategy.at("expression").present else "OnFailure")
    on = {
        "Always": frozenset({"failure", "eviction", "node-loss"}),
        "OnFailure": frozenset({"failure"}),
        "OnError": frozenset({"eviction", "node-loss"}),
        "OnTransientError": frozenset[str](),
    }.get(policy, frozenset({"failure", "eviction", "node-loss"}))
    return RestartLayer("Argo Workflow", "workload", limit, strategy.origin, on, f"retryPolicy {policy}")


def _holds(outer: Node | None, inner: Node) -> bool:
    return (
        outer is not None
        and outer.source is inner.source
        and outer.span.start <= inner.span.start
        and inner.span.end <= outer.span.end
    )
