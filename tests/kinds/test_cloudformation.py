"""Node groups of CloudFormation templates, and what intrinsic functions leave unknown (k8s.md D, "EKS node groups")."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_samples import all_views, only, value, views

from kube_gaplint import discover as walk
from kube_gaplint.kinds.cloudformation import adapt
from kube_gaplint.kinds.cloudformation_values import Template
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.nodes import NodeBootstrap, NodePool
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Mapping
from kube_gaplint.text.source import Source

PARAMETERS = """\
Parameters:
  Cluster: {Type: String}
  Release: {Type: String, Default: 1.31.2-20241115}
  Size: {Type: Number, Default: 8}
  Types: {Type: CommaDelimitedList, Default: "p4d.24xlarge, p5.48xlarge"}
  Image:
    Type: AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>
    Default: /aws/service/canonical/ubuntu/eks/22.04/1.31/stable/current/amd64/hvm/ebs-gp2/ami-id
Conditions:
  Pinned: !Not [!Equals [!Ref Release, ""]]
  Loose: {"Fn::Equals": [{Ref: Release}, ""]}
  Open: !Equals [!Ref Cluster, a]
  Both: !And [!Condition Pinned, {Condition: Loose}]
  Either: !Or [!Condition Open, !Condition Pinned]
  Loop: !Not [!Condition Loop]
"""


def resource(kind: str, properties: str, name: str = "Nodes") -> str:
    return f"  {name}:\n    Type: {kind}\n    Properties: {properties}\n"


def nodegroup(properties: str) -> str:
    return f"{PARAMETERS}Resources:\n" + resource("AWS::EKS::Nodegroup", properties)


def group(launch: str, properties: str = "LaunchTemplate: {LaunchTemplateId: !Ref Launch, Version: '1'}") -> str:
    data = resource("AWS::EC2::LaunchTemplate", f"{{LaunchTemplateData: {launch}}}", "Launch")
    return f"{PARAMETERS}Resources:\n{data}" + resource("AWS::AutoScaling::AutoScalingGroup", f"{{{properties}}}")


def answer(text: str) -> object:
    """What a value of a template is, as plain data."""
    (document,) = compose(Source("a.yaml", f"{PARAMETERS}Value: {text}\n")).documents
    root = document.root
    assert isinstance(root, Mapping)
    node = root.get("Value")
    filled = None if node is None else Template(root).filled(node, rename=True)
    if filled is None:
        return None
    part = Part.of(filled)
    entries = {name: value(below.string()) for name, below in part.entries()}
    return entries or [value(item.string()) for item in part.items()] or value(part.string())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("!Ref Release", "1.31.2-20241115"),
        ("{Ref: Release}", "1.31.2-20241115"),
        ("!Ref Size", "8"),
        ("!Ref Cluster", "unknown"),
        ("!Ref AWS::Region", "unknown"),
        ("!Ref AWS::NoValue", None),
        ("!Ref Types", ["p4d.24xlarge", "p5.48xlarge"]),
        ("!Sub 'eks-${Release}'", "eks-1.31.2-20241115"),
        ("!Sub 'eks-${Cluster}'", "unknown"),
        ("{'Fn::Sub': 'eks-${Release}'}", "eks-1.31.2-20241115"),
        ("!Sub ['eks-${Release}', {Release: !Ref Cluster}]", "unknown"),
        ("!Base64 text", "text"),
        ("{'Fn::Base64': {'Fn::Sub': 'eks-${Release}'}}", "eks-1.31.2-20241115"),
        ("!If [A, b, c]", "unknown"),
        ("{'Fn::If': [A, b, c]}", "unknown"),
        ("!If [Pinned, b, c]", "b"),
        ("!If [Loose, b, !Ref AWS::NoValue]", None),
        ("!If [Both, b, c]", "c"),
        ("!If [Either, b, c]", "b"),
        ("!If [Open, b, c]", "unknown"),
        ("!If [Loop, b, c]", "unknown"),
        ("{'Fn::If': [Pinned, {AmiType: b}, c]}", {"amiType": "b"}),
        ("!FindInMap [A, b, c]", "unknown"),
        ("!Transform {Name: x}", "unknown"),
        ("!GetAtt Role.Arn", "unknown"),
        ("{AmiType: a, Gone: !Ref AWS::NoValue}", {"amiType": "a"}),
        ("{Labels: {Team: a}}", {"labels": "unknown"}),
        ("[a, !Ref AWS::NoValue, !Ref Release]", ["a", "1.31.2-20241115"]),
    ],
)
def test_functions(text: str, expected: object) -> None:
    assert answer(text) == expected


def test_values_that_hold_one_another_many_times_are_answered_once() -> None:
    lines = ["a0: &a0 {A: !Ref Release}"] + [f"a{n}: &a{n} {{A: *a{n - 1}, B: *a{n - 1}}}" for n in range(1, 11)]
    (document,) = compose(Source("a.yaml", f"{PARAMETERS}" + "\n".join(lines) + "\n")).documents
    root = document.root
    assert isinstance(root, Mapping)
    template = Template(root)
    last = root.get("a10")
    assert last is not None
    template.filled(last, rename=True)
    assert len(template._filled) < 100


@pytest.mark.parametrize(
    ("properties", "gpus", "image", "floats"),
    [
        ("{InstanceTypes: [p5.48xlarge]}", "yes", "the newest release at creation", True),
        ("{InstanceTypes: !Ref Types, ReleaseVersion: !Ref Release}", "yes", "1.31.2-20241115", False),
        ("{AmiType: AL2023_x86_64_NVIDIA, ReleaseVersion: !If [A, b, c]}", "yes", "unknown", "unknown"),
        (
            "{InstanceTypes: [m5.large], ReleaseVersion: !Ref AWS::NoValue}",
            "no",
            "the newest release at creation",
            True,
        ),
        ("{InstanceTypes: !If [A, b, c]}", "unknown", "the newest release at creation", True),
        ("{Labels: {nvidia.com/gpu.present: 'true'}}", "yes", "the newest release at creation", True),
        ("{Taints: [{Key: nvidia.com/gpu, Effect: NO_SCHEDULE}]}", "yes", "the newest release at creation", True),
    ],
)
def test_managed_node_groups(properties: str, gpus: str, image: str, floats: object) -> None:
    pool = only(NodePool, nodegroup(properties))
    assert (pool.gpus.answer, pool.controller, pool.name) == (gpus, "eks", "Nodes")
    assert [(value(one.value), value(one.floats)) for one in pool.images] == [(image, floats)]


def test_an_image_of_a_template_that_is_not_seen_is_unknown() -> None:
    assert only(NodePool, nodegroup("{AmiType: CUSTOM}")).images == ()
    assert only(NodePool, nodegroup("{LaunchTemplate: {Id: lt-0123}}")).images == ()


@pytest.mark.parametrize("reference", ["{Id: !Ref Launch}", "{Name: gpus}", "{Id: {Ref: Launch}}"])
def test_a_launch_template_gives_machine_and_image(reference: str) -> None:
    data = "{InstanceType: p5.48xlarge, ImageId: ami-1}"
    launch = resource("AWS::EC2::LaunchTemplate", f"{{LaunchTemplateName: gpus, LaunchTemplateData: {data}}}", "Launch")
    pool = only(NodePool, nodegroup(f"{{AmiType: CUSTOM, LaunchTemplate: {reference}}}") + launch)
    assert pool.gpus.answer == "yes"
    assert [(value(one.value), value(one.floats)) for one in pool.images] == [("ami-1", False)]


@pytest.mark.parametrize(
    ("image", "shown", "floats", "system"),
    [
        ("ami-1", "ami-1", False, "unknown"),
        ("!Ref Image", "/aws/service/canonical/ubuntu/eks/22.04/1.31/stable/current/amd64/hvm/ebs-gp2/ami-id", True,
         "ubuntu"),
        ("'{{resolve:ssm:/gpu/image}}'", "/gpu/image", True, "unknown"),
        ("'{{resolve:ssm:/gpu/image:7}}'", "/gpu/image", False, "unknown"),
        ("!Ref Cluster", "unknown", "unknown", "unknown"),
    ],
)  # fmt: skip
def test_images_of_launch_templates(image: str, shown: str, floats: object, system: str) -> None:
    pool = only(NodePool, group(f"{{InstanceType: p4d.24xlarge, ImageId: {image}}}"))
    assert [(value(one.value), value(one.floats)) for one in pool.images] == [(shown, floats)]
    assert (value(pool.os), pool.controller) == (system, "asg")


MIXED = (
    "MixedInstancesPolicy: {LaunchTemplate: {LaunchTemplateSpecification: {LaunchTemplateId: !Ref Launch}, "
    "Overrides: [{InstanceType: p5.48xlarge}, {InstanceType: p4d.24xlarge}]}}"
)
TEMPLATE = "LaunchTemplate: {LaunchTemplateId: !Ref Launch}"
CLUSTER = "Tags: [{Key: kubernetes.io/cluster/a, Value: owned}]"


@pytest.mark.parametrize(
    ("launch", "properties", "gpus"),
    [
        ("{InstanceType: p4d.24xlarge}", TEMPLATE, "yes"),
        ("{ImageId: ami-1}", MIXED, "yes"),
        ("{ImageId: ami-1}", f"{TEMPLATE}, {CLUSTER}", "unknown"),
        ("{InstanceType: m5.large}", f"{TEMPLATE}, {CLUSTER}", "no"),
        ("{ImageId: ami-1}",
         f"{TEMPLATE}, Tags: [{{Key: k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu, Value: '8'}}]",
         "yes"),
        ("{InstanceType: m5.large}", TEMPLATE, None),
        ("{InstanceType: p4d.24xlarge}", "LaunchTemplate: {LaunchTemplateId: lt-1}", None),
    ],
)  # fmt: skip
def test_auto_scaling_groups(launch: str, properties: str, gpus: str | None) -> None:
    pools = views(NodePool, group(launch, properties))
    assert [pool.gpus.answer for pool in pools] == ([] if gpus is None else [gpus])


def test_user_data_is_read_where_it_stands() -> None:
    script = (
        "{InstanceType: p4d.24xlarge, UserData: {'Fn::Base64': !Sub \"#!/bin/bash\\ndnf upgrade -y\\n"
        '/etc/eks/bootstrap.sh ${Cluster}\\n"}}'
    )
    bootstrap = only(NodeBootstrap, group(script))
    assert [(action.kind, action.what) for action in bootstrap.actions] == [("upgrade-command", "dnf upgrade -y")]
    assert bootstrap.gpus.answer == "yes"
    (action,) = bootstrap.actions
    assert action.origin.place.text == "dnf upgrade -y"


@pytest.mark.parametrize("data", ["!Ref Cluster", "{'Fn::Base64': {'Fn::Join': ['', [a, b]]}}", "!ImportValue x"])
def test_user_data_that_a_function_makes_is_not_seen(data: str) -> None:
    bootstrap = only(NodeBootstrap, group(f"{{InstanceType: p4d.24xlarge, UserData: {data}}}"))
    assert bootstrap.opaque_because


def test_other_documents_are_no_templates() -> None:
    assert all_views("Resources: {A: {Type: Custom}}\n") == []
    assert all_views("Resources: [a]\n") == []
    assert all_views(f"{PARAMETERS}Resources: {{A: {{Type: AWS::EKS::Nodegroup}}}}\n") != []


@pytest.mark.parametrize("name", ["a.yaml", "a.json", "a.template", "a.template.json", "a.cfn"])
def test_templates_are_found_by_their_content(tmp_path: Path, name: str) -> None:
    text = json.dumps({"Resources": {"A": {"Type": "AWS::EKS::Nodegroup"}}})
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / f"other-{name}").write_text('{"Resources": {"A": {"Type": "AWS::S3::Bucket"}}}', encoding="utf-8")
    found = walk.discover([str(tmp_path)])
    assert [candidate.file.shown for candidate in found.candidates] == [str(tmp_path / name)]


WORDS = st.sampled_from(
    ["Ref", "Fn::If", "Fn::Sub", "Fn::Base64", "Fn::GetAtt", "Fn::Not", "Fn::Or", "Condition", "Fn::Equals", "A", "B",
     "AWS::NoValue", "Type", "Properties", "LaunchTemplate", "LaunchTemplateData", "UserData", "ImageId", "Tags", "Key",
     "Default", "Id", "InstanceTypes", "Labels", "Taints", "${A}", ""]
)  # fmt: skip
ANYTHING = st.recursive(
    WORDS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
RESOURCE = st.builds(
    lambda kind, properties: {"Type": kind, "Properties": properties},
    st.sampled_from(
        ["AWS::EKS::Nodegroup", "AWS::AutoScaling::AutoScalingGroup", "AWS::EC2::LaunchTemplate",
         "AWS::AutoScaling::LaunchConfiguration"]
    ),
    ANYTHING,
)  # fmt: skip
NAMES = st.sampled_from(["A", "B", "C"])


@given(st.dictionaries(NAMES, ANYTHING), st.dictionaries(NAMES, ANYTHING), st.dictionaries(NAMES, RESOURCE))
def test_any_template_is_read(parameters: object, conditions: object, resources: object) -> None:
    text = json.dumps({"Parameters": parameters, "Conditions": conditions, "Resources": resources})
    (document,) = compose(Source("a.json", text)).documents
    assert isinstance(document.root, Mapping)
    list(adapt(document.root))


def test_long_chains_of_conditions_end() -> None:
    chain = "".join(f"  C{n}: !Not [!Condition C{n + 1}]\n" for n in range(2000))
    lines = chain + "  D: !Or [!Condition D, !Condition D]\n"
    (document,) = compose(Source("a.yaml", f"Conditions:\n{lines}A: !If [C0, a, b]\nB: !If [D, a, b]\n")).documents
    root = document.root
    assert isinstance(root, Mapping)
    template = Template(root)
    for name in ("A", "B"):
        node = root.get(name)
        assert node is not None
        filled = template.filled(node, rename=False)
        assert filled is not None
        assert value(Part.of(filled).string()) == "unknown"
