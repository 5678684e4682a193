# Paths are strings here, as in discover.
"""Files that are about to change, as a hook names them: what is judged for their sake, and which findings concern them.

A change of a ConfigMap, a script, a patch or a base shows in the workloads that use it, and those may stand anywhere in
the repository. So all of it is read, and what counts are the findings that have a place in one of the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kube_gaplint.discover import boundary_of, within
from kube_gaplint.findings import Finding
from kube_gaplint.text.source import Place


@dataclass(slots=True)
class Given:
    """Files and folders, by real path."""

    paths: frozenset[str]
    _known: dict[str, bool] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, paths: Sequence[str]) -> Given:
        return cls(frozenset(map(os.path.realpath, paths)))

    def touches(self, finding: Finding) -> bool:
        """Whether a finding, its object, the way to it or a place that explains it lies in one of them."""
        return any(self._holds(place) for place in _places(finding))

    def _holds(self, place: Place) -> bool:
        shown = place.source.path
        if shown not in self._known:
            real = os.path.realpath(shown)
            self._known[shown] = real in self.paths or any(within(real, path) for path in self.paths)
        return self._known[shown]


def _places(finding: Finding) -> Iterator[Place]:
    if finding.owner is not None:
        yield finding.owner
    for origin in (finding.origin, *(related.origin for related in finding.related)):
        yield origin.place
        for link in origin.chain:
            yield link.place


def around(paths: Sequence[str]) -> list[str]:
    """What has to be read for the sake of some paths: the repositories that they lie in, as seen from here.

    Without git it is the current folder for what lies in it, and the folder of a file elsewhere.
    """
    here = os.path.realpath(os.curdir)
    folders: list[str] = []
    for path in paths:
        real = os.path.realpath(path)
        folder = real if os.path.isdir(real) else os.path.dirname(real)  # noqa: PTH112, PTH120
        top = boundary_of(folder) or (here if within(folder, here) else folder)
        if top not in folders:
            folders.append(top)
    return [os.path.relpath(folder, here) for folder in folders]
