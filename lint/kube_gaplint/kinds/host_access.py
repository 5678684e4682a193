"""How a pod gets at its host, by a glance: few pods do, and what reads the commands of those is large."""

from __future__ import annotations

from kube_gaplint.kinds.fields import Part

SYSTEMD_PATHS = frozenset(
    {"/run", "/var/run", "/run/systemd", "/run/systemd/private", "/run/dbus", "/var/run/dbus",
     "/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"}
)  # fmt: skip
"""Folders and sockets of the host through which `systemctl` in a container speaks with the host's systemd."""

_HOST_PATHS = frozenset({"/", "/proc", "/host", *SYSTEMD_PATHS})


def may_enter_host(spec: Part) -> bool:
    """Without the host's process space, file system or systemd, nothing runs on the host. `spec` is a pod's."""
    if spec.text("hostPID") == "true":
        return True
    paths = (volume.text("hostPath", "path") or "" for volume in spec.at("volumes").items())
    return any(path in _HOST_PATHS for path in paths)
