"""Adapters: one module a CRD family, from object to workload, node pool or Slurm cluster.

`build` sends every object of a bundle to the adapter of its group and kind. Adding a family is a module with
`adapt(item, bundle, profile) -> Iterable[view]` and a row in `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint.model.profile import Profile
from kube_gaplint.model.workload import Workload

if TYPE_CHECKING:
    from kube_gaplint.bundle.bundle import Bundle
    from kube_gaplint.bundle.objects import KubeObject
    from kube_gaplint.kinds.generic import UserKind

# API group and kind to the module here that reads it. A group of "*" stands for any.
ADAPTERS: dict[tuple[str, str], str] = {
    ("batch", "Job"): "job",
    ("batch", "CronJob"): "job",
    ("", "Pod"): "job",
    ("apps", "Deployment"): "job",
    ("apps", "ReplicaSet"): "job",
    ("apps", "StatefulSet"): "job",
    ("jobset.x-k8s.io", "JobSet"): "jobset",
    ("kubeflow.org", "PyTorchJob"): "kubeflow",
    ("kubeflow.org", "TFJob"): "kubeflow",
    ("kubeflow.org", "XGBoostJob"): "kubeflow",
    ("kubeflow.org", "PaddleJob"): "kubeflow",
    ("kubeflow.org", "JAXJob"): "kubeflow",
    ("kubeflow.org", "MXJob"): "kubeflow",
    ("kubeflow.org", "MPIJob"): "mpi",
    ("trainer.kubeflow.org", "TrainJob"): "trainer",
    ("trainer.kubeflow.org", "TrainingRuntime"): "trainer",
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): "trainer",
    ("batch.volcano.sh", "Job"): "volcano",
    ("ray.io", "RayJob"): "ray",
    ("ray.io", "RayCluster"): "ray",
    ("ray.io", "RayService"): "ray",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "lws",
    ("sagemaker.amazonaws.com", "HyperPodPyTorchJob"): "hyperpod",
    ("elastic.iml.github.io", "ElasticJob"): "elasticjob",
    ("elastic.pytorch.org", "ElasticJob"): "elasticjob",
    ("batch.paddlepaddle.org", "PaddleJob"): "paddle",
    ("run.ai", "TrainingWorkload"): "runai",
    ("run.ai", "DistributedWorkload"): "runai",
    ("run.ai", "InteractiveWorkload"): "runai",
    ("run.ai", "InferenceWorkload"): "runai",
    ("run.ai", "RunaiJob"): "runai",
    ("argoproj.io", "Workflow"): "argo",
    ("argoproj.io", "WorkflowTemplate"): "argo",
    ("argoproj.io", "ClusterWorkflowTemplate"): "argo",
    ("argoproj.io", "CronWorkflow"): "argo",
    ("tekton.dev", "Task"): "tekton",
    ("tekton.dev", "ClusterTask"): "tekton",
    ("tekton.dev", "TaskRun"): "tekton",
    ("tekton.dev", "Pipeline"): "tekton",
    ("tekton.dev", "PipelineRun"): "tekton",
    ("training.kubedl.io", "PyTorchJob"): "kubedl",
    ("training.kubedl.io", "TFJob"): "kubedl",
    ("training.kubedl.io", "XGBoostJob"): "kubedl",
    ("training.kubedl.io", "XDLJob"): "kubedl",
    ("training.kubedl.io", "MPIJob"): "kubedl",
    ("training.kubedl.io", "MarsJob"): "kubedl",
    ("training.kubedl.io", "ElasticDLJob"): "kubedl",
}

POOL_KINDS = ("NodePool", "Provisioner", "ComputeClass")
"""Kinds that are told of every workload that may run on them."""

# Groups whose objects hold no job of their own: unknown kinds in them are not searched for pod templates.
_NOT_SEARCHED = frozenset({"", "apps", "batch"})


class Model(Struct):
    """All views of one run in order, and workloads among them also by themselves."""

    views: list[object] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)


def build(
    bundle: Bundle,
    profile: Profile,
    user_kinds: Sequence[UserKind] = (),
    wanted: Callable[[KubeObject | None], bool] | None = None,
) -> Model:
    """All typed views over everything in a bundle. The arguments are those of `Views`."""
    from kube_gaplint.kinds.views import Views

    views = Views(bundle, profile, user_kinds, wanted)
    found = sorted(views.of(), key=lambda pair: pair[0])
    views.tell(views.tenants)
    model = Model([view for _, view in found])
    model.workloads.extend(view for view in model.views if isinstance(view, Workload))
    return model


def views_of(
    item: KubeObject, bundle: Bundle, profile: Profile, user_kinds: Mapping[tuple[str, str], UserKind] | None = None
) -> Iterable[object]:
    """What one object is to the rules; nothing for kinds that say nothing of jobs and nodes."""
    from kube_gaplint.kinds import node_table

    of_nodes = node_table.node_views(item, bundle, profile)
    user_kind = (user_kinds or {}).get((item.group, item.kind))
    if user_kind is not None:
        from kube_gaplint.kinds import generic

        return chain(generic.adapt(item, bundle, profile, user_kind), of_nodes)
    module = ADAPTERS.get((item.group, item.kind))
    if module is None:
        if item.group in _NOT_SEARCHED or node_table.known(item):
            return of_nodes
        module = "generic"
    adapter = import_module(f"{__name__}.{module}")
    views: Iterable[object] = adapter.adapt(item, bundle, profile)
    return chain(views, of_nodes)
