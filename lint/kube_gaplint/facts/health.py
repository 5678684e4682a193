"""Signs that bad nodes are kept out before a job starts again: programs, names, node labels, managed pools.

Sources: NVIDIA DCGM (`dcgmi diag`), LBNL Node Health Check (`nhc`), NVIDIA DeepOps and Azure azurehpc-health-checks,
imbue-ai/cluster-health, IBM/autopilot (label autopilot.ibm.com/gpuhealth), SageMaker HyperPod
(sagemaker.amazonaws.com/node-health-status), DLRover (`--network-check`), GKE (node auto-repair is on for new pools),
AKS (node auto-repair and the node problem detector run on every cluster), CoreWeave (node life cycle controller).
"""

from __future__ import annotations

import re

from kube_gaplint import lazy_re

PROGRAMS = frozenset({
    "dcgmi", "nvvs", "nhc", "nvidia-healthmon", "gpu_burn", "gpu-burn", "rvs", "superbench", "nvbandwidth",
    "dcgmproftester", "dcgmproftester12", "healthagent", "neuron-health",
})  # fmt: skip
"""Programs whose purpose it is to find a bad device, wherever they run."""

LOOKS = frozenset({"nvidia-smi", "rocm-smi", "amd-smi", "ibstat", "ibv_devinfo", "neuron-ls", "all_reduce_perf"})
"""Programs that fail on a bad node. In front of the pod they are a check, in the training script only a line of log."""

CHECK = lazy_re.needing(
    (
        "health",
        "flight",
        "burn",
        "sanity",
        "diagnos",
        "dcgm",
        "nccl",
        "check",
        "test",
        "valid",
        "verif",
        "ready",
        "wait",
    ),
    r"health|preflight|pre-flight|burn-?in|sanity|diagnos|dcgm|nccl-?test|"
    r"(?:gpu|node|nvlink|nvidia|ib|rdma|efa|network|device)s?[-_.]?(?:check|test|valid|verif|ready)|"
    r"(?<![a-z])(?:check|test|valid|verif|wait|wait-for)\w*[-_.]?(?:gpu|node|nvlink|nvidia|ib|rdma|efa|device)s?\b",
    re.IGNORECASE,
)
"""Names of containers, images, scripts and options that check a node."""

LABELS = lazy_re.compile(
    r"health|(?:^|[-_./])(?:bad|faulty|broken|degraded|lemon|quarantined?|cordoned|burn-?in|validated|gpu-ok|repair)"
    r"(?:$|[-_./])",
    re.IGNORECASE,
)
"""Node labels that tell good nodes from bad ones."""

HOST = "kubernetes.io/hostname"

MANAGED = lazy_re.compile(
    r"cloud\.google\.com/|(?:agentpool|storageprofile)$|kubernetes\.azure\.com/|sagemaker\.amazonaws\.com/|"
    r"(?:node|gpu)\.coreweave\.cloud/"
)
"""Node labels of providers that repair or replace bad nodes of a pool by themselves."""

REPLACING_OWNERS = frozenset({"HyperPod", "HyperPod operator", "AppWrapper"})
"""Owners that leave bad nodes out when they restart a job: HyperPod replaces them, the AppWrapper operator keeps pods
from nodes that Autopilot has marked."""
