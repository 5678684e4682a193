"""HyperPodPyTorchJob (sagemaker.amazonaws.com).

`spec.replicaSpecs` is a list, and `runPolicy.restartPolicy` an object. `Workload.fields`: paths from the object, with
the defaults that the command line tool writes: `spec.runPolicy.cleanPodPolicy` (All),
`spec.runPolicy.ttlSecondsAfterFinished` (0: deleted at once), `spec.nprocPerNode` (auto).
(facts of Kubernetes objects, A11; the CRD itself was not available, so unset budgets are unknown)
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import FAILURE, assemble, text_setting
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.model.workload import RestartLayer, Role, Workload

TOOL = "the HyperPod command line's default"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    policy = spec.at("runPolicy")
    roles = []
    for index, replica in enumerate(spec.at("replicaSpecs").items()):
        replicas = replica.integer("replicas", default=1, note="HyperPod's default")
        name = replica.text("name") or f"replica-{index}"
        pod = read_pod(replica.at("template"), context)
        roles.append(Role(name, replica.origin, pod, replicas, fields=fields_of(replica)))
    yield assemble(
        context,
        roles,
        _layers(policy),
        elastic=_elastic(spec.at("elasticPolicy")),
        deadline=policy.seconds("activeDeadlineSeconds"),
        effective={
            "spec.runPolicy.cleanPodPolicy": policy.string("cleanPodPolicy", default="All", note=TOOL),
            "spec.runPolicy.ttlSecondsAfterFinished": text_setting(
                policy.integer("ttlSecondsAfterFinished", default=0, note=TOOL)
            ),
            "spec.nprocPerNode": spec.string("nprocPerNode", default="auto", note=TOOL),
        },
    )


def _layers(policy: Part) -> list[RestartLayer]:
    """The operator restarts the whole job, and its agents the processes before that."""
    restart = policy.at("restartPolicy")
    full: Setting[int] = restart.integer("maxFullJobRestarts")
    if isinstance(full, Absent):
        full = policy.integer("jobMaxRetryCount")
    origin = full.origin or policy.origin
    if isinstance(full, Absent):
        full = Unknown("the operator's own default is not known", origin)
    layers = [RestartLayer("HyperPod operator", "workload", full, origin, note="the whole job")]
    inner = restart.integer("numRestartBeforeFullJobRestart")
    if isinstance(inner, Set):
        layers.append(RestartLayer("hyperpodrun", "process", inner, inner.origin, FAILURE))
    return layers


def _elastic(policy: Part) -> Setting[bool]:
    if policy.unknown:
        return Unknown(policy.unknown, policy.origin)
    least, most = policy.integer("minReplicas"), policy.integer("maxReplicas")
    if isinstance(least, Set) and isinstance(most, Set):
        return Set(least.value < most.value, policy.origin)
    return Set(policy.present, policy.origin)
