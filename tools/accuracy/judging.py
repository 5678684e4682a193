"""From a sample to sheets that people judge, and from their answers to rows of verdicts.tsv.

A folder of sheets holds `key.tsv` (what each id is, as rows without a verdict) and the sheets `findings-01.txt`,
`quiet-01.txt`, …. An answer is one line: id, RIGHT or WRONG, and a reason in one sentence, with tabs between.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from accuracy import verdicts
from accuracy.attribution import attribute
from accuracy.drawing import Drawn, Quiet
from accuracy.reports import Finding, Gaplint, Location, Workload
from accuracy.repositories import Repository
from accuracy.verdicts import QUIET, Row

KEY = "key.tsv"
AROUND = 6
"""Lines shown above and below a place."""
LONGEST_SNIPPET = 45
LONGEST_MANIFEST = 400
WIDEST_LINE = 240
RULER = "=" * 100
JUDGED_SEVERITIES = ("error", "warning")


# Rows


def finding_row(one: Drawn, seed: str) -> Row:
    """The row of a drawn finding, without a verdict."""
    finding, repository = one.candidate.finding, one.candidate.repository
    return Row(
        draw=seed,
        repository=repository.name,
        commit=repository.commit,
        path=finding.location.file,
        line=finding.location.line,
        severity=finding.severity,
        code=finding.code,
        object=finding.subject.named,
        fingerprint=finding.fingerprint,
        stands_for=one.stands_for,
    )


def quiet_row(one: Quiet, seed: str, stands_for: float) -> Row:
    """The row of a drawn quiet workload, without a verdict."""
    return Row(
        draw=seed,
        repository=one.repository.name,
        commit=one.repository.commit,
        path=one.workload.location.file,
        line=one.workload.location.line,
        severity=QUIET,
        code="",
        object=one.workload.object.named,
        fingerprint=workload_fingerprint(one),
        stands_for=stands_for,
    )


def workload_fingerprint(one: Quiet) -> str:
    """A workload's identity in its repository, whatever line it moves to."""
    return hashlib.sha256("\n".join(map(str, one.said)).encode()).hexdigest()[:16]


def quiet_workloads(
    repository: Repository, workloads: Sequence[Workload], findings: Sequence[Finding], purpose: str = "training"
) -> list[Quiet]:
    """The workloads of a class that no error or warning is about, nor about what they share with another one."""
    spoken = [
        msgspec.structs.replace(finding, object=subject)
        for finding in findings
        if finding.severity in JUDGED_SEVERITIES
        for subject in (finding.subject, *finding.also_for)
    ]
    about, _ = attribute(workloads, spoken)
    # The workloads of one object (tasks of a pipeline) are not told apart by what a finding names.
    told = {_place(workloads[index]) for index, found in about.items() if found}
    return [
        one
        for one in identified(repository, workloads)
        if one.workload.purpose == purpose and _place(one.workload) not in told
    ]


def _place(workload: Workload) -> tuple[object, ...]:
    return workload.object, workload.location.file, workload.location.line


def identified(repository: Repository, workloads: Sequence[Workload]) -> list[Quiet]:
    """All workloads of a repository with what tells those of one file and name apart."""
    seen: dict[tuple[object, ...], int] = {}
    found = []
    for workload in workloads:
        key = (workload.location.file, workload.object)
        found.append(Quiet(repository, workload, seen.setdefault(key, 0)))
        seen[key] += 1
    return found


def identifier(row: Row) -> str:
    """An item's id in the sheets: F for findings, Q for quiet workloads."""
    return ("Q-" if row.severity == QUIET else "F-") + hashlib.sha256("\n".join(row.key).encode()).hexdigest()[:8]


def write_key(folder: Path, rows: Iterable[Row]) -> None:
    """Keep what each id is."""
    verdicts.write(folder / KEY, rows)


# Sheets


def findings_sheet(drawn: Sequence[Drawn], seed: str, promises: Mapping[str, str]) -> Iterator[str]:
    """The lines of a sheet of findings; the rules' pages follow the findings."""
    yield f"{len(drawn)} findings to judge, draw {seed}"
    yield ""
    yield "RIGHT: every fact that the finding states is true of this file, it applies there, and following it helps."
    yield "WRONG: a stated fact is false, or it does not apply to that file, or following it does nothing or harm."
    yield "What the rules promise stands at the end. An answer is a line: id, tab, RIGHT or WRONG, tab, one sentence."
    for one in drawn:
        yield from finding_item(one, seed)
    for code in sorted({one.candidate.finding.code for one in drawn}):
        yield ""
        yield RULER
        yield from promises[code].splitlines()


def finding_item(one: Drawn, seed: str) -> Iterator[str]:
    """One finding with the lines that it is about."""
    finding, repository = one.candidate.finding, one.candidate.repository
    subject = finding.subject
    container = f", container {subject.container}" if subject.container else ""
    yield ""
    yield RULER
    yield f"{identifier(finding_row(one, seed))}  {finding.code} {finding.name} ({finding.severity})"
    yield f"says:    {visible(finding.message)}"
    if finding.consequence:
        yield f"cost:    {visible(finding.consequence)}"
    if finding.fix is not None:
        yield f"fix:     {visible(finding.fix.title)} ({finding.fixable})"
    yield f"object:  {visible(subject.named)}{visible(container)}"
    yield f"file:    {visible(str(repository.folder / finding.location.file))}:{finding.location.line}"
    yield from snippet(repository, finding.location)
    for related in finding.related:
        yield f"related: {visible(related.message)} ({visible(related.location.file)}:{related.location.line})"
        yield from snippet(repository, related.location)


def quiet_sheet(drawn: Sequence[Quiet], seed: str, promises: Sequence[str], shown: Mapping[str, str]) -> Iterator[str]:
    """The lines of a sheet of quiet workloads. `shown`: what `gaplint show` prints of each repository, by its name."""
    yield f"{len(drawn)} training workloads without an error or a warning to judge, draw {seed}"
    yield ""
    yield "RIGHT: none of the rules below should have spoken, by what the repository's files show."
    yield "WRONG: a rule below should have spoken, with an error or a warning; the reason begins with its code."
    yield "What a rule flags, and what it leaves alone or calls info, stands below it."
    yield "An answer is a line: id, tab, RIGHT or WRONG, tab, one sentence."
    yield ""
    yield from promises
    for one in drawn:
        place = one.workload.location
        yield ""
        yield RULER
        yield f"{identifier(quiet_row(one, seed, 1))}  {visible(one.workload.object.named)}"
        yield f"file:    {visible(str(one.repository.folder / place.file))}:{place.line}"
        yield f"class:   {visible(one.workload.purpose)}: {visible(one.workload.purpose_reason)}"
        yield "--- what gaplint understood"
        yield from (visible(line, keep=True) for line in understood(shown[one.repository.name], place))
        yield "--- the file"
        whole = Location(place.file, max(1, place.line - AROUND), end_line=place.line + LONGEST_MANIFEST)
        yield from snippet(one.repository, whole, LONGEST_MANIFEST, mark=False)


def understood(text: str, place: Location) -> list[str]:
    """The block of `gaplint show` that begins at a place; all blocks of its file where none says so."""
    blocks = [block.splitlines() for block in re.split(r"\n{2,}", text) if block.strip()]
    # A header may be wrapped anywhere: it is compared without the frame and without spaces.
    heads = [re.sub(r"[\s│]", "", "".join(block[:4])) for block in blocks]
    for sought in (f"{place.file}:{place.line})", f"{place.file}:"):
        squeezed = re.sub(r"\s", "", sought)
        found = [block for head, block in zip(heads, blocks, strict=True) if squeezed in head]
        if found:
            return [line for block in found for line in block]
    return ["(not shown)"]


def promise(gaplint: Gaplint, code: str) -> str:
    """What a rule says of itself, without its examples: the page up to the bad example, and when to keep things."""
    kept = [line for heading, line in _headed(gaplint.page(code)) if heading not in ("Bad", "Good", "References")]
    return "\n".join(kept).rstrip()


def flags(gaplint: Gaplint, code: str) -> list[str]:
    """What a rule flags by its page, and what it leaves alone: only that is promised of a quiet workload."""
    lines = [line for heading, line in _headed(gaplint.page(code)) if heading == "What it flags"]
    return [line for line in lines if line.startswith(" ")]


def _headed(page: str) -> Iterator[tuple[str, str]]:
    """The lines of a page, each with the heading that it stands under."""
    heading = ""
    for line in page.splitlines():
        if line and not line.startswith(" "):
            heading = line
        yield heading, line


def snippet(
    repository: Repository, place: Location, longest: int = LONGEST_SNIPPET, mark: bool = True
) -> Iterator[str]:
    """The lines around a place, the place's own marked with `>`."""
    try:
        lines = (repository.folder / place.file).read_bytes().decode("utf-8", "replace").splitlines()
    except OSError as problem:
        yield f"    (cannot be read: {problem.strerror})"
        return
    first, last = place.line, max(place.line, place.end_line)
    start = max(1, first - (AROUND if mark else 0))
    for row in range(start, min(len(lines), last + AROUND, start + longest) + 1):
        sign = ">" if mark and first <= row <= last else " "
        yield f"{sign} {row:5} {visible(lines[row - 1][:WIDEST_LINE], keep=True)}"


def visible(text: str, keep: bool = False) -> str:
    """Text from outside on one line, control characters shown; `keep`: with its spaces."""
    shown = re.sub(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", lambda sign: repr(sign[0])[1:-1], text)
    return shown.rstrip() if keep else " ".join(shown.split())


def split(items: Sequence[object], most: int) -> list[slice]:
    """Equal parts of at most `most` items."""
    parts = max(1, -(-len(items) // most))
    return [slice(len(items) * part // parts, len(items) * (part + 1) // parts) for part in range(parts)]


# Answers


def answers(folder: Path, files: Iterable[Path]) -> tuple[list[Row], list[str]]:
    """The judged rows of a folder of sheets, and the ids that nobody has answered.

    Raises:
        SystemExit: an answer is not of the form, names no item, or contradicts another one.
    """
    items = {identifier(row): row for row in verdicts.read(folder / KEY)}
    given: dict[str, Row] = {}
    for file in files:
        with file.open(encoding="utf-8", newline="") as lines:
            for number, cells in enumerate(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
                if not cells or not cells[0].strip():
                    continue
                name, verdict, reason = (cell.strip() for cell in (*cells, "", "")[:3])
                if name not in items:
                    raise SystemExit(f"{file}:{number}: {name!r} is no item of {folder / KEY}")
                row = _judged(items[name], verdict.upper(), reason, f"{file}:{number}")
                if name in given and given[name].verdict != row.verdict:
                    raise SystemExit(f"{file}:{number}: {name} has been judged {given[name].verdict} before")
                given[name] = row
    return list(given.values()), sorted(set(items) - set(given))


def _judged(row: Row, verdict: str, reason: str, place: str) -> Row:
    if verdict not in (verdicts.RIGHT, verdicts.WRONG):
        raise SystemExit(f"{place}: the verdict is RIGHT or WRONG, not {verdict!r}")
    if not reason:
        raise SystemExit(f"{place}: the reason is missing")
    code = row.code
    if row.severity == QUIET and verdict == verdicts.WRONG:
        named = re.search(r"\b[A-Z]{2,8}\d{3}\b", reason)
        if named is None:
            raise SystemExit(f"{place}: the reason must name the code of the rule that should have spoken")
        code = named[0]
    return msgspec.structs.replace(row, verdict=verdict, reason=reason, code=code)
