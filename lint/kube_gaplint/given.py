# Paths are strings here, as in discover.
"""Files that are about to change, as a hook names them: what is judged for their sake, and which findings concern them.

A change of a ConfigMap, a script, a patch or a base shows in the workloads that use it, and those may stand anywhere in
the repository. So all of it is read, and what counts are the findings that have a place in one of the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kube_gaplint import disk
from kube_gaplint.discover import FileId, kinds_in, names_in, read_file, within
from kube_gaplint.facts.candidates import YAML_ENDINGS
from kube_gaplint.findings import Finding
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.bundle.objects import KubeObject

_JOBS = frozenset(
    {
        "CronJob", "JAXJob", "Job", "JobSet", "LeaderWorkerSet", "MPIJob", "MXJob", "PaddleJob", "PyTorchJob", "RayJob",
        "TFJob", "XGBoostJob",
    }
)  # fmt: skip
"""Kinds that say nothing of other objects."""
_YAML = tuple(YAML_ENDINGS)
_ONLY_BY_NAME = frozenset({"ConfigMap", "Secret"})
"""Kinds that matter to whoever names them, and to nobody else."""


class Given(Struct):
    """Files and folders, by real path."""

    paths: frozenset[str]
    _known: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Sequence[str]) -> Given:
        return cls(frozenset(map(disk.real, paths)))

    def touches(self, finding: Finding) -> bool:
        """Whether a finding, its object, the way to it or a place that explains it lies in one of them."""
        return any(self._holds(place) for place in _places(finding))

    def concerns(self) -> Callable[[KubeObject | None], bool] | None:
        """Which objects (None: batch scripts) have to be understood for the sake of these files; None: all.

        Understanding jobs is most of the work of a run, and most changes concern a few of them: a job's own file, and
        the ConfigMaps that some name. Whatever else changes may be evidence for any job.
        """
        names: set[str] = set()
        for path in self.paths:
            data = read_file(FileId(path, path)) if path.lower().endswith(_YAML) else None
            kinds = frozenset() if data is None else kinds_in(data)
            if data is None or not kinds or not kinds <= _JOBS | _ONLY_BY_NAME:
                return None
            names |= names_in(data)

        def concerned(item: KubeObject | None) -> bool:
            if item is None:
                return False
            if item.kind not in _JOBS or item.build or item.wrapped_by or item.file.path in self.paths:
                return True
            return any(name in item.source.text for name in names)

        return concerned

    def _holds(self, place: Place) -> bool:
        shown = place.source.path
        if shown not in self._known:
            real = disk.real(shown)
            self._known[shown] = real in self.paths or any(within(real, path) for path in self.paths)
        return self._known[shown]


def _places(finding: Finding) -> Iterator[Place]:
    if finding.owner is not None:
        yield finding.owner
    for origin in (finding.origin, *(related.origin for related in finding.related)):
        yield origin.place
        for link in origin.chain:
            yield link.place


def around(paths: Sequence[str], folders: Sequence[str] | None = None) -> list[str]:
    """What has to be read for the sake of some paths: the repositories that they lie in, as seen from here.

    Without git it is the folder among `folders` (real paths; the current folder where they are not given) for what lies
    in it, and the folder of a file elsewhere.
    """
    here = disk.real(os.curdir)
    homes = [here] if folders is None else folders
    tops: list[str] = []
    for path in paths:
        real = disk.real(path)
        folder = real if disk.is_folder(real) else os.path.dirname(real)  # noqa: PTH120
        top = disk.boundary_of(folder) or next((home for home in homes if within(folder, home)), folder)
        if top not in tops:
            tops.append(top)
    return [os.path.relpath(top, here) for top in tops]
