"""Commands that containers run on their host: through `nsenter` into process 1, `chroot` into the host's root, or the
host's systemd."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kube_gaplint import lazy_re
from kube_gaplint.kinds import cloudinit
from kube_gaplint.kinds.cloudinit import Setup, short
from kube_gaplint.kinds.host_access import SYSTEMD_PATHS
from kube_gaplint.model.command import Command
from kube_gaplint.model.nodes import HostAction
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import Container, Pod

ENTERING = frozenset({"nsenter", "chroot"})

_RESTARTS = frozenset({"restart", "try-restart", "reload-or-restart", "stop"})
_RUNTIMES = frozenset({"containerd", "docker", "crio", "cri-o", "cri-docker"})
_KUBELETS = frozenset({"kubelet", "k3s", "k3s-agent", "rke2-agent", "rke2-server", "microk8s"})
_DRIVER_MODULES = lazy_re.compile(r"nvidia(_uvm|_drm|_modeset|_peermem)?|amdgpu|mlx5_core|ib_core")


def host_commands(pod: Pod) -> list[tuple[Container, Command]]:
    """The commands of a pod that run on its host, or that tell the host's systemd what to do."""
    mounted = {volume.source.value for volume in pod.volumes if isinstance(volume.source, Set)}
    systemd = not mounted.isdisjoint(SYSTEMD_PATHS)
    return [
        (container, command)
        for container in (*pod.init_containers, *pod.containers)
        for command in container.commands
        if ENTERING & set(command.wrappers) or (systemd and command.name == "systemctl")
    ]


def actions(commands: Iterable[tuple[Container, Command]]) -> tuple[HostAction, ...]:
    """What of them takes devices or pods away from running containers."""
    found = []
    for _, command in commands:
        words = [word.known or "" for word in command.words]
        action = _action(words, Origin(command.words[0].place if command.words else command.place))
        if action is not None:
            found.append(action)
    return tuple(found)


def _action(words: list[str], origin: Origin) -> HostAction | None:
    name = words[0].rpartition("/")[2] if words else ""
    operands = [word for word in words[1:] if not word.startswith("-")]
    what = short(words)
    if name == "systemctl" and operands:
        units = {re.sub(r"\.service$", "", unit) for unit in operands[1:]}
        if operands[0] == "daemon-reload" or operands[0] == "daemon-reexec":
            return HostAction("daemon-reload", what, origin)
        if operands[0] in _RESTARTS and units & _RUNTIMES:
            return HostAction("runtime-restart", what, origin)
        if operands[0] in _RESTARTS and units & _KUBELETS:
            return HostAction("kubelet-restart", what, origin)
        if operands[0] in ("reboot", "kexec"):
            return HostAction("reboot", what, origin)
    elif name in ("service", "rc-service") and len(operands) > 1 and operands[1] in _RESTARTS:
        if operands[0] in _RUNTIMES:
            return HostAction("runtime-restart", what, origin)
        if operands[0] in _KUBELETS:
            return HostAction("kubelet-restart", what, origin)
    elif name in ("rmmod", "modprobe") and any(_DRIVER_MODULES.fullmatch(word) for word in operands):
        if name == "rmmod" or "-r" in words:
            return HostAction("driver-reload", what, origin)
    elif name == "reboot" or (name == "shutdown" and "-r" in words):
        return HostAction("reboot", what, origin)
    return None


def upgrades(commands: Iterable[tuple[Container, Command]]) -> Setup:
    """What of them upgrades the host's operating system, or keeps it from being upgraded."""
    setup = Setup()
    previous: Command | None = None
    for _, command in commands:
        cloudinit.one_command(setup, command, previous, recurring=True)
        previous = command
    return setup


_CLEARING = frozenset({"drain", "cordon", "get", "wait", "delete"})


def drains(commands: Iterable[Command]) -> bool:
    """Whether a script drains its node, or cordons it and looks after the pods that still run on it."""
    told = {
        word.known
        for command in commands
        if command.name in ("kubectl", "oc")
        for word in command.words[1:4]
        if word.known in _CLEARING
    }
    return "drain" in told or ("cordon" in told and len(told) > 1)
