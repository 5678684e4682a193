"""Slurm on Kubernetes: node sets and health checks of Slinky and Soperator.

Source rows: k8s.md B1 (NodeSet), B2 (NodeSet, ActiveCheck). slurm.conf itself is read in `slurm_conf`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.gpu_nodes import Evidence
from kube_gaplint.model.nodes import CarriesGpus
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.model.slurm import HealthCheck, SlurmNodeSet
from kube_gaplint.model.subject import Subject

SLINKY = "slinky.slurm.net"
SOPERATOR = "slurm.nebius.ai"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[SlurmNodeSet | HealthCheck]:
    """The node set or check that an object is."""
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    if item.kind == "ActiveCheck":
        yield active_check(context, spec)
    elif item.group == SLINKY:
        yield slinky_node_set(context.subject, spec)
    else:
        yield soperator_node_set(context.subject, spec)


def node_set_gpus(spec: Part, *pods: Part) -> CarriesGpus:
    """By the resources of slurmd and by where its pods may run."""
    evidence = Evidence()
    for pod in pods:
        evidence.pod_spec(pod)
    for path in (("slurmd", "resources", "limits"), ("slurmd", "resources"), ("resources", "limits")):
        for key, amount in spec.texts(*path).items():
            evidence.label(key, amount)
    if spec.text("gpu", "enabled") == "true":
        evidence.has("gpu.enabled", spec.at("gpu", "enabled").origin)
    answer = evidence.answer()
    if answer.origin is None:
        return CarriesGpus("unknown", "nothing tells whether the node set has GPUs", spec.origin)
    return answer


def slinky_node_set(subject: Subject, spec: Part) -> SlurmNodeSet:
    """Slinky's NodeSet: RollingUpdate with 25 % and a disruption budget on busy pods by default."""
    update = spec.at("updateStrategy")
    default = "Slinky's default"
    return SlurmNodeSet(
        subject=subject,
        origin=spec.origin,
        operator="slinky",
        gpus=node_set_gpus(spec, spec.at("template", "spec"), spec.at("template")),
        replicas=spec.integer("replicas", default=1, note=default),
        strategy=update.string("type", default="RollingUpdate", note=default),
        max_unavailable=update.string("rollingUpdate", "maxUnavailable", default="25%", note=default),
        protected=spec.boolean("workloadDisruptionProtection", default=True, note=default),
        fields={
            "extraConf": spec.at("extraConf").verbatim(),
            "oversubscribeNode": spec.string("oversubscribeNode", default="false", note=default),
            "template.spec.terminationGracePeriodSeconds": spec.string(
                "template", "spec", "terminationGracePeriodSeconds"
            ),
        },
    )


def soperator_node_set(subject: Subject, spec: Part) -> SlurmNodeSet:
    """Soperator's NodeSet: a plain rolling update of up to 500 nodes at once by default."""
    default = "Soperator's default"
    protected: Setting[bool] = Absent(spec.origin)
    strategy = spec.string("updateStrategy", default="rollingUpdate", note=default)
    if isinstance(strategy, Set):
        protected = Set(strategy.value == "slurmAwareRollingUpdate", strategy.origin)
    gpus = node_set_gpus(spec, spec)
    if gpus.answer == "unknown" and isinstance(spec.boolean("gpu", "enabled", default=False), Set):
        gpus = CarriesGpus("no", "gpu.enabled is off", spec.at("gpu", "enabled").origin)
    return SlurmNodeSet(
        subject=subject,
        origin=spec.origin,
        operator="soperator",
        gpus=gpus,
        replicas=spec.integer("replicas", default=1, note=default),
        strategy=strategy,
        max_unavailable=spec.string("maxUnavailable", default="500", note=default),
        protected=protected,
    )


def active_check(context: Context, spec: Part) -> HealthCheck:
    """Soperator's ActiveCheck: suspended, yearly and without any reaction by default."""
    default = "Soperator's default"
    reactions = spec.at("failureReactions")
    named = [name for name, part in reactions.entries() if part.present]
    reacts: Setting[str] = Absent(reactions.origin)
    if named:
        reacts = Set(", ".join(named), reactions.origin)
    return HealthCheck(
        subject=context.subject,
        origin=spec.origin,
        suspended=spec.boolean("suspend", default=True, note=default),
        schedule=spec.string("schedule", default="0 0 1 1 *", note=default),
        runs_after_creation=spec.boolean("runAfterCreation", default=True, note=default),
        reacts=reacts,
    )
