"""Kubeflow Trainer v2: TrainJob with its TrainingRuntime or ClusterTrainingRuntime (trainer.kubeflow.org).

A TrainJob is read as the JobSet that its runtime becomes: the runtime's template, then the patches of the TrainJob,
then `spec.trainer`. A runtime by itself gives no workload. `Workload.fields`: paths from the TrainJob, and the JobSet's
as `jobset.failurePolicy.maxRestarts` …; `runtime`: given, shipped or unseen. `Role.fields`: the child Job's spec.
(facts of Kubernetes objects, A5; trainer v2.3.0 pkg/runtime)
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.facts.runtimes import SHIPPED
from kube_gaplint.kinds.assembly import assemble, text_setting
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import BuiltIn, Part
from kube_gaplint.kinds.job import JobPart
from kube_gaplint.kinds.jobset import child_deadline, effective, failure_rules, leading, read_children, restart_layers
from kube_gaplint.kinds.merge import list_of, merged, node_of, table
from kube_gaplint.kinds.pods import Making
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Link, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Release
from kube_gaplint.model.workload import RestartLayer, Workload
from kube_gaplint.text.nodes import Mapping, Node

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
PATCHES_SINCE: Release = (2, 2)
"""`runtimePatches`; before it the overrides were `podTemplateOverrides` (2.1) and `podSpecOverrides` (2.0)."""
TRAINER_CONTAINERS = ("node", "trainer")
_PORT = "29500"


class _Runtime(Struct, frozen=True):
    """A runtime as found: `state` is given, shipped or unseen."""

    root: Part
    state: str
    reason: str = ""


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[Workload]:
    if item.kind == "TrainJob":
        yield _train_job(Context(bundle, item, profile))


def _train_job(context: Context) -> Workload:
    spec = context.root.at("spec")
    runtime = _runtime(spec.at("runtimeRef"), context)
    jobset = _composed(spec, runtime, context)
    policy = runtime.root.at("spec", "mlPolicy")
    numbers = _numbers(spec, policy)
    making = Making(variables=_variables(spec, policy, numbers[0], context), unseen=runtime.reason)
    jobs = read_children(jobset, context, making)
    _count(jobs, numbers[0], policy)
    layers = restart_layers(jobset, jobs)
    if runtime.reason:
        unknown = Unknown(runtime.reason, context.origin)
        layers = [RestartLayer("JobSet", "workload", unknown, context.origin)]
    deadline: Setting[float] = spec.seconds("activeDeadlineSeconds")
    fields = {f"jobset.{key}": value for key, value in effective(jobset).items()}
    fields["runtime"] = Set(runtime.state, Origin(spec.at("runtimeRef").place, "derived"))
    fields["spec.trainer.numNodes"] = text_setting(numbers[0])
    fields["spec.trainer.numProcPerNode"] = numbers[1]
    return assemble(
        context,
        [job.role for job in jobs],
        layers,
        nodes=numbers[0],
        gang=_gang(runtime, context),
        deadline=child_deadline(jobs) if isinstance(deadline, Absent) and jobs else deadline,
        effective=fields,
        exposed={"failure_rules": failure_rules(jobset)},
    )


# The runtime


def _runtime(reference: Part, context: Context) -> _Runtime:
    name = reference.string("name")
    kind = reference.string("kind", default="ClusterTrainingRuntime", note="the API's default")
    if not isinstance(name, Set) or not isinstance(kind, Set):
        reason = "the runtime that it refers to is not named plainly"
        return _Runtime(_empty(reference, context), "unseen", reason)
    cluster_wide = kind.value != "TrainingRuntime"
    found = context.find("trainer.kubeflow.org", kind.value, name.value, reference.place, cluster_wide=cluster_wide)
    if isinstance(found, KubeObject):
        link = Link(reference.place, f"runtimeRef {name.value}")
        return _Runtime(Part.of(found.node, (link,)), "given")
    if found is None and cluster_wide and name.value in SHIPPED:
        source = BuiltIn.beside(reference.place.source, f"the shipped runtime {name.value}")
        return _Runtime(Part.of(node_of(SHIPPED[name.value], source, reference.place)), "shipped")
    reason = f"the runtime {name.value} is not in the given paths" if found is None else found.reason
    return _Runtime(_empty(reference, context), "unseen", reason)


def _empty(reference: Part, context: Context) -> Part:
    """What is known of every runtime: one child Job with a trainer."""
    place = reference.place
    source = BuiltIn.beside(context.object.source, "every training runtime")
    container = {"name": "node"}
    job = {
        "name": "node",
        "template": {
            "metadata": {"labels": {ANCESTOR: "trainer"}},
            "spec": {"template": {"spec": {"containers": [container]}}},
        },
    }
    return Part.of(node_of({"spec": {"template": {"spec": {"replicatedJobs": [job]}}}}, source, place))


# Composition


def _composed(spec: Part, runtime: _Runtime, context: Context) -> Part:
    """The JobSet's spec: runtime, patches, then spec.trainer."""
    base = runtime.root.at("spec", "template", "spec")
    node = base.node
    for patch in _patches(spec, context):
        node = merged(node, patch, "")
    jobs = node.get("replicatedJobs") if isinstance(node, Mapping) else None
    trainer = spec.at("trainer")
    if jobs is not None and trainer.present:
        node = merged(node, _trainer_patch(node, trainer, runtime.root.at("spec", "mlPolicy")), "")
    return base.with_node(node) if node is not None else base


def _patches(spec: Part, context: Context) -> Iterator[Node]:
    """The TrainJob's patches as JobSet specs. What the declared version does not know is pruned by the API server."""
    release = context.profile.trainer
    if not release or release >= PATCHES_SINCE:
        for item in spec.at("runtimePatches").items():
            node = item.at("trainingRuntimeSpec", "template", "spec").node
            if node is not None:
                yield node
    if not release or release < PATCHES_SINCE:
        for key in ("podTemplateOverrides", "podSpecOverrides"):
            for item in spec.at(key).items():
                yield from _overrides(item, key)


def _overrides(item: Part, key: str) -> Iterator[Node]:
    """One override of 2.0 or 2.1, once for each child Job that it targets."""
    node = item.node
    if not isinstance(node, Mapping):
        return
    place = item.place
    if key == "podTemplateOverrides":
        template: Node = table(place, {"metadata": node.get("metadata"), "spec": node.get("spec")})
    else:
        rest = [entry for entry in node if entry.name != "targetJobs"]
        template = table(place, {"spec": Mapping(node.source, node.span, entries=rest)})
    for target in item.at("targetJobs").items():
        name = target.at("name").node
        if name is not None:
            spec = table(place, {"template": template})
            job = table(place, {"name": name, "template": table(place, {"spec": spec})})
            yield table(place, {"replicatedJobs": list_of(place, job)})


def _trainer_patch(node: Node | None, trainer: Part, policy: Part) -> Node | None:
    """`spec.trainer` as a patch on the child Jobs that hold the trainer."""
    place = trainer.place
    root = trainer.node
    if not isinstance(root, Mapping) or not isinstance(node, Mapping):
        return None
    resources = root.get("resourcesPerNode")
    as_node = policy.text("mpi", "runLauncherAsNode") == "true"
    patches = []
    for job in Part.of(node).at("replicatedJobs").items():
        name = job.at("name").node
        if name is None:
            continue
        containers = job.at("template", "spec", "template", "spec", "containers")
        is_trainer = job.text("template", "metadata", "labels", ANCESTOR) == "trainer"
        if not is_trainer and not (as_node and job.text("name") == "node"):
            continue
        target = next((one for one in containers.items() if one.text("name") in TRAINER_CONTAINERS), None)
        if target is None:
            continue
        fields: dict[str, Node | None] = {"name": target.at("name").node, "resources": resources}
        if is_trainer:
            fields.update({key: root.get(key) for key in ("image", "command", "args", "env")})
        pod = table(place, {"spec": table(place, {"containers": list_of(place, table(place, fields))})})
        template = table(place, {"spec": table(place, {"template": pod})})
        patches.append(table(place, {"name": name, "template": template}))
    return table(place, {"replicatedJobs": list_of(place, *patches)}) if patches else None


# Numbers


def _numbers(spec: Part, policy: Part) -> tuple[Setting[int], Setting[str]]:
    """(nodes, processes on each). A runtime that is not seen may set both."""
    nodes: Setting[int] = spec.integer("trainer", "numNodes")
    if isinstance(nodes, Absent):
        nodes = policy.integer("numNodes", default=1, note="the Trainer's default")
    processes: Setting[str] = spec.string("trainer", "numProcPerNode")
    if isinstance(processes, Absent):
        source = next((key for key in ("torch", "mpi") if policy.at(key).present), "torch")
        processes = policy.at(source).string("numProcPerNode", default="auto", note="the Trainer's default")
        if source == "mpi" and isinstance(processes, Set) and processes.value == "1":
            # a runtime's 1 stands for the GPUs of a node (pkg/runtime/framework/plugins/mpi/mpi.go)
            note = "Kubeflow Trainer, where the runtime says 1: a process for each GPU"
            processes = Set("auto", Origin(processes.origin.place, "injected", note))
    return nodes, processes


def _count(jobs: list[JobPart], nodes: Setting[int], policy: Part) -> None:
    """The trainer's child Job has a pod a node; with MPI and a launcher that trains, the launcher is one of them."""
    as_node = policy.text("mpi", "runLauncherAsNode") == "true"
    if as_node:
        for job in jobs:
            job.role.trains = job.role.name in ("launcher", "node")
            if job.role.name == "node":
                job.role.replicas = Set(max(nodes.value - 1, 1), nodes.origin) if isinstance(nodes, Set) else nodes
        return
    trainer = next((one for one in jobs if one.role.name == "node"), leading(jobs))
    for one in jobs:
        one.role.trains = one is trainer
    if trainer is not None:
        trainer.role.replicas = nodes


def _variables(spec: Part, policy: Part, nodes: Setting[int], context: Context) -> dict[str, Setting[str]]:
    """PET_* for torchrun and torchtune (torch plugin), or COORDINATOR variables (jax plugin)."""
    origin = Origin(spec.place, "injected", "Kubeflow Trainer")
    if policy.at("jax").present:
        names = ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS")
        return {name: Unknown("the Trainer fills it in", origin) for name in names}
    if not policy.at("torch").present:
        return {}
    number = text_setting(nodes)
    name = context.object.name
    processes = _numbers(spec, policy)[1]
    return {
        "PET_NNODES": Set(number.value, origin) if isinstance(number, Set) else Unknown("it is counted", origin),
        "PET_NPROC_PER_NODE": Set(processes.value, origin)
        if isinstance(processes, Set)
        else Unknown("it is not known", origin),
        "PET_NODE_RANK": Unknown("it is the pod's index", origin),
        "PET_MASTER_ADDR": Set(f"{name}-node-0-0.{name}", origin),
        "PET_MASTER_PORT": Set(_PORT, origin),
    }


def _gang(runtime: _Runtime, context: Context) -> Setting[bool] | None:
    """podGroupPolicy makes a gang; without one labels and schedulers decide as for every kind."""
    policy = runtime.root.at("spec", "podGroupPolicy")
    if policy.present:
        return Set(True, replace(policy.origin, note="podGroupPolicy"))
    if runtime.reason and not any("kueue" in key for key in context.root.texts("metadata", "labels")):
        return Unknown(runtime.reason, context.origin)
    return None
