"""Label selectors: which pods they select.

All that is asked has to hold: each pair of `matchLabels` and each of `matchExpressions` (In, NotIn, Exists,
DoesNotExist). A selector that asks nothing selects everything, and none at all nothing
(apimachinery pkg/apis/meta/v1/helpers.go, LabelSelectorAsSelector); `NotIn` holds for pods without the label too
(pkg/labels/selector.go, Requirement.Matches).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.setting import Set, Setting


class Demand(Struct, frozen=True):
    """What a selector asks of one label. `values` is None where they are not known."""

    key: str
    operator: str
    values: tuple[str, ...] | None = ()

    def holds(self, labels: Mapping[str, Setting[str]]) -> bool | None:
        """None where it is not known."""
        label = labels.get(self.key)
        if self.operator in ("Exists", "DoesNotExist"):
            return (label is not None) is (self.operator == "Exists")
        if self.operator not in ("In", "NotIn"):
            return None
        if label is None:
            return self.operator == "NotIn"
        if self.values is None or not isinstance(label, Set):
            return None
        return (label.value in self.values) is (self.operator == "In")


def demands(selector: Part) -> tuple[Demand, ...] | None:
    """All that a selector asks; None where there is no selector, which selects nothing."""
    if not selector.present and not selector.unknown:
        return None
    if selector.unknown:
        return (Demand("", "unknown"),)
    asked = []
    for key, part in selector.at("matchLabels").entries():
        value = part.string()
        asked.append(Demand(key, "In", (value.value,) if isinstance(value, Set) else None))
    for item in selector.at("matchExpressions").items():
        values = item.strings("values")
        asked.append(Demand(item.text("key") or "", item.text("operator") or "", getattr(values, "value", None)))
    return tuple(asked)


def select(asked: tuple[Demand, ...], labels: Mapping[str, Setting[str]]) -> bool | None:
    """Whether pods with these labels are selected; None where it is not known."""
    answers = [one.holds(labels) for one in asked]
    return False if False in answers else None if None in answers else True


def pairs(asked: tuple[Demand, ...]) -> Iterator[tuple[str, str]]:
    """Labels of which any selected pod has one, to look selectors up by; a value that is not known or does not matter
    is empty. None of them: the pods need no label at all."""
    for one in asked:
        if one.operator == "In" and one.values:
            yield from ((one.key, value) for value in one.values)
            return
    for one in asked:
        if one.operator in ("In", "Exists"):
            yield one.key, ""
            return
