"""How a network fabric shows in a manifest: resource names and variables.

Sources: k8s.md C (RDMA resources), NCCL user guide (environment variables), the plugins' own documentation.
"""

from __future__ import annotations

import re

RDMA_RESOURCES = re.compile(
    r"""^(?:
        rdma/.+                                 # k8s-rdma-shared-dev-plugin and most operators
      | .*/[^/]*(?:hca|rdma|roce|infiniband)[^/]*     # device plugins by name
      | .*/(?:sriov|mlnx)[^/]*(?:rdma|ib|roce)?[^/]*  # SR-IOV virtual functions of the network operator
      | .*/ib(?:[-_.].*|\d*)?$                  # nvidia.com/ib, mellanox.com/ib0
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
"""Extended resources that hand an InfiniBand or RoCE device to a container."""

EFA_RESOURCES = frozenset({"vpc.amazonaws.com/efa"})
"""AWS's fabric: its libfabric plugin does not use verbs time-outs."""

OTHER_FABRIC_RESOURCES = re.compile(r"^(?:vpc\.amazonaws\.com/efa|networking\.gke\.io\.networks/.+)$")

OTHER_FABRIC_VARIABLES = re.compile(
    r"""^(?:
        FI_PROVIDER | FI_EFA_.+ | NCCL_FASTRAK_.+ | NCCL_GPUDIRECTTCPX_.+ | NCCL_GIB_.+ | NCCL_TUNER_PLUGIN_GIB
      | NCCL_SHIMNET_.+ | OFI_NCCL_.+
    )$""",
    re.VERBOSE,
)
"""Variables of plugins (EFA's libfabric, Google's TCPX, TCPXO and GIB) that bring transports of their own."""

RDMA_VARIABLES = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_QPS_PER_CONNECTION")
"""Variables that make sense on InfiniBand or RoCE alone."""
