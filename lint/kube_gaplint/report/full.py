"""The report for a person: each finding with its source, its price, the incident behind it and the way out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from kube_gaplint.findings import FileError, Finding, Report, Severity
from kube_gaplint.report.escape import guarded, visible
from kube_gaplint.report.layout import ASCII, BOX, Palette, hanging, padded, table, width_of, wrapped
from kube_gaplint.report.options import IncidentView, RenderOptions
from kube_gaplint.report.snippet import Look, short, snippet
from kube_gaplint.report.words import closing_lines, most_often, severities_of, subject_name
from kube_gaplint.share import jobs_for

_WIDEST = 120
"""Prose is not set wider than this; longer lines are hard to read."""
_LABEL = 10


def render(report: Report, options: RenderOptions) -> str:
    """The whole report, ready for a terminal of `options.width` columns."""
    palette = Palette(options.color)
    glyphs = ASCII if options.ascii_only else BOX
    look = Look(max(options.width, 40), glyphs, palette, options.ascii_only)
    by_file: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.suppressed is None:
            by_file.setdefault(finding.place.source.path, []).append(finding)
    shares = _shares([*by_file.values()], options)
    bodies = [partial(_files, files, told, look, options) for files, told in shares]
    lines: list[str] = []
    if report.errors:
        lines += [*_errors(report.errors, look), ""]
    if options.statistics:
        lines += [*statistics(report, options), ""]
    if options.summary:
        lines += _closing(report, options, look)
    texts = [text for made in _made(bodies) for text in made]
    texts.append(_text(lines))
    while texts and not texts[-1].strip("\n"):
        texts.pop()
    if texts:
        texts[-1] = texts[-1].rstrip("\n") + "\n"
    return "".join(texts)  # the whole is put together once: it may be as large as all that was read


_LEAST = 500
"""Findings from which on a second process pays for its start."""


def _shares(files: list[list[Finding]], options: RenderOptions) -> list[tuple[list[list[Finding]], set[str]]]:
    """The findings by file, cut into one share a process, each with the incidents that were told before it."""
    number = jobs_for(options.jobs, sum(map(len, files)), _LEAST)
    size = -(-len(files) // number) if files else 1
    shares = []
    told: set[str] = set()
    for start in range(0, len(files), size):
        share = files[start : start + size]
        shares.append((share, set(told)))
        if start + size < len(files):
            told.update(known[1].id for findings in share for one in findings if (known := _known(one, options)))
    return shares


def _made(bodies: Sequence[Callable[[], list[str]]]) -> list[list[str]]:
    """What each of them gives, made at the same time."""
    if len(bodies) < 2:
        return [body() for body in bodies]
    from kube_gaplint import pool

    return pool.shared(lambda at: bodies[at](), len(bodies), ())


def _files(files: list[list[Finding]], told: set[str], look: Look, options: RenderOptions) -> list[str]:
    """The findings of some files, a text for each; `told`: the incidents that need not be told any more."""
    texts = []
    for findings in files:
        lines = [_header(findings[0].place.source.path, severities_of(findings), look), ""]
        for finding in findings:
            lines += [*_finding(finding, look, options, told), ""]
        texts.append(_text(lines))
    return texts


def _text(lines: list[str]) -> str:
    text = "".join(f"{line}\n" for line in lines)
    return text if "::" not in text else "".join(f"{guarded(line)}\n" for line in lines)


def statistics(report: Report, options: RenderOptions) -> list[str]:
    """Counts by rule, and workloads by kind and class."""
    live = [finding for finding in report.findings if finding.suppressed is None]
    by_rule = Counter((finding.code, finding.name) for finding in live)
    worst: dict[str, Severity] = {}
    for finding in live:
        worst[finding.code] = max(finding.severity, worst.get(finding.code, finding.severity))
    palette = Palette(options.color)
    rows = [
        (f"{number:,}", code, name, str(worst[code]))
        for (code, name), number in sorted(by_rule.items(), key=lambda item: (-item[1], item[0]))
    ]
    lines = [palette.bold("Findings by rule"), *table(rows, right=frozenset({0}))] if rows else []
    for title, counts in (
        ("Workloads by kind", report.summary.by_kind),
        ("Workloads by class", report.summary.by_class),
    ):
        if counts:
            cells = [
                (f"{number:,}", visible(name, ascii_only=options.ascii_only))
                for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            ]
            lines += ["", palette.bold(title), *table(cells, right=frozenset({0}))]
    return lines[1:] if lines and not lines[0] else lines


def _prose(look: Look) -> int:
    return min(look.width, _WIDEST)


def _header(path: str, counts: str, look: Look) -> str:
    """The line above the findings of one file."""
    rule = look.glyphs.rule
    columns = _prose(look)
    path = short(path, columns - width_of(counts) - 10, look)
    fill = rule * max(columns - width_of(path) - width_of(counts) - 8, 2)
    edge = look.palette.dim
    return f"{edge(rule * 2)} {look.palette.bold(path)} {edge(fill)} {counts} {edge(rule * 2)}"


def _finding(finding: Finding, look: Look, options: RenderOptions, told: set[str]) -> list[str]:
    palette = look.palette
    columns = _prose(look)
    head = f"{finding.severity} {finding.code} {finding.name}"
    lines = [palette.severity(finding.severity, head)]
    lines += [palette.bold(f"  {line}") for line in wrapped(_plain(finding.message, look), columns - 2)]
    subject = subject_name(finding.subject, ascii_only=look.ascii_only)
    if options.show_source:
        lines += snippet(finding, subject, look)
    elif subject:
        lines.append(f"  {palette.dim(subject)}")
    return lines + _facts(finding, look, options, told)


def _facts(finding: Finding, look: Look, options: RenderOptions, told: set[str]) -> list[str]:
    """The consequence, the incident and the fix, each under its label."""
    palette = look.palette
    rows: list[tuple[str, list[str]]] = []
    if finding.consequence:
        rows.append(("Cost", [_plain(finding.consequence, look)]))
    incident = _incident(finding, look, options, told)
    if incident:
        rows.append(("Incident", incident))
    if finding.fix is not None:
        title = _plain(finding.fix.title, look).rstrip(".")
        how = {"safe": " (--fix does it)", "unsafe": " (--fix --unsafe-fixes does it: look at the result)", "no": ""}
        rows.append(("Fix", [title + how[finding.fixable]]))
    lines = []
    for label, texts in rows:
        for at, text in enumerate(texts):
            shown = padded(label if at == 0 else "", _LABEL)
            first, *rest = hanging(shown, text, _prose(look), indent=4)
            colour = palette.good if label == "Fix" else palette.dim
            lines += [first.replace(label, colour(label), 1) if at == 0 else first, *rest]
    return lines


def _incident(finding: Finding, look: Look, options: RenderOptions, told: set[str]) -> list[str]:
    """The first incident that is known, with its link, and a hint at the others. It is told once in a report."""
    known = _known(finding, options)
    if known is None:
        return []
    at, incident = known
    if incident.id in told:
        return [f"as above: gaplint explain {incident.id}"]
    told.add(incident.id)
    others = len(finding.evidence) - at - 1
    text = f"{incident.title} ({incident.organisation}, {incident.year})"
    if others:
        text += f"; {others} more: gaplint explain {finding.code}"
    links = [address for _, address in incident.sources[:1]]
    return [_plain(line, look) for line in (text, *links)]


def _known(finding: Finding, options: RenderOptions) -> tuple[int, IncidentView] | None:
    """The first of a finding's incidents that the library has, and which of them it is."""
    for at, identifier in enumerate(finding.evidence):
        incident = options.incident(identifier)
        if incident is not None:
            return at, incident
    return None


def _plain(text: str, look: Look) -> str:
    return visible(text, ascii_only=look.ascii_only)


def _errors(errors: list[FileError], look: Look) -> list[str]:
    lines = [look.palette.severity(Severity.ERROR, "Could not be read")]
    for error in errors:
        lines += hanging(f"{_plain(error.path, look)}: ", _plain(error.reason, look), _prose(look), indent=2)
    return lines


def _closing(report: Report, options: RenderOptions, look: Look) -> list[str]:
    first, *rest = closing_lines(report, options.min_severity)
    rest = [line for line in (most_often(report), *rest) if line]
    worst = report.worst()
    colour = look.palette.good if worst is None else lambda text: look.palette.severity(worst, text)
    lines = [colour(line) for line in wrapped(_plain(first, look), _prose(look))]
    for line in rest:
        shown = _plain(line, look)
        lines += (
            [shown] if shown.startswith("Hint: ") else wrapped(shown, _prose(look))
        )  # a command to copy stays whole
    return lines
