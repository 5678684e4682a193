"""The network of a pod: whose it is, what interfaces it has, and the addresses that its programs are given."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kube_gaplint.facts.fabric import is_infiniband
from kube_gaplint.facts.interfaces import SECONDARY_NETWORKS
from kube_gaplint.model.fields import Fields
from kube_gaplint.model.pod import device_claims
from kube_gaplint.model.setting import Origin, Set, Setting
from kube_gaplint.model.variables import in_force
from kube_gaplint.model.workload import Container, Pod, Workload
from kube_gaplint.text.source import Place

HOST_VARIABLES = ("MASTER_ADDR", "PET_MASTER_ADDR", "JAX_COORDINATOR_IP")
ENDPOINT_VARIABLES = ("PET_RDZV_ENDPOINT", "JAX_COORDINATOR_ADDRESS", "COORDINATOR_ADDRESS")
"""Variables that hold the address where processes meet: a host, or a host with its port."""
NAMES_FROM_OPERATORS = (
    *HOST_VARIABLES, *ENDPOINT_VARIABLES, "TF_CONFIG", "PADDLE_MASTER", "DMLC_PS_ROOT_URI", "MX_CONFIG", "FQ_RAY_IP",
)  # fmt: skip
"""Variables in which operators hand on the name of a Service of theirs."""


def has_further_networks(pod: Pod) -> bool:
    """Whether a pod has, or may have, interfaces besides eth0: Multus and its kin, SR-IOV devices, network claims."""
    if any(key.startswith(SECONDARY_NETWORKS) for key in pod.annotations) or pod.overrides_unknown:
        return True
    resources = {name for one in pod.containers for name in (*one.limits, *one.requests)}
    if any(is_infiniband(name) and not name.startswith("rdma/") for name in resources):
        return True  # virtual functions; `rdma/…` of the shared device plugin brings no interface
    used = {device.resource for one in pod.containers for device in one.accelerators}
    claims = device_claims(pod)
    return any(not isinstance(claim.device_class, Set) or claim.device_class.value not in used for claim in claims)


def has_own_dns(pod: Pod) -> bool:
    """Whether a `dnsConfig` says how names are resolved."""
    return isinstance(pod.fields, Fields) and pod.fields.key("dnsConfig") is not None


class Address(Struct, frozen=True):
    """The host where processes are to meet. `given_by`: the variable or option that names it."""

    host: str
    given_by: str
    origin: Origin
    container: Container

    @property
    def is_literal(self) -> bool:
        """An IP address of some machine: neither the loopback's nor "any"."""
        try:
            from ipaddress import ip_address

            address = ip_address(self.host)
        except ValueError:
            return False
        return not (address.is_loopback or address.is_unspecified)

    @property
    def is_name(self) -> bool:
        """A name for the resolver."""
        return not self.is_literal and any(letter.isalpha() for letter in self.host) and self.host != "localhost"


def addresses(workload: Workload) -> Iterator[Address]:
    """The addresses in force that are known, each place once."""
    seen: set[Place] = set()
    for found in _addresses(workload):
        if found.host and found.origin.place not in seen:
            seen.add(found.origin.place)
            yield found


def _addresses(workload: Workload) -> Iterator[Address]:
    for given in in_force(workload):
        if isinstance(given.value, Set) and given.name in (*HOST_VARIABLES, *ENDPOINT_VARIABLES):
            yield Address(host_of(given.value.value), given.name, given.origin, given.container)
    for process in workload.processes:
        for launcher in process.launchers:
            settings: tuple[tuple[str, Setting[str]], ...] = (
                ("--rdzv-endpoint", launcher.rendezvous_endpoint),
                ("--master-addr", launcher.options.get("master-addr")),
            )
            backend = launcher.rendezvous_backend
            if isinstance(backend, Set) and backend.value.startswith("etcd"):
                continue  # a store that is no pod of the job
            for name, value in settings:
                if isinstance(value, Set) and value.origin.written:
                    yield Address(host_of(value.value), name, value.origin, process.container)


def host_of(endpoint: str) -> str:
    """The host of `host`, `host:29500`, `[::1]:29500` or `tcp://host:29500`."""
    text = endpoint.strip().rpartition("//")[2]
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text if text.count(":") > 1 else text.partition(":")[0]


def names_services(workload: Workload) -> Origin | None:
    """What shows that the programs look up names of the cluster: where they meet, what an operator hands them, or a
    variable with such a name."""
    for address in addresses(workload):
        if address.is_name:
            return address.origin
    for _, container in workload.containers():
        for name in NAMES_FROM_OPERATORS:
            value = container.environment.variables.get(name)
            if value is not None and value.origin is not None and value.origin.via == "injected":
                return value.origin
        for _, value in container.environment.set_items():
            if ".svc" in value.value and value.value.partition(".svc")[2][:1] in ("", ".", ":", "/"):
                return value.origin
    return None
