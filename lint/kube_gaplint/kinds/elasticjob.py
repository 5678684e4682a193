"""ElasticJob: DLRover's (elastic.iml.github.io) and TorchElastic's (elastic.pytorch.org).

`Workload.fields`: paths from the object. `Role.fields`: the replica spec (`restartCount`, `autoScale`,
`restartPolicy`). DLRover's master replaces failed pods up to `restartCount`; its agents restart processes besides.
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import assemble, helpers_do_not_train
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import RestartLayer, Role, Workload

DLROVER = "elastic.iml.github.io"


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    dlrover = item.group == DLROVER
    variables = _variables(spec) if dlrover else {}
    roles = []
    for name, replica in spec.at("replicaSpecs").entries():
        restart = replica.string("restartPolicy")
        making = Making(restart_policy=None if isinstance(restart, Absent) else restart, variables=variables)
        pod = read_pod(replica.at("template"), context, making)
        replicas = replica.integer("replicas", default=1, note="the operator's default")
        roles.append(Role(name, replica.origin, pod, replicas, fields=fields_of(replica)))
    helpers_do_not_train(roles)
    yield assemble(context, roles, [_layer(spec, roles, dlrover)], elastic=_elastic(spec, dlrover))


def _layer(spec: Part, roles: list[Role], dlrover: bool) -> RestartLayer:
    owner = "DLRover" if dlrover else "TorchElastic controller"
    for role in roles:
        part = spec.at("replicaSpecs", role.name)
        count = part.integer("restartCount")
        if role.trains and isinstance(count, Set):
            return RestartLayer(owner, "pod", count, count.origin, note="restartCount")
    return RestartLayer(owner, "pod", Unknown(f"{owner} decides by defaults of its own", spec.origin), spec.origin)


def _elastic(spec: Part, dlrover: bool) -> Setting[bool]:
    if dlrover:
        return Set(True, Origin(spec.place, "derived", "DLRover's agents rendezvous again without a lost node"))
    least, most = spec.integer("minReplicas"), spec.integer("maxReplicas")
    if isinstance(least, Set) and isinstance(most, Set):
        return Set(least.value < most.value, least.origin)
    return Unknown("its range is not known", spec.origin)


def _variables(spec: Part) -> dict[str, Setting[str]]:
    origin = Origin(spec.place, "injected", "DLRover")
    names = (
        "DLROVER_MASTER_ADDR",
        "NODE_ID",
        "NODE_RANK",
        "NODE_NUM",
        "WORKER_ID",
        "WORKER_RANK",
        "WORKER_NUM",
        "POD_IP",
    )
    found: dict[str, Setting[str]] = {name: Unknown("DLRover fills it in", origin) for name in names}
    for name, part in spec.at("envs").entries():
        found[name] = part.string("value") if part.at("value").present else Unknown("it is filled in", part.origin)
    return found
