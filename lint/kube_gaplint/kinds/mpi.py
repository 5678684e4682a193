"""MPIJob of the mpi-operator: v2beta1 and v1alpha2; v1 of the training operator goes to `kubeflow`.

`Workload.fields`: paths from the object, with the operator's defaults: `spec.slotsPerWorker` (1),
`spec.runPolicy.cleanPodPolicy` (None in the code, whatever the type's comment says), `spec.runPolicy.backoffLimit` (6,
the launcher's Job), `spec.launcherCreationPolicy` (AtStartup), `spec.runLauncherAsWorker` (false),
`spec.runPolicy.schedulingPolicy.minAvailable`. `Role.fields`: the replica spec with `restartPolicy` (Launcher
OnFailure, Worker Never). The operator of v1alpha2 looks for cleanPodPolicy beside runPolicy alone, and for backoffLimit
in both places.
(facts of Kubernetes objects, A4; mpi-operator v0.2.3, pkg/apis/kubeflow/v1alpha2/default.go and
pkg/controllers/v1alpha2/mpi_job_controller.go)
"""

from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import kubeflow
from kube_gaplint.kinds.assembly import FAILURE, LOSS, assemble, text_setting
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.job import BACKOFF_LIMIT
from kube_gaplint.kinds.kubeflow import gang_by_policy
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import RestartLayer, Role, Workload

OPERATOR = "the mpi-operator's default"
LAUNCHER, WORKER = "Launcher", "Worker"
_RESTARTS = {LAUNCHER: "OnFailure", WORKER: "Never"}


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    if item.version == "v1":
        yield kubeflow.read(context, kubeflow.KINDS["MPIJob"])
    elif item.version == "v1alpha1":
        yield _first(context)
    else:
        yield _read(context)


def _read(context: Context) -> Workload:
    spec = context.root.at("spec")
    specs = spec.at("mpiReplicaSpecs")
    run_policy = spec.at("runPolicy")
    version = context.object.version
    as_worker = spec.boolean("runLauncherAsWorker", default=False, note=OPERATOR)
    roles = []
    for name, replica in specs.entries():
        restart = replica.string("restartPolicy", default=_RESTARTS.get(name, "Never"), note=OPERATOR)
        replicas = replica.integer("replicas", default=1 if name == LAUNCHER else None, note=OPERATOR)
        if isinstance(replicas, Absent):
            replicas = Set(0, replicas.origin)
        roles.append(
            Role(
                name=name,
                origin=replica.origin,
                pod=read_pod(replica.at("template"), context, _making(name, replica.at("template"), restart)),
                replicas=replicas,
                trains=name != LAUNCHER or (isinstance(as_worker, Set) and as_worker.value),
                fields=fields_of(replica, {"restartPolicy": restart, "replicas": text_setting(replicas)}),
            )
        )
    _launcher_alone(roles)
    cleans = spec if version == "v1alpha2" else run_policy
    clean = cleans.string("cleanPodPolicy", default="None", note=OPERATOR)
    backoff: Setting[int] = run_policy.integer("backoffLimit", default=BACKOFF_LIMIT, note="the launcher's Job")
    if version == "v1alpha2" and run_policy.at("backoffLimit").state is False:
        backoff = spec.integer("backoffLimit", default=BACKOFF_LIMIT, note="the launcher's Job")
    return assemble(
        context,
        roles,
        _layers(roles, backoff, context),
        nodes=Unknown(specs.unknown, specs.origin) if specs.unknown else None,
        gang=gang_by_policy(run_policy),
        deadline=run_policy.seconds("activeDeadlineSeconds"),
        effective={
            "spec.slotsPerWorker": text_setting(spec.integer("slotsPerWorker", default=1, note=OPERATOR)),
            "spec.runPolicy.cleanPodPolicy": clean,
            "spec.runPolicy.backoffLimit": text_setting(backoff),
            "spec.launcherCreationPolicy": spec.string("launcherCreationPolicy", default="AtStartup", note=OPERATOR),
            "spec.runLauncherAsWorker": text_setting(as_worker),
            "spec.mpiImplementation": spec.string("mpiImplementation", default="OpenMPI", note=OPERATOR),
            "replicaSpecs": Set("mpiReplicaSpecs", Origin(spec.place, "derived")),
        },
    )


def _making(name: str, template: Part, restart: Setting[str]) -> Making:
    """The operator sets dnsPolicy for roles on the host's network, and lets workers wait for mpirun.
    (mpi_job_controller.go newWorker, newLauncher)"""
    host = template.boolean("spec", "hostNetwork")
    dns: dict[str, Setting[str]] = {}
    if isinstance(host, Set) and host.value:
        dns["dnsPolicy"] = Set("ClusterFirstWithHostNet", Origin(template.place, "injected", "the mpi-operator"))
    return Making(restart_policy=restart, fields=dns, command=("/usr/sbin/sshd", "-De") if name == WORKER else ())


def _launcher_alone(roles: list[Role]) -> None:
    """A job without workers computes in its launcher."""
    if not any(role.trains for role in roles):
        for role in roles:
            role.trains = True


def _layers(roles: list[Role], backoff: Setting[int], context: Context) -> list[RestartLayer]:
    """The launcher is a Job; a worker that is evicted ends the MPIJob at once, whatever the launcher may retry.
    (mpi_job_controller.go: any worker whose reason is Evicted)"""
    launcher = next((role for role in roles if role.name == LAUNCHER), None)
    origin = context.origin if launcher is None else launcher.origin
    restart = launcher.fields["restartPolicy"] if launcher is not None else Absent(origin)
    budget = backoff
    if isinstance(restart, Set) and restart.value == "ExitCode":
        budget = Set(0, restart.origin)
    elif isinstance(restart, Unknown):
        budget = restart
    note = f"the launcher's Job, restartPolicy {restart.value}" if isinstance(restart, Set) else "the launcher's Job"
    return [
        RestartLayer("mpi-operator", "role", budget, budget.origin or origin, FAILURE, note),
        RestartLayer("mpi-operator", "workload", Set(0, origin), origin, LOSS, "an evicted worker ends the MPIJob"),
    ]


def _first(context: Context) -> Workload:
    """v1alpha1: one template, `spec.gpus` or `spec.replicas`, and a launcher that the operator makes of it."""
    spec = context.root.at("spec")
    pod = read_pod(spec.at("template"), context)
    replicas = spec.integer("replicas")
    role = Role(
        WORKER, spec.origin, pod, replicas if not isinstance(replicas, Absent) else Unknown("spec.gpus decides")
    )
    budget = spec.integer("backoffLimit", default=BACKOFF_LIMIT, note="the launcher's Job")
    layer = RestartLayer("mpi-operator", "role", budget, budget.origin or spec.origin, FAILURE, "the launcher's Job")
    return assemble(context, [role], [layer])
