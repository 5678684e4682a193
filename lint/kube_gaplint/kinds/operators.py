"""Operators that upgrade kernel drivers: NVIDIA GPU Operator and Network Operator, AMD GPU Operator.

Three different defaults of `autoUpgrade`: the GPU Operator's Helm chart true, ClusterPolicy false, NVIDIADriver true;
NicClusterPolicy false. Source rows: k8s.md D "GPU Operator", "Network Operator", G5.
"""

from __future__ import annotations

from collections.abc import Iterable

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.nodes import DriverUpgrade
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.model.subject import Subject


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[DriverUpgrade]:
    """How the object upgrades drivers."""
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    if item.kind == "ClusterPolicy":
        driver = spec.at("driver")
        if driver.present or driver.unknown:
            yield driver_upgrade(context.subject, driver, automatic=False, whose="ClusterPolicy's default")
    elif item.kind == "NVIDIADriver":
        yield driver_upgrade(context.subject, spec, automatic=True, whose="NVIDIADriver's default", managed=True)
    elif item.kind == "NicClusterPolicy":
        driver = spec.at("ofedDriver")
        if driver.present:
            yield driver_upgrade(
                context.subject, driver, automatic=False, whose="NicClusterPolicy's default", managed=True, network=True
            )
    elif item.kind == "DeviceConfig":
        driver = spec.at("driver")
        if driver.at("upgradePolicy").present:
            yield driver_upgrade(
                context.subject, driver, automatic=False, whose="DeviceConfig's default", key="enable", switch="enable"
            )


def driver_upgrade(
    subject: Subject,
    driver: Part,
    *,
    automatic: bool,
    whose: str,
    managed: bool | None = None,
    network: bool = False,
    key: str = "autoUpgrade",
    switch: str = "enabled",
    deletion: str = "podDeletion",
) -> DriverUpgrade:
    """The upgrade policy of one driver. `automatic` is the default of `key`; `managed` is None where `switch` tells."""
    policy = driver.at("upgradePolicy")
    wait, pods, drain = policy.at("waitForCompletion"), policy.at(deletion), policy.at("drain")
    installs: Setting[bool] = driver.boolean(switch, default=True, note="the operator's default")
    if managed is not None:
        installs = Set(managed, driver.origin)
    selector = wait.string("podSelector")
    if isinstance(selector, Set) and not selector.value.strip():
        selector = Absent(wait.at("podSelector").origin)
    off = "the operator's default"
    return DriverUpgrade(
        subject=subject,
        origin=policy.at(key).origin if policy.present else driver.origin,
        driver="network driver" if network else "GPU driver",
        managed=installs,
        automatic=policy.boolean(key, default=automatic, note=whose),
        wait_selector=selector,
        wait_seconds=wait.number("timeoutSeconds", default=0.0, note=off),
        deletes_by_force=pods.boolean("force", default=False, note=off),
        drains=drain.boolean("enable", default=False, note=off),
        drains_by_force=drain.boolean("force", default=False, note=off),
        version=driver.string("version"),
    )
