"""Which module reads the kinds that nodes and Slurm are made of, and files that hold no object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from kube_gaplint.model.profile import Profile
from kube_gaplint.share import ALL, Share

if TYPE_CHECKING:
    from kube_gaplint.bundle.bundle import Bundle, ScriptFile
    from kube_gaplint.bundle.objects import KubeObject
    from kube_gaplint.kinds.batch import BatchScript
    from kube_gaplint.model.workload import Workload

# API group and kind to the module here that reads it.
NODE_ADAPTERS: dict[tuple[str, str], str] = {
    # Karpenter
    ("karpenter.sh", "NodePool"): "karpenter",
    ("karpenter.sh", "Provisioner"): "karpenter",
    ("karpenter.k8s.aws", "EC2NodeClass"): "karpenter",
    ("karpenter.k8s.aws", "AWSNodeTemplate"): "karpenter",
    ("karpenter.azure.com", "AKSNodeClass"): "karpenter",
    # EKS
    ("eksctl.io", "ClusterConfig"): "eksctl",
    ("eks.services.k8s.aws", "Nodegroup"): "eksctl",
    ("eks.aws.upbound.io", "NodeGroup"): "eksctl",
    ("eks.aws.crossplane.io", "NodeGroup"): "eksctl",
    ("infrastructure.cluster.x-k8s.io", "AWSManagedMachinePool"): "eksctl",
    # GKE, AKS
    ("container.cnrm.cloud.google.com", "ContainerNodePool"): "gke",
    ("container.cnrm.cloud.google.com", "ContainerCluster"): "gke",
    ("container.gcp.upbound.io", "NodePool"): "gke",
    ("container.gcp.upbound.io", "Cluster"): "gke",
    ("cloud.google.com", "ComputeClass"): "compute_class",
    ("containerservice.azure.com", "ManagedCluster"): "aks",
    ("containerservice.azure.upbound.io", "KubernetesCluster"): "aks",
    ("infrastructure.cluster.x-k8s.io", "AzureManagedControlPlane"): "aks",
    # Cluster API
    ("infrastructure.cluster.x-k8s.io", "AWSMachineTemplate"): "machine_templates",
    ("infrastructure.cluster.x-k8s.io", "GCPMachineTemplate"): "machine_templates",
    ("infrastructure.cluster.x-k8s.io", "AzureMachineTemplate"): "machine_templates",
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfig"): "kubeadm",
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"): "kubeadm",
    ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"): "kubeadm",
    ("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate"): "kubeadm",
    # kOps
    ("kops.k8s.io", "Cluster"): "kops",
    ("kops.k8s.io", "InstanceGroup"): "kops",
    # what upgrades nodes
    ("upgrade.cattle.io", "Plan"): "agents",
    ("autopilot.k0sproject.io", "UpdateConfig"): "agents",
    ("machineconfiguration.openshift.io", "MachineConfigPool"): "openshift",
    ("machineconfiguration.openshift.io", "MachineConfig"): "openshift",
    ("apps", "DaemonSet"): "daemonsets",
    ("nvidia.com", "ClusterPolicy"): "operators",
    ("nvidia.com", "NVIDIADriver"): "operators",
    ("mellanox.com", "NicClusterPolicy"): "operators",
    ("amd.com", "DeviceConfig"): "operators",
    # admission
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "webhooks",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "webhooks",
    # Slurm on Kubernetes
    ("slinky.slurm.net", "Controller"): "slurm_conf",
    ("slinky.slurm.net", "NodeSet"): "slurm_sites",
    ("slurm.nebius.ai", "SlurmCluster"): "slurm_conf",
    ("slurm.nebius.ai", "NodeSet"): "slurm_sites",
    ("slurm.nebius.ai", "ActiveCheck"): "slurm_sites",
    ("sunk.coreweave.com", "SunkCluster"): "slurm_conf",
    # charts with their values
    ("helm.toolkit.fluxcd.io", "HelmRelease"): "releases",
    ("argoproj.io", "Application"): "releases",
    ("helm.cattle.io", "HelmChart"): "releases",
    ("helm.cattle.io", "HelmChartConfig"): "releases",
    # values that are scripts, slurm.conf or user data
    ("", "ConfigMap"): "config_maps",
    ("", "Secret"): "config_maps",
}

SECOND_ADAPTERS: dict[tuple[str, str], str] = {
    ("apps", "Deployment"): "agents",
    ("", "Pod"): "host_pods",
    ("batch", "Job"): "host_pods",
    ("batch", "CronJob"): "host_pods",
}
"""Kinds that are workloads first and may be something to nodes as well."""

SILENT: frozenset[tuple[str, str]] = frozenset(
    {
        ("eks.amazonaws.com", "NodeClass"),
        ("cluster.x-k8s.io", "MachineDeployment"),
        ("cluster.x-k8s.io", "MachineSet"),
        ("cluster.x-k8s.io", "MachinePool"),
        ("cluster.x-k8s.io", "Machine"),
        ("cluster.x-k8s.io", "MachineHealthCheck"),
        ("cluster.x-k8s.io", "Cluster"),
        ("config.openshift.io", "ClusterVersion"),
        ("containerservice.azure.com", "ManagedClustersAgentPool"),
        ("containerservice.azure.com", "MaintenanceConfiguration"),
        ("containerservice.azure.upbound.io", "KubernetesClusterNodePool"),
        ("infrastructure.cluster.x-k8s.io", "AzureManagedMachinePool"),
        ("slinky.slurm.net", "LoginSet"),
        ("slinky.slurm.net", "Accounting"),
        ("slinky.slurm.net", "RestApi"),
        ("slinky.slurm.net", "Token"),
        ("slurm.nebius.ai", "NodeConfigurator"),
        ("slurm.nebius.ai", "JailedConfig"),
    }
)
"""Kinds that are read by others and give no view of their own."""


def node_views(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterator[object]:
    """What an object is to the rules on nodes and Slurm; nothing for any other kind."""
    key = (item.group, item.kind)
    for table in (NODE_ADAPTERS, SECOND_ADAPTERS):
        module = table.get(key)
        if module is not None:
            yield from import_module(f"kube_gaplint.kinds.{module}").adapt(item, bundle, profile)


def known(item: KubeObject) -> bool:
    """Whether a kind belongs to nodes or Slurm, so that nobody looks for pod templates in it."""
    key = (item.group, item.kind)
    return key in NODE_ADAPTERS or key in SILENT


def file_views(
    bundle: Bundle, profile: Profile, *, scripts: bool = True, share: Share = ALL
) -> Iterator[tuple[int, object]]:
    """Batch scripts and slurm.conf that are files, Helm values, cloud-config and other documents without an object,
    each with a number for its place in the order.

    `scripts`: whether files of batch scripts are wanted. The first share has everything but batch scripts.
    """
    if bundle.slurm_confs and share.first:
        from kube_gaplint.kinds import slurm_conf

        for script in bundle.slurm_confs:
            conf = slurm_conf.of_file(script)
            if conf is not None:
                yield -1, conf
    yield from _batch_views(bundle, profile, bundle.scripts if scripts else [], share)
    if bundle.others and share.first:
        from kube_gaplint.kinds import values

        for document in bundle.others:
            yield from ((_LAST, view) for view in values.adapt_document(document, bundle, profile))


_LAST = 1 << 60


def _batch_views(
    bundle: Bundle, profile: Profile, files: Sequence[ScriptFile], share: Share
) -> Iterator[tuple[int, Workload]]:
    """Batch scripts in files and in ConfigMaps. Every slurm.conf of the paths is read once for all of them.

    To a share, files are numbered behind the objects. The first one has what stands in ConfigMaps.
    """
    maps = bundle.by_kind("", "ConfigMap")
    if not files and not maps:
        return
    from kube_gaplint.kinds import batch

    scripts = [batch.of_file(script, bundle) for script in files]
    for item in maps:
        scripts.extend(batch.in_config_map(item, bundle, profile))
    if scripts:
        confs = batch.all_confs(bundle, profile)
        first = len(bundle.objects)
        for number, script in enumerate(scripts):
            if not (share.has(first + number) if number < len(files) else share.first):
                continue
            workload = batch.adapt_script(script, bundle, profile, confs)
            if workload.batch is None or workload.batch.directives:  # else a script that only submits others
                yield number, workload
            for inner in inside(workload):
                inner.requirements, inner.guides = script.requirements, script.guides
                yield number, batch.adapt_script(inner, bundle, profile, confs)


def inside(workload: Workload) -> Iterator[BatchScript]:
    """Batch scripts that stand as here-documents in the scripts of containers."""
    for role in workload.roles:
        for container in (*role.pod.init_containers, *role.pod.containers):
            if any(script.heredocs for script in container.scripts):
                from kube_gaplint.kinds import batch

                yield from batch.inside(container.scripts, container.commands, workload.subject, container.files)
