"""Properties of gaplint over generated manifests and scripts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Severity
from kube_gaplint.report import FORMATS, render
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.text.compose import compose
from kube_gaplint.text.source import Source
from strategies import batch, manifests, shell

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools/fuzz"))

import targets


def report_of(text: str, name: str = ""):  # type: ignore[no-untyped-def]
    return lint(Request(paths=("-",), stdin=text.encode(), stdin_filename=name, min_severity=min(Severity)))


@given(manifests())
@settings(max_examples=40)
def test_what_is_generated_is_valid_and_is_judged_alike_twice(text: str) -> None:
    assert [one.kind for one in compose(Source("f.yaml", text)).problems if one.kind != "duplicate-key"] == []
    first, second = report_of(text), report_of(text)
    for name in FORMATS:
        assert render(name, first, RenderOptions()) == render(name, second, RenderOptions())


@given(manifests())
@settings(max_examples=30)
def test_a_comment_or_an_empty_line_changes_no_finding(text: str) -> None:
    """Only the places move."""
    moved = f"# a comment\n\n{text}"
    assert [one.fingerprint for one in report_of(text).findings] == [
        one.fingerprint for one in report_of(moved).findings
    ]


@given(manifests())
@settings(max_examples=25)
def test_fixes_keep_their_promises(text: str) -> None:
    targets.fixes(text.encode())


@pytest.mark.parametrize("name", ["yaml", "lint", "show"])
@given(text=manifests())
@settings(max_examples=15)
def test_targets_over_manifests(name: str, text: str) -> None:
    targets.TARGETS[name].run(text.encode())


@given(shell())
@settings(max_examples=60)
def test_scripts_are_read(text: str) -> None:
    targets.shell(text.encode())


@given(batch())
@settings(max_examples=30)
def test_batch_scripts_are_judged(text: str) -> None:
    targets.batch(text.encode())


@given(shell())
@settings(max_examples=40)
def test_a_line_that_says_nothing_changes_no_finding_of_a_script(text: str) -> None:
    head = "#!/bin/bash\n#SBATCH --gpus-per-node=8\n#SBATCH --nodes=2\n"
    one = report_of(head + text.removeprefix("#!"), "job.sbatch")
    two = report_of(f"{head}# a comment\n\n{text.removeprefix('#!')}", "job.sbatch")
    assert [finding.fingerprint for finding in one.findings] == [finding.fingerprint for finding in two.findings]
