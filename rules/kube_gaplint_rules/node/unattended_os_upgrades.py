from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Change, Fix, Gap, Related, ReplaceValue, Severity
from kube_gaplint.model.nodes import NodeBootstrap, UpgradeAction
from kube_gaplint.model.setting import Set
from kube_gaplint.rule import Context, rule

UPGRADES_BY_DEFAULT = frozenset({"ubuntu", "debian"})


@rule(
    code="NODE003",
    name="unattended-os-upgrades",
    view=NodeBootstrap,
    severity=Severity.ERROR,
    evidence=("IL-0198", "openai-2025-06-os-update", "unattended-nvidia"),
    sources=("cloud-init", "ubuntu-unattended-upgrades", "kops"),
)
def check(bootstrap: NodeBootstrap, _context: Context) -> Iterator[Gap]:
    """The operating system of GPU nodes upgrades itself while jobs run on it.

    ## What it flags
    Upgrades that are switched on: cloud-init `package_upgrade`, unattended-upgrades or dnf-automatic, `apt upgrade` in
    bootstrap commands (error); an update agent that reboots, an installer's default or a DaemonSet that upgrades its
    host (warning). A cloud-config whose file is named after a machine that runs no jobs (`bastion`, `maintenance`) is
    left alone. Info where an Ubuntu or Debian GPU image is used and nothing switches its upgrades off, or where
    only some packages are held back.

    ## Why it hurts
    In March 2023 an unattended systemd patch removed the network rules of tens of thousands of Datadog's nodes on
    three clouds within an hour. In June 2025 a routine host update took GPU nodes of OpenAI off the network. An
    upgraded NVIDIA library no longer matches the loaded kernel module, and new jobs on the node fail.

    ## Bad
    ```yaml
    apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
    kind: KubeadmConfigTemplate
    metadata: {name: gpu}
    spec:
      template:
        spec:
          joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {node-labels: nvidia.com/gpu.present=true}}}
          files:
          - path: /etc/apt/apt.conf.d/20auto-upgrades
            content: |
              APT::Periodic::Unattended-Upgrade "1";
    ```

    ## Good
    ```yaml
    apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
    kind: KubeadmConfigTemplate
    metadata: {name: gpu}
    spec:
      template:
        spec:
          joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {node-labels: nvidia.com/gpu.present=true}}}
          files:
          - path: /etc/apt/apt.conf.d/20auto-upgrades
            content: |
              APT::Periodic::Unattended-Upgrade "0";
    ```

    ## When to keep it
    Pools that are drained before each upgrade, or that never run training.

    ## Fix safety
    Unsafe: cloud-init's `package_upgrade: true` becomes false, and kOps' `updatePolicy: automatic` external. Nothing
    installs security updates then: roll new images in a window of your own. Commands in scripts are left to you.

    ## References
    - https://www.datadoghq.com/blog/engineering/2023-03-08-deep-dive-into-platform-level-impact/
    - https://cloudinit.readthedocs.io/en/latest/reference/modules.html#package-update-upgrade-install
    """
    if bootstrap.gpus.answer == "no":
        return
    off = [action for action in bootstrap.actions if action.kind == "unattended-off"]
    held = [action for action in bootstrap.actions if action.kind == "held"]
    upgrades = [
        action for action in bootstrap.actions
        if action.kind not in {"unattended-off", "held"} and not (off and action.kind == "default-automatic")
    ]  # fmt: skip
    for action in upgrades:
        yield _gap(bootstrap, action, held)
    if not upgrades and not off and bootstrap.gpus.answer == "yes" and not bootstrap.opaque_because:
        system = bootstrap.os
        if isinstance(system, Set) and system.value in UPGRADES_BY_DEFAULT:
            yield Gap(
                bootstrap.origin,
                f"nothing switches the unattended upgrades of the {system.value.title()} image off",
                "the stock image installs security updates every day, at an hour that it chooses",
                detail="not-switched-off",
                severity=Severity.INFO,
                related=(Related(system.origin, "the image"),),
                fix=Fix('write APT::Periodic::Unattended-Upgrade "0"; into /etc/apt/apt.conf.d/20auto-upgrades'),
            )


OFF = {"package_upgrade: true": "package_upgrade: false", "automatic": "external"}
"""What switches cloud-init's and kOps' upgrades off, by what stands there."""
_ROLLS_NODES = frozenset({"DaemonSet", "Plan"})
"""Kinds that upgrade nodes that run already, one after the other: a person applied them, and can hold them back."""


_AT_BOOT = frozenset({"upgrade-command", "package-upgrade"})
"""What upgrades once, before the node takes pods, unless it recurs."""


def _gap(bootstrap: NodeBootstrap, action: UpgradeAction, held: list[UpgradeAction]) -> Gap:
    soft = not action.explicit or action.kind == "os-update-agent" or bootstrap.subject.kind in _ROLLS_NODES
    severity = Severity.WARNING if soft else Severity.ERROR
    if bootstrap.gpus.answer == "unknown":
        severity = Severity.INFO if soft else Severity.WARNING
    related = tuple(Related(hold.origin, f"held back: {hold.what}") for hold in held)
    if (held and action.kind in {"unattended-on", "default-automatic"}) or action.kind == "unpinned-install":
        severity = Severity.INFO
    if bootstrap.gpus.origin is not None:
        related = (*related, Related(bootstrap.gpus.origin, bootstrap.gpus.reason))
    certain = "GPU nodes" if bootstrap.gpus.answer == "yes" else "nodes that may carry GPUs"
    message = f"{certain} are upgraded unattended: {action.what}"
    consequence = "a library, kernel or network service that changes under a run takes its node, and so the job, down"
    if action.kind in _AT_BOOT and not (action.recurring or bootstrap.subject.kind in _ROLLS_NODES):
        message = f"{certain} upgrade their packages when they first boot: {action.what}"
        consequence = (
            "a node that joins later runs another kernel or library than the others of its job, and an update that "
            "breaks the driver leaves no node to replace one with"
        )
    return Gap(
        action.origin,
        message,
        consequence,
        detail=f"{action.kind}:{action.what}",
        severity=severity,
        related=related,
        fix=Fix("switch unattended upgrades off, and roll tested images in a window of your own", _off(action)),
    )


def _off(action: UpgradeAction) -> tuple[Change, ...]:
    instead = OFF.get(" ".join(action.origin.place.text.split()))
    return () if instead is None else (ReplaceValue(action.origin, instead, raw=True),)
