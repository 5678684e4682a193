"""Nodes that may hold more than is seen: a step that gaplint does not run may add to them."""

from __future__ import annotations

from kube_gaplint.text.nodes import Mapping, Sequence


class OpenMapping(Mapping, eq=False):
    """A mapping that may have more keys than are seen: a step that is not run may add them."""

    open_because: str = ""


class OpenSequence(Sequence, eq=False):
    """A list that may have more elements than are seen."""

    open_because: str = ""
