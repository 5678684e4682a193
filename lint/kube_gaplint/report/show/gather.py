"""From the model of a run to what `gaplint show` says of it."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kube_gaplint.findings import FileError as ModelFileError
from kube_gaplint.findings import Summary
from kube_gaplint.model.manifest import Manifest
from kube_gaplint.model.slurm import Batch
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Workload
from kube_gaplint.report.show.shape import Counts, FileError, Problem, Shown, Unresolved
from kube_gaplint.report.show.values import location_of
from kube_gaplint.report.show.views import view_of
from kube_gaplint.report.show.workloads import workload_of
from kube_gaplint.text.compose import Problem as ModelProblem
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.bundle.bundle import Unresolved as Missed


def _is_part(view: object) -> bool:
    """Whether a view is shown as a part of its workload, or is the workload's object once more."""
    return isinstance(view, Batch | TrainingProcess) or (isinstance(view, Manifest) and bool(view.workloads))


class Choice(Struct, frozen=True):
    """Which objects are shown: those of one of the kinds and one of the names, where any are given.

    A kind is that of the object or the name of the view, in any case of letters. A name may hold `*`, `?` and `[…]`
    and may have the namespace in front: `research/llama-*`.
    """

    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds or self.names)

    def takes(self, view: object, subject: Subject) -> bool:
        kinds = {subject.kind.lower(), type(view).__name__.lower()}
        if self.kinds and not any(kind.lower() in kinds for kind in self.kinds):
            return False
        names = (subject.name, f"{subject.namespace}/{subject.name}", subject.container)
        return not self.names or fits(names, self.names)


def fits(names: Iterable[str], patterns: Iterable[str]) -> bool:
    """Whether one of the names of an object fits one of the patterns; an empty name fits none."""
    return any(fnmatch.fnmatchcase(name, pattern) for name in filter(None, names) for pattern in patterns)


def gather(
    views: Iterable[Any],
    *,
    missed: Iterable[Missed] = (),
    problems: Iterable[ModelProblem] = (),
    errors: Iterable[ModelFileError] = (),
    summary: Summary,
    choice: Choice | None = None,
) -> Shown:
    """Everything that was understood. `missed` are the references that lead nowhere."""
    choice = choice or Choice()
    pending: dict[tuple[int, int, int], list[Missed]] = {}
    for miss in missed:
        place = miss.place if miss.object is None else miss.object.place
        pending.setdefault(_key(place), []).append(miss)
    shown = Shown([], [], [], [], [], _counts(summary))
    others = 0
    for view in views:
        if _is_part(view):
            continue
        is_workload = isinstance(view, Workload)
        others += not is_workload
        own = [_unresolved(miss) for miss in pending.pop(_key(view.object_origin.place), ())]
        if not choice.takes(view, view.subject):
            continue
        if is_workload:
            shown.workloads.append(workload_of(view, own))
        else:
            shown.views.append(view_of(view, own))
    if not choice:
        shown.unresolved.extend(_unresolved(miss) for group in pending.values() for miss in group)
    shown.problems.extend(Problem(one.kind, one.message, location_of(one.place)) for one in problems)
    shown.errors.extend(FileError(one.path, one.reason) for one in errors)
    shown.summary.views = others
    shown.summary.matched = len(shown.workloads) + len(shown.views)
    return shown


def _key(place: Place) -> tuple[int, int, int]:
    return id(place.source), place.span.start, place.span.end


def _unresolved(miss: Missed) -> Unresolved:
    return Unresolved(miss.what, miss.reason, location_of(miss.place))


def _counts(summary: Summary) -> Counts:
    return Counts(
        files=summary.files,
        documents=summary.documents,
        workloads=summary.workloads,
        views=0,
        matched=0,
        by_kind=dict(sorted(summary.by_kind.items())),
        by_purpose=dict(sorted(summary.by_class.items())),
        skipped=dict(sorted(summary.skipped.items())),
        hints=list(summary.hints),
    )
