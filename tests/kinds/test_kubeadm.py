"""Cluster API's kubeadm bootstrap (k8s.md D, row "CAPI")."""

from __future__ import annotations

import pytest
from node_samples import kinds, only, value, views

from kube_gaplint.model.nodes import NodeBootstrap

TEMPLATE = """
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: gpu}
spec:
  template:
    spec:
      joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {node-labels: "%s"}}}
"""
MACHINES = """
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: gpu}
spec:
  template:
    spec:
      bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: gpu}}
      infrastructureRef: {kind: %s, name: gpu}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: %s
metadata: {name: gpu}
spec: {template: {spec: {%s}}}
"""


def machines(kind: str, spec: str, labels: str = "a=b") -> NodeBootstrap:
    return next(iter(views(NodeBootstrap, TEMPLATE % labels + MACHINES % (kind, kind, spec))))


def test_files_and_commands_in_their_order() -> None:
    found = only(
        NodeBootstrap,
        TEMPLATE % "nvidia.com/gpu.present=true"
        + """\
      files:
      - path: /etc/apt/apt.conf.d/20auto-upgrades
        content: |
          APT::Periodic::Update-Package-Lists "1";
          APT::Periodic::Unattended-Upgrade "1";
      preKubeadmCommands:
      - apt-get update
      - apt-get -y dist-upgrade
      postKubeadmCommands: [apt-mark hold kubelet]
""",
    )
    assert found.gpus.answer == "yes"
    assert [(action.kind, action.origin.place.start.line) for action in found.actions] == [
        ("unattended-on", 13),
        ("upgrade-command", 16),
        ("held", 17),
    ]


def test_boot_commands_and_lists_of_arguments_of_v1beta2() -> None:
    found = only(
        NodeBootstrap,
        """
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: a}
spec:
  bootCommands: [[sh, -c, yum -y update]]
  joinConfiguration:
    nodeRegistration:
      kubeletExtraArgs: [{name: node-labels, value: "nvidia.com/gpu.present=true"}]
""",
    )
    assert (found.gpus.answer, kinds(found.actions)) == ("yes", ["upgrade-command"])


def test_taints_of_the_registration() -> None:
    text = TEMPLATE % "a=b"
    text = text.replace("nodeRegistration: {", "nodeRegistration: {taints: [{key: nvidia.com/gpu}], ")
    assert only(NodeBootstrap, text).gpus.answer == "yes"


@pytest.mark.parametrize(
    ("kind", "spec", "answer", "system"),
    [
        ("AWSMachineTemplate", "instanceType: p4d.24xlarge", "yes", "unknown"),
        ("AWSMachineTemplate", "instanceType: m6i.large", "no", "unknown"),
        ("GCPMachineTemplate", "instanceType: a2-highgpu-8g, image: ubuntu-2204-jammy", "yes", "ubuntu"),
        ("AzureMachineTemplate", "vmSize: Standard_ND96asr_v4", "yes", "unknown"),
        ("AWSMachineTemplate", "instanceType: '${TYPE}'", "unknown", "unknown"),
    ],
)
def test_machines_behind_the_configuration(kind: str, spec: str, answer: str, system: str) -> None:
    found = machines(kind, spec)
    assert (found.gpus.answer, value(found.os)) == (answer, system)


def test_nothing_tells_without_labels_and_machines() -> None:
    assert only(NodeBootstrap, TEMPLATE % "a=b").gpus.answer == "unknown"


def test_the_control_plane_trains_nothing() -> None:
    found = only(
        NodeBootstrap,
        "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {name: a}\n"
        "spec: {kubeadmConfigSpec: {preKubeadmCommands: [apt-get upgrade -y]}}\n",
    )
    assert (found.gpus.answer, kinds(found.actions)) == ("no", ["upgrade-command"])


def test_flatcar_updates_itself_unless_told_otherwise() -> None:
    image = "instanceType: p4d.24xlarge, imageLookupBaseOS: flatcar-stable"
    silent = machines("AWSMachineTemplate", image)
    assert kinds(silent.actions) == ["os-update-agent"]
    assert not silent.actions[0].explicit
    files = "      files: [{path: /etc/flatcar/update.conf, content: REBOOT_STRATEGY=off}]\n"
    told = only(NodeBootstrap, TEMPLATE % "nvidia.com/gpu.present=true" + files)
    assert kinds(told.actions) == ["unattended-off"]
    assert value(told.os) == "flatcar"


def test_content_from_secrets_is_read_where_it_is_plain() -> None:
    text = (
        TEMPLATE % "nvidia.com/gpu.present=true"
        + "      files: [{path: /etc/cron.d/up, contentFrom: {secret: {name: s, key: k}}}]\n"
    )
    secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: '0 1 * * * root yum -y update'}\n"
    assert kinds(views(NodeBootstrap, text + secret)[0].actions) == ["upgrade-command"]
    assert only(NodeBootstrap, text).opaque_because


def test_templated_lists_are_opaque() -> None:
    text = TEMPLATE % "nvidia.com/gpu.present=true" + "      preKubeadmCommands: '{{ .commands }}'\n"
    assert only(NodeBootstrap, text).opaque_because
