from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.nodes import DriverUpgrade
from kube_gaplint.model.scale import duration
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.rule import Context, rule

LONG_WAIT = 3600.0
"""Seconds of waiting for jobs from which on a person has time to step in."""


@rule(
    code="NODE006",
    name="driver-auto-upgrade",
    view=DriverUpgrade,
    severity=Severity.WARNING,
    evidence=("gpu-operator-upgrade",),
    sources=("gpu-operator-driver-upgrades",),
)
def check(upgrade: DriverUpgrade, _context: Context) -> Iterator[Gap]:
    """An operator upgrades the kernel driver of GPU nodes by itself and deletes the pods that are in its way.

    ## What it flags
    `autoUpgrade` in force in a ClusterPolicy, NVIDIADriver or NicClusterPolicy, or in Helm values of the GPU Operator
    or the Network Operator, that waits for no job (`waitForCompletion.podSelector`), or for less than an hour. The
    defaults differ: the GPU Operator's chart and NVIDIADriver upgrade by themselves, the other two do not. Where values
    leave it out, and another values file, a script, Terraform or a README around them speaks of `upgradePolicy`,
    gaplint is silent. `force` for deleting or draining is named where it is set.

    ## Why it hurts
    A kernel module cannot be unloaded while a process uses it, so the operator removes the pods first. Users report
    evictions that nobody ordered, driver pods in a crash loop while jobs run, and containers that go on with stale
    libraries. The trigger is small: a new chart or driver version in a commit.

    ## Bad
    ```yaml
    apiVersion: nvidia.com/v1
    kind: ClusterPolicy
    metadata: {name: cluster-policy}
    spec:
      driver:
        enabled: true
        version: "570.124.06"
        upgradePolicy:
          autoUpgrade: true
          drain: {enable: true, force: true}
    ```

    ## Good
    ```yaml
    apiVersion: nvidia.com/v1
    kind: ClusterPolicy
    metadata: {name: cluster-policy}
    spec:
      driver:
        enabled: true
        version: "570.124.06"
        upgradePolicy:
          autoUpgrade: true
          waitForCompletion: {podSelector: "workload=training", timeoutSeconds: 0}
    ```

    ## When to keep it
    The cluster runs short jobs only, or upgrades reach it when no job runs.

    ## Fix safety
    Unsafe: with `autoUpgrade: false` nodes keep their driver until a person upgrades them.

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-driver-upgrades.html
    - https://github.com/NVIDIA/gpu-operator/issues/901
    """
    automatic = upgrade.automatic
    if not isinstance(automatic, Set) or not automatic.value or isinstance(upgrade.wait_selector, Unknown):
        return
    if isinstance(upgrade.managed, Set) and not upgrade.managed.value:
        return
    waits = _waits(upgrade)
    if waits == "":
        return
    forced = _forced(upgrade)
    default = "" if automatic.origin.written else f", {automatic.origin.note or 'the default'},"
    yield Gap(
        upgrade.origin,
        f"the {upgrade.driver} is upgraded automatically{default} and {waits}{forced}",
        "a new version deletes the pods on one node after the other: a job over many nodes ends with the first",
        detail="driver",
        severity=Severity.WARNING if isinstance(upgrade.managed, Set) else Severity.INFO,
        related=_related(upgrade),
        fix=_fix(automatic),
    )


def _waits(upgrade: DriverUpgrade) -> str:
    """How little it waits, in words; empty where it waits long enough."""
    if isinstance(upgrade.wait_selector, Absent):
        return "waits for no job (waitForCompletion has no podSelector)"
    seconds = upgrade.wait_seconds
    if isinstance(seconds, Set) and 0 < seconds.value < LONG_WAIT:
        return f"waits for jobs no longer than {duration(seconds.value)}"
    return ""


def _forced(upgrade: DriverUpgrade) -> str:
    words = []
    if isinstance(upgrade.deletes_by_force, Set) and upgrade.deletes_by_force.value:
        words.append("deletes pods by force")
    if isinstance(upgrade.drains, Set) and upgrade.drains.value:
        by_force = isinstance(upgrade.drains_by_force, Set) and upgrade.drains_by_force.value
        words.append("drains the node by force" if by_force else "drains the node")
    return f", {' and '.join(words)}" if words else ""


def _related(upgrade: DriverUpgrade) -> tuple[Related, ...]:
    version = upgrade.version
    return (Related(version.origin, "a new version here starts it"),) if isinstance(version, Set) else ()


def _fix(automatic: Set[bool]) -> Fix:
    title = "set autoUpgrade: false, or a waitForCompletion.podSelector that matches the training pods"
    return Fix(title, (ReplaceValue(automatic.origin, "false"),)) if automatic.origin.written else Fix(title)
