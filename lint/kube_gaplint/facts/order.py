"""In which order people write the keys of a manifest."""

from __future__ import annotations

BULK = frozenset({
    "containers", "template", "replicatedJobs", "jobTemplate", "tasks", "spec", "workerGroupSpecs",
    "pytorchReplicaSpecs", "mpiReplicaSpecs", "tfReplicaSpecs", "jaxReplicaSpecs", "paddleReplicaSpecs",
    "mxReplicaSpecs", "xgbReplicaSpecs", "leaderWorkerTemplate",
})  # fmt: skip
"""Keys that hold most of the lines of their mapping: a new key that is no list stands in front of them."""
