"""GKE's ComputeClass as a pool of nodes."""

from __future__ import annotations

import pytest
from node_samples import manifest, only, value, views

from kube_gaplint.model.nodes import NodePool, UpgradeAgent

GPU = "{machineType: a3-highgpu-8g, gpu: {type: nvidia-h100-80gb, count: 8}}"


def text(spec: str) -> str:
    return manifest("cloud.google.com/v1", "ComputeClass", spec)


@pytest.mark.parametrize(
    ("priorities", "answer"),
    [
        (f"[{GPU}]", "yes"),
        (f"[{GPU}, {{machineFamily: n2}}]", "yes"),
        ("[{machineType: a2-ultragpu-4g}]", "yes"),
        ("[{machineFamily: n2}, {machineFamily: c3}]", "no"),
        ("[{machineFamily: zz9}]", "unknown"),
        ("[]", "unknown"),
    ],
)
def test_whether_it_has_gpus(priorities: str, answer: str) -> None:
    assert only(NodePool, text(f"priorities: {priorities}")).gpus.answer == answer


def test_migration_is_off_by_default() -> None:
    key = "activeMigration.optimizeRulePriority"
    assert value(only(NodePool, text(f"priorities: [{GPU}]")).fields[key]) == "false"
    spec = f"activeMigration: {{optimizeRulePriority: true}}, priorities: [{GPU}]"
    assert value(only(NodePool, text(spec)).fields[key]) == "true"


@pytest.mark.parametrize(("version", "floats"), [("latest", True), ("default", False)])
def test_drivers(version: str, floats: bool) -> None:
    (image,) = only(NodePool, text(f"priorities: [{{gpu: {{driverVersion: {version}}}}}]")).images
    assert value(image.floats) is floats


def test_upgrades_only_where_the_class_speaks_of_them() -> None:
    assert views(UpgradeAgent, text(f"priorities: [{GPU}]")) == []
    agent = only(UpgradeAgent, text(f"nodePoolConfig: {{autoUpgrade: true}}, priorities: [{GPU}]"))
    assert value(agent.active) is True
    assert value(agent.restraint) == "unknown"


@pytest.mark.parametrize(
    ("spots", "only_spot"),
    [
        ("[{spot: true}]", True),
        ("[{spot: false}, {spot: true}]", False),
        ("[{}, {spot: '{{ x }}'}]", None),
        ("[]", None),
    ],
)
def test_spot_nodes(spots: str, only_spot: bool | None) -> None:
    spot = only(NodePool, text(f"priorities: {spots}")).spot
    assert (None if spot is None else spot.only) is only_spot
