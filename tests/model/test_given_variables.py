"""Variables that a workload gives, which of them are in force, and which names are its own."""

from __future__ import annotations

from pathlib import Path

from model_samples import workloads

from kube_gaplint.model.setting import Set
from kube_gaplint.model.variables import given_variables, in_force, names_in_use

BATCH = """\
    #!/bin/bash
    #SBATCH --nodes=4
    #SBATCH --gpus-per-node=8
    #SBATCH --ntasks-per-node=1
    export NCCL_A=1 NCCL_B=${NCCL_B:-2}
    NCCL_OWN=3
    if [ -d /site ]; then export NCCL_C=4; fi
    echo $NCCL_ASKED
    NCCL_ONCE=1 python check.py --minutes $NCCL_MINUTES
    srun --export=ALL,NCCL_D=5 env NCCL_E=6 torchrun --nnodes=4 --nproc-per-node=8 train.py
"""


def test_a_batch_script(tmp_path: Path) -> None:
    (workload,) = workloads(tmp_path, train_sbatch=BATCH)
    given = {one.name: one for one in given_variables(workload)}
    mine = {name for name in given if name.startswith("NCCL_")}
    assert mine == {"NCCL_A", "NCCL_B", "NCCL_C", "NCCL_D", "NCCL_E", "NCCL_ONCE"}
    known = {name for name in mine if isinstance(given[name].value, Set)}
    assert known == {"NCCL_A", "NCCL_D", "NCCL_E", "NCCL_ONCE"}
    assert given["NCCL_A"].origin.place.text == "NCCL_A=1"
    assert given["NCCL_A"].stands_alone
    assert not given["NCCL_D"].stands_alone
    assert "NCCL_MINUTES" in names_in_use(workload)
    assert not names_in_use(workload) & {"NCCL_ASKED", "NCCL_B"}


def test_manifests(tmp_path: Path) -> None:
    (workload,) = workloads(
        tmp_path,
        env_yaml="""\
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: fabric}
        data: {NCCL_FROM_MAP: "1", NCCL_BOTH: "0"}
        """,
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
                    image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                    command: [bash, -c, "export NCCL_SCRIPT=2; exec torchrun train.py --minutes=$(NCCL_MINUTES)"]
                    envFrom: [{configMapRef: {name: fabric}}]
                    env:
                    - {name: NCCL_BOTH, value: "1"}
                    - {name: NCCL_MINUTES, value: "9"}
                    - {name: NCCL_SELF, value: "$(NCCL_SELF)"}
                    - name: NCCL_UNSEEN
                      valueFrom: {secretKeyRef: {name: s, key: k}}
                    resources: {limits: {nvidia.com/gpu: 8}}
        """,
    )
    given = {one.name: one for one in given_variables(workload) if one.name.startswith("NCCL_")}
    assert set(given) == {
        "NCCL_FROM_MAP", "NCCL_BOTH", "NCCL_MINUTES", "NCCL_SELF", "NCCL_UNSEEN", "NCCL_SCRIPT",
    }  # fmt: skip
    assert given["NCCL_BOTH"].named_at.place.text == "NCCL_BOTH"
    assert given["NCCL_UNSEEN"].named_at.place.text == "NCCL_UNSEEN"
    assert given["NCCL_FROM_MAP"].origin.place.source.path.endswith("env.yaml")
    assert given["NCCL_BOTH"].torch == (2, 5, 1)
    assert given["NCCL_BOTH"].nccl == (2, 21, 5)
    assert {"NCCL_MINUTES"} == {name for name in names_in_use(workload) if name.startswith("NCCL_")}
    assert all(not one.name.startswith("TORCH_NCCL_ASYNC") for one in given_variables(workload)), "torchrun's own"


def test_only_the_last_value_is_in_force(tmp_path: Path) -> None:
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
                    image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
                    command: [bash, -c, "export NCCL_ALGO=Ring; NCCL_PROTO=LL python check.py; exec torchrun train.py"]
                    env: [{name: NCCL_ALGO, value: Tree}, {name: NCCL_DEBUG, value: WARN}]
                    resources: {limits: {nvidia.com/gpu: 8}}
        """,
    )
    found = [(one.name, one.value.value) for one in in_force(workload) if isinstance(one.value, Set)]
    assert sorted(found) == [("NCCL_ALGO", "Ring"), ("NCCL_DEBUG", "WARN"), ("NCCL_PROTO", "LL")]


def test_workers_of_mpi(tmp_path: Path) -> None:
    (workload,) = workloads(
        tmp_path,
        job_yaml="""\
        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: sample}
        spec:
          slotsPerWorker: 8
          mpiReplicaSpecs:
            Launcher:
              replicas: 1
              template:
                spec:
                  containers:
                  - {name: l, image: i, command: [mpirun, -np, "16", -x, NCCL_A=1, -x, NCCL_B, python, train.py]}
            Worker:
              replicas: 2
              template:
                spec:
                  containers:
                  - name: w
                    image: i
                    env: [{name: NCCL_C, value: "3"}]
                    resources: {limits: {nvidia.com/gpu: 8}}
        """,
    )
    assert {one.name for one in given_variables(workload)} == {"NCCL_A", "NCCL_C"}
    assert {one.name for one in in_force(workload)} == {"NCCL_A", "NCCL_C"}
    (process,) = workload.processes
    assert process.remote_mpirun is not None
