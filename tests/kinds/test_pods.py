"""Pods as their controllers make them (k8s.md C)."""

from __future__ import annotations

import pytest
from job_samples import ABSENT, UNKNOWN, main, plain, workload

from kube_gaplint.model.pod import (
    affinity,
    device_claims,
    hook,
    is_text,
    open_parts,
    ports,
    probe,
    pull_secrets,
    security,
    spread,
    tolerations,
)
from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Container, Pod

MAPS = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data:
  run.sh: |
    set -e
    torchrun --nproc-per-node=8 train.py
  config.yaml: "lr: 1"
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ckpt}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: fsx
  resources: {requests: {storage: 2Ti}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: single}
spec: {accessModes: [ReadWriteOnce]}
"""


def pod(spec: str = "", container: str = "", metadata: str = "{}") -> Pod:
    found = workload(
        f"""
apiVersion: v1
kind: Pod
metadata: {metadata}
spec:
  {spec}
  containers:
  - name: c
    image: ghcr.io/acme/m:1
    {container}
{MAPS}
"""
    )
    return found.roles[0].pod


def first(container: str, spec: str = "") -> Container:
    return pod(spec, container).containers[0]


@pytest.mark.parametrize(
    ("volume", "kind", "source", "durable", "shared"),
    [
        ("persistentVolumeClaim: {claimName: ckpt}", "claim", "ckpt", True, True),
        ("persistentVolumeClaim: {claimName: single}", "claim", "single", True, False),
        ("persistentVolumeClaim: {claimName: elsewhere}", "claim", "elsewhere", True, UNKNOWN),
        ("persistentVolumeClaim: {claimName: '${CLAIM}'}", "claim", UNKNOWN, True, UNKNOWN),
        ("emptyDir: {medium: Memory, sizeLimit: 64Gi}", "memory", "Memory", False, False),
        ("emptyDir: {}", "empty-dir", ABSENT, False, False),
        ("emptyDir: null", "empty-dir", ABSENT, False, False),
        ("emptyDir: {medium: '${M}'}", "unknown", UNKNOWN, False, False),
        ("hostPath: {path: /mnt/nvme}", "host-path", "/mnt/nvme", True, UNKNOWN),
        ("nfs: {server: nas, path: /x}", "nfs", "nas", True, True),
        ("csi: {driver: gcsfuse.csi.storage.gke.io}", "csi", "gcsfuse.csi.storage.gke.io", True, True),
        ("csi: {driver: secrets-store.csi.k8s.io}", "csi", "secrets-store.csi.k8s.io", False, False),
        ("csi: {driver: acme.example}", "csi", "acme.example", UNKNOWN, UNKNOWN),
        ("configMap: {name: scripts}", "config-map", "scripts", False, True),
        ("secret: {secretName: s}", "secret", "s", False, True),
        ("ephemeral: {volumeClaimTemplate: {spec: {storageClassName: gp3}}}", "ephemeral", "gp3", False, False),
        ("cephfs: {monitors: [a], path: /p}", "other", "/p", True, True),
        ("novelVolume: {x: 1}", "unknown", UNKNOWN, UNKNOWN, UNKNOWN),
    ],
)
def test_volumes(volume: str, kind: str, source: str, durable: bool | str, shared: bool | str) -> None:
    found = pod(f"volumes: [{{name: v, {volume}}}]").volume("v")
    assert found is not None
    assert (found.kind, plain(found.source), plain(found.durable), plain(found.shared)) == (
        kind,
        source,
        durable,
        shared,
    )


def test_a_volume_without_a_source_is_an_empty_dir() -> None:
    found = pod("volumes: [{name: v}]").volume("v")
    assert found is not None
    assert found.kind == "empty-dir"


def test_a_claim_tells_what_its_object_says() -> None:
    found = pod("volumes: [{name: v, persistentVolumeClaim: {claimName: ckpt}}]").volume("v")
    assert found is not None
    assert plain(found.access_modes) == ("ReadWriteMany",)
    assert (plain(found.storage_class), plain(found.capacity)) == ("fsx", "2Ti")


@pytest.mark.parametrize(
    ("volume", "mount", "command", "runs"),
    [
        ("configMap: {name: scripts}", "mountPath: /s", "[bash, /s/run.sh]", True),
        ("configMap: {name: scripts, defaultMode: 0755}", "mountPath: /s", "[/s/run.sh]", True),
        ("configMap: {name: scripts, items: [{key: run.sh, path: go}]}", "mountPath: /s", "[bash, /s/go]", True),
        ("configMap: {name: scripts, items: [{key: run.sh, path: go}]}", "mountPath: /s", "[bash, /s/run.sh]", False),
        ("configMap: {name: scripts}", "mountPath: /s/r.sh, subPath: run.sh", "[bash, /s/r.sh]", True),
        ("projected: {sources: [{configMap: {name: scripts}}]}", "mountPath: /s", "[bash, /s/run.sh]", True),
        ("configMap: {name: elsewhere}", "mountPath: /s", "[bash, /s/run.sh]", False),
        ("emptyDir: {}", "mountPath: /s", "[bash, /s/run.sh]", False),
    ],
)
def test_scripts_are_read_through_config_map_mounts(volume: str, mount: str, command: str, runs: bool) -> None:
    found = pod(
        f"volumes: [{{name: v, {volume}}}]", f"command: {command}\n    volumeMounts: [{{name: v, {mount}}}]"
    ).containers[0]
    assert ("torchrun" in [command.name for command in found.commands]) is runs
    assert bool(found.entrypoint_unknown) is not runs
    if runs:
        torchrun = next(command for command in found.commands if command.name == "torchrun")
        assert torchrun.place.text.startswith("torchrun")


@pytest.mark.parametrize(
    ("fields", "commands", "unknown"),
    [
        ("command: [torchrun, t.py]", ["torchrun"], False),
        ("args: [torchrun, t.py]", ["torchrun"], False),
        ("args: [python3.11, t.py]", ["python3.11"], False),
        ("args: [--epochs, '3']", [""], True),
        ("args: [unheard-of, x]", [""], True),
        ("command: []", [], True),
        ("", [], True),
        ("command: '${COMMAND}'", [], True),
        ("command: [/opt/wrapper.sh]", ["wrapper.sh"], True),
    ],
)
def test_what_starts(fields: str, commands: list[str], unknown: bool) -> None:
    found = first(fields)
    assert [command.name for command in found.commands] == commands
    assert bool(found.entrypoint_unknown) is unknown


@pytest.mark.parametrize(
    ("resources", "count", "vendor"),
    [
        ("{limits: {nvidia.com/gpu: 8}}", 8, "nvidia"),
        ("{limits: {nvidia.com/gpu: '8'}, requests: {nvidia.com/gpu: 8}}", 8, "nvidia"),
        ("{requests: {amd.com/gpu: 4}}", 4, "amd"),
        ("{limits: {nvidia.com/a100: 2}}", 2, "nvidia"),
        ("{limits: {google.com/tpu: 4, cpu: 2}}", 4, "tpu"),
        ("{limits: {nvidia.com/gpu: 0}}", ABSENT, None),
        ("{limits: {cpu: 2, vpc.amazonaws.com/efa: 4}}", ABSENT, None),
        ("{}", ABSENT, None),
        ("{limits: {nvidia.com/gpu: '${GPUS}'}}", UNKNOWN, "nvidia"),
        ("{limits: {'${GPU_RESOURCE}': 8, cpu: 2}}", UNKNOWN, ""),
        ("{limits: {'${OTHER}': 8, nvidia.com/gpu: 2}}", 2, "nvidia"),
        ("'${RESOURCES}'", UNKNOWN, ""),
        ("{limits: '${LIMITS}'}", UNKNOWN, ""),
    ],
)
def test_accelerators(resources: str, count: int | str, vendor: str | None) -> None:
    found = first(f"resources: {resources}")
    assert plain(found.accelerator_count) == count
    assert (found.accelerators[0].vendor if found.accelerators else None) == vendor


CLAIM = """
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]}}}
---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: {name: nics}
spec: {spec: {devices: {requests: [{name: n, deviceClassName: mrdma.google.com, allocationMode: All}]}}}
"""


@pytest.mark.parametrize(
    ("template", "count"), [("gpus", 4), ("nics", ABSENT), ("elsewhere", UNKNOWN)]
)  # k8s.md C: DRA claims
def test_device_claims(template: str, count: int | str) -> None:
    found = pod(
        f"resourceClaims: [{{name: a, resourceClaimTemplateName: {template}}}]",
        f"resources: {{claims: [{{name: a}}]}}\n{CLAIM}",
    )
    assert plain(found.containers[0].accelerator_count) == count
    assert [claim.name for claim in device_claims(found)] == ["a"]


def test_defaults_of_a_pod() -> None:
    found = pod()
    assert plain(found.restart_policy) == "Always"
    assert plain(found.grace_seconds) == 30.0
    fields = {
        key: plain(found.fields[key]) for key in ("hostNetwork", "dnsPolicy", "schedulerName", "runtimeClassName")
    }
    assert fields == {
        "hostNetwork": "false", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
        "runtimeClassName": ABSENT,
    }  # fmt: skip
    assert isinstance(found.grace_seconds, Set)
    assert found.grace_seconds.origin.via == "default"


@pytest.mark.parametrize(
    ("image", "policy"),
    [("m", "Always"), ("m:latest", "Always"), ("m:1", "IfNotPresent"), ("r:5000/m", "Always"),
     ("m@sha256:0", "IfNotPresent"), ("'${IMAGE}'", UNKNOWN)],
)  # fmt: skip
def test_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    container = main(workload(f"{{apiVersion: v1, kind: Pod, spec: {{containers: [{{name: c, image: {image}}}]}}}}"))
    assert plain(container.fields["imagePullPolicy"]) == policy


def test_tolerations_and_affinity() -> None:
    found = pod(
        """tolerations:
  - operator: Exists
  - {key: node.kubernetes.io/unreachable, effect: NoExecute, tolerationSeconds: 60}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]}]
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}
  topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]
  imagePullSecrets: [{name: reg}]
  nodeSelector: {gpu: h100}"""
    )
    every, unreachable = tolerations(found)
    assert (plain(every.key), plain(every.operator), plain(every.seconds)) == (ABSENT, "Exists", ABSENT)
    assert (plain(unreachable.operator), plain(unreachable.seconds)) == ("Equal", 60.0)
    terms = affinity(found)
    assert [(term.key, plain(term.values), term.required) for term in terms.nodes] == [
        ("karpenter.sh/capacity-type", ("spot",), True)
    ]
    assert [(term.topology_key, term.anti, term.required) for term in terms.pods] == [
        ("kubernetes.io/hostname", True, False)
    ]
    assert [one.topology_key for one in spread(found)] == ["zone"]
    assert pull_secrets(found) == ("reg",)
    assert plain(found.node_selector["gpu"]) == "h100"


def test_security_of_the_pod_holds_for_containers() -> None:
    found = pod(
        "securityContext: {runAsUser: 1000, runAsNonRoot: true}",
        "securityContext: {capabilities: {add: [IPC_LOCK, CAP_SYS_PTRACE]}}",
    ).containers[0]
    own = security(found)
    assert (plain(own.run_as_user), plain(own.run_as_non_root)) == (1000, True)
    assert own.has_capability("IPC_LOCK") is True
    assert own.has_capability("SYS_PTRACE") is True
    assert own.has_capability("NET_RAW") is False
    assert security(first("securityContext: {privileged: true}")).has_capability("IPC_LOCK") is True
    assert security(first("securityContext: '${CONTEXT}'")).has_capability("IPC_LOCK") is None


def test_probes_and_hooks_with_the_kubelets_defaults() -> None:
    found = first(
        """livenessProbe: {exec: {command: [pgrep, python]}}
    lifecycle: {preStop: {exec: {command: [sh, -c, "sleep 60 && echo ${DONE}"]}}, postStart: {sleep: {seconds: 5}}}
    ports: [{containerPort: 8080}]"""
    )
    liveness = probe(found, "liveness")
    assert liveness is not None
    assert (plain(liveness.period), plain(liveness.timeout), plain(liveness.failure_threshold)) == (10.0, 1.0, 3)
    assert probe(found, "readiness") is None
    stop = hook(found, "pre_stop")
    assert stop is not None
    assert plain(stop.command) == ("sh", "-c", "sleep 60 && echo ${DONE}")
    started = hook(found, "post_start")
    assert started is not None
    assert (started.action, plain(started.sleep)) == ("sleep", 5.0)
    assert [(plain(port.container), plain(port.host)) for port in ports(found)] == [(8080, ABSENT)]


def test_a_port_under_host_network_is_one_of_the_node() -> None:
    found = first("ports: [{containerPort: 29500}]", "hostNetwork: true")
    assert [plain(port.host) for port in ports(found)] == [29500]


def test_annotations_that_are_no_strings() -> None:
    found = pod(metadata="{annotations: {a: true, b: 'true'}}").annotations
    assert [is_text(found[key]) for key in ("a", "b")] == [False, True]


def test_a_templated_list_is_open() -> None:
    found = pod("volumes: '${VOLUMES}'")
    assert "volumes" in open_parts(found)
    assert "tolerations" not in open_parts(found)


def test_sidecars_are_init_containers_that_stay() -> None:
    found = pod("initContainers: [{name: a, image: i}, {name: b, image: i, restartPolicy: Always}]")
    assert [(one.name, one.init, one.sidecar) for one in found.init_containers] == [
        ("a", True, False),
        ("b", True, True),
    ]
