"""Labels and taints by which nodes that may be taken away (spot, preemptible) are chosen.

Sources: Karpenter concepts/nodepools (karpenter.sh/capacity-type), EKS managed node groups (eks.amazonaws.com/
capacityType), GKE spot VMs (cloud.google.com/gke-spot, gke-preemptible, gke-provisioning), AKS spot node pools
(kubernetes.azure.com/scalesetpriority), OKE preemptible nodes (oci.oraclecloud.com/oke-is-preemptible).
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from kube_gaplint import lazy_re

_VALUES = frozenset({"spot", "preemptible", "ec2spot", "spot-vm", "flex-spot"})
_YES = frozenset({"true", "1", "yes", "", "present"})
_WORD = lazy_re.compile(r"(?:^|[-_./])(?:is-)?(?:spot|preemptible)(?:$|[-_./])", re.IGNORECASE)


def is_spot(key: str, value: str) -> bool:
    """Whether a label or taint stands for nodes that the provider may take back at any time.

    Known keys need no list of their own: all have `spot` or `preemptible` as their value, or as a word of a key that
    is true.
    """
    low = value.strip().lower()
    return low in _VALUES or (low in _YES and _WORD.search(key) is not None)


CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
KINDS_OF_NODES: Final = (
    CAPACITY_TYPE,
    "eks.amazonaws.com/capacityType",
    "cloud.google.com/gke-spot",
    "cloud.google.com/gke-preemptible",
    "cloud.google.com/gke-provisioning",
    "cloud.google.com/reservation-",
    "cloud.google.com/gke-flex-start",
)
"""How labels begin by which pods choose between spot nodes, on-demand nodes and reservations of one pool."""


class Notice(Struct, frozen=True):
    """How long a provider lets pods run after it has said that it takes a node back. `key` is the label's beginning."""

    key: str
    title: str
    seconds: float
    source: str


NOTICES: Final = (
    Notice("cloud.google.com/", "GKE", 15.0, "https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms"),
    Notice(
        "eks.amazonaws.com/",
        "EC2",
        120.0,
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html",
    ),
    Notice("karpenter.sh/", "EC2", 120.0, "https://karpenter.sh/docs/concepts/disruption/#interruption"),
    Notice("kubernetes.azure.com/", "Azure", 30.0, "https://learn.microsoft.com/azure/virtual-machines/spot-vms"),
)
"""GKE gives 30 s, of which the pods of users get the first 15; since 1.35 the notice can be extended to 120 s.
Karpenter also runs on other clouds, whose notices are shorter than EC2's."""


def notice(key: str) -> Notice | None:
    """The notice that comes with a label that chooses spot nodes; None where the provider is not known."""
    return next((row for row in NOTICES if key.startswith(row.key)), None)


class PoolTaint(Struct, frozen=True):
    """A taint that a provider puts on all nodes with a label, and that no admission tolerates for the pod."""

    label: str
    values: tuple[str, ...]
    taint: str
    value: str
    effect: str
    title: str
    source: str


POOL_TAINTS: Final = (
    PoolTaint(
        "kubernetes.azure.com/scalesetpriority", ("spot",), "kubernetes.azure.com/scalesetpriority", "spot",
        "NoSchedule", "AKS spot nodes", "https://learn.microsoft.com/azure/aks/spot-node-pool",
    ),
    PoolTaint(
        "oci.oraclecloud.com/oke-is-preemptible", ("true",), "oci.oraclecloud.com/oke-is-preemptible", "present",
        "NoSchedule", "preemptible OKE nodes",
        "https://docs.oracle.com/iaas/Content/ContEng/Tasks/contengusingpreemptiblecapacity.htm",
    ),
    PoolTaint(
        "qos.coreweave.cloud/interruptable", ("true",), "qos.coreweave.cloud/interruptable", "true", "NoExecute",
        "CoreWeave's interruptible nodes", "https://github.com/marin-community/marin/issues/3608",
    ),
)  # fmt: skip
"""GKE's and EKS' taints are not here: GKE's admission tolerates them for pods that ask for the accelerator, and EKS
sets none by itself. Oracle's page names the key of its taint alone; value and effect are as its users write them."""


def pool_taint(label: str, value: str) -> PoolTaint | None:
    """The taint that nodes with a label carry; None where none is known."""
    return next((row for row in POOL_TAINTS if row.label == label and value.lower() in row.values), None)
