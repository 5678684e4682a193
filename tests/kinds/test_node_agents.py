"""What upgrades, reboots or carries nodes (k8s.md D: k3s/RKE2, k0s, kured, Bottlerocket, OpenShift, host shells; E)."""

from __future__ import annotations

import pytest
from node_samples import all_views, bundle_of, kinds, manifest, only, value, views

from kube_gaplint.kinds import build
from kube_gaplint.model.nodes import (
    DriverUpgrade,
    HostAgent,
    NodeBootstrap,
    NodeDaemon,
    NodePool,
    UpgradeAgent,
    Webhook,
)
from kube_gaplint.model.profile import Profile

PLAN = "apiVersion: upgrade.cattle.io/v1\nkind: Plan\nmetadata: {name: p}\nspec: {%s}\n"


@pytest.mark.parametrize(
    ("spec", "active", "restraint"),
    [
        ("channel: https://x", True, "absent"),
        ("channel: https://x, version: v1.31", False, "absent"),
        ("version: v1.31", False, "absent"),
        ("channel: https://x, window: {days: [sunday], startTime: '02:00', endTime: '05:00'}", True, "window"),
        ("channel: https://x, version: '{{ v }}'", "unknown", "absent"),
    ],
)
def test_plans(spec: str, active: bool | str, restraint: str) -> None:
    found = only(UpgradeAgent, PLAN % spec)
    assert value(found.active) == active
    assert restraint in str(value(found.restraint))


@pytest.mark.parametrize(
    ("selector", "answer"),
    [
        ("{matchExpressions: [{key: nvidia.com/gpu.present, operator: In, values: ['true']}]}", "yes"),
        ("{matchExpressions: [{key: nvidia.com/gpu.present, operator: NotIn, values: ['true']}]}", "no"),
        ("{matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: In, values: ['true']}]}", "no"),
        ("{matchLabels: {nvidia.com/gpu: 'true'}}", "yes"),
        ("{matchExpressions: [{key: a, operator: Exists}]}", "unknown"),
    ],
)
def test_nodes_of_a_plan(selector: str, answer: str) -> None:
    assert only(UpgradeAgent, PLAN % f"channel: x, nodeSelector: {selector}").gpus.answer == answer


def test_plans_that_run_a_script_out_of_a_secret() -> None:
    text = (
        PLAN % "version: a, secrets: [{name: s, path: /host/run/s}], upgrade: {image: ubuntu, "
        "command: [chroot, /host], args: [sh, /run/system-upgrade/secrets/s/up.sh]}"
        + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {up.sh: apt-get -y dist-upgrade}\n"
    )
    assert [kinds(view.actions) for view in views(NodeBootstrap, text)] == [["upgrade-command"]]


def test_k0s_autopilot() -> None:
    text = manifest("autopilot.k0sproject.io/v1beta2", "UpdateConfig", "channel: stable%s")
    assert value(only(UpgradeAgent, text % "").restraint) == "absent"
    periodic = ", upgradeStrategy: {type: periodic, periodic: {days: [Sunday], startTime: '02:00', length: 2h}}"
    assert "Sunday" in str(value(only(UpgradeAgent, text % periodic).restraint))


@pytest.mark.parametrize(
    ("cron", "restraint"),
    [
        ("* * * * *", "absent"),
        ("30 */2 * * *", "absent"),
        ("0 0-23 * * ?", "absent"),
        ("@hourly", "absent"),
        ("0 3 * * *", "a schedule (0 3 * * *)"),
        ("* * * * 6", "a schedule (* * * * 6)"),
        ("0 * 1 * *", "a schedule (0 * 1 * *)"),
        ("@weekly", "a schedule (@weekly)"),
    ],
)
def test_a_schedule_that_names_every_hour_is_none(cron: str, restraint: str) -> None:
    strategy = f"channel: edge, upgradeStrategy: {{type: cron, cron: '{cron}'}}"
    text = manifest("autopilot.k0sproject.io/v1beta2", "UpdateConfig", strategy)
    assert value(only(UpgradeAgent, text).restraint) == restraint


@pytest.mark.parametrize(
    ("workers", "answer", "everywhere"),
    [
        ("discovery: {selector: {labels: 'nvidia.com/gpu.present=true'}}", "yes", False),
        ("discovery: {selector: {labels: 'zone=a,nvidia.com/gpu.present'}}", "yes", False),
        ("discovery: {selector: {labels: '!nvidia.com/gpu.present'}}", "no", False),
        ("discovery: {selector: {labels: 'nvidia.com/gpu.present!=true'}}", "no", False),
        ("discovery: {selector: {labels: 'pool in (a, b)'}}", "unknown", False),
        ("discovery: {static: {nodes: [w1]}}", "unknown", False),
        ("limits: {concurrent: 1}", "unknown", True),
    ],
)
def test_the_workers_of_a_k0s_update(workers: str, answer: str, everywhere: bool) -> None:
    plan = f"channel: edge, planSpec: {{commands: [{{k0supdate: {{targets: {{workers: {{{workers}}}}}}}}}]}}"
    found = only(UpgradeAgent, manifest("autopilot.k0sproject.io/v1beta2", "UpdateConfig", plan))
    assert (found.gpus.answer, found.gpus.everywhere) == (answer, everywhere)


KURED = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kured, namespace: kube-system}
spec:
  template:
    spec:
      hostPID: true
      containers:
      - name: kured
        image: ghcr.io/kubereboot/kured:1.23.0
        command: [/usr/bin/kured]
        args: [%s]
"""


@pytest.mark.parametrize(
    ("args", "restraint"),
    [
        ("--period=1h", "absent"),
        ("--start-time=0:00, --end-time=23:59:59", "absent"),
        ("--start-time=02:00, --end-time=05:00", "--start-time 02:00"),
        ("--reboot-days=sat, --reboot-days=sun", "--reboot-days"),
        ("'--reboot-days=mo,tu,we,th,fr,sa,su'", "absent"),
        ("--blocking-pod-selector=app=train", "--blocking-pod-selector"),
        ("'{{ args }}'", "unknown"),
    ],
)
def test_kured(args: str, restraint: str) -> None:
    found = only(UpgradeAgent, KURED % args)
    assert found.kind == "kured"
    assert restraint in str(value(found.restraint))
    assert views(NodeDaemon, KURED % args) == []


def test_kured_in_helm_values() -> None:
    assert value(only(UpgradeAgent, "configuration: {rebootSentinel: /x, rebootDays: []}\n").restraint) == "absent"
    days = "kured: {configuration: {rebootDays: [sa, su]}}\n"
    assert "sa,su" in str(value(only(UpgradeAgent, days).restraint))
    on_gpus = (
        "configuration: {rebootSentinel: /x, rebootDays: []}\ntolerations: [{key: nvidia.com/gpu, operator: Exists}]\n"
    )
    assert only(UpgradeAgent, on_gpus).gpus.answer == "yes"


def test_bottlerocket_update_operator() -> None:
    text = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: brupop-controller-deployment}
spec:
  template:
    spec:
      containers:
      - name: c
        image: public.ecr.aws/bottlerocket/bottlerocket-update-operator:v1.6.0
        env: [{name: MAX_CONCURRENT_UPDATE, value: "1"}, {name: SCHEDULER_CRON_EXPRESSION, value: "%s"}]
"""
    assert value(only(UpgradeAgent, text % "* * * * * * *").restraint) == "absent"
    assert value(only(UpgradeAgent, text % "0 30 * * * * *").restraint) == "absent"
    assert "0 0 3 * * Sun *" in str(value(only(UpgradeAgent, text % "0 0 3 * * Sun *").restraint))
    assert only(UpgradeAgent, 'scheduler_cron_expression: "* * * * * * *"\n').kind == "bottlerocket"


MCP = """
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: gpu}
spec:
  nodeSelector: {matchLabels: {node-role.kubernetes.io/gpu: ""}}
%s"""
VERSION = manifest("config.openshift.io/v1", "ClusterVersion", "channel: stable-4.16")


def test_openshift_pools() -> None:
    found = only(UpgradeAgent, MCP % "" + VERSION)
    assert (value(found.active), found.gpus.answer) == (True, "yes")
    assert value(only(UpgradeAgent, MCP % "  paused: true\n" + VERSION).active) is False
    assert value(only(UpgradeAgent, MCP % "").active) == "unknown"
    master = (MCP % "").replace("name: gpu", "name: master")
    assert only(UpgradeAgent, master).gpus.answer == "no"


def test_machine_configs_are_ignition() -> None:
    text = """
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: c, labels: {machineconfiguration.openshift.io/role: gpu}}
spec:
  config:
    systemd: {units: [{name: rpm-ostreed-automatic.timer, enabled: true}]}
"""
    found = only(NodeBootstrap, MCP % "" + text)
    assert (found.gpus.answer, kinds(found.actions)) == ("yes", ["unattended-on"])


# DaemonSets


def daemon_set(pod: str, name: str = "d", spec: str = "") -> str:
    return (
        f"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: {name}}}\n"
        f"spec: {{{spec}template: {{spec: {{{pod}}}}}}}\n"
    )


HOST = "hostPID: true, containers: [{name: c, image: 'alpine:3', securityContext: {privileged: true}, command: %s}]"


@pytest.mark.parametrize(
    ("command", "actions"),
    [
        ("[nsenter, -t, '1', -m, --, sh, -c, systemctl restart containerd]", ["runtime-restart"]),
        ("[nsenter, --target, '1', -a, --, bash, -c, 'systemctl daemon-reload && systemctl restart kubelet']",
         ["daemon-reload", "kubelet-restart"]),
        ("[sh, -c, 'chroot /host systemctl restart crio']", ["runtime-restart"]),
        ("[chroot, /host, modprobe, -r, nvidia]", ["driver-reload"]),
        ("[nsenter, -t, '1', -m, --, reboot]", ["reboot"]),
        ("[nsenter, -t, '1', -m, --, systemctl, is-active, kubelet]", []),
        ("[nsenter, -t, '1', -m, --, systemctl, restart, sshd]", []),
        ("[sh, -c, systemctl restart containerd]", []),
    ],
)  # fmt: skip
def test_commands_on_the_host(command: str, actions: list[str]) -> None:
    found = [action.kind for agent in views(HostAgent, daemon_set(HOST % command)) for action in agent.actions]
    assert found == actions


def test_host_commands_of_pods_and_jobs() -> None:
    pod = "{" + HOST % "[nsenter, -t, '1', -m, --, systemctl, restart, docker]" + "}"
    assert only(HostAgent, f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {pod}\n").subject.kind == "Pod"
    job = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a}}\nspec: {{template: {{spec: {pod}}}}}\n"
    assert only(HostAgent, job).subject.kind == "Job"


def test_hosts_that_are_upgraded_from_a_pod() -> None:
    command = "[sh, -c, 'while true; do chroot /host apt-get -y upgrade; sleep 86400; done']"
    found = only(NodeBootstrap, daemon_set("nodeSelector: {nvidia.com/gpu.present: 'true'}, " + HOST % command))
    assert (found.gpus.answer, kinds(found.actions)) == ("yes", ["upgrade-command"])


def test_nodes_of_a_daemon_set() -> None:
    command = "[nsenter, -t, '1', -m, --, reboot]"

    def answer(place: str) -> str:
        return only(HostAgent, daemon_set(place + HOST % command)).gpus.answer

    affinity = (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
        "[{matchExpressions: [{key: nvidia.com/gpu.present, operator: %s}]}]}}}, "
    )
    assert answer("") == "unknown"
    assert answer("nodeSelector: {nvidia.com/gpu.present: 'true'}, ") == "yes"
    assert answer("nodeSelector: {node.kubernetes.io/instance-type: m6i.large}, ") == "no"
    assert answer(affinity % "Exists") == "yes"
    assert answer(affinity % "DoesNotExist") == "no"


def test_cdi_is_taken_from_the_cluster_policy() -> None:
    policy = "---\napiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {cdi: {enabled: true}}\n"
    text = daemon_set(HOST % "[nsenter, -t, '1', -m, --, systemctl, daemon-reload]")
    found = only(HostAgent, text + policy).cdi
    assert found is not None
    assert value(found) is True


@pytest.mark.parametrize(
    ("image", "name", "role"),
    [
        ("docker.io/calico/node:v3.28.2", "calico-node", "cni"),
        ("quay.io/cilium/cilium@sha256:abc", "cilium", "cni"),
        ("nvcr.io/nvidia/k8s-device-plugin:latest", "x", "device-plugin"),
        ("registry.internal:5000/mirror/plugin:1", "nvidia-device-plugin-daemonset", "device-plugin"),
        ("nvcr.io/nvidia/driver:550.90.07-ubuntu22.04", "x", "gpu-driver"),
        ("ghcr.io/k8snetworkplumbingwg/multus-cni:v4", "x", "cni"),
        ("602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5", "x", "network-driver"),
        ("nginx:1.27", "web", ""),
    ],
)
def test_daemons_that_jobs_depend_on(image: str, name: str, role: str) -> None:
    found = views(NodeDaemon, daemon_set(f"containers: [{{name: c, image: '{image}'}}]", name))
    assert [view.role for view in found] == ([role] if role else [])


def test_defaults_of_daemon_sets() -> None:
    found = only(NodeDaemon, daemon_set("containers: [{name: c, image: nvcr.io/nvidia/k8s-device-plugin}]"))
    assert (value(found.strategy), value(found.max_unavailable)) == ("RollingUpdate", "1")
    assert (value(found.pull_policy), found.gpus.answer) == ("Always", "yes")
    rolling = "updateStrategy: {type: OnDelete, rollingUpdate: {maxUnavailable: 100%}}, "
    told = only(NodeDaemon, daemon_set("containers: [{name: c, image: 'calico/node:v3'}]", spec=rolling))
    assert (value(told.strategy), value(told.max_unavailable)) == ("OnDelete", "100%")
    assert value(told.pull_policy) == "IfNotPresent"
    filled = only(NodeDaemon, daemon_set("containers: [{name: c, image: FILLED BY OPERATOR}]", "nvidia-device-plugin"))
    assert value(filled.image) == "unknown"


# Drivers (three different defaults: k8s.md G5)


@pytest.mark.parametrize(
    ("text", "automatic", "managed"),
    [
        (manifest("nvidia.com/v1", "ClusterPolicy", "driver: {upgradePolicy: {}}"), False, True),
        (manifest("nvidia.com/v1", "ClusterPolicy", "driver: {enabled: false}"), False, False),
        (manifest("nvidia.com/v1alpha1", "NVIDIADriver", "driverType: gpu"), True, True),
        (manifest("mellanox.com/v1alpha1", "NicClusterPolicy", "ofedDriver: {version: a}"), False, True),
        ("driver: {version: '550'}\ntoolkit: {}\ndevicePlugin: {}\n", True, True),
        ("gpu-operator: {driver: {enabled: false}}\n", True, False),
    ],
)  # fmt: skip
def test_defaults_of_driver_upgrades(text: str, automatic: bool, managed: bool) -> None:
    found = only(DriverUpgrade, text)
    assert (value(found.automatic), value(found.managed)) == (automatic, managed)


def test_fields_of_driver_upgrades() -> None:
    policy = (
        "{autoUpgrade: true, waitForCompletion: {podSelector: '%s', timeoutSeconds: 30}, "
        "%s: {force: true}, drain: {enable: true, force: true}}"
    )
    text = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {driver: {upgradePolicy: %s}}\n"
    found = only(DriverUpgrade, text % (policy % ("app=train", "podDeletion")))
    assert (value(found.wait_selector), value(found.wait_seconds)) == ("app=train", 30.0)
    assert (value(found.deletes_by_force), value(found.drains), value(found.drains_by_force)) == (True, True, True)
    empty = only(DriverUpgrade, text % (policy % ("", "podDeletion")))
    assert value(empty.wait_selector) == "absent"
    helm = only(
        DriverUpgrade, "driver: {upgradePolicy: %s}\ntoolkit: {}\ngfd: {}\n" % (policy % ("", "gpuPodDeletion"))
    )
    assert value(helm.deletes_by_force) is True


def test_other_values_files_are_no_charts() -> None:
    assert all_views("driver: {enabled: true}\nname: x\n") == []
    assert all_views("configuration: {a: 1}\n") == []
    assert all_views("controller: {replicas: 1}\nservice: {}\n") == []
    assert all_views("slurm: {jobSubmit: {mpsPerNode: 100}}\npools: []\n") == []


# Webhooks


def webhook(body: str, kind: str = "MutatingWebhookConfiguration", version: str = "v1") -> Webhook:
    return only(
        Webhook,
        f"apiVersion: admissionregistration.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: w}}\n"
        f"webhooks: [{{name: a.b.c, {body}}}]\n",
    )


RULES = "rules: [{apiGroups: %s, apiVersions: ['*'], operations: %s, resources: %s}]"


@pytest.mark.parametrize(
    ("groups", "resources", "targets"),
    [
        ("['']", "[pods]", ["pods"]),
        ("[batch]", "[jobs]", ["jobs"]),
        ("['*']", "['*']", ["pods", "jobs"]),
        ("[kubeflow.org]", "[pytorchjobs]", ["pytorchjobs.kubeflow.org"]),
        ("[apps]", "[deployments]", []),
        ("['']", "[pods/status]", []),
    ],
)
def test_what_webhooks_cover(groups: str, resources: str, targets: list[str]) -> None:
    found = webhook(RULES % (groups, "[CREATE]", resources))
    assert set(targets) <= set(found.targets)
    assert bool(found.targets) is bool(targets)


def test_defaults_of_webhooks() -> None:
    found = webhook(RULES % ("['']", "[UPDATE]", "[pods]"))
    assert (value(found.failure_policy), value(found.timeout_seconds), found.on_create) == ("Fail", 10.0, False)
    assert (value(found.namespace_selector), value(found.object_selector)) == ("absent", "absent")
    old = webhook(RULES % ("['']", "['*']", "[pods]"), version="v1beta1")
    assert (value(old.failure_policy), value(old.timeout_seconds), old.on_create) == ("Ignore", 30.0, True)


@pytest.mark.parametrize(
    ("selector", "text", "system"),
    [
        ("{}", "absent", False),
        ("{matchLabels: {mesh: enabled}}", "mesh=enabled", False),
        ("{matchExpressions: [{key: name, operator: NotIn, values: [kube-system]}]}", "NotIn", True),
        ("{matchExpressions: [{key: name, operator: NotIn, values: [training]}]}", "NotIn", False),
        ("{matchExpressions: [{key: control-plane, operator: DoesNotExist}]}", "DoesNotExist", True),
    ],
)  # fmt: skip
def test_selectors_of_webhooks(selector: str, text: str, system: bool) -> None:
    found = webhook(f"namespaceSelector: {selector}")
    assert text in str(value(found.namespace_selector))
    assert found.excludes_system_only is system


def test_replicas_behind_a_webhook() -> None:
    hook = (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\n"
        "webhooks: [{name: a, clientConfig: {service: {name: hook, namespace: p}}}]\n"
    )
    service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: hook, namespace: p}\nspec: {selector: {app: h}}\n"
    deployment = (
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: controller, namespace: p}\n"
        "spec: {%stemplate: {metadata: {labels: {app: h}}, spec: {containers: []}}}\n"
    )
    assert value(only(Webhook, hook).replicas) == "unknown"
    assert value(only(Webhook, hook + service + deployment % "replicas: 3, ").replicas) == 3
    assert value(only(Webhook, hook + service + deployment % "").replicas) == 1


# Plain documents


def test_talos_installers() -> None:
    text = (
        "version: v1alpha1\nmachine: {type: worker, install: {image: 'ghcr.io/siderolabs/installer:%s'}, "
        "kernel: {modules: [{name: nvidia}]}}\n"
    )
    found = only(NodePool, text % "latest")
    assert (found.gpus.answer, value(found.images[0].floats)) == ("yes", True)
    assert value(only(NodePool, text % "v1.9.1").images[0].floats) is False


def test_cloud_config_files_and_secrets() -> None:
    found = only(NodeBootstrap, "#cloud-config\npackage_upgrade: true\n")
    assert (kinds(found.actions), found.gpus.answer) == (["package-upgrade"], "unknown")
    text = 'userdata: "#cloud-config\\npackage_upgrade: true\\n"'
    secret = manifest("v1", "Secret", text, key="stringData")
    assert kinds(only(NodeBootstrap, secret).actions) == ["package-upgrade"]
    value_of_key = "value: I2Nsb3VkLWNvbmZpZwpwYWNrYWdlX3VwZ3JhZGU6IHRydWUK"
    encoded = manifest("v1", "Secret", value_of_key, key="data")
    assert kinds(only(NodeBootstrap, encoded).actions) == ["package-upgrade"]


DAEMON = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d}
spec:
  template:
    spec:
      %s
      containers: [{name: c, command: [%s]}]
"""
ENTERED = "nsenter, -t1, -m, --, systemctl, restart, kubelet"


@pytest.mark.parametrize(
    ("pod", "command", "found"),
    [
        ("volumes: [{name: s, hostPath: {path: /run/systemd}}]", "systemctl, daemon-reload", ["daemon-reload"]),
        ("volumes: [{name: s, hostPath: {path: /data}}]", "systemctl, daemon-reload", []),
        ("hostPID: true", "systemctl, daemon-reload", []),
        ("hostPID: true", ENTERED, ["kubelet-restart"]),
    ],
)
def test_what_reaches_the_hosts_systemd(pod: str, command: str, found: list[str]) -> None:
    agents = views(HostAgent, DAEMON % (pod, command))
    assert [action.kind for agent in agents for action in agent.actions] == found


@pytest.mark.parametrize(
    ("toleration", "answer"), [("key: nvidia.com/gpu, operator: Exists", "yes"), ("operator: Exists", "unknown")]
)
def test_a_toleration_tells_where_a_daemon_runs(toleration: str, answer: str) -> None:
    pod = f"hostPID: true\n      tolerations: [{{{toleration}}}]"
    assert only(HostAgent, DAEMON % (pod, ENTERED)).gpus.answer == answer


def test_what_covers_every_node_covers_gpu_nodes_where_there_are_some() -> None:
    job = (
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: "
        "[{name: t, command: [python, train.py], resources: {limits: {nvidia.com/gpu: 8}}}]}}}\n"
    )
    daemon = DAEMON % ("hostPID: true", ENTERED)
    for text, answer in ((daemon, "unknown"), (daemon + job, "yes")):
        found = build(bundle_of(main=text), Profile()).views
        assert [view.gpus.answer for view in found if isinstance(view, HostAgent)] == [answer]
