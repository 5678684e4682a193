"""What upgrades an operating system unattended, and what keeps it from being upgraded: commands, files, units.

Sources: k8s.md D (rows CAPI, kOps, Flatcar, Ubuntu, Bottlerocket); the manual pages apt-get(8), apt.conf(5) and
`/usr/lib/apt/apt.systemd.daily` (APT::Periodic), unattended-upgrades' README, dnf-automatic(8), yum-cron(8),
update_engine's update.conf, cloud-init's module reference (package_update_upgrade_install).
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re

Effect: TypeAlias = Literal["upgrade", "install", "remove", "hold", "unhold"]


class Manager(Struct, frozen=True):
    """A package manager: the effect of its subcommands, and its options that take the next word."""

    commands: dict[str, Effect]
    valued: frozenset[str] = frozenset()
    harmless: frozenset[str] = frozenset()
    """Options that make it only look."""


_APT = Manager(
    {
        "upgrade": "upgrade",
        "dist-upgrade": "upgrade",
        "full-upgrade": "upgrade",
        "safe-upgrade": "upgrade",
        "install": "install",
        "remove": "remove",
        "purge": "remove",
        "autoremove": "remove",
        "hold": "hold",
        "unhold": "unhold",
    },
    frozenset({"-o", "--option", "-c", "--config-file", "-t", "--target-release", "--default-release", "-a"}),
    frozenset({"-s", "--simulate", "--just-print", "--dry-run", "--recon", "--no-act", "-d", "--download-only"}),
)
_DNF = Manager(
    {
        "upgrade": "upgrade",
        "update": "upgrade",
        "upgrade-minimal": "upgrade",
        "update-minimal": "upgrade",
        "distro-sync": "upgrade",
        "dist-upgrade": "upgrade",
        "install": "install",
        "remove": "remove",
        "erase": "remove",
        "versionlock": "hold",
    },
    frozenset({"-c", "--config", "-d", "-e", "-x", "--enablerepo", "--disablerepo", "--exclude", "--releasever"}),
    frozenset({"--downloadonly", "--assumeno"}),
)

MANAGERS: dict[str, Manager] = {
    "apt-get": _APT,
    "apt": _APT,
    "aptitude": _APT,
    "apt-mark": Manager({"hold": "hold", "unhold": "unhold"}),
    "dnf": _DNF,
    "dnf5": _DNF,
    "yum": _DNF,
    "microdnf": _DNF,
    "tdnf": _DNF,
    "zypper": Manager(
        {
            "update": "upgrade", "up": "upgrade", "patch": "upgrade", "dist-upgrade": "upgrade", "dup": "upgrade",
            "install": "install", "in": "install", "remove": "remove", "rm": "remove", "addlock": "hold", "al": "hold",
        },
        frozenset({"-R", "--root", "-c", "--config"}),
        frozenset({"-D", "--dry-run", "-d", "--download-only"}),
    ),
    "apk": Manager({"upgrade": "upgrade", "add": "install", "del": "remove"}, frozenset({"-X", "-p"}),
                   frozenset({"-s", "--simulate"})),
    "rpm-ostree": Manager({"upgrade": "upgrade", "update": "upgrade"}, frozenset(), frozenset({"--check"})),
    "bootc": Manager({"upgrade": "upgrade", "update": "upgrade"}, frozenset(), frozenset({"--check"})),
    "transactional-update": Manager({"up": "upgrade", "dup": "upgrade", "patch": "upgrade"}),
    "update_engine_client": Manager({"-update": "upgrade"}),
    "do-release-upgrade": Manager({}),
    "unattended-upgrade": Manager({}, frozenset(), frozenset({"--dry-run"})),
    "unattended-upgrades": Manager({}, frozenset(), frozenset({"--dry-run"})),
}  # fmt: skip

ALWAYS_UPGRADES = frozenset({"do-release-upgrade", "unattended-upgrade", "unattended-upgrades"})
"""Programs that upgrade without a subcommand."""

NODE_PACKAGES = lazy_re.compile(
    r"(linux-(image|headers|modules|generic|aws|azure|gcp|oracle|virtual)|kernel|nvidia-|libnvidia-|cuda-drivers|"
    r"nvidia|systemd|containerd|rdma-core|mlnx-|doca-|ofed)",
)
"""The beginnings of packages whose upgrade takes GPUs or the network away from running jobs."""

HARMLESS_NVIDIA = lazy_re.compile(r"(lib)?nvidia-container-(toolkit|runtime|tools)|nvidia-docker")
"""NVIDIA packages that are no driver."""

UPGRADERS = frozenset({"unattended-upgrades", "dnf-automatic", "dnf5-plugin-automatic", "yum-cron", "yum-cron-daily"})
"""Packages whose purpose it is to upgrade unattended."""

STARTS_BY_ITSELF = frozenset({"unattended-upgrades"})
"""Those that upgrade as soon as they are installed: dnf-automatic and yum-cron only download by default."""


class Unit(Struct, frozen=True):
    """A systemd unit that upgrades. `topic` brings units, files and packages of one mechanism together.

    `enough`: switching it on is enough to upgrade.
    """

    topic: str
    title: str
    enough: bool = True


UNITS: dict[str, Unit] = {
    "unattended-upgrades": Unit("apt", "unattended-upgrades"),
    "apt-daily-upgrade": Unit("apt", "apt-daily-upgrade"),
    "dnf-automatic": Unit("dnf", "dnf-automatic", enough=False),
    "dnf5-automatic": Unit("dnf", "dnf5-automatic", enough=False),
    "dnf-automatic-install": Unit("dnf", "dnf-automatic-install"),
    "yum-cron": Unit("dnf", "yum-cron", enough=False),
    "rpm-ostreed-automatic": Unit("ostree", "rpm-ostreed-automatic"),
    "bootc-fetch-apply-updates": Unit("ostree", "bootc-fetch-apply-updates"),
    "transactional-update": Unit("transactional", "transactional-update"),
    "update-engine": Unit("flatcar", "update-engine"),
    "locksmithd": Unit("flatcar", "locksmithd"),
    "zincati": Unit("fcos", "zincati"),
}

REBOOTING_AGENTS = frozenset({"flatcar", "fcos"})
"""Topics whose upgrades come with the operating system and reboot the node."""

SWITCH_OFF = frozenset({"disable", "mask"})
SWITCH_ON = frozenset({"enable", "unmask", "start", "restart", "reenable"})

FileKind: TypeAlias = Literal[
    "apt-conf", "dnf-automatic", "dnf-conf", "flatcar", "zincati", "cloud-config", "cron", "unit", "apt-preferences",
    "boot-script",
]  # fmt: skip

FILES: tuple[tuple[re.Pattern[str], FileKind], ...] = (
    (lazy_re.compile(r"/etc/apt/apt\.conf(\.d/.+)?"), "apt-conf"),
    (lazy_re.compile(r"/etc/apt/preferences(\.d/.+)?"), "apt-preferences"),
    (lazy_re.compile(r"/etc/(dnf/automatic\.conf|dnf/dnf5-plugins/automatic\.conf|yum/yum-cron(-hourly)?\.conf)"),
     "dnf-automatic"),
    (lazy_re.compile(r"/etc/(dnf/dnf\.conf|yum\.conf)"), "dnf-conf"),
    (lazy_re.compile(r"(/etc|/usr/share)/(flatcar|coreos)/update\.conf"), "flatcar"),
    (lazy_re.compile(r"/etc/zincati/config\.d/.+\.toml"), "zincati"),
    (lazy_re.compile(r"/etc/cloud/cloud\.cfg(\.d/.+\.cfg)?"), "cloud-config"),
    (lazy_re.compile(r"/etc/crontab|/etc/cron\.d/.+|/var/spool/cron/.+"), "cron"),
    (lazy_re.compile(r"/etc/cron\.(hourly|daily|weekly|monthly)/.+|/var/lib/cloud/scripts/per-\w+/.+"), "boot-script"),
    (lazy_re.compile(r"/(etc|usr/lib|lib)/systemd/system/[^/]+\.(service|timer)"), "unit"),
)  # fmt: skip


def file_kind(path: str) -> FileKind | None:
    """What a file on a node is to its upgrades, by its path; None where it is nothing to them."""
    if len(path) > 500:
        return None
    return next((kind for pattern, kind in FILES if pattern.fullmatch(path)), None)


HARMLESS_SOURCES = lazy_re.compile(
    r".*/(os-release|lsb-release|environment|profile|bash\.bashrc|\.?bashrc|\.bash_profile|\.profile|activate)"
)
"""Files that a boot script may source without any effect on upgrades."""

KNOWN_PROGRAMS = lazy_re.compile(r"/etc/eks/[\w./-]+|/usr/(local/)?s?bin/[\w.-]+|/s?bin/[\w.-]+|/opt/cni/bin/[\w.-]+")
"""Programs by path that belong to the image or the distribution and do not touch upgrades."""

CONFIGURATION_MANAGERS = frozenset(
    {"ansible-playbook", "ansible-pull", "ansible", "puppet", "chef-client", "chef-solo", "salt-call", "cinc-client"}
)
"""Programs behind which anything may stand."""

DOWNLOADERS = frozenset({"curl", "wget", "aws", "gsutil", "gcloud", "az"})
SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
