"""Node groups of eksctl and EKS, kOps, GKE and AKS (k8s.md D, the rows of these names)."""

from __future__ import annotations

import pytest
from node_samples import kinds, only, value, views

from kube_gaplint.model.nodes import NodeBootstrap, NodePool, UpgradeAgent

CAPA = "infrastructure.cluster.x-k8s.io/v1beta2"
ND = "Standard_ND96asr_v4"

# eksctl


def eksctl(group: str, key: str = "managedNodeGroups") -> str:
    return (
        f"apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{name: c}}\n{key}: [{{name: g, {group}}}]\n"
    )


@pytest.mark.parametrize(
    ("group", "floats"),
    [
        ("instanceType: p5.48xlarge", True),
        ("instanceType: p5.48xlarge, releaseVersion: 1.31.3-20250103", False),
        ("instanceType: p5.48xlarge, ami: ami-1", False),
        ("instanceType: p5.48xlarge, ami: auto-ssm", True),
        ("instanceType: p5.48xlarge, releaseVersion: '{{ v }}'", "unknown"),
    ],
)
def test_images_of_eksctl(group: str, floats: bool | str) -> None:
    found = only(NodePool, eksctl(group))
    assert [value(image.floats) for image in found.images] == [floats]
    assert (found.name, found.gpus.answer, found.replaces_drifted) == ("g", "yes", False)


def test_groups_of_eksctl_without_gpus() -> None:
    assert only(NodePool, eksctl("instanceType: m6i.large")).gpus.answer == "no"
    assert only(NodePool, eksctl("instanceTypes: [g5.xlarge, g5.2xlarge]")).gpus.answer == "yes"
    tainted = eksctl("instanceType: mixed, taints: {nvidia.com/gpu: 'x:NoSchedule'}", "nodeGroups")
    assert only(NodePool, tainted).gpus.answer == "yes"


def test_bootstrap_of_eksctl() -> None:
    found = only(NodeBootstrap, eksctl("instanceType: p5.48xlarge, preBootstrapCommands: [yum -y update]"))
    assert kinds(found.actions) == ["upgrade-command"]
    override = "instanceType: p5.48xlarge, amiFamily: Ubuntu2204, overrideBootstrapCommand: 'apt-get -y upgrade'"
    ubuntu = only(NodeBootstrap, eksctl(override))
    assert (value(ubuntu.os), kinds(ubuntu.actions)) == ("ubuntu", ["upgrade-command"])


@pytest.mark.parametrize(
    ("api", "kind", "spec", "floats"),
    [
        ("eks.services.k8s.aws/v1alpha1", "Nodegroup", "instanceTypes: [p4d.24xlarge]", [True]),
        ("eks.services.k8s.aws/v1alpha1", "Nodegroup", "instanceTypes: [p4d.24xlarge], releaseVersion: 1.30", [False]),
        ("eks.aws.upbound.io/v1beta1", "NodeGroup", "forProvider: {instanceTypes: [p4d.24xlarge]}", [True]),
        (CAPA, "AWSManagedMachinePool", "instanceType: p4d.24xlarge", [True]),
        (CAPA, "AWSManagedMachinePool", "instanceType: p4d.24xlarge, amiVersion: a", [False]),
        (CAPA, "AWSManagedMachinePool", "instanceType: p4d.24xlarge, amiType: CUSTOM", []),
        (CAPA, "AWSMachineTemplate", "template: {spec: {instanceType: p4d.24xlarge}}", [True]),
        (CAPA, "AWSMachineTemplate", "template: {spec: {instanceType: p4d.24xlarge, ami: {id: ami-1}}}", [False]),
        (CAPA, "AWSMachineTemplate", "template: {spec: {instanceType: p4d.24xlarge, ami: {id: '{{ ami }}'}}}", []),
        (CAPA, "GCPMachineTemplate", "template: {spec: {instanceType: a3-highgpu-8g}}", [True]),
        (CAPA, "GCPMachineTemplate", "template: {spec: {instanceType: a3-highgpu-8g, imageFamily: f}}", [True]),
        (CAPA, "GCPMachineTemplate", "template: {spec: {instanceType: a3-highgpu-8g, image: i-7}}", [False]),
        (CAPA, "GCPMachineTemplate", "template: {spec: {instanceType: a3-highgpu-8g, image: p/family/i}}", [True]),
        (CAPA, "GCPMachineTemplate", "template: {spec: {instanceType: a3-highgpu-8g, image: '{{ i }}'}}", ["unknown"]),
        (
            CAPA,
            "GCPMachineTemplate",
            "template: {spec: {instanceType: n1-standard-8, image: i, guestAccelerators: [{type: t4, count: 1}]}}",
            [False],
        ),
        (CAPA, "AzureMachineTemplate", f"template: {{spec: {{vmSize: {ND}}}}}", []),
        (
            CAPA,
            "AzureMachineTemplate",
            f"template: {{spec: {{vmSize: {ND}, image: {{marketplace: {{version: latest}}}}}}}}",
            [True],
        ),
        (
            CAPA,
            "AzureMachineTemplate",
            f"template: {{spec: {{vmSize: {ND}, image: {{computeGallery: {{version: 1.30.2}}}}}}}}",
            [False],
        ),
    ],
)
def test_other_groups(api: str, kind: str, spec: str, floats: list[bool | str]) -> None:
    found = only(NodePool, f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: g}}\nspec: {{{spec}}}\n")
    assert [value(image.floats) for image in found.images] == floats
    assert found.gpus.answer == "yes"


# kOps

GROUP = """
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: {name: %s, labels: {kops.k8s.io/cluster: k.example.org}}
spec: {role: %s, machineType: %s, image: %s}
"""


def kops(policy: str = "", image: str = "ubuntu-jammy-22.04", machine: str = "p4d.24xlarge") -> NodeBootstrap:
    text = (
        "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: k.example.org}\nspec:\n"
        f"  cloudProvider: aws\n{policy}"
    )
    groups = GROUP % ("gpu", "Node", machine, image) + GROUP % ("cp", "Master", "m5.large", image)
    return views(NodeBootstrap, text + groups)[0]


def test_kops_upgrades_debian_and_ubuntu_by_default() -> None:
    found = kops()
    assert [(action.kind, action.explicit, action.origin.place.start.line) for action in found.actions] == [
        ("default-automatic", False, 4)
    ]
    assert (found.gpus.answer, value(found.os)) == ("yes", "ubuntu")
    assert [
        (action.kind, action.origin.place.start.line) for action in kops("  updatePolicy: automatic\n").actions
    ] == [("unattended-on", 6)]
    assert kinds(kops("  updatePolicy: external\n").actions) == ["unattended-off"]
    assert kops("  updatePolicy: '{{ p }}'\n").actions == ()


def test_kops_masks_locksmithd_on_flatcar() -> None:
    assert kops(image="075585003325/Flatcar-stable-3510").actions == ()


def test_kops_groups() -> None:
    assert kops(machine="m5.large").gpus.answer == "no"
    assert kops(machine="cx23").gpus.answer == "unknown"
    found = only(NodePool, GROUP % ("gpu", "Node", "p4d.24xlarge", "ssm:/aws/service/canonical/ubuntu/current"))
    assert [value(image.floats) for image in found.images] == [True]


def test_kops_clusters_of_one_name_are_told_apart_by_their_file() -> None:
    cluster = "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: k.example.org}\nspec: {a: %s}\n"
    found = views(
        NodeBootstrap,
        first=cluster % 1 + GROUP % ("g", "Node", "p4d.24xlarge", "ubuntu"),
        second=cluster % 2 + GROUP % ("g", "Node", "m5.large", "ubuntu"),
    )
    assert [view.gpus.answer for view in found] == ["yes", "no"]


# GKE

GKE_POOL = """
---
apiVersion: container.cnrm.cloud.google.com/v1beta1
kind: ContainerNodePool
metadata: {name: gpu}
spec:
  clusterRef: {%s}
  management: {%s}
  nodeConfig:
    machineType: a3-highgpu-8g
    guestAccelerator: [{type: nvidia-h100, count: 8, gpuDriverInstallationConfig: {gpuDriverVersion: %s}}]
"""
GKE_CLUSTER = """
apiVersion: container.cnrm.cloud.google.com/v1beta1
kind: ContainerCluster
metadata: {name: c}
spec: {location: x%s}
"""


def gke(management: str = "", cluster: str | None = "") -> UpgradeAgent:
    text = "" if cluster is None else GKE_CLUSTER % cluster
    return only(UpgradeAgent, text + GKE_POOL % ("name: c", management, "DEFAULT"))


def test_gke_upgrades_pools_by_default() -> None:
    found = gke()
    assert (value(found.active), value(found.restraint), found.gpus.answer) == (True, "absent", "yes")
    assert isinstance(found.active, object)
    assert value(gke("autoUpgrade: false").active) is False
    assert value(gke("autoUpgrade: '${auto}'").active) == "unknown"


@pytest.mark.parametrize(
    ("policy", "restraint"),
    [
        ("maintenanceExclusion: [{exclusionOptions: {scope: NO_MINOR_OR_NODE_UPGRADES}}]", "NO_MINOR_OR_NODE_UPGRADES"),
        ("maintenanceExclusion: [{exclusionOptions: {scope: NO_MINOR_UPGRADES}}]", "absent"),
        ("maintenanceExclusion: [{exclusionName: a}]", "NO_UPGRADES"),
        ("recurringWindow: {startTime: a}", "recurringWindow"),
        ("dailyMaintenanceWindow: {startTime: '03:00'}", "dailyMaintenanceWindow"),
    ],
)
def test_gke_windows_and_exclusions(policy: str, restraint: str) -> None:
    assert restraint in str(value(gke(cluster=f", maintenancePolicy: {{{policy}}}").restraint))


def test_gke_cluster_elsewhere_is_unknown() -> None:
    assert value(gke(cluster=None).restraint) == "unknown"
    external = only(UpgradeAgent, GKE_POOL % ("external: projects/p", "", "DEFAULT"))
    assert value(external.restraint) == "unknown"


def test_gke_driver_versions_float() -> None:
    assert [value(image.floats) for image in only(NodePool, GKE_POOL % ("name: c", "", "LATEST")).images] == [True]
    assert [value(image.floats) for image in only(NodePool, GKE_POOL % ("name: c", "", "DEFAULT")).images] == [False]


def test_gke_pools_without_accelerators() -> None:
    text = GKE_POOL % ("name: c", "", "DEFAULT")
    head = text[: text.index("    machineType")]
    assert only(NodePool, head + "    machineType: n1-standard-8\n").gpus.answer == "no"
    assert only(NodePool, head + "    machineType: '${type}'\n").gpus.answer == "unknown"


# AKS


def aks(profile: str, pools: str, version: str = "v1api20240901") -> list[object]:
    text = (
        f"apiVersion: containerservice.azure.com/{version}\nkind: ManagedCluster\nmetadata: {{name: c}}\n"
        f"spec: {{autoUpgradeProfile: {{{profile}}}, agentPoolProfiles: [{pools}]}}\n"
    )
    return [view for view in views(object, text) if isinstance(view, UpgradeAgent | NodeBootstrap)]


GPU_POOL = "{name: g, vmSize: Standard_ND96isr_H100_v5}"


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("nodeOSUpgradeChannel: NodeImage", [("aks-os", True)]),
        ("nodeOSUpgradeChannel: SecurityPatch", [("aks-os", True)]),
        ("nodeOSUpgradeChannel: None", [("aks-os", False)]),
        ("", [("aks-os", True)]),
        ("nodeOSUpgradeChannel: None, upgradeChannel: stable", [("aks-os", False), ("aks-kubernetes", True)]),
        ("nodeOSUpgradeChannel: None, upgradeChannel: none", [("aks-os", False), ("aks-kubernetes", False)]),
    ],
)
def test_aks_channels(profile: str, expected: list[tuple[str, bool]]) -> None:
    found = [view for view in aks(profile, GPU_POOL) if isinstance(view, UpgradeAgent)]
    assert [(view.kind, value(view.active)) for view in found] == expected
    assert all(view.gpus.answer == "yes" for view in found)


def test_aks_before_2023_left_the_nodes_alone() -> None:
    assert aks("", GPU_POOL, "v1api20230202") == []


def test_aks_unmanaged_is_unattended() -> None:
    found = aks("nodeOSUpgradeChannel: Unmanaged", GPU_POOL)
    assert [kinds(view.actions) for view in found if isinstance(view, NodeBootstrap)] == [["unattended-on"]]


def test_aks_pools_in_objects_of_their_own_and_schedules() -> None:
    cluster = (
        "apiVersion: containerservice.azure.com/v1api20240901\nkind: ManagedCluster\nmetadata: {name: c}\n"
        "spec: {autoUpgradeProfile: {nodeOSUpgradeChannel: NodeImage}, "
        "agentPoolProfiles: [{name: s, vmSize: Standard_D8s_v5}]}\n"
    )
    pool = (
        "---\napiVersion: containerservice.azure.com/v1api20240901\nkind: ManagedClustersAgentPool\n"
        "metadata: {name: g}\nspec: {owner: {name: %s}, vmSize: Standard_ND96isr_H100_v5}\n"
    )
    schedule = (
        "---\napiVersion: containerservice.azure.com/v1api20240901\nkind: MaintenanceConfiguration\n"
        "metadata: {name: m}\nspec: {azureName: aksManagedNodeOSUpgradeSchedule, owner: {name: c}}\n"
    )
    assert only(UpgradeAgent, cluster).gpus.answer == "no"
    assert only(UpgradeAgent, cluster + pool % "other").gpus.answer == "no"
    found = only(UpgradeAgent, cluster + pool % "c" + schedule)
    assert found.gpus.answer == "yes"
    assert "aksManagedNodeOSUpgradeSchedule" in str(value(found.restraint))


def test_aks_through_crossplane() -> None:
    text = (
        "apiVersion: containerservice.azure.upbound.io/v1beta1\nkind: KubernetesCluster\nmetadata: {name: c}\n"
        "spec: {forProvider: {nodeOsUpgradeChannel: NodeImage, maintenanceWindowNodeOs: [{frequency: Weekly}], "
        "defaultNodePool: [{vmSize: Standard_D8s_v5}]}}\n---\n"
        "apiVersion: containerservice.azure.upbound.io/v1beta1\nkind: KubernetesClusterNodePool\nmetadata: {name: g}\n"
        "spec: {forProvider: {kubernetesClusterIdRef: {name: c}, vmSize: Standard_NC24ads_A100_v4}}\n"
    )
    found = only(UpgradeAgent, text)
    assert (found.gpus.answer, value(found.active)) == ("yes", True)
    assert "maintenanceWindowNodeOs" in str(value(found.restraint))
