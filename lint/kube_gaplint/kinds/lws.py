"""LeaderWorkerSet (leaderworkerset.x-k8s.io): groups of one leader and size − 1 workers.

`Workload.fields`: paths from the object, with the API's defaults: `spec.replicas` (1 group),
`spec.leaderWorkerTemplate.size` (1), `spec.leaderWorkerTemplate.restartPolicy` (RecreateGroupOnPodRestart),
`spec.startupPolicy` (LeaderCreated), `spec.networkConfig.subdomainPolicy` (Shared). One group is one collective.
(facts of Kubernetes objects, A8)
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import assemble, product, text_setting
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Role, Scope, Workload

API = "LeaderWorkerSet's default"
_GROUP = ("RecreateGroupOnPodRestart", "RecreateGroupAfterStart")


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    template = spec.at("leaderWorkerTemplate")
    groups = spec.integer("replicas", default=1, note=API)
    size = template.integer("size", default=1, note=API)
    claims = {}
    for claim in template.at("volumeClaimTemplates").items():
        name = claim.text("metadata", "name")
        if name is not None:
            claims[name] = claim
    making = Making(variables=_variables(spec.origin, size), claims=claims)
    leader = template.at("leaderTemplate")
    own = leader.present
    worker = template.at("workerTemplate")
    roles = []
    if own:
        roles.append(Role("leader", leader.origin, read_pod(leader, context, making), groups))
        rest: Setting[int] = Set(max(size.value - 1, 0), size.origin) if isinstance(size, Set) else size
        if not (isinstance(rest, Set) and rest.value == 0):
            roles.append(Role("worker", worker.origin, read_pod(worker, context, making), product(groups, rest)))
    else:
        roles.append(Role("worker", worker.origin, read_pod(worker, context, making), product(groups, size)))
    policy = template.string("restartPolicy", default=_GROUP[0], note=API)
    yield assemble(
        context,
        roles,
        [_layer(policy, context.origin)],
        nodes=size,
        effective={
            "spec.replicas": text_setting(groups),
            "spec.leaderWorkerTemplate.size": text_setting(size),
            "spec.leaderWorkerTemplate.restartPolicy": policy,
            "spec.startupPolicy": spec.string("startupPolicy", default="LeaderCreated", note=API),
            "spec.networkConfig.subdomainPolicy": spec.at("networkConfig").string(
                "subdomainPolicy", default="Shared", note=API
            ),
        },
    )


def _layer(policy: Setting[str], home: Origin) -> RestartLayer:
    origin = policy.origin or home
    if not isinstance(policy, Set):
        return RestartLayer("LeaderWorkerSet", "workload", Unknown("its restart policy is not known", origin), origin)
    scope: Scope = "workload" if policy.value in _GROUP else "pod"
    return RestartLayer("LeaderWorkerSet", scope, Set(UNBOUNDED, origin), origin, note=f"restartPolicy {policy.value}")


def _variables(home: Origin, size: Setting[int]) -> dict[str, Setting[str]]:
    origin = Origin(home.place, "injected", "LeaderWorkerSet")
    number = text_setting(size)
    return {
        "LWS_LEADER_ADDRESS": Unknown("it is the leader's name", origin),
        "LWS_GROUP_SIZE": Set(number.value, origin) if isinstance(number, Set) else Unknown("it is counted", origin),
        "LWS_WORKER_INDEX": Unknown("it is the pod's index", origin),
    }
