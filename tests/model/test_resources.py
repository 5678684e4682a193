"""What containers ask for, and whether a pod has its node alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import workloads

from kube_gaplint.facts.instances import devices_of
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.resources import (
    asked,
    busy_cores,
    cpus_of_a_node,
    data_workers,
    limit,
    processes_in,
    request,
    shared_memory_room,
    takes_whole_node,
)
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.model.workload import Container, Workload

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: sample, namespace: nlp}}
spec:
  template:
    spec:
      restartPolicy: Never
      {pod}
      containers:
      - name: trainer
        image: ghcr.io/acme/train:1.4
        command: [torchrun, --nproc-per-node=gpu, train.py]
        resources: {resources}
"""


def missing(folder: Path, resources: str, *, pod: str = "", before: str = "") -> tuple[str, ...]:
    found = workloads(folder, job_yaml=before + JOB.format(pod=pod, resources=resources))
    (one,) = asked(found[0], Profile())
    return one.missing


@pytest.mark.parametrize(
    ("resources", "pod", "found"),
    [
        ("{limits: {nvidia.com/gpu: 2}}", "", ("memory", "cpu", "ephemeral-storage")),
        ("{limits: {nvidia.com/gpu: 2, memory: 8Gi}}", "", ("cpu", "ephemeral-storage")),
        ("{limits: {nvidia.com/gpu: 2}, requests: {cpu: 4, memory: 8Gi, ephemeral-storage: 9Gi}}", "", ()),
        ("{limits: {nvidia.com/gpu: 2}}", "resources: {limits: {memory: 8Gi, cpu: 4}}", ("ephemeral-storage",)),
        ("{limits: {nvidia.com/gpu: 2}, requests: {memory: '${MEMORY}'}}", "", ("cpu", "ephemeral-storage")),
        ("{limits: {nvidia.com/gpu: 2}, requests: '${REQUESTS}'}", "", ()),
        ("{limits: {nvidia.com/gpu: 2}}", "nodeSelector: {cloud.google.com/compute-class: Accelerator}", ()),
    ],
)
def test_missing_requests(resources: str, pod: str, found: tuple[str, ...], tmp_path: Path) -> None:
    assert missing(tmp_path, resources, pod=pod) == found


@pytest.mark.parametrize(
    ("namespace", "found"), [("nlp", ("cpu", "ephemeral-storage")), ("cv", ("memory", "cpu", "ephemeral-storage"))]
)
def test_a_limit_range_of_the_namespace_fills_up(namespace: str, found: tuple[str, ...], tmp_path: Path) -> None:
    limits = f"""\
apiVersion: v1
kind: LimitRange
metadata: {{name: defaults, namespace: {namespace}}}
spec: {{limits: [{{type: Container, default: {{memory: 8Gi}}}}]}}
---
"""
    assert missing(tmp_path, "{limits: {nvidia.com/gpu: 2}}", before=limits) == found


@pytest.mark.parametrize(
    ("devices", "pod", "gpus_per_node", "alone"),
    [
        ("nvidia.com/gpu: 8", "", None, True),
        ("nvidia.com/gpu: 4", "", None, False),
        ("nvidia.com/gpu: 4", "", 4, True),
        ("google.com/tpu: 4", "", None, True),
        ("nvidia.com/gpu: 4", "nodeSelector: {node.kubernetes.io/instance-type: ml.g6e.12xlarge}", None, True),
        ("nvidia.com/gpu: 2", "nodeSelector: {node.kubernetes.io/instance-type: g6e.12xlarge}", None, False),
        ("nvidia.com/gpu: 4", "nodeSelector: {nvidia.com/gpu.product: NVIDIA-GB200}", None, True),
    ],
)
def test_whole_nodes(devices: str, pod: str, gpus_per_node: int | None, alone: bool, tmp_path: Path) -> None:
    text = JOB.format(pod=pod, resources=f"{{limits: {{{devices}}}}}")
    profile = Profile(gpus_per_node=gpus_per_node)
    (workload,) = workloads(tmp_path, profile, job_yaml=text)
    (one,) = asked(workload, profile)
    assert one.alone is alone


def test_a_server_beside_the_training_is_left_out(tmp_path: Path) -> None:
    text = JOB.format(pod="", resources="{limits: {nvidia.com/gpu: 3}}") + (
        "      - name: rollouts\n"
        "        image: vllm/vllm-openai:v0.6.3\n"
        "        command: [vllm, serve, acme/model]\n"
        "        resources: {limits: {nvidia.com/gpu: 1}}\n"
    )
    (workload,) = workloads(tmp_path, job_yaml=text)
    assert [one.container.name for one in asked(workload, Profile())] == ["trainer"]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("p5.48xlarge", 8), ("g5.12xlarge", 4), ("g5.8xlarge", 1), ("g6e.48xlarge", 8), ("p3.8xlarge", 4),
        ("trn1.32xlarge", 16), ("a2-highgpu-2g", 2), ("a3-megagpu-8g", 8), ("BM.GPU.H100.8", 8), ("VM.GPU.A10.2", 2),
        ("Standard_ND96isr_H100_v5", 8), ("Standard_NC48ads_A100_v4", 2), ("gd-8xh100ib-i128", 8),
        ("gpu_8x_h100_sxm5", 8), ("m7i.large", None), ("", None),
    ],
)  # fmt: skip
def test_devices_of_machine_types(name: str, count: int | None) -> None:
    assert devices_of(name) == count


@pytest.mark.parametrize(
    ("processes", "workers", "cores"), [(1, 0, 1), (1, 3, 4), (1, 4, 4), (1, 24, 24), (4, 2, 12), (8, 8, 64)]
)
def test_cores_of_processes_and_their_workers(processes: int, workers: int, cores: int) -> None:
    assert busy_cores(processes, workers) == cores


@pytest.mark.parametrize(("told", "processes"), [("4", 4), ("gpu", 1)])
def test_processes_that_are_surely_started(told: str, processes: int, tmp_path: Path) -> None:
    text = JOB.replace("--nproc-per-node=gpu", f"--nproc-per-node={told}")
    (found,) = workloads(tmp_path, job_yaml=text.format(pod="", resources="{limits: {nvidia.com/gpu: 4}}"))
    ((_, container),) = found.containers()
    assert processes_in(found, container) == processes


def trainer(folder: Path, resources: str, **more: str) -> tuple[Workload, Container]:
    """The workload and the container of the sample with these resources; `pod` and `before` as in `missing`."""
    text = more.get("before", "") + JOB.format(pod=more.get("pod", ""), resources=resources)
    if "command" in more:
        text = text.replace("[torchrun, --nproc-per-node=gpu, train.py]", more["command"])
    (workload,) = workloads(folder, job_yaml=text)
    ((_, container),) = workload.containers()
    return workload, container


LIMIT_RANGE = """\
apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: nlp}
spec: {limits: [{type: Container, default: {memory: 8Gi}, defaultRequest: {cpu: 2}}]}
---
"""


@pytest.mark.parametrize(
    ("resources", "resource", "asks", "bound"),
    [
        ("{limits: {nvidia.com/gpu: 2, memory: 4Gi}}", "memory", "4Gi", "4Gi"),
        ("{limits: {nvidia.com/gpu: 2, memory: 4Gi}, requests: {memory: 2Gi}}", "memory", "2Gi", "4Gi"),
        ("{limits: {nvidia.com/gpu: 2}}", "memory", "8Gi", "8Gi"),
        ("{limits: {nvidia.com/gpu: 2}}", "cpu", "2", None),
        ("{limits: {nvidia.com/gpu: 2}}", "ephemeral-storage", None, None),
    ],
)
def test_requests_and_limits_in_force(
    resources: str, resource: str, asks: str | None, bound: str | None, tmp_path: Path
) -> None:
    workload, container = trainer(tmp_path, resources, before=LIMIT_RANGE)
    pod = workload.roles[0].pod
    for found, expected in (
        (request(resource, container, pod, workload), asks),
        (limit(resource, container, pod, workload), bound),
    ):
        assert isinstance(found, Set if expected else Absent)
        assert getattr(found, "value", None) == expected


def test_requests_on_autopilot_are_not_known(tmp_path: Path) -> None:
    workload, container = trainer(
        tmp_path, "{limits: {nvidia.com/gpu: 2}}", pod="nodeSelector: {cloud.google.com/compute-class: Accelerator}"
    )
    assert isinstance(request("memory", container, workload.roles[0].pod, workload), Unknown)


@pytest.mark.parametrize(
    ("devices", "shown"),
    [("nvidia.com/gpu: 2", "2 GPUs"), ("nvidia.com/gpu: 1", "1 GPU"), ("nvidia.com/mig-1g.5gb: 1", "a share of 1 GPU")],
)
def test_accelerators_in_words(devices: str, shown: str, tmp_path: Path) -> None:
    workload, _ = trainer(tmp_path, f"{{limits: {{{devices}}}}}")
    assert [one.shown for one in asked(workload, Profile())] == [shown]


@pytest.mark.parametrize("devices", ["nvidia.com/gpu: 0", "memory: 8Gi", "nvidia.com/gpu: '${GPUS}'"])
def test_without_a_known_number_of_accelerators_nothing_is_missed(devices: str, tmp_path: Path) -> None:
    workload, _ = trainer(tmp_path, f"{{limits: {{{devices}}}}}")
    assert asked(workload, Profile()) == []


def test_what_does_not_train_is_left_out(tmp_path: Path) -> None:
    serving, _ = trainer(tmp_path, "{limits: {nvidia.com/gpu: 2}}", command="[vllm, serve, acme/model]")
    assert not serving.trains
    assert asked(serving, Profile()) == []
    text = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun torchrun train.py\n"
    (tmp_path / "batch").mkdir()
    (batch,) = workloads(tmp_path / "batch", train_sbatch=text)
    assert batch.trains
    assert asked(batch, Profile()) == []


@pytest.mark.parametrize(("gpus", "alone"), [(2, False), (3, False), (4, True)])
def test_a_product_that_comes_in_fours_only(gpus: int, alone: bool, tmp_path: Path) -> None:
    workload, _ = trainer(
        tmp_path, f"{{limits: {{nvidia.com/gpu: {gpus}}}}}", pod="nodeSelector: {nvidia.com/gpu.product: NVIDIA-GB200}"
    )
    assert takes_whole_node(workload.roles[0].pod, Profile()) is alone


@pytest.mark.parametrize(
    ("told", "workers"),
    [
        ("1", 1), ("8", 8), ("99999999", 99_999_999), ("0", None), ("999999999", None), ("-1", None), ("x", None),
        ("²", None),
    ],
)  # fmt: skip
def test_data_loader_workers(told: str, workers: int | None, tmp_path: Path) -> None:
    command = f"[torchrun, --nproc-per-node=8, train.py, --dataloader_num_workers, '{told}']"
    workload, container = trainer(tmp_path, "{limits: {nvidia.com/gpu: 8}}", command=command)
    found = data_workers(workload, container)
    assert (found and found.value) == workers


@pytest.mark.parametrize(
    ("resources", "room"),
    [
        ("{limits: {nvidia.com/gpu: 4}}", 32), ("{limits: {nvidia.com/gpu: 4, memory: 40Gi}}", 20),
        ("{limits: {nvidia.com/gpu: 4, memory: 400Gi}}", 32), ("{limits: {nvidia.com/gpu: 4, memory: '${M}'}}", 0),
        ("{limits: {nvidia.com/gpu: 4, memory: much}}", 0), ("{limits: {nvidia.com/gpu: '${N}'}}", 8),
        ("{limits: {nvidia.com/gpu: 4}, requests: {memory: 10Gi}}", 32),
    ],
)  # fmt: skip
def test_room_for_shared_memory(resources: str, room: int, tmp_path: Path) -> None:
    _, container = trainer(tmp_path, resources)
    assert shared_memory_room(container) == room


def test_a_pod_whose_program_is_in_its_image_is_kept(tmp_path: Path) -> None:
    (workload,) = workloads(
        tmp_path,
        job_yaml="""\
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata: {name: sample}
        spec:
          pytorchReplicaSpecs:
            Worker:
              replicas: 4
              template:
                spec:
                  containers:
                  - name: pytorch
                    image: ghcr.io/acme/train:1.4
                    resources: {limits: {nvidia.com/gpu: 2}}
        """,
    )
    assert [one.container.name for one in asked(workload, Profile())] == ["pytorch"]


@pytest.mark.parametrize(
    ("term", "alone"),
    [
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [g6e.12xlarge]}", True),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [g6e.12xlarge, g6e.48xlarge]}", False),
        ("{key: node.kubernetes.io/instance-type, operator: NotIn, values: [g6e.12xlarge]}", False),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [g6e.48xlarge]}", False),
    ],
)
@pytest.mark.parametrize("required", [True, False])
def test_a_machine_type_that_node_affinity_asks_for(term: str, alone: bool, required: bool, tmp_path: Path) -> None:
    """It counts where it is the only one, and asked for, not preferred. A g6e.12xlarge has four GPUs."""
    terms = (
        f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{term}]}}]}}"
        if required
        else "preferredDuringSchedulingIgnoredDuringExecution: "
        f"[{{weight: 1, preference: {{matchExpressions: [{term}]}}}}]"
    )
    workload, _ = trainer(tmp_path, "{limits: {nvidia.com/gpu: 4}}", pod=f"affinity: {{nodeAffinity: {{{terms}}}}}")
    assert takes_whole_node(workload.roles[0].pod, Profile()) is (alone and required)


@pytest.mark.parametrize(
    ("directives", "command", "cpus"),
    [
        ("--cpus-per-task=16", "srun python train.py", 16),
        ("--cpus-per-task=16 --ntasks-per-node=4", "srun python train.py", 64),
        ("--cpus-per-task=16 --ntasks=8", "srun python train.py", 64),  # on two nodes
        ("--cpus-per-task=16 --ntasks=7", "srun python train.py", None),
        ("--cpus-per-task=16 --ntasks-per-gpu=1", "srun python train.py", None),
        ("--cpus-per-task=16 --ntasks-per-gpu=1 --ntasks=1", "srun python train.py", 16),
        ("--cpus-per-task=16 --gpus-per-task=1 --ntasks=2", "srun python train.py", None),
        ("--cpus-per-gpu=6", "srun python train.py", 24),  # four GPUs a node
        ("--cpus-per-gpu=6 --cpus-per-task=16", "srun python train.py", None),
        ("--cpus-per-task=999999", "srun python train.py", 999_999),
        ("--cpus-per-task=1000000", "srun python train.py", None),  # a slip of the pen
        ("--cpus-per-task=1", "srun python train.py", 1),
        ("--cpus-per-task=0", "srun python train.py", None),
        ("--cpus-per-task=$N", "srun python train.py", None),
        ("--cpus-per-task=16 --exclusive", "srun python train.py", None),
        ("--cpus-per-task=16", "srun -c 8 python train.py", None),  # the step has CPUs of its own
        ("--cpus-per-task=16", "srun $OPTIONS python train.py", None),
        ("", "srun python train.py", None),
    ],
)
def test_cpus_of_a_node_under_slurm(directives: str, command: str, cpus: int | None, tmp_path: Path) -> None:
    head = "".join(f"#SBATCH {one}\n" for one in ("--nodes=2", "--gpus-per-node=4", *directives.split()))
    (workload,) = workloads(tmp_path, train_sbatch=f"#!/bin/bash\n{head}{command}\n")
    found = cpus_of_a_node(workload)
    assert (None if found is None else found.value) == cpus
