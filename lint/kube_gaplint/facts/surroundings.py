"""Signs of what runs in a cluster: what gives autoscalers, meshes, watchers and the set-up of nodes away.

Sources: facts of Kubernetes objects, sections C (eviction), D (nodes) and E (webhooks that inject sidecars);
systemd.exec(5) (LimitMEMLOCK) and limits.conf(5).
"""

from __future__ import annotations

import re

from kube_gaplint import lazy_re
from kube_gaplint.facts.candidates import LOG_SHIPPERS, NODE_WATCHERS, REGISTRY_MIRRORS
from kube_gaplint.lazy_re import globs

# Node labels (in selectors and affinity) and annotations of pods that only this autoscaler's users write.
KARPENTER_KEYS = ("karpenter.sh/*", "karpenter.k8s.aws/*", "karpenter.azure.com/*", "eks.amazonaws.com/compute-type",
                  "eks.amazonaws.com/instance-*")  # fmt: skip
AUTOSCALER_KEYS = ("cluster-autoscaler.kubernetes.io/*", "cloud.google.com/gke-*", "cloud.google.com/compute-class",
                   "cloud.google.com/reservation*")  # fmt: skip
# GKE's node labels show GKE, whose node pools the cluster autoscaler serves; the name of a pool (POOL_KEYS) does not
# tell whether it scales.

KARPENTER_POOLS = (("karpenter.sh", "NodePool"), ("karpenter.sh", "Provisioner"))
# These tell of Karpenter where no pool is in the paths; where one is, what it says of GPUs decides.
KARPENTER_KINDS = (
    ("karpenter.sh", "NodeClaim"), ("karpenter.k8s.aws", "EC2NodeClass"), ("karpenter.k8s.aws", "AWSNodeTemplate"),
    ("karpenter.azure.com", "AKSNodeClass"), ("eks.amazonaws.com", "NodeClass"),
)  # fmt: skip
AUTOSCALER_KINDS = (
    ("autoscaling.x-k8s.io", "ProvisioningRequest"), ("autoscaling.openshift.io", "ClusterAutoscaler"),
    ("autoscaling.openshift.io", "MachineAutoscaler"), ("cloud.google.com", "ComputeClass"),
)  # fmt: skip

CLOUD_KEYS = (
    ("cloud.google.com/", "gcp"), ("eks.amazonaws.com/", "aws"), ("alpha.eksctl.io/", "aws"),
    ("karpenter.k8s.aws/", "aws"), ("sagemaker.amazonaws.com/", "hyperpod"), ("kubernetes.azure.com/", "azure"),
    ("karpenter.azure.com/", "azure"), ("oci.oraclecloud.com/", "oci"), ("oke.oraclecloud.com/", "oci"),
    ("qos.coreweave.cloud/", "coreweave"), ("node.coreweave.cloud/", "coreweave"),
)  # fmt: skip
"""Beginnings of labels and taints that one cloud's nodes have. SageMaker HyperPod's nodes belong to no pool of EKS."""

POOL_KEYS = (
    "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
    "kubernetes.azure.com/agentpool", "agentpool",
)  # fmt: skip
"""Node labels whose value is the name of a pool of a provider."""
DRAINED = frozenset({
    ("batch", "Job"), ("batch", "CronJob"), ("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"),
    ("jobset.x-k8s.io", "JobSet"), ("trainer.kubeflow.org", "TrainJob"), ("trainer.kubeflow.org", "TrainingRuntime"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
})  # fmt: skip
"""API group and kind of objects whose pods belong to a Job, a ReplicaSet or a StatefulSet. The cluster autoscaler
drains no pods of other controllers unless it runs with --skip-nodes-with-custom-controller-pods=false (its FAQ; its
simulator/drainability/rules/replicated)."""
AUTOSCALER_IMAGES = ("*cluster-autoscaler*",)
KARPENTER_IMAGES = ("*karpenter/controller*", "*karpenter/karpenter*")

MESH_KINDS = (("networking.istio.io", "Sidecar"), ("security.istio.io", "PeerAuthentication"),
              ("install.istio.io", "IstioOperator"), ("kubeflow.org", "Profile"))  # fmt: skip

# Programs that watch nodes and take bad ones out, by image or chart.
NODE_HEALTH_IMAGES = tuple(f"*{mark}*" for mark in NODE_WATCHERS)
# Programs that carry the logs of containers out of the node, by image.
LOG_SHIPPER_IMAGES = tuple("*otel/*collector*" if mark == "otel/" else f"*{mark}*" for mark in LOG_SHIPPERS)
REGISTRY_MIRROR_IMAGES = tuple(f"*{mark}*" for mark in REGISTRY_MIRRORS)
MIRROR_KINDS = frozenset({
    ("config.openshift.io", "ImageTagMirrorSet"), ("config.openshift.io", "ImageDigestMirrorSet"),
    ("operator.openshift.io", "ImageContentSourcePolicy"),
})  # fmt: skip
NAMES_DOCKER_HUB = lazy_re.needing(("docker.io",), r"\bdocker\.io\b")
MIRRORS_DOCKER_HUB = lazy_re.needing(
    ("docker.io", "registry-mirrors"),
    r"registry-mirrors|\bmirrors?\b[^\0]{0,200}?\bdocker\.io\b|\bcerts\.d/docker\.io\b|"
    r"\bdocker\.io\b[^\0]{0,200}?\b(?:mirror|endpoint)s?\b",
)
"""What containerd, CRI-O or Docker is told of on a node by which it pulls images of Docker Hub from elsewhere."""
CHARTS = {
    ("helm.toolkit.fluxcd.io", "HelmRelease"): (("spec", "chart", "spec", "chart"),),
    ("helm.cattle.io", "HelmChart"): (("spec", "chart"),),
    ("argoproj.io", "Application"): (("spec", "source", "chart"), ("spec", "sources", "[]", "chart")),
}
"""Where an object that installs a chart names it."""
LOG_SHIPPER_NAME = lazy_re.compile(r"logs?-?(?:ship|forward|collect|agent|router|upload|sync|tail)")
"""Names of sidecars that carry logs away."""
NODE_HEALTH_KINDS = (
    ("cluster.x-k8s.io", "MachineHealthCheck"), ("remediation.medik8s.io", "NodeHealthCheck"),
    ("slurm.nebius.ai", "ActiveCheck"), ("machine.openshift.io", "MachineHealthCheck"),
    ("containerservice.azure.com", "ManagedCluster"), ("containerservice.azure.com", "ManagedClustersAgentPool"),
    ("containerservice.azure.upbound.io", "KubernetesCluster"),
    ("containerservice.azure.upbound.io", "KubernetesClusterNodePool"),
    ("infrastructure.cluster.x-k8s.io", "AzureManagedMachinePool"), ("eks.amazonaws.com", "NodeClass"),
)  # fmt: skip
"""Objects of what finds bad nodes, and of clusters whose provider repairs nodes without being asked: AKS, EKS Auto
Mode."""

NODE_REPAIR: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("container.cnrm.cloud.google.com", "ContainerNodePool"): (("spec", "management", "autoRepair"),),
    ("container.gcp.upbound.io", "NodePool"): (("spec", "forProvider", "management", "autoRepair"),),
    ("infrastructure.cluster.x-k8s.io", "GCPManagedMachinePool"): (("spec", "management", "autoRepair"),),
    ("infrastructure.cluster.x-k8s.io", "AWSManagedMachinePool"): (("spec", "nodeRepairConfig", "enabled"),),
    ("eks.aws.upbound.io", "NodeGroup"): (("spec", "forProvider", "nodeRepairConfig", "enabled"),),
    ("eks.services.k8s.aws", "Nodegroup"): (("spec", "nodeRepairConfig", "enabled"),),
    ("eksctl.io", "ClusterConfig"): (
        ("managedNodeGroups", "[]", "nodeRepairConfig", "enabled"), ("autoModeConfig", "enabled"),
    ),
    ("kops.k8s.io", "Cluster"): (("spec", "nodeProblemDetector", "enabled"),),
}  # fmt: skip
"""Where a node pool says that its provider repairs or replaces bad nodes; `[]` stands for each element of a list that
may be a group of GPU nodes."""

REPAIRS_NODES = lazy_re.needing(
    ("noderepairconfig",), r"\bNodeRepairConfig[\"']?\s*:[\s{]*[\"']?Enabled[\"']?\s*:\s*[\"']?true\b", re.IGNORECASE
)
"""The same in CloudFormation."""

AUTOPILOT: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("container.cnrm.cloud.google.com", "ContainerCluster"): (("spec", "enableAutopilot"),),
    ("container.gcp.upbound.io", "Cluster"): (("spec", "forProvider", "enableAutopilot"),),
}
"""Where a cluster is declared as GKE Autopilot, which gives requests to pods that have none."""

SINGLE_PROCESS_KILL: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("kubelet.config.k8s.io", "KubeletConfiguration"): (("singleProcessOOMKill",),),
    ("machineconfiguration.openshift.io", "KubeletConfig"): (("spec", "kubeletConfig", "singleProcessOOMKill"),),
}
"""Where the kubelet is told to kill one process instead of the container (Kubernetes 1.32 and later)."""

# Kinds that set nodes up, and how the limit of locked memory is raised there: for containers by the runtime's unit.
NODE_SETUP_KINDS = frozenset(
    {"MachineConfig", "KubeadmConfig", "KubeadmConfigTemplate", "KubeadmControlPlane", "EC2NodeClass", "ClusterConfig",
     "NodeClass", "EKSConfig", "EKSConfigTemplate", "RKE2ConfigTemplate", "KThreesConfigTemplate", "DaemonSet"}
)  # fmt: skip
RAISES_MEMLOCK = lazy_re.compile(r"LimitMEMLOCK\s*=\s*infinity|memlock[=\s:-]{1,10}(?:unlimited|infinity|-1\b)")

SHARES_DEVICES = lazy_re.compile(
    r"\btimeSlicing:(?:(?!renameByDefault:[ \t]*true)[^\0]){0,400}?"
    r"name:[ \t]*[\"']?nvidia\.com/gpu[\"']?\s+replicas:[ \t]*(?:[2-9]|\d\d)"
)
"""NVIDIA's device plugin is told to hand each card to several pods, under the name of a whole one."""


def cloud_of(key: str) -> str:
    """The cloud whose nodes have a label or taint; empty for one that any may have."""
    return next((cloud for beginning, cloud in CLOUD_KEYS if key.startswith(beginning)), "")


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(globs(name, pattern) for pattern in patterns)
