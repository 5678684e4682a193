"""What launchers are told of processes, nodes and groups, against the pods."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import process, workloads

from kube_gaplint.model.world import gang_sizes, mismatches

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: sample}}
spec:
  parallelism: {pods}
  completions: {pods}
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: ghcr.io/acme/train:1.4
        command: [bash, -c]
        args: ["{command}"]
        env: [{env}]
        resources: {{limits: {{{devices}}}}}
"""


def details(
    folder: Path, command: str, *, pods: int = 2, env: str = "", devices: str = "nvidia.com/gpu: 8"
) -> list[str]:
    (workload,) = workloads(folder, job_yaml=JOB.format(pods=pods, command=command, env=env, devices=devices))
    return [found.detail for one in workload.processes for found in mismatches(one)]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("torchrun --nnodes=2 --nproc-per-node=8 train.py", []),
        ("torchrun --nnodes=2 --nproc-per-node=4 train.py", ["processes:4:8"]),
        ("torchrun --nnodes=3 --nproc-per-node=8 train.py", ["nodes:3:2"]),
        ("torchrun --nnodes=3 --nproc-per-node=16 train.py", ["processes:16:8", "nodes:3:2"]),
        ("torchrun --nnodes=1:4 --nproc-per-node=gpu train.py", []),
        ("torchrun --nnodes=1 --nproc-per-node=8 train.py", []),
        ("torchrun train.py", []),
        ("deepspeed --num_gpus 2 train.py", ["processes:2:8"]),
        ("accelerate launch --num_machines 2 --num_processes 16 train.py", []),
        ("accelerate launch --num_machines 2 --num_processes 8 train.py", ["processes:4:8"]),
        ("accelerate launch --num_processes 7 grpo.py --use_vllm true", []),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nnodes=2 --nproc-per-node=2 train.py", []),
        ("torchrun --nproc-per-node=4 a.py & torchrun --nproc-per-node=4 train.py", []),
        ("torchrun --nnodes=$N --nproc-per-node=$(nvidia-smi -L | wc -l) train.py", []),
    ],
)
def test_processes_and_nodes(command: str, found: list[str], tmp_path: Path) -> None:
    assert details(tmp_path, command) == found


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2", []),
        ("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 3", ["groups:24:16"]),
        ("--tensor-model-parallel-size 8 --pipeline-model-parallel-size $PP", []),
        ("--tensor-model-parallel-size 3 --pipeline-model-parallel-size $PP", ["groups:3:16"]),
        ("--tensor-model-parallel-size 4 --context-parallel-size 8", ["groups:32:16"]),
        ("--tensor-model-parallel-size 1", []),
    ],
)
def test_parallel_groups_must_divide_the_world(sizes: str, found: list[str], tmp_path: Path) -> None:
    command = f"torchrun --nnodes=2 --nproc-per-node=8 pretrain_gpt.py --train-iters 1000 {sizes}"
    assert details(tmp_path, command) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("torchrun --nnodes=2 --nproc-per-node=8 train.py", ["nodes:2:1"]),
        ("torchrun --nnodes=2 --node-rank=1 --nproc-per-node=8 train.py", []),
    ],
)
def test_a_single_pod_that_knows_its_rank_is_one_of_several(command: str, found: list[str], tmp_path: Path) -> None:
    assert details(tmp_path, command, pods=1) == found


def test_groups_are_not_counted_in_a_world_that_does_not_fit(tmp_path: Path) -> None:
    command = "torchrun --nnodes=3 --nproc-per-node=8 pretrain_gpt.py --train-iters 9 --tensor-model-parallel-size 5"
    assert details(tmp_path, command) == ["nodes:3:2"]


@pytest.mark.parametrize(("size", "fits"), [("2", True), ("16", True), ("8", False)])
def test_world_size_of_a_bare_program(size: str, fits: bool, tmp_path: Path) -> None:
    found = details(tmp_path, "python train.py", env=f'{{name: WORLD_SIZE, value: "{size}"}}')
    assert (found == []) is fits


@pytest.mark.parametrize("devices", ["aws.amazon.com/neuron: 16", "nvidia.com/mig-1g.10gb: 2", "google.com/tpu: 4"])
def test_devices_that_do_not_stand_for_one_process(devices: str, tmp_path: Path) -> None:
    assert details(tmp_path, "torchrun --nnodes=2 --nproc-per-node=32 train.py", devices=devices) == []


MPI = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: sample}}
spec:
  {slots}
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template: {{spec: {{containers: [{{name: l, image: "ghcr.io/acme/t:1", command: [bash, -c, "{command}"]}}]}}}}
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{{name: w, image: "ghcr.io/acme/t:1", resources: {{limits: {{nvidia.com/gpu: 4}}}}}}]
"""


@pytest.mark.parametrize(
    ("slots", "command", "found"),
    [
        ("slotsPerWorker: 4", "mpirun -np 8 python train.py", []),
        ("slotsPerWorker: 8", "mpirun -np 16 python train.py", ["slots:8:4"]),
        ("slotsPerWorker: 4", "mpirun -np 16 python train.py", ["np:16:8"]),
        ("slotsPerWorker: 4", "mpirun -np 2 --map-by ppr:1:node python train.py", []),
        ("slotsPerWorker: 1", "mpirun -np 2 torchrun --nproc-per-node=4 train.py", []),
        ("slotsPerWorker: 4", "mpirun $OPTIONS python train.py", []),
        ("", "mpirun -np 8 python train.py", ["np:8:2"]),
        ("", "mpirun -np 8 --oversubscribe python train.py", []),
    ],
)
def test_mpi_slots_and_ranks(slots: str, command: str, found: list[str], tmp_path: Path) -> None:
    (workload,) = workloads(tmp_path, job_yaml=MPI.format(slots=slots, command=command))
    assert [one.detail for each in workload.processes for one in mismatches(each)] == found


def test_any_sum_of_roles_may_be_a_gang(tmp_path: Path) -> None:
    roles = "\n".join(
        f"""\
  - name: {name}
    replicas: {count}
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: t
          image: ghcr.io/acme/t:1
          command: [torchrun, train.py]
          resources: {{limits: {{nvidia.com/gpu: 8}}}}"""
        for name, count in (("head", 1), ("learner", 3), ("actor", 8))
    )
    head = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: rl}\nspec:\n  tasks:\n"
    (workload,) = workloads(tmp_path, job_yaml=head + roles)
    assert gang_sizes(workload.processes[0]) == {1, 3, 4, 8, 9, 11, 12}


def test_an_operator_that_counts_by_itself_fits(tmp_path: Path) -> None:
    assert mismatches(process(tmp_path)) == []
