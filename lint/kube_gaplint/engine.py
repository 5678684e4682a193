"""From paths to a report: discover, load, model, rules, merge, suppress, filter."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from kube_gaplint import collector, registry
from kube_gaplint.facts.candidates import SUPPRESSION_WORD
from kube_gaplint.findings import Change, FileError, Finding, Fix, Related, Report, Severity, Summary
from kube_gaplint.meta import META_RULES
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.subject import Subject
from kube_gaplint.share import Share, jobs_for, runs
from kube_gaplint.text.source import Source

if TYPE_CHECKING:
    from kube_gaplint.baseline import Baseline
    from kube_gaplint.bundle.bundle import Loaded
    from kube_gaplint.bundle.objects import KubeObject
    from kube_gaplint.discover import Discovery, Exclusion
    from kube_gaplint.file_ignores import FileIgnores
    from kube_gaplint.given import Given
    from kube_gaplint.judging import Found, Part
    from kube_gaplint.kinds import Model
    from kube_gaplint.kinds.generic import UserKind
    from kube_gaplint.kinds.views import Order
    from kube_gaplint.revision import Before
    from kube_gaplint.text.compose import Problem
    from kube_gaplint.text.nodes import Document


class UsageProblem(Exception):
    """The run itself is wrong: a missing path, an unknown code. The message says what, where and what to do."""


class Request(Struct, frozen=True):
    """What one run is asked for. `stdin` holds the bytes of standard input where `-` is among the paths."""

    paths: tuple[str, ...] = (".",)
    stdin: bytes | None = None
    stdin_filename: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_severity: Severity = Severity.WARNING
    profile: Profile = field(default_factory=Profile)
    kinds: tuple[UserKind, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """Other severities than those of the rules, by code."""
    file_ignores: FileIgnores | None = None
    baseline: Baseline | None = None
    changed: Given | None = None
    """Where findings count; everywhere, where nothing is given."""
    before: Before | None = None
    """What the files held before a change: only what is new beside the findings there counts."""
    exclude: tuple[Exclusion, ...] = ()
    exclude_named: bool = False
    """Whether `exclude` counts for paths that are named as well."""
    today: date | None = None
    jobs: int = 1
    """Processes to judge with, where there is enough to judge and the system can fork."""


class Reading(Struct):
    """The paths of a request, read and understood."""

    discovery: Discovery
    loaded: Loaded
    model: Model
    over: list[Problem] = field(default_factory=list)
    """The limits that were met."""

    def summary(self) -> Summary:
        """Counts of what was read and passed over, and of workloads."""
        from kube_gaplint.judging import count_workload

        summary = _counts(self.discovery, self.loaded)
        for workload in self.model.workloads:
            count_workload(summary, workload)
        summary.judged = len(self.model.views)
        return summary

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the files, or too much."""
        return [*self.loaded.problems, *self.over]

    @property
    def errors(self) -> list[FileError]:
        return [*self.discovery.errors, *self.loaded.errors]


def _counts(discovery: Discovery, loaded: Loaded) -> Summary:
    summary = Summary(files=loaded.files, documents=loaded.documents, hints=loaded.hints)
    for counted in (discovery.skipped, loaded.skipped):
        for reason, count in counted.items():
            summary.skip(reason, count)
    return summary


def read(request: Request) -> Reading:
    """Read the paths of a request up to the model, and judge nothing. Raises UsageProblem."""
    from kube_gaplint.bundle import bundle
    from kube_gaplint.judging import heard
    from kube_gaplint.kinds import build

    wanted = None if request.changed is None else request.changed.concerns()
    discovery = _find(request)
    with heard() as over:
        loaded = bundle.load(discovery)
        model = build(loaded.bundle, request.profile, request.kinds, wanted)
    return Reading(discovery, loaded, model, over)


def _find(request: Request) -> Discovery:
    """Find what is worth reading of what a request names. Raises UsageProblem."""
    from kube_gaplint import discover

    try:
        return discover.discover(
            request.paths,
            exclude=request.exclude,
            exclude_named=request.exclude_named,
            kinds=frozenset(one.kind for one in request.kinds),
            stdin=request.stdin,
            stdin_filename=request.stdin_filename,
            jobs=request.jobs,
            meanwhile=partial(_prepare, request),
        )
    except discover.PathError as error:
        raise UsageProblem(str(error)) from error


def _prepare(request: Request) -> None:
    """Import what it takes to judge workloads of all kinds."""
    for module in _FOR_WORKLOADS:
        import_module(f"kube_gaplint.{module}")
    registry.load_all(selected_codes(request))


_FOR_WORKLOADS = (
    "bundle.bundle", "bundle.builds", "bundle.loading", "bundle.node_commands", "judging", "kinds.views", "kinds.batch",
    "kinds.generic", "kinds.gke", "kinds.host_pods", "kinds.job", "kinds.kubeflow", "kinds.node_links",
    "launch.launchers.torchrun", "launch.own_modules", "launch.processes", "launch.shell_emit", "launch.shell_flow",
    "launch.shell_parameters", "launch.shell_parser", "launch.shell_status", "launch.shell_walk", "text.syntax",
)  # fmt: skip
"""Modules that come with the most usual workloads; they bring others."""


def lint(request: Request) -> Report:
    """Judge the paths of a request. Raises UsageProblem."""
    codes = selected_codes(request)
    report, is_partial = _judge(request, codes)
    if request.baseline is not None:
        _accept(report, request.baseline, request, codes)
    if request.changed is not None:
        _keep(report, list(filter(request.changed.touches, report.findings)), request.min_severity)
    if request.before is not None:
        _keep(report, _new(report, request.before, request), request.min_severity)
    if is_partial:  # nobody has looked at the rest
        report.summary.gone = report.summary.elsewhere = 0
    _hide(report, request.min_severity)
    return report


def _judge(request: Request, codes: frozenset[str]) -> tuple[Report, bool]:
    """All findings, the suppressed ones marked, and whether only a part was judged."""
    wanted = None if request.changed is None else request.changed.concerns()
    with collector.kept_out():
        discovery = _find(request)
        if not discovery.judged:
            return Report([], discovery.errors, _passed_over(discovery)), wanted is not None
        from kube_gaplint.bundle import bundle
        from kube_gaplint.judging import heard, of_problems, of_references

        with heard() as over:
            loaded = bundle.load(discovery)
        parts = _parts(loaded, request, codes, wanted)
        summary = _counts(discovery, loaded)
        for part in parts:
            part.add_counts(summary)
        if wanted is not None:  # what no file concerns is there all the same
            summary.judged = loaded.documents
        found = [
            *of_problems([*loaded.problems, *over], codes),
            *of_references(loaded.bundle.unresolved, codes),
            *_in_order(pair for part in parts for pair in part.beside),
            *_in_order(pair for part in parts for pair in part.found),
        ]
        if request.severities:
            found = [_with_severity(item, request.severities) for item in found]
        found = _suppressed(found, loaded, codes, request.today)
        if request.file_ignores is not None:
            found = _ignored(found, request.file_ignores)
        findings = _fingerprinted(_merged(found)) if found else []
        report = Report(findings, [*discovery.errors, *loaded.errors], summary)
    return report, wanted is not None


def _in_order(found: Iterable[tuple[Order, list[Found]]]) -> Iterator[Found]:
    """The findings in the order of their views, whichever process judged those."""
    return (item for _, items in sorted(found, key=lambda pair: pair[0]) for item in items)


def _passed_over(discovery: Discovery) -> Summary:
    """The counts of a run that judges no file: what reads and understands files is not even imported for it."""
    from kube_gaplint.discover import IRRELEVANT

    summary = Summary(skipped=dict(discovery.skipped), hints=discovery.hints)
    if discovery.candidates:
        summary.skip(IRRELEVANT, len(discovery.candidates))
    return summary


def _parts(
    loaded: Loaded,
    request: Request,
    codes: frozenset[str],
    wanted: Callable[[KubeObject | None], bool] | None = None,
) -> list[Part]:
    """What was read, judged: in shares, by a process each, where that is quicker."""
    from kube_gaplint.judging import Judge

    judge = Judge(loaded, codes, request.profile, request.kinds, wanted)
    things = len(loaded.bundle.objects) + len(loaded.bundle.scripts)
    number = jobs_for(request.jobs, things) if wanted is None else 1
    if number == 1:
        parts = [judge.run()]
    else:
        from kube_gaplint import pool

        sources = [source for source, _ in loaded.sources]
        all_runs = runs(things)
        with pool.Tickets(all_runs) as tickets:
            parts = pool.shared(lambda at: judge.run(Share(tickets, first=at == 0)), number, sources)
        left = set(range(all_runs)).difference(*(part.runs for part in parts))
        if left:  # whoever took them was ended
            parts.append(judge.run(Share(sorted(left), first=False)))
    judge.finish([tenant for part in parts for tenant in part.tenants])
    return parts


def selected_codes(request: Request) -> frozenset[str]:
    """The codes that a request switches on. Raises UsageProblem with a suggestion for an unknown one."""
    try:
        return registry.select(request.select, request.ignore)
    except registry.UnknownSelector as error:
        hint = f" Did you mean {' or '.join(error.suggestions)}?" if error.suggestions else ""
        raise UsageProblem(
            f"there is no rule or family {error.text!r}.{hint} `gaplint rules` lists all of them."
        ) from error


def _with_severity(item: Found, severities: Mapping[str, Severity]) -> Found:
    severity = severities.get(item.finding.code)
    return item if severity is None else replace(item, finding=replace(item.finding, severity=severity))


def _ignored(found: list[Found], ignores: FileIgnores) -> list[Found]:
    """The findings, with those marked that the configuration lets go in their files."""
    marked = []
    for item in found:
        reason = None if item.finding.suppressed else ignores.reason(item.finding)
        marked.append(replace(item, finding=item.finding.with_suppression(reason)) if reason else item)
    return marked


def _referred(found: list[Found], loaded: Loaded) -> list[tuple[Source, list[Document]]]:
    """The files that findings stand in and that only references led to: scripts, programs, configurations."""
    known = {source.path for source, _ in loaded.sources}
    referred = {item.finding.place.source.path: item.finding.place.source for item in found}
    return [(source, []) for path, source in referred.items() if path not in known]


def _suppressed(found: list[Found], loaded: Loaded, codes: frozenset[str], today: date | None) -> list[Found]:
    """The findings with the suppressed ones marked, and what is wrong with the suppressions themselves.

    This comes before like findings are merged: a comment at one role silences that role and no other.
    """
    marked_sources = [one for one in (*loaded.sources, *_referred(found, loaded)) if SUPPRESSION_WORD in one[0].text]
    if not marked_sources:
        return found
    from kube_gaplint import suppress
    from kube_gaplint.judging import Found, finding_of, heard, of_problems

    with heard() as over:
        suppressions = [one for source, documents in marked_sources for one in suppress.read(source, documents)]
    found = [*found, *of_problems(over, codes)]
    if not suppressions:
        return found
    loaded.hints.extend(suppress.hints(suppressions, registry.outdated))
    suppressions = suppress.renamed(suppressions, registry.former())
    carried = suppress.with_owners(suppressions, ((kube.node, kube.place) for kube in loaded.bundle.objects))
    known = {row.code: row.name for row in registry.rules()}
    outcome = suppress.apply(
        [item.finding for item in found], carried, known=known, selected=codes, today=today, outdated=registry.outdated
    )
    marked = [replace(item, finding=finding) for item, finding in zip(found, outcome.findings, strict=True)]
    for code, gap in outcome.gaps:
        if code in codes:
            place = gap.origin.place
            marked.append(Found(finding_of(META_RULES[code], gap, Subject("file"), place), place, gap.detail))
    return marked


def _merged(found: Iterable[Found]) -> list[Found]:
    """One finding for one gap.

    The same gap in several like roles or containers of one object becomes one finding, with the others as related
    places. The same place reached twice (two overlays of one base) is said once, with the objects that share it.
    """
    by_place: dict[tuple[object, ...], Found] = {}
    owners: dict[tuple[object, ...], dict[tuple[str, ...], Subject]] = {}
    for item in found:
        place, silent, subject = item.finding.place, item.finding.suppressed is not None, item.finding.subject
        key = (item.finding.code, place.source.path, place.span, item.detail, silent)
        kept = by_place.get(key)
        if kept is None or item.finding.severity > kept.finding.severity:
            by_place[key] = item
        owners.setdefault(key, {}).setdefault((subject.kind, subject.namespace, subject.name), subject)
    for at, subjects in owners.items():
        if len(subjects) > 1:
            by_place[at] = _shared(by_place[at], subjects)
    by_object: dict[tuple[object, ...], list[Found]] = defaultdict(list)
    for item in by_place.values():
        owner = item.object_place
        silent = item.finding.suppressed is not None
        by_object[(item.finding.code, owner.source.path, owner.span.start, item.detail, silent)].append(item)
    return [_one_of(group) for group in by_object.values()]


def _shared(item: Found, subjects: Mapping[tuple[str, ...], Subject]) -> Found:
    """A finding with the other objects that have the gap at this very place."""
    own = item.finding.subject
    also = (subject for key, subject in subjects.items() if key != (own.kind, own.namespace, own.name))
    return replace(item, finding=replace(item.finding, also=tuple(also)))


def _one_of(group: list[Found]) -> Found:
    first = max(group, key=lambda item: item.finding.severity)
    others = [item for item in group if item is not first]
    if not others:
        return first
    also = tuple(
        Related(item.finding.origin, f"the same in container {item.finding.subject.container}")
        if item.finding.subject.container
        else Related(item.finding.origin, "the same here")
        for item in others
    )
    fix = _common_fix([first, *others])
    return replace(first, finding=replace(first.finding, related=(*first.finding.related, *also), fix=fix))


def _common_fix(group: list[Found]) -> Fix | None:
    """One fix for all places of a gap, where each has one that can be made; else that of the first."""
    fixes = [item.finding.fix for item in group]
    changes: list[Change] = []
    for fix in fixes:
        if fix is None or not fix.applicable:
            return fixes[0]
        changes.extend(change for change in fix.changes if change not in changes)
    first = fixes[0]
    assert first is not None
    return replace(first, changes=tuple(changes), safe=all(fix is not None and fix.safe for fix in fixes))


def _fingerprinted(found: list[Found]) -> list[Finding]:
    """Findings with fingerprints built from what they mean, never from where they stand.

    Equal ones (the same object in two files, say) are told apart by an ordinal in the order of their places.
    """
    sha256 = _sha256()
    seen: dict[str, int] = {}
    out = []
    for item in sorted(found, key=lambda item: _order(item.finding)):
        subject = item.finding.subject
        parts = (
            item.finding.code,
            subject.kind,
            subject.api_version.split("/")[0] if "/" in subject.api_version else "",
            subject.namespace,
            subject.name,
            item.detail,
        )
        digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        seen[digest] = seen.get(digest, 0) + 1
        ordinal = seen[digest]
        out.append(replace(item.finding, fingerprint=digest if ordinal == 1 else f"{digest}-{ordinal}"))
    return out


def _sha256() -> Callable[[bytes], Any]:
    """The interpreter's own SHA-256: `hashlib` would load OpenSSL first, which costs as much as judging a manifest."""
    try:
        module = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:  # this interpreter was built to have OpenSSL's alone
        module = import_module("hashlib")
    return cast("Callable[[bytes], Any]", module.sha256)


def _order(finding: Finding) -> tuple[str, int, str, str]:
    return (finding.place.source.path, finding.place.span.start, finding.code, finding.message)


def _accept(report: Report, baseline: Baseline, request: Request, codes: frozenset[str]) -> None:
    from kube_gaplint.baseline import Scope

    scope = Scope.of(request.paths, codes, request.stdin_filename)
    report.findings, gone = baseline.accept(report.findings, scope)
    report.summary.gone = sum(row.count for row in gone)


def _new(report: Report, before: Before, request: Request) -> list[Finding]:
    """The findings that a run over the files as they were does not have. Raises UsageProblem."""
    from kube_gaplint.compare import new_findings
    from kube_gaplint.revision import RevisionProblem

    if not before or not report.findings:
        return []
    paths = before.paths(request.paths)
    if not paths:
        return report.findings
    try:
        with before.reading():
            earlier = lint(replace(request, paths=paths, before=None, baseline=None, min_severity=min(Severity)))
    except RevisionProblem as problem:
        raise UsageProblem(str(problem)) from problem
    return new_findings(report.findings, earlier.findings, before.renamed)


def _keep(report: Report, kept: list[Finding], least: Severity) -> None:
    """Leave out what does not come from a change, and count it."""

    def counting(findings: list[Finding]) -> int:
        return sum(finding.suppressed is None and finding.severity >= least for finding in findings)

    report.summary.elsewhere = counting(report.findings) - counting(kept)
    report.findings = kept


def _hide(report: Report, least: Severity) -> None:
    shown = [finding for finding in report.findings if finding.severity >= least]
    report.summary.hidden = sum(finding.suppressed is None for finding in report.findings if finding.severity < least)
    for finding in report.findings:
        if finding.suppressed is not None and finding.suppressed.how == "baseline":
            report.summary.accepted += 1
        elif finding.suppressed is not None:
            report.summary.suppressed += 1
    report.findings = shown
