"""How near two objects are: which of several objects of one name a reference means."""

from __future__ import annotations

from msgspec import Struct

from kube_gaplint.bundle.objects import KubeObject


class Distance(Struct, frozen=True, order=True):
    """Smaller is nearer, `up` before `down`. `up` counts folders from the one who refers to the common folder,
    `down` those from there to the other; both are negative within one build or file."""

    up: int
    down: int


SAME_BUILD = Distance(-2, -2)
SAME_FILE = Distance(-1, -1)
UNRELATED = Distance(10**6, 0)


def distance(near: KubeObject, other: KubeObject) -> Distance:
    """How far `other` is from `near`."""
    if near.build or other.build:
        if near.build == other.build:
            return SAME_BUILD
    elif near.document.source is other.document.source:
        return SAME_FILE
    here, there = near.folder, other.folder
    if not here or not there:
        return UNRELATED
    one, two = here.strip("/").split("/"), there.strip("/").split("/")
    common = 0
    for left, right in zip(one, two, strict=False):
        if left != right:
            break
        common += 1
    return Distance(len(one) - common, len(two) - common)
