"""Karpenter's pools and node classes (k8s.md D, rows "Karpenter AMI", "Karpenter node life", "EKS Auto Mode")."""

from __future__ import annotations

import pytest
from node_samples import kinds, line, only, value, views

from kube_gaplint.model.nodes import NodeBootstrap, NodePool

CLASS = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  amiSelectorTerms:
  - %s
"""
POOL = """
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p5}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [p5]}]
"""


def pool(requirements: str = "", **parts: str) -> NodePool:
    labels, taints, limits = parts.get("labels", "{}"), parts.get("taints", "[]"), parts.get("limits", "{}")
    return only(
        NodePool,
        f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: a}}
spec:
  limits: {limits}
  template:
    metadata: {{labels: {labels}}}
    spec:
      taints: {taints}
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: none}}
      requirements: [{requirements}]
""",
    )


@pytest.mark.parametrize(
    ("term", "form", "floats"),
    [
        ("alias: al2023@latest", "alias", True),
        ("alias: al2023@v20260915", "alias", False),
        ("alias: 'al2023@${VERSION}'", "alias", "unknown"),
        ("id: ami-0123456789abcdef0", "id", False),
        ("tags: {approved: '1'}", "tags", False),
        ("name: 'amazon-eks-gpu-node-1.31-*'", "name", True),
        ("{name: 'mine-*', tags: {approved: '1'}}", "name", False),
        ("name: amazon-eks-gpu-node-1.31-v20260915", "name", False),
        ("ssmParameter: /aws/service/eks/optimized-ami/1.31/al2023/recommended/image_id", "ssm", True),
        ("ssmParameter: /aws/service/bottlerocket/aws-k8s-1.31/x86_64/1.24.0/image_id", "ssm", False),
        ("ssmParameter: /acme/gpu-ami", "ssm", "unknown"),
    ],
)
def test_images(term: str, form: str, floats: bool | str) -> None:
    found = only(NodePool, CLASS % term + POOL)
    assert [(image.form, value(image.floats)) for image in found.images] == [(form, floats)]
    assert found.images[0].origin.place.start.line == 7
    assert found.images[0].origin.chain[0].note == "EC2NodeClass gpu"
    assert found.replaces_drifted


def test_older_versions_without_terms_take_the_newest_image() -> None:
    text = CLASS.replace("aws/v1", "aws/v1beta1").replace("amiSelectorTerms:\n  - %s", "amiFamily: AL2")
    assert [(image.form, value(image.floats)) for image in only(NodePool, text + POOL).images] == [("family", True)]


def test_pools_that_share_a_class_report_its_image_once() -> None:
    found = views(NodePool, CLASS % "alias: al2023@latest" + POOL + POOL.replace("name: p5", "name: p5b"))
    assert [image.repeated for one in found for image in one.images] == [False, True]


def test_a_class_of_another_name_gives_no_images() -> None:
    assert only(NodePool, CLASS % "alias: al2023@latest" + POOL.replace("name: gpu", "name: other")).images == ()


@pytest.mark.parametrize(
    ("requirement", "answer"),
    [
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}", "yes"),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large]}", "no"),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large, p5.48xlarge]}", "unknown"),
        ("{key: node.kubernetes.io/instance-type, operator: In, values: [new9.large]}", "unknown"),
        ("{key: karpenter.k8s.aws/instance-category, operator: In, values: [g, p]}", "yes"),
        ("{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}", "no"),
        ("{key: karpenter.k8s.aws/instance-category, operator: NotIn, values: [g, p]}", "no"),
        ("{key: karpenter.k8s.aws/instance-category, operator: NotIn, values: [t]}", "unknown"),
        ("{key: karpenter.k8s.aws/instance-gpu-name, operator: In, values: [h100]}", "yes"),
        ("{key: karpenter.k8s.aws/instance-gpu-count, operator: DoesNotExist}", "no"),
        ("{key: karpenter.k8s.aws/instance-gpu-count, operator: Gt, values: ['0']}", "yes"),
        ("{key: karpenter.k8s.aws/instance-accelerator-count, operator: DoesNotExist}", "unknown"),
        ("{key: karpenter.k8s.aws/instance-family, operator: In, values: ['{{ family }}']}", "unknown"),
        ("{key: kubernetes.io/arch, operator: In, values: [amd64]}", "unknown"),
    ],
)
def test_which_pools_carry_gpus(requirement: str, answer: str) -> None:
    assert pool(requirement).gpus.answer == answer


def test_labels_taints_and_limits_tell_as_well() -> None:
    assert pool(labels="{nvidia.com/gpu: 'true'}").gpus.answer == "yes"
    assert pool(taints="[{key: nvidia.com/gpu, effect: NoSchedule}]").gpus.answer == "yes"
    assert pool(limits="{nvidia.com/gpu: 64}").gpus.answer == "yes"
    assert pool(limits="{nvidia.com/gpu: 0}").gpus.answer == "no"


@pytest.mark.parametrize(
    ("requirement", "only_spot"),
    [
        ("{key: karpenter.sh/capacity-type, operator: In, values: [spot]}", True),
        ("{key: karpenter.sh/capacity-type, operator: In, values: [on-demand, spot]}", False),
        ("{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}", None),
        ("{key: karpenter.sh/capacity-type, operator: NotIn, values: [spot]}", None),
        ("{key: team, operator: In, values: [spot]}", None),
    ],
)
def test_spot_nodes(requirement: str, only_spot: bool | None) -> None:
    spot = pool(requirement).spot
    assert (None if spot is None else spot.only) is only_spot


def test_taints_that_are_wholly_known() -> None:
    taints = "[{key: nvidia.com/gpu, value: 'true', effect: NoSchedule}, {key: team, effect: NoExecute}, {key: x}]"
    found = pool(taints=taints).taints
    assert [(one.key, one.value, one.effect) for one in found] == [
        ("nvidia.com/gpu", "true", "NoSchedule"),
        ("team", "", "NoExecute"),
    ]
    assert pool(taints="[{key: team, value: '${TEAM}', effect: NoSchedule}]").taints == ()


@pytest.mark.parametrize(
    ("disruption", "leaves"),
    [
        ("consolidationPolicy: WhenEmptyOrUnderutilized", False),
        ("consolidationPolicy: WhenEmpty", False),
        ("consolidationPolicy: WhenEmpty, budgets: [{nodes: '0', reasons: [Drifted]}]", True),
        ("budgets: [{nodes: '0'}]", True),
        ("budgets: [{nodes: '0', schedule: '0 9 * * 1-5', duration: 8h}]", False),
        ("budgets: [{nodes: '10%'}]", False),
    ],
)
def test_pools_that_leave_running_pods_alone(disruption: str, leaves: bool) -> None:
    text = f"{POOL}  disruption: {{{disruption}}}\n"
    assert only(NodePool, text).leaves_running_pods is leaves


def test_what_excludes_wins() -> None:
    requirement = "{key: karpenter.k8s.aws/instance-gpu-count, operator: DoesNotExist}"
    assert pool(requirement, labels="{nvidia.com/gpu: 'true'}").gpus.answer == "no"


def test_defaults_of_v1() -> None:
    found = pool()
    assert value(found.fields["expireAfter"]) == "720h"
    assert value(found.fields["consolidationPolicy"]) == "WhenEmptyOrUnderutilized"
    assert value(found.fields["consolidateAfter"]) == "0s"
    assert [value(budget.nodes) for budget in found.budgets] == ["10%"]
    assert found.forbids("Underutilized") is False
    assert line(found.fields["consolidationPolicy"]) == 5


def test_v1beta1_keeps_the_lifetime_under_disruption() -> None:
    found = only(
        NodePool,
        """
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: a}
spec:
  disruption: {expireAfter: 24h}
  template: {spec: {expireAfter: 1h, nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, name: x}}}
""",
    )
    assert value(found.fields["expireAfter"]) == "24h"
    assert value(found.fields["consolidationPolicy"]) == "WhenUnderutilized"


def test_auto_mode_replaces_nodes_sooner() -> None:
    found = only(
        NodePool,
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
        "spec: {template: {spec: {nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}}}}\n",
    )
    assert (found.controller, value(found.fields["expireAfter"])) == ("eks-auto", "336h")


def test_provisioners_neither_expire_nor_consolidate_by_default() -> None:
    text = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {%s}\n"
    quiet = only(NodePool, text % "providerRef: {name: x}")
    assert value(quiet.fields["expireAfter"]) == "Never"
    assert value(quiet.fields["consolidationPolicy"]) == "WhenEmpty"
    busy = only(NodePool, text % "ttlSecondsUntilExpired: 600, consolidation: {enabled: true}")
    assert value(busy.fields["expireAfter"]) == "600s"
    assert value(busy.fields["consolidationPolicy"]) == "WhenUnderutilized"


@pytest.mark.parametrize(
    ("budgets", "reason", "forbids"),
    [
        ("[{nodes: '0'}]", "Underutilized", True),
        ("[{nodes: 0%}]", "Drifted", True),
        ("[{nodes: '0', reasons: [Drifted]}]", "Underutilized", False),
        ("[{nodes: '0', reasons: [Drifted, Underutilized]}]", "Underutilized", True),
        ("[{nodes: '0', schedule: '0 9 * * *', duration: 8h}]", "Underutilized", False),
        ("[{nodes: '{{ n }}'}]", "Underutilized", None),
        ("[{nodes: 10%}, {nodes: '0', reasons: [Underutilized]}]", "Underutilized", True),
    ],
)
def test_budgets(budgets: str, reason: str, forbids: bool | None) -> None:
    found = only(NodePool, POOL.replace("  template:", f"  disruption: {{budgets: {budgets}}}\n  template:"))
    assert found.forbids(reason) is forbids


def test_user_data_of_the_class() -> None:
    found = only(
        NodeBootstrap,
        CLASS % "name: ubuntu-eks/jammy-22.04"
        + "  amiFamily: Custom\n  userData: |\n    #!/bin/bash\n    apt-get dist-upgrade -y\n"
        + POOL,
    )
    assert value(found.os) == "ubuntu"
    assert found.gpus.answer == "yes"
    assert kinds(found.actions) == ["upgrade-command"]
    assert found.actions[0].origin.place.start.line == 11


def test_a_class_without_pools_is_unknown() -> None:
    assert only(NodeBootstrap, CLASS % "alias: al2023@latest").gpus.answer == "unknown"


def test_pools_learn_which_workloads_may_land_on_them() -> None:
    job = """
---
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  template:
    spec:
      nodeSelector: %s
      containers: [{name: t, image: a, resources: {limits: {nvidia.com/gpu: 8}}}]
"""
    from node_samples import bundle_of

    from kube_gaplint.kinds import build
    from kube_gaplint.model.profile import Profile

    text = POOL + job % ("here", "{karpenter.sh/nodepool: p5}") + job % ("there", "{karpenter.sh/nodepool: x}")
    model = build(bundle_of(main=text + job % ("any", "{}")), Profile())
    found = next(view for view in model.views if isinstance(view, NodePool))
    assert [tenant.subject.name for tenant in found.may_carry()] == ["here", "any"]
