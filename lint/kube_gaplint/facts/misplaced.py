"""Settings of resilience that do nothing where they stand: fields that the API server drops, by kind and place.

Only fields that decide what happens after a failure are listed, with the places at which people write them by mistake;
an unknown key as such says nothing. Misspelt ones are found by their likeness to the fields of the place.

Sources (types and webhooks): kubernetes/api batch/v1 and core/v1; kubernetes-sigs/jobset api/jobset/v1alpha2;
kubeflow/training-operator v1.9.0 pkg/apis/kubeflow.org/v1 and pkg/controller.v1/common/pod.go; kubeflow/mpi-operator
pkg/apis/kubeflow/v2beta1; kubeflow/trainer v2.0.0 to v2.3.0 pkg/apis/trainer/v1alpha1; volcano-sh/apis
batch/v1alpha1; ray-project/kuberay ray-operator/apis/ray/v1; kubernetes-sigs/lws api/leaderworkerset/v1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts.variables import edit_distance

Release: TypeAlias = tuple[int, ...]


class Stray(Struct, frozen=True):
    """A field at a place where it does nothing.

    Paths are relative to a level (a Job's spec, say); `*` stands for any key, `[]` for any element. `right` is where
    the field belongs, empty where there is no one place. `since` and `until` bound the releases for which that holds
    (`until` itself excluded), of the component that `profile` names.
    """

    path: str
    right: str = ""
    note: str = ""
    profile: str = ""
    since: Release = ()
    until: Release = ()


def _moved(names: str, right: str = "", under: str = "") -> list[Stray]:
    """Fields that stand under `under` and belong under `right`."""
    prefix, target = f"{under}." if under else "", f"{right}." if right else ""
    return [Stray(f"{prefix}{name}", f"{target}{name}") for name in names.split()]


def _lost(names: str, note: str, under: str = "") -> list[Stray]:
    """Fields that have no one place to go."""
    prefix = f"{under}." if under else ""
    return [Stray(f"{prefix}{name}", "", note) for name in names.split()]


_OF_JOB = (
    "backoffLimit backoffLimitPerIndex maxFailedIndexes ttlSecondsAfterFinished podFailurePolicy podReplacementPolicy"
)
_OF_POD = "restartPolicy terminationGracePeriodSeconds priorityClassName"
_OF_RUN = "backoffLimit ttlSecondsAfterFinished activeDeadlineSeconds cleanPodPolicy schedulingPolicy suspend"
_IN_RUNTIME = "a TrainJob has no retries of its own in any release: they stand in the failurePolicy of its runtime"
_EACH_CHILD = "it is a field of each child Job: replicatedJobs[].template.spec"
_EACH_REPLICA = "it is a field of each replica type"
_NOT_ELASTIC = "only PyTorchJob and PaddleJob have an elasticPolicy"

STRAYS: dict[str, list[Stray]] = {
    "job": [
        *_moved(_OF_POD, "template.spec"),
        *_moved(_OF_JOB, under="template"),
        *_moved(_OF_JOB, under="template.spec"),
        *_moved(_OF_POD, "template.spec", under="template"),
    ],
    "cronjob": [
        *_moved(f"{_OF_JOB} activeDeadlineSeconds", "jobTemplate.spec"),
        *_moved(f"{_OF_JOB} activeDeadlineSeconds", "jobTemplate.spec", under="jobTemplate"),
        *_moved(_OF_POD, "jobTemplate.spec.template.spec"),
        *_moved(_OF_POD, "jobTemplate.spec.template.spec", under="jobTemplate"),
    ],
    "pod": [
        *_moved("terminationGracePeriodSeconds priorityClassName activeDeadlineSeconds", under="containers[]"),
        *_moved("terminationGracePeriodSeconds", under="initContainers[]"),
        *_moved("preStop postStart", "containers[].lifecycle", under="containers[]"),
    ],
    "jobset": [
        *_moved("maxRestarts restartStrategy", "failurePolicy"),
        *_lost("backoffLimit podFailurePolicy activeDeadlineSeconds restartPolicy podReplacementPolicy", _EACH_CHILD),
        *_lost("backoffLimit", _EACH_CHILD, under="failurePolicy"),
        *_moved("failurePolicy successPolicy ttlSecondsAfterFinished", under="replicatedJobs[]"),
        *_moved(
            "backoffLimit podFailurePolicy activeDeadlineSeconds podReplacementPolicy",
            "replicatedJobs[].template.spec",
            under="replicatedJobs[]",
        ),
        *_moved(
            "backoffLimit podFailurePolicy activeDeadlineSeconds podReplacementPolicy ttlSecondsAfterFinished",
            "replicatedJobs[].template.spec",
            under="replicatedJobs[].template",
        ),
        Stray("replicatedJobs[].maxRestarts", "failurePolicy.maxRestarts"),
    ],
    "runtime": [
        *_moved("failurePolicy ttlSecondsAfterFinished", "template.spec"),
        *_moved("failurePolicy ttlSecondsAfterFinished", "template.spec", under="template"),
        *_lost("backoffLimit restartPolicy", _EACH_CHILD),
        Stray("maxRestarts", "template.spec.failurePolicy.maxRestarts"),
        Stray(
            "mlPolicy.torch.elasticPolicy", "", "Trainer 2.2 removed it: elasticity is silently gone", "trainer", (2, 2)
        ),
    ],
    "trainjob": [
        *_lost(
            "backoffLimit maxRestarts restartPolicy failurePolicy podFailurePolicy runPolicy elasticPolicy", _IN_RUNTIME
        ),
        *_lost("backoffLimit maxRestarts restartPolicy", _IN_RUNTIME, under="trainer"),
        Stray("podTemplateOverrides", "", "Trainer 2.2 replaced it by runtimePatches", "trainer", (2, 2)),
        Stray(
            "podSpecOverrides",
            "",
            "Trainer 2.1 replaced it by podTemplateOverrides, 2.2 by runtimePatches",
            "trainer",
            (2, 1),
        ),
        Stray("runtimePatches", "", "it came with Trainer 2.2", "trainer", (), (2, 2)),
    ],
    "kubeflow": [
        *_moved(_OF_RUN.replace("cleanPodPolicy ", ""), "runPolicy"),
        *_moved(_OF_RUN, "runPolicy", under="*ReplicaSpecs.*"),
        *_moved("elasticPolicy", under="*ReplicaSpecs.*"),
        *_moved("elasticPolicy", under="runPolicy"),
        *_lost("restartPolicy", _EACH_REPLICA),
        *_lost("restartPolicy", _EACH_REPLICA, under="runPolicy"),
        *_moved("backoffLimit", "runPolicy", under="elasticPolicy"),
        *_moved("maxRestarts", "elasticPolicy"),
        *_moved("maxRestarts", "elasticPolicy", under="runPolicy"),
        *_moved("restartPolicy", "*ReplicaSpecs.*", under="*ReplicaSpecs.*.template"),
        *_moved(
            "backoffLimit ttlSecondsAfterFinished cleanPodPolicy", "runPolicy", under="*ReplicaSpecs.*.template.spec"
        ),
    ],
    "clean-up": _moved("cleanPodPolicy", "runPolicy"),
    "rigid": [*_lost("elasticPolicy", _NOT_ELASTIC), *_lost("maxRestarts", _NOT_ELASTIC)],
    "volcano": [
        *_lost("restartPolicy", "it is a field of each task's pod template"),
        *_moved("restartPolicy terminationGracePeriodSeconds", "tasks[].template.spec", under="tasks[]"),
        *_moved("policies", "tasks[]", under="tasks[].template"),
        *_moved("policies", "tasks[]", under="tasks[].template.spec"),
        *_moved("ttlSecondsAfterFinished", under="tasks[]"),
        Stray("backoffLimit", "maxRetry"),
        Stray("maxRetries", "maxRetry"),
        Stray("tasks[].maxRetries", "tasks[].maxRetry"),
        Stray("tasks[].backoffLimit", "tasks[].maxRetry"),
    ],
    "rayjob": [
        *_moved(
            "backoffLimit ttlSecondsAfterFinished shutdownAfterJobFinishes activeDeadlineSeconds",
            under="rayClusterSpec",
        ),
        *_moved("gcsFaultToleranceOptions", "rayClusterSpec"),
    ],
    "raycluster": [
        *_moved("gcsFaultToleranceOptions", under="headGroupSpec"),
        *_lost("backoffLimit maxRestarts", "a RayCluster keeps its pods alive, and a RayJob retries"),
    ],
    "lws": [
        *_moved("restartPolicy", "leaderWorkerTemplate"),
        *_moved("restartPolicy", "leaderWorkerTemplate", under="leaderWorkerTemplate.workerTemplate"),
        *_moved("restartPolicy", "leaderWorkerTemplate", under="leaderWorkerTemplate.leaderTemplate"),
    ],
}
"""By level: what stands astray there."""

_POD_FIELDS = (
    "volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds "
    "activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount automountServiceAccountToken "
    "nodeName hostNetwork hostPID hostIPC shareProcessNamespace securityContext imagePullSecrets hostname subdomain "
    "affinity schedulerName tolerations hostAliases priorityClassName priority dnsConfig readinessGates "
    "runtimeClassName enableServiceLinks preemptionPolicy overhead topologySpreadConstraints setHostnameAsFQDN os "
    "hostUsers schedulingGates resourceClaims resources hostnameOverride workloadRef schedulingGroup"
)
_JOB_FIELDS = (
    "parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy backoffLimit backoffLimitPerIndex "
    "maxFailedIndexes failedPodsLimit selector manualSelector template ttlSecondsAfterFinished completionMode suspend "
    "podReplacementPolicy managedBy scheduling"
)
_RUN_FIELDS = (
    "cleanPodPolicy ttlSecondsAfterFinished activeDeadlineSeconds backoffLimit schedulingPolicy suspend managedBy"
)
_ELASTIC_FIELDS = (
    "minReplicas maxReplicas rdzvBackend rdzvPort rdzvHost rdzvId rdzvConf standalone nProcPerNode maxRestarts metrics"
)

FIELDS: dict[str, dict[str, tuple[str, str]]] = {
    "job": {
        "": (_JOB_FIELDS, f"{_OF_JOB} activeDeadlineSeconds"),
        "podFailurePolicy.rules[]": ("action onExitCodes onPodConditions", "action onExitCodes onPodConditions"),
    },
    "pod": {"": (_POD_FIELDS, f"{_OF_POD} activeDeadlineSeconds tolerations affinity")},
    "jobset": {
        "": (
            "replicatedJobs network successPolicy failurePolicy startupPolicy suspend coordinator managedBy "
            "ttlSecondsAfterFinished volumeClaimPolicies",
            "failurePolicy successPolicy ttlSecondsAfterFinished",
        ),
        "failurePolicy": ("maxRestarts restartStrategy rules", "maxRestarts restartStrategy rules"),
        "failurePolicy.rules[]": (
            "name action onJobFailureReasons onJobFailureMessagePatterns targetReplicatedJobs",
            "action onJobFailureReasons onJobFailureMessagePatterns targetReplicatedJobs",
        ),
    },
    "kubeflow": {
        "": (
            "runPolicy elasticPolicy pytorchReplicaSpecs tfReplicaSpecs xgbReplicaSpecs paddleReplicaSpecs "
            "jaxReplicaSpecs mxReplicaSpecs mpiReplicaSpecs nprocPerNode successPolicy enableDynamicWorker "
            "slotsPerWorker cleanPodPolicy mainContainer jobMode runLauncherAsWorker sshAuthMountPath "
            "launcherCreationPolicy mpiImplementation",
            "runPolicy elasticPolicy",
        ),
        "runPolicy": (_RUN_FIELDS, _RUN_FIELDS),
        "elasticPolicy": (_ELASTIC_FIELDS, "minReplicas maxReplicas rdzvBackend rdzvConf maxRestarts"),
        "*ReplicaSpecs.*": ("replicas template restartPolicy", "restartPolicy"),
    },
    "volcano": {
        "": (
            "schedulerName minAvailable volumes tasks policies plugins runningEstimate queue maxRetry "
            "ttlSecondsAfterFinished priorityClassName minSuccess networkTopology",
            "minAvailable policies maxRetry ttlSecondsAfterFinished priorityClassName",
        ),
        "tasks[]": (
            "name replicas minAvailable template policies topologyPolicy maxRetry dependsOn partitionPolicy",
            "minAvailable policies maxRetry",
        ),
    },
    "rayjob": {
        "": (
            "activeDeadlineSeconds backoffLimit rayClusterSpec submitterPodTemplate metadata clusterSelector "
            "submitterConfig managedBy deletionStrategy entrypoint runtimeEnvYAML jobId submissionMode "
            "entrypointResources entrypointNumCpus entrypointNumGpus ttlSecondsAfterFinished preRunningDeadlineSeconds "
            "shutdownAfterJobFinishes suspend",
            "activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished shutdownAfterJobFinishes",
        ),
    },
    "lws": {
        "leaderWorkerTemplate": (
            "leaderTemplate workerTemplate size restartPolicy subGroupPolicy volumeClaimTemplates "
            "persistentVolumeClaimRetentionPolicy",
            "restartPolicy",
        )
    },
}
"""By level and place below it: (all fields there, those whose misspelling is looked for)."""

_OF_KUBEFLOW = [("kubeflow", "spec"), ("pod", "spec.*ReplicaSpecs.*.template.spec")]
_RIGID = [*_OF_KUBEFLOW, ("clean-up", "spec"), ("rigid", "spec")]
_PODS_OF_RAY = ("headGroupSpec.template.spec", "workerGroupSpecs[].template.spec")

LEVELS: dict[tuple[str, str, str], list[tuple[str, str]]] = {
    ("batch", "", "Job"): [("job", "spec"), ("pod", "spec.template.spec")],
    ("batch", "", "CronJob"): [
        ("cronjob", "spec"),
        ("job", "spec.jobTemplate.spec"),
        ("pod", "spec.jobTemplate.spec.template.spec"),
    ],
    ("", "", "Pod"): [("pod", "spec")],
    ("apps", "", "Deployment"): [("pod", "spec.template.spec")],
    ("apps", "", "StatefulSet"): [("pod", "spec.template.spec")],
    ("jobset.x-k8s.io", "", "JobSet"): [
        ("jobset", "spec"),
        ("job", "spec.replicatedJobs[].template.spec"),
        ("pod", "spec.replicatedJobs[].template.spec.template.spec"),
    ],
    ("trainer.kubeflow.org", "", "TrainJob"): [("trainjob", "spec")],
    ("kubeflow.org", "v1", "PyTorchJob"): [*_OF_KUBEFLOW, ("clean-up", "spec")],
    ("kubeflow.org", "v1", "PaddleJob"): [*_OF_KUBEFLOW, ("clean-up", "spec")],
    ("kubeflow.org", "v1", "TFJob"): _RIGID,
    ("kubeflow.org", "v1", "XGBoostJob"): _RIGID,
    ("kubeflow.org", "v1", "JAXJob"): _RIGID,
    ("kubeflow.org", "v1", "MPIJob"): [*_OF_KUBEFLOW, ("rigid", "spec")],
    ("kubeflow.org", "v2beta1", "MPIJob"): _RIGID,
    **{
        ("kubeflow.org", version, kind): _OF_KUBEFLOW[1:]  # what stood in runPolicy later stood under spec there
        for version in ("v1beta1", "v1beta2")
        for kind in ("TFJob", "PyTorchJob")
    },
    ("batch.volcano.sh", "", "Job"): [("volcano", "spec"), ("pod", "spec.tasks[].template.spec")],
    ("ray.io", "", "RayJob"): [
        ("rayjob", "spec"),
        ("raycluster", "spec.rayClusterSpec"),
        *(("pod", f"spec.rayClusterSpec.{path}") for path in _PODS_OF_RAY),
    ],
    ("ray.io", "", "RayCluster"): [("raycluster", "spec"), *(("pod", f"spec.{path}") for path in _PODS_OF_RAY)],
    ("leaderworkerset.x-k8s.io", "", "LeaderWorkerSet"): [
        ("lws", "spec"),
        ("pod", "spec.leaderWorkerTemplate.workerTemplate.spec"),
        ("pod", "spec.leaderWorkerTemplate.leaderTemplate.spec"),
    ],
    **{
        ("trainer.kubeflow.org", "", kind): [
            ("runtime", "spec"),
            ("jobset", "spec.template.spec"),
            ("job", "spec.template.spec.replicatedJobs[].template.spec"),
            ("pod", "spec.template.spec.replicatedJobs[].template.spec.template.spec"),
        ]
        for kind in ("TrainingRuntime", "ClusterTrainingRuntime")
    },
}
"""By API group, version (empty: any) and kind: the levels in an object, and where they begin."""

_ELEMENT = lazy_re.compile(r'\[[^\]"]*\]')


class Found(Struct, frozen=True):
    """A written field that does nothing: `path` as written, `right` the path where it belongs (empty: none)."""

    path: str
    right: str
    note: str
    profile: str = ""
    since: Release = ()
    until: Release = ()
    misspelt: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def right_name(self) -> str:
        return self.right.rpartition(".")[2]


def is_known(group: str, version: str, kind: str) -> bool:
    """Whether the table speaks of a kind."""
    return bool(_levels(group, version, kind))


def strays(group: str, version: str, kind: str, paths: Iterable[str]) -> Iterator[Found]:
    """Those of the written paths of an object that do nothing where they stand."""
    for path in paths:
        found = _stray(group, version, kind, path)
        if found is not None:
            yield found


@lru_cache(maxsize=8192)  # objects of one kind are written alike
def _stray(group: str, version: str, kind: str, path: str) -> Found | None:
    by_name, misspellable = _patterns(_levels(group, version, kind))
    name = path.rpartition(".")[2]
    found = next((made for pattern, stray in by_name.get(name, ()) if (made := _at(path, pattern, stray))), None)
    return _misspelt(path, name, misspellable) if found is None else found


def _levels(group: str, version: str, kind: str) -> tuple[tuple[str, str], ...]:
    return tuple(LEVELS.get((group, version, kind)) or LEVELS.get((group, "", kind)) or ())


_WILD = {
    r"\[\]": r'(\[[^\]"]*\])',
    r"\*": r"([^.\[\]]*)",
    r"([^.\[\]]*)Replica": r"([^.\[\]]+?)Replica",
}
"""What stands for what in an escaped path, in this order."""


class _Path(Struct, frozen=True):
    """A path with `*` for a key and `[]` for an element."""

    fixed: tuple[str, ...]
    """The parts between those: a path without one of them is answered without the pattern."""
    pattern: re.Pattern[str]

    @staticmethod
    def of(path: str) -> _Path:
        text = re.escape(path)
        for part, pattern in _WILD.items():
            text = text.replace(part, pattern)
        return _Path(tuple(path.replace("[]", "*").split("*")), lazy_re.compile(text))

    def match(self, path: str) -> tuple[str, ...] | None:
        """What stands for the keys and elements in a path; None for one that does not match."""
        if len(self.fixed) == 1:
            return () if path == self.fixed[0] else None
        if not all(part in path for part in self.fixed):
            return None
        found = self.pattern.fullmatch(path)
        return None if found is None else found.groups()


_ByName: TypeAlias = dict[str, list[tuple[_Path, Stray]]]
_Misspellable: TypeAlias = list[tuple[_Path, frozenset[str], tuple[str, ...]]]


@cache
def _patterns(levels: tuple[tuple[str, str], ...]) -> tuple[_ByName, _Misspellable]:
    by_name: _ByName = {}
    misspellable: _Misspellable = []
    for level, location in levels:
        for stray in STRAYS.get(level, ()):
            right = f"{location}.{stray.right}" if stray.right else ""
            whole = Stray(stray.path, right, stray.note, stray.profile, stray.since, stray.until)
            name = stray.path.rpartition(".")[2]
            by_name.setdefault(name, []).append((_Path.of(f"{location}.{stray.path}"), whole))
        for below, (fields, targets) in FIELDS.get(level, {}).items():
            place = f"{location}.{below}" if below else location
            misspellable.append((_Path.of(place), frozenset(fields.split()), tuple(targets.split())))
    return by_name, misspellable


def _at(path: str, pattern: _Path, stray: Stray) -> Found | None:
    match = pattern.match(path)
    if match is None:
        return None
    groups = iter(match)
    right = re.sub(r"\*|\[\]", lambda _: next(groups, ""), stray.right)
    return Found(path, right, stray.note, stray.profile, stray.since, stray.until)


def _misspelt(path: str, name: str, places: _Misspellable) -> Found | None:
    holder = path[: -len(name) - 1]
    for pattern, fields, targets in places:
        if name in fields or pattern.match(holder) is None:
            continue
        meant = nearest(name, targets)
        if meant:
            return Found(path, f"{holder}.{meant}", "", misspelt=True)
    return None


def nearest(name: str, fields: Iterable[str]) -> str:
    """The field that a name is a misspelling of; empty where it is none."""
    plain = _plain(name)
    for field in fields:
        if _plain(field) == plain:
            return field
    best, found = 3, ""
    for field in fields:
        limit = 1 if len(field) < 10 else 2
        distance = edit_distance(name, field, limit)
        if distance <= limit and distance < best:
            best, found = distance, field
    return found


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
