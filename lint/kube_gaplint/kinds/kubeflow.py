"""Kubeflow Training Operator v1: PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob, MXJob and MPIJob v1.

`Workload.fields`: paths from the object, with the operator's defaults: `spec.runPolicy.cleanPodPolicy` (None),
`spec.runPolicy.backoffLimit` (absent: no limit), `spec.elasticPolicy.minReplicas` …, `spec.nprocPerNode`,
`spec.slotsPerWorker` (MPIJob), `replicaSpecs`: the key that holds the replica specs. `Role.fields`: the replica spec
(`restartPolicy`, `replicas`).
(facts of Kubernetes objects, A3; training-operator v1.9.0)
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import ALL, FAILURE, LOSS, assemble, helpers_do_not_train, text_setting, total
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Release
from kube_gaplint.model.workload import UNBOUNDED, RestartLayer, Role, Workload

OPERATOR = "the training operator's default"
RECREATES_FAILED: Release = (1, 7)
"""From this release on failed pods are made again under OnFailure and Always; before, only containers restart."""


class Kind(Struct, frozen=True):
    """One kind of the operator. `port`: of its rendezvous; `helpers`: replica types that hold no rank."""

    replica_specs: str
    restart_default: str
    port: int
    helpers: frozenset[str] = frozenset()


KINDS: dict[str, Kind] = {
    "PyTorchJob": Kind("pytorchReplicaSpecs", "OnFailure", 23456),
    "PaddleJob": Kind("paddleReplicaSpecs", "OnFailure", 36543),
    "TFJob": Kind("tfReplicaSpecs", "Never", 2222, frozenset({"Evaluator"})),
    "XGBoostJob": Kind("xgbReplicaSpecs", "Never", 9999),
    "JAXJob": Kind("jaxReplicaSpecs", "Never", 6666),
    "MXJob": Kind("mxReplicaSpecs", "Never", 9091, frozenset({"Scheduler"})),
    "MPIJob": Kind("mpiReplicaSpecs", "Never", 9999, frozenset({"Launcher"})),
}


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    yield read(context, KINDS[item.kind])


_INLINE = frozenset({"v1alpha1", "v1alpha2", "v1beta1", "v1beta2"})
"""Versions in which what is the run policy now stood under `spec` itself (tf-operator, pkg/apis/tensorflow/v1beta2)."""


def read(context: Context, kind: Kind) -> Workload:
    spec = context.root.at("spec")
    specs = spec.at(kind.replica_specs)
    run_policy = spec.at("runPolicy")
    if context.object.version in _INLINE and not run_policy.present:
        run_policy = spec
    elastic = spec.at("elasticPolicy")
    counts = {name: replica.integer("replicas", default=1, note=OPERATOR) for name, replica in specs.entries()}
    injected = _Injected(context, spec, kind, counts)
    roles = []
    for name, replica in specs.entries():
        restart = replica.string("restartPolicy", default=kind.restart_default, note=OPERATOR)
        waits = ("sleep", "365d") if context.object.kind == "MPIJob" and name == "Worker" else ()
        making = Making(restart_policy=_of_pods(restart), variables=injected.variables(name), command=waits)
        roles.append(
            Role(
                name=name,
                origin=replica.origin,
                pod=read_pod(replica.at("template"), context, making),
                replicas=counts[name],
                trains=name not in kind.helpers,
                fields=fields_of(replica, {"restartPolicy": restart, "replicas": text_setting(counts[name])}),
            )
        )
    if context.object.kind in ("TFJob", "MPIJob", "MXJob"):
        helpers_do_not_train(roles)
    if specs.unknown:
        context.note(f"the replicas: {specs.unknown}")
    gang = gang_by_policy(run_policy)
    return assemble(
        context,
        roles,
        _layers(context, roles, run_policy, elastic),
        nodes=Unknown(specs.unknown, specs.origin) if specs.unknown else None,
        gang=gang,
        elastic=_elastic(elastic, counts),
        deadline=run_policy.seconds("activeDeadlineSeconds"),
        effective=_effective(spec, kind, run_policy, elastic, counts),
    )


def _of_pods(restart: Setting[str]) -> Setting[str]:
    """The pods' own policy: under ExitCode the operator decides, and the kubelet restarts nothing."""
    if isinstance(restart, Set) and restart.value == "ExitCode":
        return Set("Never", replace(restart.origin, via="derived", note="ExitCode: the operator restarts pods itself"))
    return restart


def _effective(
    spec: Part, kind: Kind, run_policy: Part, elastic: Part, counts: dict[str, Setting[int]]
) -> dict[str, Setting[str]]:
    clean = run_policy.string("cleanPodPolicy", default="None", note=OPERATOR)
    if kind is KINDS["MPIJob"] and run_policy.at("cleanPodPolicy").state is False:
        clean = spec.string("cleanPodPolicy", default="None", note=OPERATOR)
    found: dict[str, Setting[str]] = {
        "spec.runPolicy.cleanPodPolicy": clean,
        "spec.runPolicy.suspend": text_setting(run_policy.boolean("suspend", default=False, note=OPERATOR)),
        "replicaSpecs": Set(kind.replica_specs, Origin(spec.place, "derived")),
    }
    if elastic.state:
        low, high = _range(elastic, counts)
        found["spec.elasticPolicy.minReplicas"] = text_setting(low)
        found["spec.elasticPolicy.maxReplicas"] = text_setting(high)
        found["spec.elasticPolicy.rdzvBackend"] = elastic.string("rdzvBackend", default="c10d", note=OPERATOR)
    if kind is KINDS["PyTorchJob"]:
        found["spec.nprocPerNode"] = _processes(spec)
    if kind is KINDS["MPIJob"]:
        found["spec.slotsPerWorker"] = text_setting(spec.integer("slotsPerWorker", default=1, note=OPERATOR))
    return found


def _processes(spec: Part) -> Setting[str]:
    """nprocPerNode; the elastic policy's older field counts where the newer one is not given."""
    old = spec.string("elasticPolicy", "nProcPerNode")
    if not isinstance(old, Absent) and spec.at("nprocPerNode").state is False:
        return old
    return spec.string("nprocPerNode", default="auto", note=OPERATOR)


# Elasticity


def _range(elastic: Part, counts: dict[str, Setting[int]]) -> tuple[Setting[int], Setting[int]]:
    """minReplicas and maxReplicas: either one stands in for the other, the workers' replicas for both.
    (pytorch_defaults.go setElasticPolicy)"""
    low, high = elastic.integer("minReplicas"), elastic.integer("maxReplicas")
    workers = counts.get("Worker", Absent(elastic.origin))
    if isinstance(low, Absent):
        low = high if not isinstance(high, Absent) else workers
    if isinstance(high, Absent):
        high = low
    return low, high


def _elastic(elastic: Part, counts: dict[str, Setting[int]]) -> Setting[bool]:
    if elastic.unknown:
        return Unknown(elastic.unknown, elastic.origin)
    if not elastic.present:
        return Set(False, replace(elastic.origin, via="derived"))
    low, high = _range(elastic, counts)
    if isinstance(low, Set) and isinstance(high, Set):
        return Set(low.value < high.value, elastic.origin)
    return next(
        (one for one in (low, high) if isinstance(one, Unknown)), Unknown("its range is not known", elastic.origin)
    )


# Restarts


def _layers(context: Context, roles: list[Role], run_policy: Part, elastic: Part) -> list[RestartLayer]:
    """The operator's restarts of single pods; it never restarts a whole job.

    runPolicy.backoffLimit bounds the restarts of containers, and there is no limit without one. OnFailure in operators
    before 1.7 does not make a failed pod again, so an evicted one ends the job.
    """
    budget: Setting[int] = run_policy.integer("backoffLimit", default=UNBOUNDED, note="no backoffLimit: no limit")
    old = bool(context.profile.training_operator) and context.profile.training_operator < RECREATES_FAILED
    layers = [_layer(policy, role, budget, old) for policy, role in _policies(roles)][:1]
    if context.object.kind == "MPIJob":
        layers = _of_launcher(roles, budget, old)
    if elastic.present:
        restarts = elastic.integer("maxRestarts", default=0, note="torchrun's default")
        place = restarts.origin or elastic.origin
        layers.append(RestartLayer("torchrun", "process", restarts, place, FAILURE, "elasticPolicy"))
    return layers


def _of_launcher(roles: list[Role], budget: Setting[int], old: bool) -> list[RestartLayer]:
    """MPI: a rank that dies ends mpirun, so the launcher's policy decides; a lost worker is the worker's affair."""
    by_name = {role.name: role for role in roles}
    layers = []
    for name, on in (("Launcher", FAILURE), ("Worker", LOSS)):
        role = by_name.get(name)
        if role is not None:
            layer = _layer(role.fields["restartPolicy"], role, budget, old)
            layers.append(replace(layer, on=layer.on & on))
    return layers


def _policies(roles: list[Role]) -> list[tuple[Setting[str], Role]]:
    """The replica policies that matter, the one that restarts least first: one role without restarts ends the job.
    An unknown one may be as bad as that."""
    order = {"Never": 0, "ExitCode": 1, "OnFailure": 3, "Always": 4}
    found = [(role.fields["restartPolicy"], role) for role in roles]
    return sorted(found, key=lambda pair: order.get(pair[0].value, 2) if isinstance(pair[0], Set) else 2)


def _layer(policy: Setting[str], role: Role, budget: Setting[int], old: bool) -> RestartLayer:
    owner, origin = "training operator", policy.origin or role.origin
    if not isinstance(policy, Set):
        return RestartLayer(owner, "pod", Unknown("the restart policy is not known", origin), origin)
    if policy.value == "Never":
        return RestartLayer(owner, "pod", Set(0, origin), origin, ALL, "restartPolicy Never: a failed pod ends the job")
    if policy.value == "ExitCode":
        note = "restartPolicy ExitCode: exit codes 1 to 127 end the job, others restart the pod without limit"
        return RestartLayer(owner, "pod", Set(0, origin), origin, FAILURE, note)
    on = FAILURE if old else ALL
    scope_note = f"restartPolicy {policy.value}: each pod by itself"
    place = origin
    if isinstance(budget, Set) and budget.value != UNBOUNDED:
        place = budget.origin
    return RestartLayer(owner, "pod", budget, place, on, scope_note)


# Gang scheduling


def gang_by_policy(run_policy: Part) -> Setting[bool] | None:
    """A schedulingPolicy shows that the operator schedules gangs: it has no effect otherwise."""
    policy = run_policy.at("schedulingPolicy")
    if policy.unknown:
        return Unknown(policy.unknown, policy.origin)
    if policy.present and next(policy.entries(), None) is not None:
        return Set(True, replace(policy.origin, note="runPolicy.schedulingPolicy"))
    return None


# What the operator puts into the environment


class _Injected(Struct, frozen=True):
    """Variables that the operator appends to every container; they win over the manifest's own.
    (pkg/controller.v1/pytorch/envvar.go, elastic.go; tensorflow, xgboost, paddle, jax likewise)"""

    context: Context
    spec: Part
    kind: Kind
    counts: dict[str, Setting[int]]

    def variables(self, role: str) -> dict[str, Setting[str]]:
        kind = self.context.object.kind
        if kind == "PyTorchJob":
            return self._pytorch(role)
        origin = Origin(self.spec.place, "injected", "the training operator")
        if kind == "TFJob":
            several = len(self.counts) > 1 or not self._is_one(next(iter(self.counts.values()), None))
            return {"TF_CONFIG": Unknown("it lists the cluster", origin)} if several else {}
        names = {
            "XGBoostJob": ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "WORKER_PORT", "WORKER_ADDRS"),
            "PaddleJob": (
                "PADDLE_JOB_ID", "PADDLE_NNODES", "PADDLE_MASTER", "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ID",
            ),
            "JAXJob": ("COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID"),
            "MXJob": ("MX_CONFIG", "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "DMLC_NUM_WORKER", "DMLC_ROLE"),
        }.get(kind, ())  # fmt: skip
        return {name: Unknown("the operator fills it in", origin) for name in names}

    @staticmethod
    def _is_one(count: Setting[int] | None) -> bool:
        return isinstance(count, Set) and count.value == 1

    def _pytorch(self, role: str) -> dict[str, Setting[str]]:
        origin = Origin(self.spec.place, "injected", "the training operator")
        found: dict[str, Setting[str]] = {"PYTHONUNBUFFERED": Set("1", origin)}
        elastic = self.spec.at("elasticPolicy")
        pods = total(self.counts.values(), self.spec.origin)
        processes = _processes(self.spec)
        found["PET_NPROC_PER_NODE"] = _as_injected(processes, origin)
        if elastic.unknown:
            names = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "PET_NNODES", "PET_RDZV_BACKEND")
            found.update((name, Unknown(elastic.unknown, origin)) for name in names)
        elif elastic.present:
            found.update(self._elastic(elastic, origin))
        elif "Master" in self.counts:
            master = f"{self.context.object.name}-master-0"
            found["MASTER_ADDR"] = Set(master, origin)
            found["MASTER_PORT"] = Set(str(self.kind.port), origin)
            rank: Setting[str] = Set("0", origin) if role == "Master" else Unknown("it is the pod's index", origin)
            found["RANK"] = rank
            found["PET_NODE_RANK"] = rank
            found["PET_MASTER_ADDR"] = found["MASTER_ADDR"]
            found["PET_MASTER_PORT"] = found["MASTER_PORT"]
            found["PET_NNODES"] = _as_injected(text_setting(pods), origin)
            found["WORLD_SIZE"] = _world_size(pods, processes, origin)
        else:
            found["PET_NNODES"] = _as_injected(text_setting(pods), origin)
        return found

    def _elastic(self, elastic: Part, origin: Origin) -> dict[str, Setting[str]]:
        low, high = _range(elastic, self.counts)
        found: dict[str, Setting[str]] = {
            "PET_RDZV_BACKEND": _as_injected(elastic.string("rdzvBackend", default="c10d"), origin),
            "PET_RDZV_ENDPOINT": Unknown("the operator builds it from the job's first worker", origin),
            "PET_RDZV_ID": _as_injected(elastic.string("rdzvId", default=self.context.object.name), origin),
        }
        if isinstance(low, Set) and isinstance(high, Set):
            found["PET_NNODES"] = Set(f"{low.value}:{high.value}", origin)
        else:
            found["PET_NNODES"] = Unknown("the elastic range is not known", origin)
        for key, name in (("maxRestarts", "PET_MAX_RESTARTS"), ("rdzvConf", "PET_RDZV_CONF")):
            part = elastic.at(key)
            if part.unknown:
                found[name] = Unknown(part.unknown, origin)
            elif part.present and key == "maxRestarts":
                found[name] = _as_injected(part.string(), origin)
            elif part.present:
                pairs = [(item.text("key"), item.text("value")) for item in part.items()]
                known = all(left is not None and right is not None for left, right in pairs)
                text = ",".join(f"{left}={right}" for left, right in pairs)
                found[name] = Set(text, origin) if known else Unknown("it is not known whole", origin)
        if elastic.text("standalone") == "true":
            found["PET_STANDALONE"] = Set("", origin)
        return found


def _as_injected(setting: Setting[str], origin: Origin) -> Setting[str]:
    """A value of the manifest that reaches the container as a variable; its place stays the manifest's."""
    if isinstance(setting, Set):
        return Set(setting.value, replace(setting.origin, via="injected", note=origin.note))
    return setting if isinstance(setting, Unknown) else Unknown("the operator fills it in", origin)


def _world_size(pods: Setting[int], processes: Setting[str], origin: Origin) -> Setting[str]:
    """Pods × processes of each; `auto` counts as one. (envvar.go getNprocPerNodeInt)"""
    if not isinstance(pods, Set) or not isinstance(processes, Set):
        return Unknown("the number of processes is not known", origin)
    each = (
        int(processes.value)
        if processes.value.isascii() and processes.value.isdigit() and len(processes.value) < 9
        else 1
    )
    return Set(str(pods.value * each), origin)
