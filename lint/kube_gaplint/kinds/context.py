"""What adapters know besides the object in hand: the bundle around it, the profile, and who it is."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from kube_gaplint.bundle.bundle import Bundle, ConfigMapData
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Origin, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.text import nodes
from kube_gaplint.text.source import Place


class Context(Struct):
    """One object on its way to a workload."""

    bundle: Bundle
    object: KubeObject
    profile: Profile
    notes: list[str] = field(default_factory=list)
    _maps: dict[str, ConfigMapData | Unknown] = field(default_factory=dict)

    @property
    def root(self) -> Part:
        """The whole object."""
        return Part.of(self.object.node)

    @property
    def subject(self) -> Subject:
        item = self.object
        return Subject(item.kind, item.api_version, item.namespace or "", item.name or _generated_name(item))

    @property
    def origin(self) -> Origin:
        return Origin(self.object.place, node=self.object.node)

    def note(self, text: str) -> None:
        """Remember what could not be seen, once."""
        if text not in self.notes:
            self.notes.append(text)

    def find(
        self, group: str | None, kind: str, name: str, place: Place | None = None, *, cluster_wide: bool = False
    ) -> KubeObject | Unknown | None:
        """The object of this name that the present one refers to; None where it is not in reach.

        With the `place` of the reference a failure is remembered for the user.
        """
        namespace = None if cluster_wide else self.object.namespace
        return self.bundle.find(group, kind, name, namespace, self.object, place)

    def config_map(self, name: str, place: Place | None = None) -> ConfigMapData | Unknown:
        """The entries of a ConfigMap by name."""
        found = self._maps.get(name)
        if found is None:
            found = self.bundle.config_map(name, self.object.namespace, self.object, place)
            if isinstance(found, Unknown):
                self.note(found.reason)
            self._maps[name] = found
        return found

    def secret_keys(self, name: str, place: Place | None = None) -> Mapping[str, Origin] | Unknown:
        """The keys of a Secret by name; their values are nobody's business."""
        found = self.bundle.secret(name, self.object.namespace, self.object, place)
        if isinstance(found, Unknown):
            self.note(found.reason)
            return found
        keys = {key: Origin(node.place, node=node) for key, node in found.entries.items()}
        keys.update((key, Origin(found.object.place)) for key in found.opaque)
        return keys


def _generated_name(item: KubeObject) -> str:
    return nodes.text_at(item.node, "metadata", "generateName") or ""
