"""Names of network interfaces: what pods have, and what only hosts have.

Sources: NCCL src/misc/socket.cc (NCCL_SOCKET_IFNAME: a list of prefixes, `=` for exact names, `^` for exclusion; the
loopback interface is left out by the default list alone), Gloo (one exact name), systemd.net-naming-scheme(7) (enp3s0,
ens5, eno1), the kernel's bonding and InfiniBand drivers (bond0, ib0), Multus (net1 …) and Kubernetes' CNI (eth0).
"""

from __future__ import annotations

import re

from msgspec import Struct

from kube_gaplint import lazy_re

LOOPBACK = "lo"
POD_INTERFACES = ("eth0", "net1", "lo")

_HOST = lazy_re.compile(
    r"""(?:
        en[opsxP][\w.]* | en
      | bond[\d.]+ | bond | team\d+
      | ib\d+ | ib[ps]\d[\w.]* | ib
      | mlx\w+ | hsn\d* | rdma\d+
      | em\d+ | p\d+p\d+ | br\d+ | br-\w+ | vlan[\d.]+
      | wl\w+ | docker\d*
    )""",
    re.VERBOSE,
)

SECONDARY_NETWORKS = ("k8s.v1.cni.cncf.io/", "v1.multus-cni.io/", "networking.gke.io/", "cni.projectcalico.org/multi",
                      "ovn.kubernetes.io/", "k8s.ovn.org/", "networks.spidernet.io/", "ipam.spidernet.io/",
                      "danm.k8s.io/")  # fmt: skip
"""Beginnings of annotations by which pods get more interfaces than eth0."""


class Interfaces(Struct, frozen=True):
    """A list of interfaces as NCCL reads it."""

    names: tuple[str, ...]
    excluded: bool
    exact: bool

    def covers(self, interface: str) -> bool:
        """Whether an entry names an interface, be it left out or chosen by that."""
        return any(interface == name if self.exact else interface.startswith(name) for name in self.names)


def read_interfaces(text: str) -> Interfaces:
    """`^docker0,lo`, `=bond0`, `eth`: an empty list where nothing is named."""
    rest = text.strip()
    excluded = rest.startswith("^")
    rest = rest.removeprefix("^")
    exact = rest.startswith("=")
    names = tuple(name.strip() for name in rest.removeprefix("=").split(",") if name.strip())
    return Interfaces(names, excluded, exact)


def on_hosts_alone(interfaces: Interfaces) -> bool:
    """Whether every interface that a list chooses is one that hosts have and pods do not."""
    if interfaces.excluded or not interfaces.names or any(map(interfaces.covers, POD_INTERFACES)):
        return False
    return all(_HOST.fullmatch(name) for name in interfaces.names)
