"""What has become of judged findings: a right one that vanished is a regression, a wrong one that stays a debt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from accuracy.judging import identified, quiet_workloads, workload_fingerprint
from accuracy.reports import Finding, Gaplint
from accuracy.repositories import Repository
from accuracy.verdicts import QUIET, RIGHT, WRONG, Now, Row


class Outcome(Struct, frozen=True):
    """Judged rows with what they are now, and those that could not be looked at."""

    rows: tuple[Row, ...]
    withdrawn: tuple[Row, ...]
    """Rows of rules that exist no longer."""
    unseen: tuple[Row, ...]
    """Rows of repositories that were not given, or were given at another commit."""

    def those(self, verdict: str, now: Now) -> list[Row]:
        return [row for row in self.rows if (row.verdict, row.now) == (verdict, now)]

    @property
    def regressions(self) -> list[Row]:
        """Right findings that vanished."""
        return self.those(RIGHT, "gone")

    @property
    def debts(self) -> list[Row]:
        """Wrong findings that are still there, and gaps that are still missed."""
        return [*self.those(WRONG, "there"), *self.those(WRONG, "quiet")]


def recheck(rows: Sequence[Row], repositories: Sequence[Repository], gaplint: Gaplint) -> Outcome:
    """Run gaplint over the repositories and look for each judged row.

    A finding is the same by its fingerprint, or else by its rule and place, since its detail may be worded anew.
    A quiet workload is `found` when something is found of it now: the missed rule, if it was judged to miss one.
    """
    by_name = {one.name: one for one in repositories}
    rules = gaplint.rules()
    of_repository: dict[str, list[Row]] = defaultdict(list)
    withdrawn: list[Row] = []
    unseen: list[Row] = []
    for row in rows:
        repository = by_name.get(row.repository)
        if row.code and row.code not in rules:
            withdrawn.append(row)
        elif repository is None or (row.commit and repository.commit and repository.commit != row.commit):
            unseen.append(row)
        else:
            of_repository[row.repository].append(row)
    seen = [row for name, judged in of_repository.items() for row in _looked_for(judged, by_name[name], gaplint)]
    return Outcome(tuple(seen), tuple(withdrawn), tuple(unseen))


def _looked_for(judged: Sequence[Row], repository: Repository, gaplint: Gaplint) -> Iterator[Row]:
    findings = [
        finding for finding in gaplint.findings(repository, "info").findings if finding.severity in ("error", "warning")
    ]
    prints = {(finding.code, finding.fingerprint) for finding in findings}
    places = {(finding.code, finding.location.file, finding.location.line) for finding in findings}
    objects = {(finding.code, finding.subject.named) for finding in findings}
    quiet = _quiet(repository, gaplint, findings) if any(row.severity == QUIET for row in judged) else {}
    for row in judged:
        now: Now
        if row.severity != QUIET:
            same = (row.code, row.fingerprint) in prints or (row.code, row.path, row.line) in places
            now = "there" if same else "gone"
        elif row.code:
            now = "found" if (row.code, row.object) in objects else "quiet"
        else:
            now = "quiet" if quiet.get(row.fingerprint, True) else "found"
        yield msgspec.structs.replace(row, now=now)


def _quiet(repository: Repository, gaplint: Gaplint, findings: Sequence[Finding]) -> dict[str, bool]:
    workloads = gaplint.workloads(repository)
    still = {
        workload_fingerprint(one)
        for purpose in {workload.purpose for workload in workloads}
        for one in quiet_workloads(repository, workloads, findings, purpose)
    }
    return {(name := workload_fingerprint(one)): name in still for one in identified(repository, workloads)}


def told(outcome: Outcome) -> Iterator[str]:
    """The outcome in lines: what calls for work first."""
    groups = (
        ("right findings that vanished (a regression, or the row is out of date)", outcome.regressions),
        ("wrong findings that are still there, and gaps that are still missed", outcome.debts),
        ("rightly quiet workloads that something is found of now (to be judged)", outcome.those(RIGHT, "found")),
        ("wrong findings that are gone, and missed gaps that are found", [
            *outcome.those(WRONG, "gone"), *outcome.those(WRONG, "found"),
        ]),
    )  # fmt: skip
    for title, rows in groups:
        yield f"{len(rows)} {title}"
        for row in rows:
            yield f"  {row.repository} {row.path}:{row.line} {row.code} {row.object}: {row.reason}"
    right = [*outcome.those(RIGHT, "there"), *outcome.those(RIGHT, "quiet")]
    yield f"{len(right)} right findings and quiet workloads as they were judged"
    yield f"{len(outcome.withdrawn)} of rules that exist no longer, {len(outcome.unseen)} not seen here"
