"""What the training operator (kubeflow.org/v1) expects of a pod, and how it reads exit codes.

Sources: kubeflow/trainer v1.9.0 pkg/util/train/train_util.go (IsRetryableExitCode), pkg/apis/kubeflow.org/v1/*_types.go
(DefaultContainerName), pkg/webhooks/utils/utils.go (ValidateReplicaSpecs; the same test stood in the controllers before
1.8, which marked the job Failed), *_defaults.go (the port that every replica's container is given where it declares
none of that name).
"""

from __future__ import annotations

FIRST_RETRYABLE = 128
"""Under restartPolicy ExitCode a pod is started again from this exit code on; below it the job fails."""

_CONTAINERS = {
    "PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "PaddleJob": "paddle", "JAXJob": "jax",
}  # fmt: skip


def expected_container(api_version: str, kind: str) -> str:
    """The container that every replica of a kind must have; empty for kinds whose objects are not tested for it."""
    return _CONTAINERS.get(kind, "") if api_version == "kubeflow.org/v1" else ""


def declares_port(api_version: str, kind: str) -> bool:
    """Whether the operator declares a container port in every pod of a kind. On the host's network the API server makes
    it a host port, so that the scheduler puts no two such pods, of whatever job, on one node."""
    return bool(expected_container(api_version, kind))
