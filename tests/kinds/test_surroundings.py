"""Evidence about the cluster around a workload."""

from __future__ import annotations

import pytest
from job_samples import ABSENT, UNKNOWN, gpu_pod, plain, profile, workload

from kube_gaplint.model.surroundings import Surroundings

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: team}
spec:
  parallelism: 2
  template:
    metadata: {labels: {app: train}}
    spec:
      restartPolicy: Never
      priorityClassName: low
      %s
      containers: [{name: c, image: i, command: [torchrun, train.py], resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def around(*others: str, spec: str = "", **fields: object) -> Surroundings:
    text = "\n---\n".join((JOB % spec, *others))
    return workload(text, profile(**fields)).surroundings


POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\nspec: {}"
CA = (
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: ca}\nspec: {template: {spec: {containers: "
    "[{name: c, image: 'registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0'}]}}}"
)


CPU_POOL = (
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: cpu}\nspec: {template: {spec: {requirements: "
    "[{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]}]}}}"
)
AWS_POOL = (
    "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\nspec: {template: {spec: {nodeClassRef: "
    "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}}}}"
)
GCP_CLASS = "apiVersion: cloud.google.com/v1\nkind: ComputeClass\nmetadata: {name: gpu}\nspec: {}"
CLASS = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: gpu}\nspec: {}"
AKS = (
    "apiVersion: containerservice.azure.com/v1api20240901\nkind: ManagedClustersAgentPool\nmetadata: {name: a}\n"
    "spec: {enableAutoScaling: %s}"
)
SCALED = "nodeGroups: [{name: g, instanceType: p5.48xlarge, iam: {withAddonPolicies: {autoScaler: true}}}]"
P5 = "nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}"
H100 = "nodeConfig: {machineType: a3-highgpu-8g}"
L4 = "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}"
CHOSEN = "nodeSelector: {cloud.google.com/gke-nodepool: h100}"


def gke_pool(spec: str) -> str:
    return (
        "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerNodePool\nmetadata: {name: h100}\n"
        f"spec: {{location: us-central1-a, {spec}}}"
    )


def eksctl(more: str) -> str:
    return f"apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{name: c, region: us-east-1}}\n{more}"


@pytest.mark.parametrize(
    ("others", "spec", "fields", "expected"),
    [
        ((), "", {}, {}),
        ((POOL,), "", {}, {"karpenter": "NodePool gpu"}),
        ((CA,), "", {}, {"cluster-autoscaler": "DaemonSet ca"}),
        (
            (),
            "nodeSelector: {karpenter.sh/capacity-type: spot}",
            {},
            {"karpenter": "node label karpenter.sh/capacity-type"},
        ),
        (
            (),
            "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100}",
            {},
            {"cluster-autoscaler": "node label cloud.google.com/gke-accelerator"},
        ),
        ((), "nodeSelector: {gpu: h100}", {}, {}),
        ((), "", {"autoscaler": "karpenter"}, {"karpenter": "the profile's autoscaler karpenter"}),
        ((POOL,), "", {"autoscaler": "none"}, {}),
        ((CPU_POOL,), "", {}, {}),
        ((CPU_POOL, CLASS), "", {}, {}),
        ((AWS_POOL,), "nodeSelector: {oci.oraclecloud.com/fault-domain: FD-1}", {}, {}),
        (
            (AWS_POOL,),
            P5,
            {},
            {"karpenter": "NodePool gpu"},
        ),
        ((GCP_CLASS,), "", {}, {"cluster-autoscaler": "ComputeClass gpu"}),
        ((GCP_CLASS,), P5, {}, {}),
        ((CLASS,), "", {}, {"karpenter": "EC2NodeClass gpu"}),
        (
            (POOL,),
            "nodeSelector: {cloud.google.com/gke-spot: 'true'}",
            {},
            {"cluster-autoscaler": "node label cloud.google.com/gke-spot"},
        ),
        (
            (),
            "tolerations: [{key: karpenter.sh/disrupted, operator: Exists}]",
            {},
            {"karpenter": "taint karpenter.sh/disrupted"},
        ),
        ((gke_pool("autoscaling: {maxNodeCount: 4}"),), CHOSEN, {}, {"cluster-autoscaler": "ContainerNodePool h100"}),
        ((), CHOSEN, {}, {}),
        ((gke_pool("nodeCount: 4"),), CHOSEN, {}, {}),
        ((gke_pool("autoscaling: {minNodeCount: 4, maxNodeCount: 4}"),), CHOSEN, {}, {}),
        ((gke_pool(f"nodeCount: 4, {H100}"),), L4, {}, {}),
        ((gke_pool(f"nodeCount: 4, {H100}"), CA), "", {}, {}),
        (
            (gke_pool("nodeCount: 4, nodeConfig: {machineType: e2-standard-8}"), CA),
            "",
            {},
            {"cluster-autoscaler": "DaemonSet ca"},
        ),
        (
            (gke_pool("nodeCount: 4"),),
            CHOSEN,
            {"autoscaler": "cluster-autoscaler"},
            {"cluster-autoscaler": "the profile's autoscaler cluster-autoscaler"},
        ),
        ((eksctl("karpenter: {version: 1.3.3}"),), "", {}, {"karpenter": "ClusterConfig c"}),
        ((eksctl("autoModeConfig: {enabled: true}"),), "", {}, {"karpenter": "ClusterConfig c"}),
        ((eksctl("nodeGroups: [{name: g, minSize: 1, maxSize: 9}]"),), "", {}, {}),
        ((eksctl(SCALED),), "", {}, {"cluster-autoscaler": "ClusterConfig c"}),
        ((eksctl(""), eksctl(SCALED)), "", {}, {}),
        ((eksctl(SCALED),), "nodeSelector: {node.kubernetes.io/instance-type: ml.p5.48xlarge}", {}, {}),
        (
            (eksctl(SCALED),),
            P5,
            {},
            {"cluster-autoscaler": "ClusterConfig c"},
        ),
        ((eksctl(SCALED),), "nodeSelector: {oci.oraclecloud.com/fault-domain: FD-1}", {}, {}),
        ((eksctl(SCALED.replace("p5.48xlarge", "m7i.large")),), "", {}, {}),
        ((AKS % "true",), "", {}, {"cluster-autoscaler": "ManagedClustersAgentPool a"}),
        ((AKS % "false",), "", {}, {}),
    ],
)
def test_autoscalers(others: tuple[str, ...], spec: str, fields: dict[str, object], expected: dict[str, str]) -> None:
    found = around(*others, spec=spec, **fields)
    assert {name: evidence.what for name, evidence in found.autoscalers.items()} == expected


def budget(selector: str, namespace: str = "team") -> str:
    return (
        f"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: b, namespace: {namespace}}}\n"
        f"spec: {{maxUnavailable: 0, selector: {{matchLabels: {{{selector}}}}}}}"
    )


@pytest.mark.parametrize(
    ("selector", "namespace", "found"),
    [
        ("app: train", "team", True),
        ("app: train", "other", False),
        ("app: serve", "team", False),
        ("app: train, tier: x", "team", False),
        ("job-name: j", "team", True),
        ("batch.kubernetes.io/job-name: j", "team", True),
    ],
)
def test_disruption_budgets_by_selector(selector: str, namespace: str, found: bool) -> None:
    budgets = around(budget(selector, namespace)).budgets
    assert bool(budgets) is found
    if found:
        assert plain(budgets[0].max_unavailable) == "0"
        assert plain(budgets[0].min_available) == ABSENT


def test_priority_class() -> None:
    own = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: low}\nvalue: -10"
    found = around(own).priority_of("")
    assert found is not None
    assert (plain(found.name), plain(found.value), plain(found.preemption_policy)) == (
        "low",
        -10,
        "PreemptLowerPriority",
    )
    unseen = around().priority_of("")
    assert unseen is not None
    assert plain(unseen.value) == UNKNOWN


def test_headless_service() -> None:
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: team}\n"
        "spec: {clusterIP: None, selector: {app: train}, ports: [{port: 29500}]}"
    )
    (found,) = around(service).services
    assert (plain(found.headless), plain(found.publishes_unready), found.ports) == (True, False, (29500,))


def test_mesh_by_namespace() -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {istio-injection: %s}}"
    mesh = around(namespace % "enabled").mesh
    assert mesh is not None
    assert mesh.what == "namespace label istio-injection: enabled"
    assert around(namespace % "disabled").mesh is None
    assert around().mesh is None


def test_limit_range() -> None:
    limits = (
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: team}\n"
        "spec: {limits: [{type: Container, default: {memory: 16Gi}}]}"
    )
    found = around(limits).default_limit("memory")
    assert found is not None
    assert plain(found) == "16Gi"
    assert around(limits).default_limit("cpu") is None
    assert around(limits.replace("team", "other")).default_limit("memory") is None


def test_node_health_by_image_or_profile() -> None:
    watcher = CA.replace("autoscaling/cluster-autoscaler", "node-problem-detector/node-problem-detector")
    found = around(watcher).node_health
    assert found is not None
    assert found.what == "DaemonSet ca"
    assert around(node_health=True).node_health is not None
    pool = "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerNodePool\nmetadata: {name: gpus}\n"
    repaired = around(pool + "spec: {management: {autoRepair: true}}\n").node_health
    assert repaired is not None
    assert repaired.what == "ContainerNodePool gpus"
    assert around(pool + "spec: {management: {autoRepair: false}}\n").node_health is None
    assert around().node_health is None


def test_pods_of_other_kinds_carry_their_controllers_labels() -> None:
    text = (
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j, namespace: team}\n"
        f"spec: {{pytorchReplicaSpecs: {{Worker: {{template: {gpu_pod()}}}}}}}\n---\n"
        + budget("training.kubeflow.org/job-name: j, training.kubeflow.org/replica-type: worker")
    )
    assert [one.roles for one in workload(text).surroundings.budgets] == [("Worker",)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("istio.io/rev: stable", "namespace label istio.io/rev: stable"),
        ("app.kubernetes.io/part-of: kubeflow-profile", "a Kubeflow profile's namespace"),
        ("app.kubernetes.io/part-of: kubeflow-profile, istio-injection: disabled", None),
        ("app.kubernetes.io/part-of: kubeflow-profile, istio.io/dataplane-mode: ambient", None),
        ("istio.io/rev: stable, istio.io/dataplane-mode: ambient", None),
    ],
)
def test_a_mesh_without_sidecars_is_none(labels: str, expected: str | None) -> None:
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: team, labels: {{{labels}}}}}"
    mesh = around(namespace).mesh
    assert (mesh.what if mesh is not None else None) == expected


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("[Service]\\nLimitMEMLOCK=infinity", True),
        ("* soft memlock unlimited", True),
        ("[Service]\\nLimitMEMLOCK=8M", False),
        ("[Service]\\nLimitNOFILE=infinity", False),
    ],
)
def test_locked_memory_of_nodes(text: str, raised: bool) -> None:
    nodes = (
        "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {name: gpu}\n"
        f'spec: {{template: {{spec: {{files: [{{path: /etc/x.conf, content: "{text}"}}]}}}}}}'
    )
    assert (around(nodes).memlock is not None) is raised
    assert (around(memlock_unlimited=True).memlock is not None) is True


SLICES = """config:
  map:
    any: |-
      sharing:
        timeSlicing:
          renameByDefault: RENAMED
          resources:
          - name: nvidia.com/gpu
            replicas: COUNT
"""


@pytest.mark.parametrize(
    ("renamed", "count", "shared"),
    [("false", "10", True), ("false", "2", True), ("false", "1", False), ("true", "10", False)],
)
def test_cards_that_the_device_plugin_shares(renamed: str, count: str, shared: bool) -> None:
    values = SLICES.replace("RENAMED", renamed).replace("COUNT", count)
    config = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: plugin}}\n{values.replace('config:', 'data:', 1)}"
    assert (around(values).shared_devices is not None) is shared
    assert (around(config.replace("  map:\n", "").replace("    any", "  any")).shared_devices is not None) is shared
    assert around().shared_devices is None


def test_an_annotation_shows_an_autoscaler_beside_others() -> None:
    note = 'metadata: {labels: {app: train}, annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}'
    text = (JOB % "").replace("metadata: {labels: {app: train}}", note)
    found = workload(f"{text}\n---\n{POOL}").surroundings.autoscalers
    assert sorted(found) == ["cluster-autoscaler", "karpenter"]
