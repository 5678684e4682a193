"""Whether the nodes of a pool carry accelerators: what labels, taints, machine types and requirements tell.

Evidence that excludes (machine types without GPUs, `gpu-count DoesNotExist`) wins over evidence that includes, for
the strongest restriction of a pool decides what its nodes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from kube_gaplint.facts import instances
from kube_gaplint.facts.instances import Machine
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.nodes import CarriesGpus
from kube_gaplint.model.setting import Origin, Set, Setting

UNKNOWN = CarriesGpus("unknown", "nothing tells whether the nodes carry GPUs")


class Evidence(Struct):
    """What was seen of one pool. The first of each sort is kept for the message."""

    yes: tuple[str, Origin] | None = None
    no: tuple[str, Origin] | None = None
    open: tuple[str, Origin] | None = None

    def has(self, reason: str, origin: Origin) -> None:
        self.yes = self.yes or (reason, origin)

    def lacks(self, reason: str, origin: Origin) -> None:
        self.no = self.no or (reason, origin)

    def may(self, reason: str, origin: Origin) -> None:
        self.open = self.open or (reason, origin)

    def answer(self) -> CarriesGpus:
        if self.no is not None:
            return CarriesGpus("no", *self.no)
        if self.yes is not None:
            return CarriesGpus("yes", *self.yes)
        return UNKNOWN if self.open is None else CarriesGpus("unknown", *self.open)

    # Kinds of evidence

    def machine(self, setting: Setting[str]) -> None:
        """One machine type."""
        if not isinstance(setting, Set):
            return
        found = instances.machine(setting.value)
        if found is None:
            self.may(f"machine type {setting.value} is not known", setting.origin)
        elif found.accelerator:
            self.has(f"{setting.value}: {found.accelerator}", setting.origin)
        else:
            self.lacks(f"{setting.value} has no GPU", setting.origin)

    def machines(self, settings: Iterable[Setting[str]]) -> None:
        """Machine types of which each node has one."""
        names = [setting for setting in settings if isinstance(setting, Set)]
        if names:
            self._choice([(name.value, instances.machine(name.value)) for name in names], names[0].origin)

    def label(self, key: str, value: Setting[str]) -> None:
        """A label that the nodes carry or that chooses them."""
        if key in instances.CONTROL_PLANE_KEYS:
            if isinstance(value, Set):
                self.lacks("control plane nodes", value.origin)
            return
        if key in instances.INSTANCE_TYPE_KEYS:
            self.machine(value)
            return
        row = instances.node_key(key)
        if row is None or not isinstance(value, Set):
            return
        if value.value.strip().lower() in instances.FALSE_VALUES:
            self.lacks(f"label {key}: {value.value}", value.origin)
        else:
            self.has(f"label {key}: {value.value}" if value.value else f"label {key}", value.origin)

    def labels(self, labels: Mapping[str, Setting[str]]) -> None:
        for key, value in labels.items():
            self.label(key, value)

    def taints(self, part: Part) -> None:
        """A list of taints."""
        for taint in part.items():
            self.taint(taint.text("key") or "", taint.text("value") or "", taint.origin)

    def taint(self, key: str, value: str, origin: Origin) -> None:
        if instances.node_key(key) is not None or (key.lower() in ("sku", "dedicated") and value.lower() == "gpu"):
            self.has(f"taint {key}", origin)

    def expression(self, key: str, operator: str, values: tuple[str, ...], origin: Origin) -> None:
        """One requirement of a pool or of a node selector, as Kubernetes' selectors read it."""
        if key in instances.CONTROL_PLANE_KEYS:
            if operator in ("Exists", "In"):
                self.lacks("control plane nodes", origin)
            return
        if key in _CHOICES:
            self._choices(key, operator, values, origin)
            return
        row = instances.node_key(key)
        if row is None:
            return
        listed = f"{key} {operator} {', '.join(values)}".rstrip()
        off = [value for value in values if value.lower() in instances.FALSE_VALUES]
        if operator == "DoesNotExist" or (operator == "Lt" and values == ("1",)):
            if "/instance-accelerator" not in key:  # Trainium and the like; GPUs are another label
                self.lacks(listed, origin)
        elif operator == "NotIn":
            if any(value.lower() in ("true", "1", "yes") for value in values):
                self.lacks(listed, origin)
        elif operator in ("Exists", "Gt", "Gte"):
            self.has(listed, origin)
        elif operator == "In" and values:
            if len(off) == len(values) or any("inferentia" in value for value in values):
                self.lacks(listed, origin)
            elif not off:
                self.has(listed, origin)

    def _choices(self, key: str, operator: str, values: tuple[str, ...], origin: Origin) -> None:
        if operator == "In":
            read = _CHOICES[key]
            self._choice([(value, read(value)) for value in values], origin)
        elif operator == "NotIn" and _GPU_CHOICES.get(key.rpartition("/")[2], _NEVER) <= set(values):
            self.lacks(f"{key} NotIn {', '.join(values)}", origin)

    def _choice(self, found: list[tuple[str, Machine | None]], origin: Origin) -> None:
        if not found:
            return
        names = ", ".join(name for name, _ in found[:3]) + (" …" if len(found) > 3 else "")
        if all(machine is not None and machine.accelerator for _, machine in found):
            machine = found[0][1]
            assert machine is not None
            self.has(f"{names}: {machine.accelerator}", origin)
        elif all(machine is not None and not machine.accelerator for _, machine in found):
            self.lacks(f"{names}: no GPU", origin)
        elif any(machine is None for _, machine in found):
            unknown = next(name for name, machine in found if machine is None)
            self.may(f"machine type {unknown} is not known", origin)
        else:
            self.may(f"{names}: with and without GPUs", origin)

    def requirements(self, part: Part) -> None:
        """A list of requirements (`key`, `operator`, `values`): Karpenter's, or expressions of a selector."""
        for item in part.items():
            key, operator = item.text("key"), item.text("operator")
            values = item.strings("values")
            if key and operator:
                known = values.value if isinstance(values, Set) else ()
                if operator in ("In", "NotIn", "Gt", "Lt") and not known:
                    continue
                self.expression(key, operator, known, item.origin)

    def selector(self, part: Part) -> None:
        """A label selector (`matchLabels`, `matchExpressions`) over nodes."""
        self.labels(part.texts("matchLabels"))
        self.requirements(part.at("matchExpressions"))

    def pod_spec(self, spec: Part) -> None:
        """Where a pod may run: node selector and required node affinity."""
        self.labels(spec.texts("nodeSelector"))
        terms = spec.at(
            "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
        ).items()
        if len(terms) == 1:
            self.requirements(terms[0].at("matchExpressions"))
        elif terms:
            answers = []
            for term in terms:  # terms are alternatives: the pod may run where any of them holds
                one = Evidence()
                one.requirements(term.at("matchExpressions"))
                answers.append(one.answer())
            found = either(answers)
            if found.answer == "yes" and all(answer.answer == "yes" for answer in answers) and found.origin is not None:
                self.has(found.reason, found.origin)
            elif found.answer == "no" and found.origin is not None:
                self.lacks(found.reason, found.origin)

    def selector_text(self, text: Setting[str]) -> None:
        """A label selector as kubectl takes it: `a=b,c!=d,e,!f`. Sets (`a in (b, c)`) are left alone."""
        if not isinstance(text, Set) or "(" in text.value:
            return
        for term in text.value.split(","):
            key, unequal, value = term.strip().partition("!=")
            if unequal:
                self.expression(key.strip(), "NotIn", (value.strip(),), text.origin)
            elif key.startswith("!"):
                self.expression(key[1:].strip(), "DoesNotExist", (), text.origin)
            else:
                key, _, value = key.partition("=")
                self.label(key.strip(), Set(value.lstrip("=").strip(), text.origin))

    def node_labels(self, text: Setting[str]) -> None:
        """kubelet's `--node-labels`: `a=b,c=d`."""
        if isinstance(text, Set):
            for pair in text.value.split(","):
                key, _, value = pair.strip().partition("=")
                self.label(key, Set(value, text.origin))


_NEVER = frozenset({""})
_GPU_CHOICES = {"instance-category": frozenset({"g", "p"}), "sku-family": frozenset({"N"})}
"""What a NotIn must hold to leave no GPU machine."""

_CHOICES: dict[str, Callable[[str], Machine | None]] = {
    **dict.fromkeys(instances.INSTANCE_TYPE_KEYS, instances.machine),
    "karpenter.k8s.aws/instance-family": instances.family,
    "eks.amazonaws.com/instance-family": instances.family,
    "karpenter.k8s.aws/instance-category": instances.category,
    "eks.amazonaws.com/instance-category": instances.category,
    "karpenter.azure.com/sku-family": instances.azure_family,
}


def either(answers: Iterable[CarriesGpus]) -> CarriesGpus:
    """The answer for something that several pools share: yes where one says yes, no where all say no."""
    found = list(answers)
    for answer in found:
        if answer.answer == "yes":
            return answer
    if found and all(answer.answer == "no" for answer in found):
        return found[0]
    return next((answer for answer in found if answer.answer == "unknown"), UNKNOWN)
