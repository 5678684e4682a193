"""TrainJob with its runtimes: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import ABSENT, UNKNOWN, layers, main, plain, profile, workload, workloads

from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload

RUNTIME = """
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: own}
spec:
  mlPolicy: {numNodes: 2, torch: {numProcPerNode: 4}}
  podGroupPolicy: {coscheduling: {}}
  template:
    spec:
      failurePolicy: {maxRestarts: 5}
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            backoffLimit: 0
            template:
              spec:
                containers:
                - name: node
                  image: base:1
                  command: [sleep, "1"]
                  env: [{name: A, value: base}, {name: B, value: base}]
                  resources: {limits: {nvidia.com/gpu: 4}}
                  volumeMounts: [{name: data, mountPath: /data}]
                volumes: [{name: data, emptyDir: {}}]
"""


def train_job(spec: str = "", runtime: str = "own", more: str = RUNTIME, given: Profile | None = None) -> Workload:
    return workload(
        f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: t}}\nspec:\n"
        f"  runtimeRef: {{name: {runtime}}}\n" + "".join(f"  {line}\n" for line in spec.splitlines()) + more,
        given,
    )


def test_train_job_takes_what_its_runtime_gives() -> None:
    found = train_job()
    assert (plain(found.nodes), plain(found.accelerators_per_node), plain(found.restart_budget)) == (2, 4, 5)
    assert plain(found.gang_scheduled) is True
    assert plain(found.fields["jobset.failurePolicy.maxRestarts"]) == "5"
    assert plain(found.fields["runtime"]) == "given"
    container = main(found)
    assert [command.name for command in container.commands] == ["sleep"]
    assert found.restarts[0].origin.place.source.path == found.origin.place.source.path


def test_train_job_lays_its_trainer_over_the_runtime() -> None:
    found = train_job(
        "trainer:\n  numNodes: 6\n  image: mine:2\n  command: [torchrun, train.py]\n  env: [{name: A, value: own}]\n"
        "  resourcesPerNode: {limits: {nvidia.com/gpu: 8}}"
    )
    container = main(found)
    assert (plain(found.nodes), plain(found.accelerators_per_node), plain(container.image)) == (6, 8, "mine:2")
    assert [plain(container.environment.get(name)) for name in ("A", "B")] == ["own", "base"]
    assert [command.name for command in container.commands] == ["torchrun"]
    names = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_MASTER_ADDR", "PET_NODE_RANK")
    assert [plain(container.environment.get(name)) for name in names] == ["6", "4", "t-node-0-0.t", UNKNOWN]
    origin = container.image.origin
    assert origin is not None
    assert origin.place.text == "mine:2"


PATCHED = """runtimePatches:
- manager: me
  trainingRuntimeSpec:
    template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
      terminationGracePeriodSeconds: 300, volumes: [{name: shm, emptyDir: {medium: Memory}}],
      containers: [{name: node, volumeMounts: [{name: shm, mountPath: /dev/shm}]}]}}}}}]}}
"""
OVERRIDDEN = """podTemplateOverrides:
- targetJobs: [{name: node}]
  metadata: {annotations: {karpenter.sh/do-not-disrupt: "true"}}
  spec: {terminationGracePeriodSeconds: 300, volumes: [{name: shm, emptyDir: {medium: Memory}}],
    containers: [{name: node, volumeMounts: [{name: shm, mountPath: /dev/shm}]}]}
"""
OLD = """podSpecOverrides:
- targetJobs: [{name: node}]
  terminationGracePeriodSeconds: 300
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
  containers: [{name: node, volumeMounts: [{name: shm, mountPath: /dev/shm}]}]
"""


@pytest.mark.parametrize(
    ("patch", "release", "applied"),
    [
        pytest.param(PATCHED, (), True, id="A5 runtimePatches, release not declared"),
        pytest.param(PATCHED, (2, 2), True, id="A5 runtimePatches from 2.2"),
        pytest.param(PATCHED, (2, 1), False, id="A5 runtimePatches unknown to 2.1"),
        pytest.param(OVERRIDDEN, (), True, id="A5 podTemplateOverrides, release not declared"),
        pytest.param(OVERRIDDEN, (2, 1), True, id="A5 podTemplateOverrides in 2.1"),
        pytest.param(OVERRIDDEN, (2, 3), False, id="A5 podTemplateOverrides pruned from 2.2"),
        pytest.param(OLD, (2, 0), True, id="A5 podSpecOverrides in 2.0"),
        pytest.param(OLD, (2, 2), False, id="A5 podSpecOverrides pruned from 2.2"),
    ],
)
def test_patches_count_by_release(patch: str, release: tuple[int, ...], applied: bool) -> None:
    pod = train_job(patch, given=profile(trainer=release)).roles[0].pod
    assert plain(pod.grace_seconds) == (300.0 if applied else 30.0)
    assert (pod.volume("shm") is not None) is applied
    assert pod.volume("data") is not None
    mounts = {plain(mount.path) for mount in pod.containers[0].mounts}
    assert mounts == ({"/data", "/dev/shm"} if applied else {"/data"})


def test_overrides_carry_annotations_to_the_pod_template() -> None:
    found = train_job(OVERRIDDEN).roles[0].pod.annotations
    assert plain(found["karpenter.sh/do-not-disrupt"]) == "true"


@pytest.mark.parametrize("name", ["torch-distributed", "jax-distributed", "deepspeed-distributed"])
def test_a_shipped_runtime_restarts_nothing(name: str) -> None:  # A5: 9 shipped runtimes without a failurePolicy
    found = train_job("trainer: {numNodes: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}", name, "")
    assert plain(found.fields["runtime"]) == "shipped"
    assert layers(found)[0] == ("JobSet", "workload", 0, "efn")
    assert plain(found.fields["jobset.failurePolicy.maxRestarts"]) == ABSENT
    assert plain(found.accelerators) == 32
    assert not found.roles[0].pod.overrides_unknown


def test_what_a_shipped_runtime_says_is_a_default_at_the_reference() -> None:
    found = train_job("trainer: {numNodes: 2}", "torchtune-llama3.2-1b", "")
    mount = main(found).mounts[0]
    assert isinstance(mount.path, Set)
    assert (mount.path.origin.via, mount.path.origin.place.start.line) == ("default", 5)
    assert mount.path.origin.note == "the shipped runtime torchtune-llama3.2-1b"


def test_a_runtime_out_of_reach_leaves_everything_unknown() -> None:
    found = train_job("trainer: {numNodes: 4}", "elsewhere", "")
    assert plain(found.restart_budget) == UNKNOWN
    assert plain(found.gang_scheduled) == UNKNOWN
    assert plain(found.accelerators_per_node) == UNKNOWN
    assert found.roles[0].pod.overrides_unknown
    assert any("elsewhere" in note for note in found.notes)
    assert found.classified.purpose == "training"


def test_a_runtime_is_no_workload() -> None:
    assert workloads(RUNTIME) == []


def test_nodes_of_mpi_runtimes_include_the_launcher() -> None:  # trainer mpi.go: numNodes - 1 when it runs as a node
    found = train_job("trainer: {numNodes: 4}", "deepspeed-distributed", "")
    assert {one.name: plain(one.replicas) for one in found.roles} == {"node": 3, "launcher": 1}
    assert plain(found.nodes) == 4
