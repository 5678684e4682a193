"""Objects as they are written: the view of rules on the keys themselves."""

from __future__ import annotations

from msgspec import Struct

from kube_gaplint.model.fields import Fields
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.workload import Workload


class Manifest(Struct, eq=False):
    """An object that runs training, or that a training job takes its pods from (a training runtime)."""

    subject: Subject
    origin: Origin
    group: str
    version: str
    kind: str
    fields: Fields
    """Every written key by its path from the object, `fields.written()`."""
    workloads: tuple[Workload, ...] = ()
    """What it runs; empty for a runtime."""

    @property
    def object_origin(self) -> Origin:
        return self.origin

    @property
    def trains(self) -> bool:
        return not self.workloads or any(workload.trains for workload in self.workloads)
