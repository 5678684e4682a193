"""How a network fabric shows in a manifest: resource names and variables.

Sources: k8s.md C (RDMA resources), NCCL user guide (environment variables), the plugins' own documentation.
"""

from __future__ import annotations

import re

from kube_gaplint import lazy_re
from kube_gaplint.facts.accelerators import is_rdma

EFA_RESOURCES = frozenset({"vpc.amazonaws.com/efa"})
"""AWS's fabric: its libfabric plugin does not use verbs time-outs."""

OTHER_FABRIC_RESOURCES = lazy_re.needing(
    ("vpc.amazonaws.com/efa", "networking.gke.io.networks/"),
    r"^(?:vpc\.amazonaws\.com/efa|networking\.gke\.io\.networks/.+)$",
)


def is_infiniband(resource: str) -> bool:
    """Whether an extended resource hands an InfiniBand or RoCE device to a container."""
    return is_rdma(resource) and OTHER_FABRIC_RESOURCES.match(resource) is None


OTHER_FABRIC_VARIABLES = lazy_re.needing(
    ("FI_", "NCCL_FASTRAK_", "NCCL_GPUDIRECTTCPX_", "NCCL_GIB_", "NCCL_TUNER_PLUGIN_GIB", "NCCL_SHIMNET_"),
    r"""^(?:
        FI_PROVIDER | FI_EFA_.+ | NCCL_FASTRAK_.+ | NCCL_GPUDIRECTTCPX_.+ | NCCL_GIB_.+ | NCCL_TUNER_PLUGIN_GIB
      | NCCL_SHIMNET_.+ | OFI_NCCL_.+
    )$""",
    re.VERBOSE,
)
"""Variables of plugins (EFA's libfabric, Google's TCPX, TCPXO and GIB) that bring transports of their own."""

RDMA_VARIABLES = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_QPS_PER_CONNECTION")
"""Variables that make sense on InfiniBand or RoCE alone."""

RDMA_NETWORKS = lazy_re.compile(r"rdma|roce|infiniband|sriov|hca|(?<![a-z])ib(?![a-z])", re.IGNORECASE)
"""Names of secondary networks (Multus) that carry InfiniBand or RoCE."""
