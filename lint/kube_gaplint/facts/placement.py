"""Labels and taints by which nodes that may be taken away (spot, preemptible) are chosen.

Sources: Karpenter concepts/nodepools (karpenter.sh/capacity-type), EKS managed node groups (eks.amazonaws.com/
capacityType), GKE spot VMs (cloud.google.com/gke-spot, gke-preemptible, gke-provisioning), AKS spot node pools
(kubernetes.azure.com/scalesetpriority), OKE preemptible nodes (oci.oraclecloud.com/oke-is-preemptible).
"""

from __future__ import annotations

import re

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
