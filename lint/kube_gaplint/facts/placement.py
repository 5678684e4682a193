"""Labels and taints by which nodes that may be taken away (spot, preemptible) are chosen.

Sources: Karpenter concepts/nodepools (karpenter.sh/capacity-type), EKS managed node groups (eks.amazonaws.com/
capacityType), GKE spot VMs (cloud.google.com/gke-spot, gke-preemptible, gke-provisioning), AKS spot node pools
(kubernetes.azure.com/scalesetpriority), OKE preemptible nodes (oci.oraclecloud.com/oke-is-preemptible).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_VALUES = frozenset({"spot", "preemptible", "ec2spot", "spot-vm", "flex-spot"})
_YES = frozenset({"true", "1", "yes", "", "present"})
_WORD = re.compile(r"(?:^|[-_./])(?:is-)?(?:spot|preemptible)(?:$|[-_./])", re.IGNORECASE)


def is_spot(key: str, value: str) -> bool:
    """Whether a label or taint stands for nodes that the provider may take back at any time.

    Known keys need no list of their own: all have `spot` or `preemptible` as their value, or as a word of a key that
    is true.
    """
    low = value.strip().lower()
    return low in _VALUES or (low in _YES and _WORD.search(key) is not None)


@dataclass(frozen=True, slots=True)
class Notice:
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
