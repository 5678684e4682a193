"""Judging what was read: the views of one share of a run, each by the rules that look at its type.

It gives findings on their way: those of several shares are put together, merged and suppressed by the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kube_gaplint import lazy_re, progress, registry
from kube_gaplint.findings import Finding, Fix, Gap, Severity, Summary
from kube_gaplint.kinds.views import Order, Views
from kube_gaplint.meta import META_RULES
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.tenants import Tenant
from kube_gaplint.model.workload import Workload
from kube_gaplint.rule import Context, Rule
from kube_gaplint.share import ALL, Share
from kube_gaplint.text import limits
from kube_gaplint.text.compose import Problem
from kube_gaplint.text.source import Place

if TYPE_CHECKING:
    from kube_gaplint.bundle.bundle import Loaded, Unresolved
    from kube_gaplint.bundle.objects import KubeObject
    from kube_gaplint.kinds.generic import UserKind
    from kube_gaplint.model.profile import Profile


class _ProblemGap(Struct, frozen=True):
    """How a problem of reading is told: the code, what it costs and the way out."""

    code: str
    severity: Severity
    consequence: str
    remedy: str


_PROBLEMS = {
    "syntax": _ProblemGap(
        "GAP001",
        Severity.ERROR,
        "what stands behind it in this file is not judged, and kubectl refuses the file",
        "mend the YAML; a template is rendered first, and piped into `gaplint -`",
    ),
    "duplicate-key": _ProblemGap(
        "GAP001",
        Severity.WARNING,
        "the other value is lost without a word; the document was judged with the last one",
        "keep one of the two",
    ),
    "repeated-key": _ProblemGap(
        "GAP001",
        Severity.INFO,
        "nothing is lost as it stands, but whoever changes the first of the two changes nothing",
        "keep one of the two",
    ),
    "limit": _ProblemGap(
        "GAP002",
        Severity.ERROR,
        "what lies beyond the limit is not judged",
        "split the file, or exclude it where it is no manifest",
    ),
}


class Found(Struct, frozen=True):
    """A finding on its way, with the object that it belongs to (for merging) and its semantic detail."""

    finding: Finding
    object_place: Place
    detail: str


_LINE_NUMBER = lazy_re.compile(r"\bline \d+")
"""What a message says of another line moves with the lines above it, and is no part of what a finding means."""


def of_problems(problems: Iterable[Problem], codes: frozenset[str]) -> Iterator[Found]:
    for problem in problems:
        told = _PROBLEMS[problem.kind]
        if told.code in codes:
            detail = _LINE_NUMBER.sub("line", problem.message)
            gap = Gap(
                Origin(problem.place),
                problem.message,
                told.consequence,
                detail=detail,
                severity=told.severity,
                fix=Fix(told.remedy),
            )
            subject = Subject(kind="file", name="")
            yield Found(finding_of(META_RULES[told.code], gap, subject, problem.place), problem.place, detail)


def of_references(missed: Iterable[Unresolved], codes: frozenset[str]) -> Iterator[Found]:
    """GAP003: what a workload refers to and nobody gave. Rules are silent about what it may hold."""
    code = "GAP003"
    if code not in codes:
        return
    for miss in missed:
        near = miss.object
        subject = Subject("file") if near is None else Subject(near.kind, near.api_version, near.namespace, near.name)
        owner = miss.place if near is None else near.place
        message = f"{miss.what} is not known: {miss.reason}"
        consequence = "what it holds may close a gap or open one, so rules that depend on it kept quiet"
        gap = Gap(Origin(miss.place), message, consequence, detail=miss.what)
        yield Found(finding_of(META_RULES[code], gap, subject, owner), owner, miss.what)


def finding_of(rule: Rule, gap: Gap, subject: Subject, owner: Place) -> Finding:
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity if gap.severity is None else gap.severity,
        message=gap.message,
        consequence=gap.consequence,
        subject=subject,
        origin=gap.origin,
        related=gap.related,
        evidence=rule.evidence if gap.evidence is None else gap.evidence,
        fix=gap.fix,
        fingerprint="",
        owner=owner,
    )


class Part(Struct):
    """What one share of a run gave.

    `found`: for each view with findings its order and those. `beside`: findings of limits and references, by the view
    that they came up with. `tenants`: what node pools are told of the share's workloads. `runs`: what the share took.
    """

    found: list[tuple[Order, list[Found]]]
    beside: list[tuple[Order, list[Found]]]
    counts: Summary
    tenants: list[Tenant]
    runs: list[int] = field(default_factory=list)

    def add_counts(self, summary: Summary) -> None:
        summary.workloads += self.counts.workloads
        summary.judged += self.counts.judged
        for name in ("by_kind", "by_class"):
            table: dict[str, int] = getattr(summary, name)
            for key, count in getattr(self.counts, name).items():
                table[key] = table.get(key, 0) + count


_BEFORE_ALL: Order = (-1, 0)
_AFTER_ALL: Order = (9, 0)


class Judge:
    """Judges what was read: all of it at once, or in shares, of which forks of this process may take some."""

    def __init__(
        self,
        loaded: Loaded,
        codes: frozenset[str],
        profile: Profile,
        kinds: Sequence[UserKind] = (),
        wanted: Callable[[KubeObject | None], bool] | None = None,
    ) -> None:
        """`wanted`: see `Views`."""
        self._missed = loaded.bundle.unresolved
        self._codes = codes
        self._context = Context(profile)
        self._rows: dict[type, list[registry.RuleInfo]] = {}
        self._late: list[tuple[Order, object]] = []
        """What must know of all workloads of the run."""
        self._first = Part([], [], Summary(), [])
        with heard() as self._over:
            self._views = Views(loaded.bundle, profile, kinds, wanted)
        self._known = len(self._missed)
        """How many references were missed before anything was judged."""

    def run(self, share: Share = ALL) -> Part:
        """Understand and judge the views of a share. In the first one, those that must know of all workloads of the run
        are left for `finish`."""
        views = self._views
        part = Part([], [], Summary(), [])
        late: list[tuple[Order, object]] = []
        before = len(views.tenants)
        finished: list[Workload] = []
        number = -1
        with heard() as over:
            for order, view in views.of(share):
                if order[1] != number:
                    _let_go(finished)
                    number = order[1]
                part.counts.judged += 1
                if isinstance(view, Workload):
                    progress.tell("judging", part.counts.workloads)
                    count_workload(part.counts, view)
                    finished.append(view)
                if views.waits(view):
                    late.append((order, view))
                else:
                    self._run_rules(view, order, part)
                self._note(over, order, part)
            _let_go(finished)
            if not share.first:
                views.tell(views.first_tenant())
                self._run_late(late, part)
            self._note(over, _AFTER_ALL, part)
        if share.first:
            self._note(self._over, _BEFORE_ALL, part)
            self._late, self._first = late, part
        part.tenants.extend(views.tenants[before:])
        part.runs = share.taken
        return part

    def _note(self, over: list[Problem], order: Order, part: Part) -> None:
        """Move limits and references that came up since the last time to their part."""
        known = self._known
        if over or len(self._missed) > known:
            found = [*of_problems(over, self._codes), *of_references(self._missed[known:], self._codes)]
            over.clear()
            del self._missed[known:]
            part.beside.append((order, found))

    def finish(self, tenants: Sequence[Tenant]) -> None:
        """Judge the rest of the first share, with the GPU workloads of all shares."""
        self._views.tell(tenants)
        self._run_late(self._late, self._first)

    def _run_late(self, late: Iterable[tuple[Order, object]], part: Part) -> None:
        for order, view in late:
            self._run_rules(view, order, part)

    def _run_rules(self, view: Any, order: Order, part: Part) -> None:
        """Add what the rules find in a view."""
        rows = self._rows.get(type(view))
        if rows is None:
            rows = self._rows[type(view)] = registry.for_view(type(view), self._codes)
        found = []
        for rule in registry.asked(rows, view):
            for gap in rule.check(view, self._context):
                subject = view.subject
                if gap.container:
                    subject = subject.in_container(gap.container)
                owner = view.object_origin.place
                found.append(Found(finding_of(rule, gap, subject, owner), owner, gap.detail))
        if found:
            part.found.append((order, found))


def _let_go(workloads: list[Workload]) -> None:
    """Part what was judged from its processes, which know it: nobody looks for cycles meanwhile (see `collector`), and
    what only a cycle holds would stay in memory to the end."""
    for workload in workloads:
        workload.processes = []
        if workload.batch is not None:
            workload.batch.workload = None
    workloads.clear()


def count_workload(summary: Summary, workload: Workload) -> None:
    kind, purpose = workload.subject.kind, workload.purpose
    summary.workloads += 1
    summary.by_kind[kind] = summary.by_kind.get(kind, 0) + 1
    summary.by_class[purpose] = summary.by_class.get(purpose, 0) + 1


@contextmanager
def heard() -> Iterator[list[Problem]]:
    """The limits that are met within it."""
    over: list[Problem] = []
    with limits.heard_by(lambda place, message: over.append(Problem("limit", message, place))):
        yield over
