"""The commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import accuracy
from accuracy import census, judging, page, recheck, verdicts
from accuracy.drawing import Candidate, Drawn, Quiet, draw, draw_quiet
from accuracy.reports import Gaplint, command
from accuracy.repositories import repositories


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="accuracy", description=accuracy.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    running = argparse.ArgumentParser(add_help=False)
    running.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="real repositories, a folder each")
    running.add_argument("--gaplint", type=command, default=("gaplint",), help="the command to run (default gaplint)")
    running.add_argument("--reports", type=Path, help="keep gaplint's reports in this folder, and use those in it")

    one = commands.add_parser("draw", parents=[running], help="take a sample and write sheets")
    one.add_argument("--seed", required=True, help="any text; by custom the commit of gaplint that is judged")
    one.add_argument("--findings", type=int, default=200, help="errors and warnings to draw (default 200)")
    one.add_argument("--quiet", type=int, default=60, help="quiet training workloads to draw (default 60)")
    one.add_argument("--into", type=Path, required=True, help="the folder to write the sheets to")
    one.add_argument("--findings-a-sheet", type=int, default=28)
    one.add_argument("--workloads-a-sheet", type=int, default=16)
    one.set_defaults(run=run_draw)

    one = commands.add_parser("read", help="put answers into verdicts.tsv")
    one.add_argument("sheets", type=Path, metavar="SHEETS", help="the folder that `draw` wrote")
    one.add_argument("answers", nargs="+", type=Path, metavar="FILE", help="lines of id, verdict and reason, with tabs")
    one.add_argument("--verdicts", type=Path, default=verdicts.VERDICTS)
    one.set_defaults(run=run_read)

    one = commands.add_parser("numbers", help="precision and density")
    one.add_argument("--verdicts", type=Path, default=verdicts.VERDICTS)
    one.add_argument("--census", type=Path, default=census.CENSUS)
    one.set_defaults(run=run_numbers)

    one = commands.add_parser("census", parents=[running], help="count workloads and findings by class")
    one.add_argument("--census", type=Path, default=census.CENSUS)
    one.set_defaults(run=run_census)

    one = commands.add_parser("page", help="renew docs/accuracy.md")
    one.add_argument("--check", action="store_true", help="only compare; 1 when the page is stale")
    one.add_argument("--page", type=Path, default=page.PAGE)
    one.add_argument("--verdicts", type=Path, default=verdicts.VERDICTS)
    one.add_argument("--census", type=Path, default=census.CENSUS)
    one.set_defaults(run=run_page)

    one = commands.add_parser("recheck", parents=[running], help="what has become of judged findings")
    one.add_argument("--verdicts", type=Path, default=verdicts.VERDICTS)
    one.add_argument("--write", action="store_true", help="note in verdicts.tsv what is there and what is gone")
    one.set_defaults(run=run_recheck)

    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


def run_draw(options: argparse.Namespace) -> int:
    gaplint = Gaplint(options.gaplint, kept=options.reports)
    candidates: list[Candidate] = []
    silent: list[Quiet] = []
    for repository in repositories(options.folders):
        findings = [
            finding
            for finding in gaplint.findings(repository, "info").findings
            if finding.severity in judging.JUDGED_SEVERITIES
        ]
        candidates += [Candidate(repository, finding) for finding in findings]
        if options.quiet:
            silent += judging.quiet_workloads(repository, gaplint.workloads(repository), findings)
    drawn = sorted(draw(candidates, options.findings, options.seed), key=_by_place)
    quiet = draw_quiet(silent, options.quiet, options.seed)
    quiet.sort(key=lambda one: one.said[:2])

    folder: Path = options.into
    folder.mkdir(parents=True, exist_ok=True)
    judging.write_key(
        folder,
        [
            *(judging.finding_row(one, options.seed) for one in drawn),
            *(judging.quiet_row(one, options.seed, len(silent) / len(quiet)) for one in quiet),
        ],
    )
    promises = {code: judging.promise(gaplint, code) for code in {one.candidate.finding.code for one in drawn}}
    for number, part in enumerate(judging.split(drawn, options.findings_a_sheet) if drawn else [], 1):
        lines = judging.findings_sheet(drawn[part], options.seed, promises)
        _write(folder / f"findings-{number:02}.txt", lines)
    if quiet:
        core = [
            line
            for row in gaplint.rules().values()
            if row.tier == "core" and row.severity in judging.JUDGED_SEVERITIES
            for line in (
                f"{row.code} {row.name} ({row.severity}): {row.summary}",
                *judging.flags(gaplint, row.code),
            )
        ]
        shown = {one.repository.name: gaplint.shown(one.repository) for one in quiet}
        for number, part in enumerate(judging.split(quiet, options.workloads_a_sheet), 1):
            _write(folder / f"quiet-{number:02}.txt", judging.quiet_sheet(quiet[part], options.seed, core, shown))
    print(
        f"{len(drawn)} of {len(candidates)} findings, {len(quiet)} of {len(silent)} quiet training workloads: {folder}"
    )
    return 0


def _by_place(one: Drawn) -> tuple[str, str, int, str]:
    finding = one.candidate.finding
    return one.candidate.repository.name, finding.location.file, finding.location.line, finding.code


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run_read(options: argparse.Namespace) -> int:
    judged, unanswered = judging.answers(options.sheets, options.answers)
    verdicts.write(options.verdicts, verdicts.merged(verdicts.read(options.verdicts), judged))
    print(f"{len(judged)} verdicts written to {options.verdicts}")
    if unanswered:
        print(f"{len(unanswered)} items without an answer: {', '.join(unanswered)}", file=sys.stderr)
    return 1 if unanswered else 0


def run_numbers(options: argparse.Namespace) -> int:
    rows, counts = verdicts.read(options.verdicts), census.read(options.census)
    for name, block in page.BLOCKS.items():
        print(f"{name}\n")
        print("\n".join(block(rows, counts)), "\n")
    return 0


def run_census(options: argparse.Namespace) -> int:
    gaplint = Gaplint(options.gaplint, kept=options.reports)
    rows = [
        row
        for repository in repositories(options.folders)
        for row in census.count(
            repository, gaplint.workloads(repository), gaplint.findings(repository, "info").findings
        )
    ]
    census.write(options.census, rows)
    print("\n".join(page.density((), rows)))
    return 0


def run_page(options: argparse.Namespace) -> int:
    text = options.page.read_text(encoding="utf-8")
    new = page.renewed(text, verdicts.read(options.verdicts), census.read(options.census))
    if options.check:
        if new != text:
            print(f"{options.page} is stale: run python tools/accuracy page", file=sys.stderr)
        return int(new != text)
    options.page.write_text(new, encoding="utf-8")
    return 0


def run_recheck(options: argparse.Namespace) -> int:
    rows = verdicts.read(options.verdicts)
    judged = [row for row in rows if row.verdict]
    if not judged:
        raise SystemExit(f"{options.verdicts} holds no verdicts")
    gaplint = Gaplint(options.gaplint, kept=options.reports)
    outcome = recheck.recheck(judged, repositories(options.folders), gaplint)
    print("\n".join(recheck.told(outcome)))
    if options.write:
        verdicts.write(options.verdicts, verdicts.merged(rows, outcome.rows))
    return 1 if outcome.regressions or outcome.debts else 0
