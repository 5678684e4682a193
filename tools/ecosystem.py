"""What a change does to the findings over real repositories, in Markdown for a review.

    python tools/ecosystem.py main HEAD repos/*
    python tools/ecosystem.py /opt/gaplint-0.1/bin/gaplint gaplint repos/* --output change.md

OLD and NEW are revisions of this repository, each checked out into a scratch worktree and run with the Python that runs
this script, or commands (a path, or a name that is no revision). A finding is the same when its rule, file and
fingerprint are; one whose severity or message has changed is told as such. Findings that only moved to another line are
not. Exit: 0, whatever has changed; 2 when one of the two fails on a repository.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

sys.path.insert(0, str(Path(__file__).resolve().parent))

from accuracy.page import as_text
from accuracy.reports import Finding, Gaplint, Report, command
from accuracy.repositories import Repository, repositories

ROOT = Path(__file__).resolve().parent.parent
MOST = 25
"""Findings shown of one rule and kind of change, if nothing else is asked for."""


class Change(Struct, frozen=True):
    """One finding that is not what it was. `before` or `after` is None where it is gained or lost."""

    repository: Repository
    before: Finding | None
    after: Finding | None

    @property
    def finding(self) -> Finding:
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def kind(self) -> str:
        if self.before is None:
            return "gained"
        if self.after is None:
            return "lost"
        return "severity" if self.before.severity != self.after.severity else "message"


class Failure(Struct, frozen=True):
    """A version that failed on a repository."""

    version: str
    repository: str
    said: str


KINDS = {"gained": "Gained", "lost": "Lost", "severity": "Other severity", "message": "Other message"}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", metavar="OLD", help="a revision of this repository, or a command")
    parser.add_argument("new", metavar="NEW", help="likewise")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="real repositories, a folder each")
    parser.add_argument("--min-severity", default="warning", choices=("error", "warning", "info"))
    parser.add_argument("--most", type=int, default=MOST, help=f"findings shown of a rule and kind (default {MOST})")
    parser.add_argument("--output", type=Path, help="write to this file instead of standard output")
    options = parser.parse_args(arguments)
    changes: list[Change] = []
    failures: list[Failure] = []
    totals: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    tried = repositories(options.folders)
    with version(options.old) as old, version(options.new) as new:
        for repository in tried:
            reports = []
            for name, gaplint in ((options.old, old), (options.new, new)):
                try:
                    reports.append(gaplint.findings(repository, options.min_severity))
                except SystemExit as problem:
                    failures.append(Failure(name, repository.name, str(problem)))
            if len(reports) == 2:
                before, after = reports
                changes += compare(repository, before, after)
                for total, report in zip(totals, reports, strict=True):
                    total.update(finding.code for finding in report.findings)
    lines = markdown(options.old, options.new, len(tried), totals, changes, failures, options.most)
    text = "".join(f"{line}\n" for line in lines)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 2 if failures else 0


@contextlib.contextmanager
def version(named: str) -> Iterator[Gaplint]:
    """A gaplint to run: of a revision in a scratch worktree that is taken away again, or of a command."""
    commit = "" if Path(named).exists() else _git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")
    if not commit:
        yield Gaplint(command(named))
        return
    with tempfile.TemporaryDirectory(prefix="gaplint-") as scratch:
        tree = Path(scratch) / "tree"
        subprocess.run(
            ["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(tree), commit], check=True
        )
        try:
            yield Gaplint((sys.executable, "-m", "kube_gaplint"), {"PYTHONPATH": f"{tree / 'lint'}:{tree / 'rules'}"})
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)], check=True)


def _git(*words: str) -> str:
    outcome = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return outcome.stdout.strip() if outcome.returncode == 0 else ""


def compare(repository: Repository, before: Report, after: Report) -> Iterator[Change]:
    """What has changed in one repository. Findings alike in rule, file and fingerprint are paired in their order."""
    pairs: dict[tuple[str, str, str], tuple[list[Finding], list[Finding]]] = defaultdict(lambda: ([], []))
    for side, report in enumerate((before, after)):
        for finding in report.findings:
            pairs[finding.code, finding.location.file, finding.fingerprint][side].append(finding)
    for olds, news in pairs.values():
        shared = min(len(olds), len(news))
        for old, new in zip(olds[:shared], news[:shared], strict=True):
            if (old.severity, old.message) != (new.severity, new.message):
                yield Change(repository, old, new)
        yield from (Change(repository, old, None) for old in olds[shared:])
        yield from (Change(repository, None, new) for new in news[shared:])


def markdown(
    old: str,
    new: str,
    tried: int,
    totals: tuple[Counter[str], Counter[str]],
    changes: Sequence[Change],
    failures: Sequence[Failure],
    most: int,
) -> Iterator[str]:
    """The report: a table by rule, then the findings of each rule."""
    by_rule: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_rule[change.finding.code].append(change)
    kinds = Counter(change.kind for change in changes)
    yield f"## Findings of {as_text(old)} and {as_text(new)} over {tried} repositories"
    yield ""
    counted = ", ".join(f"{kinds[kind]} {title.lower()}" for kind, title in KINDS.items())
    yield f"{totals[0].total()} before, {totals[1].total()} after: {counted}."
    for failure in failures:
        yield ""
        yield f"**{as_text(failure.version)} failed on {as_text(failure.repository)}**: {as_text(failure.said)[:500]}"
    if not changes:
        return
    yield ""
    yield "| rule | before | after | gained | lost | severity | message | repositories |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for code, members in sorted(by_rule.items()):
        of_kind = Counter(change.kind for change in members)
        cells = [totals[0][code], totals[1][code], *(of_kind[kind] for kind in KINDS)]
        places = len({change.repository.name for change in members})
        yield f"| {code} {members[0].finding.name} | {' | '.join(map(str, cells))} | {places} |"
    for code, members in sorted(by_rule.items()):
        yield ""
        yield f"### {code} {members[0].finding.name}"
        for kind, title in KINDS.items():
            yield from listed(title, [change for change in members if change.kind == kind], most)


def listed(title: str, changes: Sequence[Change], most: int) -> Iterator[str]:
    """One kind of change of one rule, folded, one line a finding."""
    if not changes:
        return
    yield ""
    yield f"<details><summary>{title}: {len(changes)}</summary>"
    yield ""
    for change in spread(changes)[:most]:
        finding = change.finding
        said = f"{finding.severity}: {as_text(finding.message)}"
        if change.before is not None and change.after is not None:
            said = f"{change.before.severity}: {as_text(change.before.message)} → {said}"
        yield f"- {place(change.repository, finding)} {as_text(finding.subject.named)}: {said}"
    if len(changes) > most:
        yield f"- … and {len(changes) - most} more"
    yield ""
    yield "</details>"


def spread(changes: Iterable[Change]) -> list[Change]:
    """The repositories in turn, so that the first lines show many of them."""
    turn: Counter[str] = Counter()
    ranked: list[tuple[int, str, int, Change]] = []
    for change in changes:
        name = change.repository.name
        ranked.append((turn[name], name, len(ranked), change))
        turn[name] += 1
    return [change for *_, change in sorted(ranked, key=lambda one: one[:3])]


def place(repository: Repository, finding: Finding) -> str:
    """Where it is; a link where the repository is known to be on GitHub, at its commit."""
    at = f"{finding.location.file}:{finding.location.line}"
    text = as_text(f"{repository.name} {at}")
    if not repository.commit or "/" not in repository.name:
        return text
    path = urllib.parse.quote(finding.location.file)
    return f"[{text}](https://github.com/{repository.name}/blob/{repository.commit}/{path}#L{finding.location.line})"


if __name__ == "__main__":
    sys.exit(main())
