"""Every adapter of nodes and Slurm meets objects of any shape: nothing raises, and nothing unknown becomes known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module

import pytest
from node_samples import all_views, bundle_of

from kube_gaplint.kinds import ADAPTERS, build
from kube_gaplint.kinds.node_table import NODE_ADAPTERS, SECOND_ADAPTERS, SILENT
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.slurm import Batch
from kube_gaplint.model.workload import Workload

ODD = [None, [], {}, "{{ .x }}", "${X}", 3, True, ["{{ .x }}"], [[]], {"a": None}]

CONTAINERS = [
    {
        "name": "c",
        "image": "ghcr.io/kubereboot/kured:1",
        "command": ["nsenter", "-t", "1", "--", "sh", "-c", "systemctl restart kubelet; apt-get upgrade"],
        "args": ["--period=1h"],
        "env": [{"name": "SCHEDULER_CRON_EXPRESSION", "value": "* *"}],
    }
]
POD = {"hostPID": True, "nodeSelector": {"nvidia.com/gpu": "true"}, "containers": CONTAINERS}

SPECS: dict[tuple[str, str], dict[str, object]] = {
    ("karpenter.sh/v1", "NodePool"): {
        "disruption": {"consolidationPolicy": "WhenEmpty", "budgets": [{"nodes": "0", "reasons": ["Drifted"]}]},
        "limits": {"nvidia.com/gpu": 8},
        "template": {
            "metadata": {"labels": {"nvidia.com/gpu": "true"}},
            "spec": {
                "expireAfter": "Never",
                "taints": [{"key": "nvidia.com/gpu"}],
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "a"},
                "requirements": [{"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["p5"]}],
            },
        },
    },
    ("karpenter.k8s.aws/v1", "EC2NodeClass"): {
        "amiSelectorTerms": [{"alias": "al2023@latest"}, {"name": "a*", "tags": {"a": "b"}}],
        "userData": "#!/bin/bash\nyum -y update\n",
    },
    ("bootstrap.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate"): {
        "template": {
            "spec": {
                "files": [{"path": "/etc/cron.d/a", "content": "0 1 * * * root yum -y update", "append": True}],
                "preKubeadmCommands": ["apt-get upgrade"],
                "bootCommands": [["sh", "-c", "apt-get upgrade"]],
                "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": {"node-labels": "nvidia.com/gpu=1"}}},
            }
        }
    },
    ("kops.k8s.io/v1alpha2", "Cluster"): {"updatePolicy": "automatic"},
    ("kops.k8s.io/v1alpha2", "InstanceGroup"): {
        "role": "Node",
        "machineType": "p5.48xlarge",
        "image": "ssm:/a",
        "additionalUserData": [{"content": "#cloud-config\npackage_upgrade: true\n"}],
        "updatePolicy": "automatic",
    },
    ("container.cnrm.cloud.google.com/v1beta1", "ContainerNodePool"): {
        "clusterRef": {"name": "a"},
        "management": {"autoUpgrade": True},
        "nodeConfig": {
            "machineType": "a3-highgpu-8g",
            "guestAccelerator": [{"type": "x", "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}],
        },
    },
    ("container.cnrm.cloud.google.com/v1beta1", "ContainerCluster"): {
        "nodeConfig": {"machineType": "a3-highgpu-8g"},
        "maintenancePolicy": {"maintenanceExclusion": [{"exclusionOptions": {"scope": "NO_UPGRADES"}}]},
    },
    ("containerservice.azure.com/v1api20240901", "ManagedCluster"): {
        "autoUpgradeProfile": {"nodeOSUpgradeChannel": "NodeImage", "upgradeChannel": "stable"},
        "agentPoolProfiles": [
            {"name": "g", "vmSize": "Standard_ND96isr_H100_v5", "nodeTaints": ["sku=gpu:NoSchedule"]}
        ],
    },
    ("upgrade.cattle.io/v1", "Plan"): {
        "channel": "x",
        "nodeSelector": {"matchLabels": {"a": "b"}},
        "window": {"days": ["sunday"]},
        "secrets": [{"name": "a"}],
        "upgrade": {"command": ["chroot", "/host"], "args": ["apt-get", "upgrade"]},
    },
    ("apps/v1", "DaemonSet"): {
        "updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {"spec": POD},
    },
    ("apps/v1", "Deployment"): {"template": {"spec": POD}},
    ("nvidia.com/v1", "ClusterPolicy"): {
        "driver": {"enabled": True, "upgradePolicy": {"autoUpgrade": True, "waitForCompletion": {"podSelector": "a"}}}
    },
    ("machineconfiguration.openshift.io/v1", "MachineConfig"): {
        "config": {
            "storage": {"files": [{"path": "/etc/flatcar/update.conf", "contents": {"source": "data:,A%3DB"}}]},
            "systemd": {"units": [{"name": "locksmithd.service", "mask": True}]},
        }
    },
    ("machineconfiguration.openshift.io/v1", "MachineConfigPool"): {
        "paused": False,
        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/gpu": ""}},
    },
    ("slinky.slurm.net/v1beta1", "Controller"): {"extraConf": "KillOnBadExit=1\n", "configFileRefs": [{"name": "a"}]},
    ("slinky.slurm.net/v1beta1", "NodeSet"): {
        "updateStrategy": {"type": "OnDelete"},
        "slurmd": {"resources": {"limits": {"nvidia.com/gpu": 8}}},
        "template": {"spec": POD},
    },
    ("slurm.nebius.ai/v1", "SlurmCluster"): {
        "slurmConfig": {"prolog": "a"},
        "customSlurmConfig": "A=1\n",
        "healthCheckConfig": {"healthCheckNodeState": [{"state": "ANY"}]},
    },
    ("slurm.nebius.ai/v1alpha1", "ActiveCheck"): {"failureReactions": {"drainSlurmNode": {"a": "b"}}},
}


def mutated(data: object, odd: object) -> Iterator[object]:
    """The data with each of its parts in turn replaced."""
    if isinstance(data, dict):
        for key, part in data.items():
            yield {**data, key: odd}
            for changed in mutated(part, odd):
                yield {**data, key: changed}
    elif isinstance(data, list):
        for index, part in enumerate(data):
            yield [*data[:index], odd, *data[index + 1 :]]
            for changed in mutated(part, odd):
                yield [*data[:index], changed, *data[index + 1 :]]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(("api_version", "kind"), SPECS, ids=lambda part: part)
def test_objects_of_any_shape(api_version: str, kind: str, odd: object) -> None:
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}
    assert all_views(json.dumps({**head, "spec": SPECS[api_version, kind]})) != [] or kind == "Deployment"
    for spec in mutated(SPECS[api_version, kind], odd):
        all_views(json.dumps({**head, "spec": spec}))


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(("group", "kind"), [*NODE_ADAPTERS, *SECOND_ADAPTERS], ids=str)
def test_specs_of_any_shape(group: str, kind: str, odd: object) -> None:
    for key in ("spec", "data", "stringData", "webhooks", "managedNodeGroups"):
        all_views(json.dumps({"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "a"}, key: odd}))


def test_the_table_is_whole() -> None:
    for module in {*NODE_ADAPTERS.values(), *SECOND_ADAPTERS.values()}:
        assert callable(import_module(f"kube_gaplint.kinds.{module}").adapt)
    assert not set(NODE_ADAPTERS) & SILENT
    assert not set(NODE_ADAPTERS) & set(ADAPTERS)
    assert set(SECOND_ADAPTERS) <= set(ADAPTERS)


def test_batch_scripts_become_workloads_with_their_processes() -> None:
    script = "#!/bin/bash\n#SBATCH -N 4\n#SBATCH --gres=gpu:8\nsrun --container-image=a/b:1 torchrun train.py\n"
    model = build(bundle_of(job_sbatch=script), Profile())
    found = [view for view in model.views if isinstance(view, Workload)]
    assert [workload.subject.kind for workload in found] == ["sbatch"]
    assert found[0].purpose == "training"
    assert [process.program for process in found[0].processes] == ["train.py"]
    assert [view for view in model.views if isinstance(view, Batch)] == [found[0].batch]
