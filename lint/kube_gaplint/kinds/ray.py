"""KubeRay: RayJob, RayCluster, RayService (ray.io).

`Workload.fields`: paths from the object, with the operator's defaults: `spec.backoffLimit` (0),
`spec.submitterConfig.backoffLimit` (2), `spec.submissionMode` (K8sJobMode), `spec.shutdownAfterJobFinishes` (false),
`spec.ttlSecondsAfterFinished` (0); `cluster`: the path of the cluster's spec; `gcsFaultTolerance`: true, false, or
unknown. `Role.fields`: the group (`minReplicas`, `maxReplicas`, `rayStartParams.num-cpus`).

A RayJob's entrypoint is a role of its own, `entrypoint`: it runs in the head's container with the head's environment
and the runtime environment's variables, and holds no rank.
(facts of Kubernetes objects, A7)
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.assembly import ALL, FAILURE, assemble, helpers_do_not_train, text_setting, total
from kube_gaplint.kinds.checkouts import in_repository, is_own_archive
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.inner import OneLine
from kube_gaplint.kinds.own_images import OwnImage
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.pods import Making, read_pod
from kube_gaplint.kinds.ray_environment import read_runtime_environment
from kube_gaplint.launch.start import start
from kube_gaplint.model.command import Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import UNBOUNDED, Container, RestartLayer, Role, Workload
from kube_gaplint.text.nodes import Mapping as MappingNode
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.source import Files, PlacedText

OPERATOR = "KubeRay's default"
SUBMITTER_RETRIES = 2
_CLUSTER = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    path = _CLUSTER.get(item.kind, "")
    cluster = spec.at(path) if path else spec
    roles = _roles(cluster, context, spec)
    if item.kind == "RayJob":
        roles.extend(_entrypoint(spec, roles, context))
    helpers_do_not_train(roles)
    autoscaled = cluster.boolean("enableInTreeAutoscaling", default=False, note=OPERATOR)
    effective: dict[str, Setting[str]] = {
        "cluster": Set(f"spec.{path}" if path else "spec", Origin(spec.place, "derived")),
        "gcsFaultTolerance": text_setting(_fault_tolerance(cluster, context)),
    }
    if item.kind == "RayJob":
        effective.update(_job_defaults(spec))
    selected = item.kind == "RayJob" and spec.at("clusterSelector").present
    unseen = Unknown("the cluster that it runs on is not in the manifest", spec.origin)
    yield assemble(
        context,
        roles,
        _layers(context, spec),
        nodes=unseen if selected or cluster.unknown else _nodes(roles, context),
        elastic=autoscaled,
        deadline=spec.seconds("activeDeadlineSeconds"),
        effective=effective,
        exposed=_exposed(spec, roles, context),
    )


def _exposed(spec: Part, roles: list[Role], context: Context) -> dict[str, object]:
    """What Ray brings to the nodes for the job."""
    root = _runtime_environment(spec.at("runtimeEnvYAML"))
    if root is None:
        return {}
    head = next((role for role in roles if role.name == "head"), None)
    own = head.pod.containers[0].environment if head is not None and head.pod.containers else None
    environment = (own or Environment(context.origin)).over(*_runtime_variables(spec))
    return {"runtime_environment": read_runtime_environment(root, environment)}


def _job_defaults(spec: Part) -> dict[str, Setting[str]]:
    submitter = spec.at("submitterConfig")
    return {
        "spec.backoffLimit": text_setting(spec.integer("backoffLimit", default=0, note=OPERATOR)),
        "spec.submissionMode": spec.string("submissionMode", default="K8sJobMode", note=OPERATOR),
        "spec.shutdownAfterJobFinishes": text_setting(
            spec.boolean("shutdownAfterJobFinishes", default=False, note=OPERATOR)
        ),
        "spec.ttlSecondsAfterFinished": text_setting(spec.integer("ttlSecondsAfterFinished", default=0, note=OPERATOR)),
        "spec.submitterConfig.backoffLimit": text_setting(
            submitter.integer("backoffLimit", default=SUBMITTER_RETRIES, note=OPERATOR)
        ),
    }


# Groups


def _roles(cluster: Part, context: Context, spec: Part) -> list[Role]:
    roles = []
    head = cluster.at("headGroupSpec")
    variables = _variables(cluster)
    if head.present:
        making = Making(variables=variables, shm_note="KubeRay", command=("ray", "start", "--head"))
        if spec.text("submissionMode") == "SidecarMode":
            never = Set("Never", Origin(spec.place, "injected", "KubeRay, for SidecarMode"))
            making = replace(making, restart_policy=never)
        pod = read_pod(head.at("template"), context, making)
        one = Set(1, Origin(head.place, "derived"))
        roles.append(Role("head", head.origin, pod, one, fields=fields_of(head)))
    for group in cluster.at("workerGroupSpecs").items():
        making = Making(variables=variables, shm_note="KubeRay", command=("ray", "start"))
        pod = read_pod(group.at("template"), context, making)
        name = group.text("groupName") or "workers"
        roles.append(Role(name, group.origin, pod, _replicas(group, cluster), fields=fields_of(group, _bounds(group))))
    return roles


def _bounds(group: Part) -> dict[str, Setting[str]]:
    return {
        "replicas": text_setting(group.integer("replicas", default=0, note=OPERATOR)),
        "minReplicas": text_setting(group.integer("minReplicas", default=0, note=OPERATOR)),
        "maxReplicas": text_setting(group.integer("maxReplicas", default=UNBOUNDED, note=OPERATOR)),
        "numOfHosts": text_setting(group.integer("numOfHosts", default=1, note=OPERATOR)),
    }


def _replicas(group: Part, cluster: Part) -> Setting[int]:
    """Pods of a worker group: replicas within minReplicas and maxReplicas, times the hosts of each.
    (utils.GetWorkerGroupDesiredReplicas)"""
    if group.text("suspend") == "true":
        return Set(0, group.at("suspend").origin)
    wanted = group.integer("replicas", default=0, note=OPERATOR)
    least = group.integer("minReplicas", default=0, note=OPERATOR)
    most = group.integer("maxReplicas", default=UNBOUNDED, note=OPERATOR)
    hosts = group.integer("numOfHosts", default=1, note=OPERATOR)
    for setting in (wanted, least, most, hosts):
        if isinstance(setting, Unknown):
            return setting
    assert isinstance(wanted, Set) and isinstance(least, Set) and isinstance(most, Set) and isinstance(hosts, Set)
    if cluster.text("enableInTreeAutoscaling") == "true" and least.value != most.value:
        return Unknown("the autoscaler decides how many workers run", group.origin)
    count = min(max(wanted.value, least.value), max(most.value, least.value))
    chosen = next((one for one in (wanted, least, most) if one.value == count), wanted)
    return Set(count * hosts.value, chosen.origin)


def _nodes(roles: list[Role], context: Context) -> Setting[int]:
    return total((role.replicas for role in roles if role.trains), context.origin)


def _variables(cluster: Part) -> dict[str, Setting[str]]:
    origin = Origin(cluster.place, "injected", "KubeRay")
    names = ("RAY_ADDRESS", "RAY_PORT", "FQ_RAY_IP", "RAY_IP", "RAY_CLUSTER_NAME")
    return {name: Unknown("KubeRay fills it in", origin) for name in names}


def _fault_tolerance(cluster: Part, context: Context) -> Setting[bool]:
    options = cluster.at("gcsFaultToleranceOptions")
    if options.unknown:
        return Unknown(options.unknown, options.origin)
    if options.present:
        return Set(True, options.origin)
    annotation = context.root.boolean("metadata", "annotations", "ray.io/ft-enabled")
    if not isinstance(annotation, Absent):
        return annotation
    return Set(False, replace(options.origin, via="default", note=OPERATOR))


# The entrypoint


def _entrypoint(spec: Part, roles: list[Role], context: Context) -> list[Role]:
    """The driver that `ray job submit` starts on the head. Its text is a command line for a shell."""
    part = spec.at("entrypoint")
    head = next((role for role in roles if role.name == "head"), None)
    if not isinstance(part.node, Scalar) or head is None or not head.pod.containers:
        return []
    from kube_gaplint.text.scalar_text import scalar_text

    base = head.pod.containers[0]
    environment = base.environment.over(*_runtime_variables(spec))
    shell = Word(("sh",), part.place), Word(("-c",), part.place)
    written = scalar_text(part.node)
    script = Word((part.node.text,), part.place, placed=OneLine(written) if part.node.style == "folded" else written)
    files = _driver_files(base, spec, context)
    started = start((*shell, script), environment, files)
    driver = Container(
        name=base.name,
        origin=part.origin,
        subject=base.subject,
        image=base.image,
        environment=environment,
        command=Absent(part.origin),
        args=Set((part.node.text,), part.origin),
        accelerators=(),
        requests={},
        limits={},
        mounts=base.mounts,
        commands=list(started.commands),
        scripts=list(started.scripts),
        entrypoint_unknown=started.unknown,
        fields={},
        exposed={"files": files, "packages": OwnImage(base.image, context, "", (script,)).packages},
    )
    pod = replace(head.pod, containers=(driver,), init_containers=())
    return [Role("entrypoint", part.origin, pod, Set(1, replace(part.origin, via="derived")), trains=False)]


def _runtime_variables(spec: Part) -> tuple[dict[str, Setting[str]], str]:
    """env_vars of the runtime environment."""
    part = spec.at("runtimeEnvYAML")
    if not part.present and not part.unknown:
        return {}, ""
    if not isinstance(part.node, Scalar):
        return {}, "the runtime environment cannot be seen"
    root = _runtime_environment(part)
    if root is None:
        return {}, "the runtime environment cannot be seen" if part.unknown else ""
    return root.texts("env_vars"), ""


def _runtime_environment(part: Part) -> Part | None:
    """The runtime environment, a YAML text; None where it is none."""
    if not isinstance(part.node, Scalar):
        return None
    from kube_gaplint.bundle.embedded import embedded_documents

    documents, _ = embedded_documents(part.node)
    root = documents[0].root if documents else None
    return Part.of(root) if isinstance(root, MappingNode) else None


def _driver_files(head: Container, spec: Part, context: Context) -> Files:
    """What the driver sees: the head's files, and those of a working directory that is the repository itself."""
    environment = _runtime_environment(spec.at("runtimeEnvYAML"))
    folder = None if environment is None else environment.text("working_dir")
    fetched = folder is not None and is_own_archive(folder, context)

    def look_up(path: str) -> PlacedText | None:
        found = head.files(path)
        return in_repository(path, context) if found is None and fetched else found

    return look_up


# Restarts


def _layers(context: Context, spec: Part) -> list[RestartLayer]:
    """A RayJob's retries make a new cluster; a RayCluster and a RayService keep their pods alive for ever.

    Retries within one run (`FailureConfig(max_failures)`, `max_restarts` of actors) stand in Python.
    """
    kind = context.object.kind
    if kind != "RayJob":
        origin = context.origin
        return [RestartLayer(kind, "pod", Set(UNBOUNDED, origin), origin, ALL, "failed pods are made again")]
    budget = spec.integer("backoffLimit", default=0, note=OPERATOR)
    origin = budget.origin or spec.origin
    return [
        RestartLayer("RayJob", "workload", budget, origin, ALL, "each retry makes a new cluster"),
        RestartLayer(
            "Ray Train",
            "process",
            Unknown("max_failures stands in the program", spec.at("entrypoint").origin),
            spec.at("entrypoint").origin,
            FAILURE,
        ),
    ]
