"""Fixes that keep the promise: what they answer is gone, and nothing new is there.

The files are judged again with the edits in them before anything is written. A fix may bring up a finding that has a
fix of its own; so passes are made until nothing changes. A fix that leaves its gap, or leaves in the end a finding that
was not there before or was less severe, is dropped, and the passes begin again without it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint.findings import Finding
from kube_gaplint.fix.files import FileChange
from kube_gaplint.fix.plan import Dropped, FixPlan, plan

Judge: TypeAlias = Callable[[Mapping[str, str]], Sequence[Finding]]
"""All findings of all severities where some files, by path, hold other texts."""

_MOST_PASSES = 6
_STAYS = "the gap is still there afterwards"


def repair(wanted: Collection[str], judge: Judge, *, unsafe: bool, codes: Collection[str]) -> FixPlan:
    """The fixes of the findings whose fingerprints are `wanted`, as one change a file.

    `codes` are the rules whose findings may be fixed as well where a fix brings them up.
    """
    return _Repair(wanted, judge, unsafe=unsafe, codes=codes).run()


_Object: TypeAlias = tuple[str, str, str, str]
_Key: TypeAlias = tuple[str, _Object]


def _object(finding: Finding) -> _Object:
    subject = finding.subject
    return finding.place.source.path, subject.kind, subject.namespace, subject.name


def _by_meaning(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Findings that mean the same, the severest first."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in sorted(findings, key=lambda finding: -finding.severity):
        found[finding.digest].append(finding)
    return found


def _live(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.suppressed is None]


class _Outcome(Struct):
    """What some passes led to."""

    findings: list[Finding]
    texts: dict[str, str] = field(default_factory=dict)
    changes: dict[str, FileChange] = field(default_factory=dict)
    fixed: list[Finding] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


class _Repair:
    def __init__(self, wanted: Collection[str], judge: Judge, *, unsafe: bool, codes: Collection[str]) -> None:
        self.wanted = wanted
        self.judge = judge
        self.unsafe = unsafe
        self.codes = codes
        self.before = _live(judge({}))
        self.known = {finding.fingerprint for finding in self.before}
        self.dropped: dict[str, Dropped] = {}

    def run(self) -> FixPlan:
        while True:
            outcome = self._passes()
            blamed = self._blamed(outcome)
            if not blamed:
                break
            self.dropped.update(blamed)
        order = {finding.fingerprint: index for index, finding in enumerate(self.before)}
        dropped = {one.finding.fingerprint: one for one in (*outcome.dropped, *self.dropped.values())}
        return FixPlan(
            list(outcome.changes.values()),
            sorted(
                (one for name, one in dropped.items() if name in order), key=lambda one: order[one.finding.fingerprint]
            ),
        )

    def _passes(self) -> _Outcome:
        outcome = _Outcome(self.before)
        for _ in range(_MOST_PASSES):
            made = plan([finding for finding in outcome.findings if self._may_fix(finding)], unsafe=self.unsafe)
            outcome.dropped = made.dropped
            if not made.changes:
                break
            self._take(outcome, made)
        return outcome

    def _may_fix(self, finding: Finding) -> bool:
        if finding.fingerprint in self.dropped:
            return False
        if finding.fingerprint in self.known:
            return finding.fingerprint in self.wanted
        return finding.code in self.codes

    def _take(self, outcome: _Outcome, made: FixPlan) -> None:
        """Put the changes of one pass on top of the earlier ones, and judge again."""
        for change in made.changes:
            first = outcome.changes.get(change.path)
            outcome.texts[change.path] = change.new_text
            outcome.changes[change.path] = (
                change
                if first is None
                else replace(first, new_text=change.new_text, findings=(*first.findings, *change.findings))
            )
        fixed = {id(finding): finding for change in made.changes for finding in change.findings}
        outcome.fixed += fixed.values()
        outcome.findings = _live(self.judge(outcome.texts))

    # Whose fault it is

    def _blamed(self, outcome: _Outcome) -> dict[str, Dropped]:
        # Equal findings are told apart by their order only, so they are counted.
        before, after, fixed = (
            Counter(finding.digest for finding in findings)
            for findings in (self.before, outcome.findings, outcome.fixed)
        )
        staying = {
            finding.fingerprint: Dropped(finding, _STAYS)
            for finding in outcome.fixed
            if after[finding.digest] > max(0, before[finding.digest] - fixed[finding.digest])
        }
        if staying:
            return staying
        blamed: dict[str, Dropped] = {}
        suspects = {key: self._suspects(key, outcome) for key in self._added(outcome)}
        guilty = self._tried(suspects)
        for key, new in self._added(outcome).items():
            reason = f"it would bring up {new[0].code} ({new[0].message})"
            for finding in guilty[key] or suspects[key]:
                blamed.setdefault(finding.fingerprint, Dropped(finding, reason))
        return blamed

    def _added(self, outcome: _Outcome) -> dict[_Key, list[Finding]]:
        """What was not found before, or is more severe than before, by meaning and object."""
        before = _by_meaning(self.before)
        added: dict[_Key, list[Finding]] = defaultdict(list)
        for digest, findings in _by_meaning(outcome.findings).items():
            for now, earlier in zip_longest(findings, before.get(digest, ())):
                if now is not None and (earlier is None or now.severity > earlier.severity):
                    added[digest, _object(now)].append(now)
        return added

    @staticmethod
    def _suspects(key: _Key, outcome: _Outcome) -> list[Finding]:
        """The fixes that may have brought up a finding: those of its object, else of its file, else all."""
        of_object = [finding for finding in outcome.fixed if _object(finding) == key[1]]
        of_file = [finding for finding in outcome.fixed if finding.place.source.path == key[1][0]]
        return of_object or of_file or outcome.fixed

    def _tried(self, suspects: Mapping[_Key, list[Finding]]) -> dict[_Key, list[Finding]]:
        """Which of the suspects bring up the finding alone. The n-th ones of all are tried at once."""
        guilty: dict[_Key, list[Finding]] = {key: [] for key in suspects}
        several = {key: findings for key, findings in suspects.items() if len(findings) > 1}
        for row in zip_longest(*several.values()):
            tried = {key: finding for key, finding in zip(several, row, strict=True) if finding is not None}
            names = {finding.fingerprint for finding in tried.values()}
            made = plan([finding for finding in self.before if finding.fingerprint in names], unsafe=self.unsafe)
            outcome = _Outcome(self.before)
            if made.changes:
                self._take(outcome, made)
            for key in self._added(outcome).keys() & tried.keys():
                guilty[key].append(tried[key])
        return guilty
