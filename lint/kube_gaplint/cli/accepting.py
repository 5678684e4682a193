"""`--baseline` and `--write-baseline`: findings that are accepted for now."""

from __future__ import annotations

import os
from pathlib import Path

from kube_gaplint import baseline, disk
from kube_gaplint.baseline import Baseline, Scope
from kube_gaplint.cli import console
from kube_gaplint.cli.failure import Failure
from kube_gaplint.cli.inputs import Inputs, lint
from kube_gaplint.engine import Request, selected_codes
from kube_gaplint.facts.candidates import BASELINE_NAME
from kube_gaplint.report.words import count


def path_of(inputs: Inputs, named: str) -> str:
    """The baseline of a run, as a path from here: the one named, else that of the configuration, else empty."""
    config = inputs.config
    if named or not config.baseline:
        return named
    return os.path.relpath(os.path.join(config.folder, config.baseline))  # noqa: PTH118


def read(path: str) -> Baseline:
    """The baseline in a file. Raises Failure."""
    try:
        return baseline.read(path)
    except baseline.BaselineProblem as problem:
        raise Failure(str(problem)) from problem


def write(request: Request, path: str, *, quiet: bool) -> int:
    """Accept what a run finds, and tell how the baseline changes. Without a path there is none in use yet.

    Raises Failure.
    """
    in_use, path = bool(path), path or BASELINE_NAME
    there = disk.exists(path)
    before = read(path) if there else baseline.at(path)
    report = lint(request, quiet=quiet)
    after = before.renewed(report.findings, Scope.of(request.paths, selected_codes(request), request.stdin_filename))
    if after.text() != before.text() or not there:
        try:
            console.write_file(Path(path), after.text())
        except OSError as problem:
            raise Failure(f"cannot write the baseline {path!r}: {problem.strerror}") from problem
    if not quiet:
        _tell(before, after, in_use=in_use)
    return 0


def _tell(before: Baseline, after: Baseline, *, in_use: bool) -> None:
    gone, new = before.beyond(after), after.beyond(before)
    changes = f" ({new:,} new, {gone:,} gone)" if before.rows else ""
    number = sum(row.count for row in after.rows)
    console.note(f"gaplint: {after.path} accepts {count(number, 'finding')}{changes}.")
    if not in_use:
        console.hint(f"to let them go: --baseline {after.path}, or `baseline: {after.path}` in .gaplint.yaml")
