"""Which fixes are made, and what the files look like then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, field

from kube_gaplint.findings import Finding
from kube_gaplint.fix.changes import drafts_of
from kube_gaplint.fix.desk import Desk, Draft, OpenFile, Reading, Refused
from kube_gaplint.fix.files import FileChange
from kube_gaplint.text.source import Span

_FAILED = "the edit would change more than is meant"


class Dropped(NamedTuple):
    """A finding whose fix is not made, and why."""

    finding: Finding
    reason: str


class FixPlan(Struct):
    """The files that change, in the order of the findings, and the fixes that could not be made."""

    changes: list[FileChange] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


def plan(findings: Sequence[Finding], *, unsafe: bool, readings: dict[str, Reading] | None = None) -> FixPlan:
    """Make the fixes of findings on copies of the files.

    Safe fixes only, unless `unsafe`. Suppressed findings keep their text. Fixes are made in rounds: in each, all that
    touch different places at once. What contradicts an earlier fix, or turns out to change anything else, is dropped.
    `readings` is filled with the files as they were read, and spares whoever asks again and again from reading them.
    """
    wanted = [
        finding
        for finding in findings
        if finding.suppressed is None
        and finding.fix is not None
        and finding.fix.applicable
        and (finding.fix.safe or unsafe)
    ]
    work = _Work({} if readings is None else readings)
    while wanted:
        wanted = work.round(wanted)
    order = {id(finding): index for index, finding in enumerate(findings)}
    result = FixPlan(dropped=sorted(work.dropped, key=lambda dropped: order[id(dropped.finding)]))
    for file, answered in work.answered.items():
        if file.text != file.original.text:
            result.changes.append(
                FileChange(file.original, file.text, tuple(sorted(answered, key=lambda finding: order[id(finding)])))
            )
    result.changes.sort(key=lambda change: min(order[id(finding)] for finding in change.findings))
    return result


class _Work:
    """The state of planning."""

    def __init__(self, readings: dict[str, Reading]) -> None:
        self.desk = Desk(readings)
        self.answered: dict[OpenFile, list[Finding]] = defaultdict(list)
        self.dropped: list[Dropped] = []

    def round(self, findings: list[Finding]) -> list[Finding]:
        """Make what can be made at once; returns the findings that must wait for the next round."""
        claimed: dict[OpenFile, list[Span]] = defaultdict(list)
        now: list[tuple[Finding, list[Draft]]] = []
        later: list[Finding] = []
        for finding in findings:
            drafts = self._drafts(finding)
            if drafts is None:
                continue
            if any(_touch(edit.span, span) for draft in drafts for edit in draft.edits for span in claimed[draft.file]):
                later.append(finding)
                continue
            for draft in drafts:
                claimed[draft.file] += [edit.span for edit in draft.edits]
            now.append((finding, drafts))
        if not self._commit(now):
            for finding, _ in now:
                drafts = self._drafts(finding)
                if drafts is not None and not self._commit([(finding, drafts)]):
                    self.dropped.append(Dropped(finding, _FAILED))
        return later

    def _drafts(self, finding: Finding) -> list[Draft] | None:
        try:
            drafts = drafts_of(finding, self.desk)
            for draft in drafts:
                for edit in draft.edits:
                    if any(_changes(edit.span, span) for span in draft.file.written):
                        raise Refused("another fix writes something else at the same place")
            if not any(draft.edits or draft.file.written for draft in drafts):
                raise Refused("it is written there already, and something else hides it")
        except Refused as refused:
            self.dropped.append(Dropped(finding, refused.reason))
            return None
        return drafts

    def _commit(self, made: list[tuple[Finding, list[Draft]]]) -> bool:
        by_file: dict[OpenFile, list[Draft]] = defaultdict(list)
        for _, drafts in made:
            for draft in drafts:
                by_file[draft.file].append(draft)
        texts: dict[OpenFile, str] = {}
        for file, drafts in by_file.items():
            text = file.attempt(drafts)
            if text is None:
                return False
            texts[file] = text
        for file, text in texts.items():
            if text != file.text:
                file.accept(text, [edit for draft in by_file[file] for edit in draft.edits])
        for finding, drafts in made:
            for file in dict.fromkeys(draft.file for draft in drafts):
                self.answered[file].append(finding)
        return True


def _touch(one: Span, other: Span) -> bool:
    """Whether two edits would meet, be it at their edges only."""
    return one.start <= other.end and other.start <= one.end


def _changes(edit: Span, written: Span) -> bool:
    """Whether an edit replaces something within what was written."""
    return edit.start < edit.end and edit.start < written.end and written.start < edit.end
