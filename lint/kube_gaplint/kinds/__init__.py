"""Adapters: one module a CRD family, from object to workload, node pool or Slurm cluster.

`build` sends every object of a bundle to the adapter of its group and kind. Adding a family is a module with
`adapt(item, bundle, profile) -> Iterable[view]` and a row in `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint import progress
from kube_gaplint.facts.misplaced import is_known
from kube_gaplint.model.manifest import Manifest
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.workload import Workload
from kube_gaplint.share import ALL, SECTIONS, Share

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

POOL_KINDS = ("NodePool", "Provisioner")
"""Kinds that are told of every workload that may run on them."""

_RUNTIMES = frozenset({"TrainingRuntime", "ClusterTrainingRuntime"})

# Groups whose objects hold no job of their own: unknown kinds in them are not searched for pod templates.
_NOT_SEARCHED = frozenset({"", "apps", "batch"})


class Model(Struct):
    """All views of one run that are to be judged, in the order of the bundle; workloads among them also by themselves.

    They come in `SECTIONS`: of objects, of files, of scripts inside of workloads, and objects as they are written.
    """

    sections: tuple[list[object], ...] = field(default_factory=lambda: tuple([] for _ in range(SECTIONS)))
    workloads: list[Workload] = field(default_factory=list)

    @property
    def views(self) -> list[object]:
        return [view for section in self.sections for view in section]

    def add(self, view: object, section: int) -> None:
        self.sections[section].append(view)
        if isinstance(view, Workload):
            self.workloads.append(view)


def build(
    bundle: Bundle,
    profile: Profile,
    user_kinds: Sequence[UserKind] = (),
    wanted: Callable[[KubeObject | None], bool] | None = None,
    share: Share = ALL,
) -> Model:
    """The typed views over everything in a bundle. `user_kinds` are kinds from the configuration.

    `wanted`: the objects that are to be understood, and for None whether batch scripts are. `share`: the part that is
    to be judged; the model holds no view of the rest, but what the rest says of this part is known.
    """
    from kube_gaplint.kinds.finish import finish
    from kube_gaplint.kinds.node_table import file_views, inner_batches, is_gpu_pod
    from kube_gaplint.kinds.surroundings import Around

    model = Model()
    with_pools = has_pools(bundle)
    if with_pools:
        wanted = None
    around = Around(bundle, profile)
    shown = {(one.group, one.kind): one for one in user_kinds}
    objects: list[KubeObject] = []
    elsewhere: list[object] = []  # views that others judge, and that those of this share may have to do with
    gpus_seen = False
    only_workloads = True

    def chosen() -> Iterator[tuple[KubeObject, bool]]:
        """The objects that are to be understood, each with whether it is to be judged."""
        # That there are GPU workloads at all is evidence, too: all is understood up to the first one.
        own = share.bounds(len(bundle.objects))
        for number, item in enumerate(bundle.objects):
            needed = not gpus_seen
            is_pool = item.kind in POOL_KINDS
            if wanted is not None and not (needed or wanted(item)):
                continue
            if share.first if is_pool else number in own:
                objects.append(item)
                yield item, True
            elif is_pool or needed or (share.first and with_pools):
                yield item, False

    run_by: dict[int, list[Workload]] = {}

    def judge(view: object, item: KubeObject | None, section: int) -> None:
        nonlocal only_workloads
        progress.tell("understanding workloads", len(model.workloads))
        if not isinstance(view, Workload):
            only_workloads = False
            model.add(view, section)
            return
        finish(view, profile)
        view.surroundings = around.of(view, item)
        run_by.setdefault(id(item), []).append(view)
        model.add(view, section)
        if view.batch is not None:
            model.add(view.batch, section)
        for process in view.processes:
            model.add(process, section)

    for item, judged in chosen():
        for view in views_of(item, bundle, profile, shown):
            gpus_seen = gpus_seen or (isinstance(view, Workload) and is_gpu_pod(view))
            if judged:
                judge(view, item, 0)
            else:
                if with_pools and share.first and isinstance(view, Workload) and is_gpu_pod(view):
                    finish(view, profile)  # the rules on pools ask what their workloads are for
                elsewhere.append(view)
                only_workloads = only_workloads and isinstance(view, Workload)
    for view in file_views(bundle, profile, scripts=wanted is None or wanted(None), share=share):
        judge(view, None, 1)
    for view in inner_batches(model.workloads, bundle, profile):
        judge(view, None, 2)
    for item in objects:
        manifest = _manifest(item, run_by.get(id(item), []), bundle, profile)
        if manifest is not None:
            model.add(manifest, 3)
    if not only_workloads:
        from kube_gaplint.kinds.node_links import link

        # In the order of the objects, as far as it counts: what is judged elsewhere comes before this share, or after.
        link(chain(model.views, elsewhere) if share.first else chain(elsewhere, model.views))
    return model


def has_pools(bundle: Bundle) -> bool:
    """Whether there are kinds of node pools that are told of all workloads that may run on them."""
    return any(bundle.by_kind(None, kind) for kind in POOL_KINDS)


def _manifest(item: KubeObject, workloads: list[Workload], bundle: Bundle, profile: Profile) -> Manifest | None:
    """The object as it is written, where a table knows what may stand astray in its kind."""
    from kube_gaplint.kinds.context import Context
    from kube_gaplint.kinds.paths import fields_of

    if not is_known(item.group, item.version, item.kind) or not (workloads or item.kind in _RUNTIMES):
        return None
    context = Context(bundle, item, profile)
    return Manifest(
        subject=context.subject,
        origin=context.origin,
        group=item.group,
        version=item.version,
        kind=item.kind,
        fields=fields_of(context.root),
        workloads=tuple(workloads),
    )


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
