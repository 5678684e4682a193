"""The nodes under the jobs: pools, images, bootstrap scripts, and what upgrades them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from kube_gaplint.model.setting import Origin, Setting
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.training import Release

Answer: TypeAlias = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class CarriesGpus:
    """Whether nodes of a pool carry GPUs, and by what this is known (instance types, labels, taints, accelerators)."""

    answer: Answer
    reason: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class NodeImage:
    """One term that chooses a machine image.

    `form`: alias, id, name, ssm, tags, family, release … `floats`: whether the image behind it changes without an
    edit of the manifest (`Unknown` for templated versions).
    """

    form: str
    value: Setting[str]
    floats: Setting[bool]
    origin: Origin


@dataclass(slots=True, eq=False)
class NodePool:
    """A group of like nodes: Karpenter NodePool with its node class, eksctl node group, GKE node pool …"""

    subject: Subject
    origin: Origin
    gpus: CarriesGpus
    images: tuple[NodeImage, ...]
    os: Setting[str]
    """ubuntu, debian, amazon-linux, bottlerocket, flatcar, talos, cos, rhel …"""
    fields: Mapping[str, Setting[str]] = field(default_factory=dict)
    """`expireAfter`, `consolidationPolicy` … with the controller's defaults applied."""
    exposed: Mapping[str, object] = field(default_factory=dict)
    replaces_drifted: bool = False
    """The controller replaces nodes whose image is no longer the current one (Karpenter drift)."""

    @property
    def object_origin(self) -> Origin:
        return self.origin


UpgradeKind: TypeAlias = Literal[
    "package-upgrade",  # cloud-init package_upgrade: true
    "unattended-on",  # unattended-upgrades / dnf-automatic switched on
    "unattended-off",  # switched off, masked, removed
    "held",  # apt-mark hold, blacklist, versionlock
    "upgrade-command",  # apt/dnf/yum upgrade in a script
    "os-update-agent",  # an operating system that updates and reboots by itself
    "default-automatic",  # an installer's default that switches unattended upgrades on
]


@dataclass(frozen=True, slots=True)
class UpgradeAction:
    """Something in a node's configuration that upgrades it, or keeps it from being upgraded."""

    kind: UpgradeKind
    what: str
    """The line or setting, short, for the message."""
    origin: Origin
    explicit: bool = True
    """False where a default does it."""
    recurring: bool = False
    """It runs again and again on a living node, not only at its first boot."""


@dataclass(slots=True, eq=False)
class NodeBootstrap:
    """How a node's operating system is set up: cloud-init, kubeadm commands, MachineConfig, kOps, host DaemonSets."""

    subject: Subject
    origin: Origin
    gpus: CarriesGpus
    os: Setting[str]
    actions: tuple[UpgradeAction, ...]
    opaque_because: str = ""
    """Not empty where part of the set-up is not seen: then a missing switch-off is unknown."""
    release: Release = ()

    @property
    def object_origin(self) -> Origin:
        return self.origin
