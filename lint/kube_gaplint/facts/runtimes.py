"""The training runtimes that Kubeflow Trainer ships, as plain data.

A TrainJob names one in `runtimeRef`, and its manifest stands in no user's repository. None has a failurePolicy, a
podGroupPolicy, a volume or a /dev/shm of its own (the torchtune ones claim a volume).
Source: kubeflow/trainer v2.3.0 manifests/base/runtimes. Images are left out: they change with every release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TRAINER = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}


def _job(name: str, container: Mapping[str, Any], *, trainer: bool = True) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": {"containers": [{"name": "node", **container}]}}}}
    return {"name": name, "template": {"metadata": _TRAINER, **template} if trainer else template}


def _runtime(framework: str, policy: Mapping[str, Any], *jobs: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"labels": {"trainer.kubeflow.org/framework": framework}},
        "spec": {"mlPolicy": {"numNodes": 1, **policy}, "template": {"spec": {**spec, "replicatedJobs": list(jobs)}}},
    }


def _mpi(framework: str) -> dict[str, Any]:
    sshd = {"command": ["/usr/sbin/sshd"], "args": ["-De", "-f", "/home/mpiuser/.sshd_config"]}
    return _runtime(
        framework,
        {"mpi": {"numProcPerNode": 1, "mpiImplementation": "OpenMPI", "runLauncherAsNode": True}},
        _job("node", sshd, trainer=False),
        _job("launcher", {}),
        network={"publishNotReadyAddresses": True},
        successPolicy={"operator": "All", "targetReplicatedJobs": ["launcher"]},
    )


def _torchtune(config: str) -> dict[str, Any]:
    mount = [{"name": "initializer", "mountPath": "/workspace"}]
    command = [
        "tune", "run", "--rdzv_endpoint=localhost:29500", "full_finetune_distributed", "--config", config,
        "dataset=torchtune.datasets.instruct_dataset", "output_dir=/workspace/output",
        "checkpointer.checkpoint_dir=/workspace/model",
    ]  # fmt: skip
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}}
    return _runtime(
        "torchtune",
        {"torch": {}},
        _job("node", {"command": command, "volumeMounts": mount, "resources": {"limits": {"nvidia.com/gpu": 2}}}),
        volumeClaimPolicies=[{"templates": [{"metadata": {"name": "initializer"}, "spec": claim}]}],
    )


SHIPPED: dict[str, dict[str, Any]] = {
    "torch-distributed": _runtime("torch", {"torch": {}}, _job("node", {})),
    "torch-distributed-with-cache": _runtime("torch", {"torch": {}}, _job("node", {})),
    "jax-distributed": _runtime("jax", {"jax": {}}, _job("node", {})),
    "xgboost-distributed": _runtime("xgboost", {"xgboost": {}}, _job("node", {})),
    "deepspeed-distributed": _mpi("deepspeed"),
    "mlx-distributed": _mpi("mlx"),
    "torchtune-llama3.2-1b": _torchtune("llama3_2/1B_full"),
    "torchtune-llama3.2-3b": _torchtune("llama3_2/3B_full"),
    "torchtune-qwen2.5-1.5b": _torchtune("qwen2_5/1.5B_full"),
}
