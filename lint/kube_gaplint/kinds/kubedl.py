"""KubeDL's training kinds (training.kubedl.io): the shape of Kubeflow's first operators.

The run policy stands directly in the spec (`spec.backoffLimit`, `spec.cleanPodPolicy`). Restart policies that are not
written are unknown: the defaults differ by role and release.
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import assemble, helpers_do_not_train
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.kubeflow import gang_by_policy
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Role, Workload

_SPECS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "XDLJob": "xdlReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "MarsJob": "marsReplicaSpecs",
    "ElasticDLJob": "elasticdlReplicaSpecs",
}
_HELPERS = frozenset({"Launcher", "Evaluator", "Scheduler"})


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    key = _SPECS[item.kind]
    roles = []
    policies: list[Setting[str]] = []
    for name, replica in spec.at(key).entries():
        restart: Setting[str] = replica.string("restartPolicy")
        if isinstance(restart, Absent):
            restart = Unknown("KubeDL's default for this role is not known", replica.origin)
        policies.append(restart)
        replicas = replica.integer("replicas", default=1, note="KubeDL's default")
        pod = read_pod(replica.at("template"), context, Making(restart_policy=restart))
        trains = name not in _HELPERS
        roles.append(Role(name, replica.origin, pod, replicas, trains, fields_of(replica, {"restartPolicy": restart})))
    helpers_do_not_train(roles)
    budget: Setting[int] = spec.integer("backoffLimit", default=UNBOUNDED, note="no backoffLimit: no limit")
    written = {policy.value for policy in policies if isinstance(policy, Set)}
    if "Never" in written:
        budget = Set(0, next(p.origin for p in policies if isinstance(p, Set) and p.value == "Never"))
    elif len(written) != len(policies) and any(isinstance(policy, Unknown) for policy in policies):
        budget = Unknown("a role's restart policy is not known", spec.origin)
    layer = RestartLayer("KubeDL", "pod", budget, budget.origin or spec.origin)
    yield assemble(
        context,
        roles,
        [layer],
        gang=gang_by_policy(spec),
        deadline=spec.seconds("activeDeadlineSeconds"),
        effective={"replicaSpecs": Set(key, Origin(spec.place, "derived"))},
    )
