"""Progress on a terminal: after a while, over one line, and gone in the end."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from kube_gaplint import progress
from kube_gaplint.cli import waiting
from kube_gaplint.cli.app import run
from kube_gaplint.cli.waiting import Ticker

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {spec: {containers: []}}}\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_screen(written: str) -> list[str]:
    """The lines that a terminal shows in the end."""
    lines = []
    for line in written.split("\n"):
        cells = ""
        for part in line.split("\r"):
            cells = part + cells[len(part) :]
        lines.append(cells.rstrip())
    return lines


def test_short_runs_show_nothing() -> None:
    terminal = Terminal()
    ticker = Ticker(terminal, clock=iter([0.0, 0.5, 0.9]).__next__)
    ticker.tell("judging", 1, 2)
    ticker.tell("judging", 2, 2)
    ticker.clear()
    assert terminal.getvalue() == ""


def test_a_long_run_shows_one_line_and_takes_it_away() -> None:
    terminal = Terminal()
    ticker = Ticker(terminal, clock=iter([0.0, 1.0, 1.05, 1.2]).__next__)
    ticker.tell("understanding workloads", 999, 0)
    ticker.tell("judging", 1, 2000)  # too soon after the last
    assert on_screen(terminal.getvalue()) == ["gaplint: understanding workloads 999"]
    ticker.tell("judging", 1500, 2000)
    assert on_screen(terminal.getvalue()) == ["gaplint: judging 1,500 of 2,000"]
    ticker.clear()
    assert on_screen(terminal.getvalue()) == [""]


def test_loops_tell_how_far_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    heard: list[str] = []
    with progress.heard_by(lambda what, _done, _total: heard.append(what)):
        run(["--quiet"])
    assert list(dict.fromkeys(heard)) == [
        "looking through files",
        "reading files",
        "judging",
    ]


@pytest.mark.parametrize(
    ("arguments", "term", "is_terminal", "shown"),
    [([], "xterm", True, True), (["-q"], "xterm", True, False), ([], "dumb", True, False), ([], "xterm", False, False)],
)
def test_where_it_is_shown(
    arguments: list[str],
    term: str,
    is_terminal: bool,
    shown: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    errors = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    run([*arguments, "--output", f"json={os.devnull}"])
    assert ("gaplint: looking through files" in errors.getvalue()) is shown
    assert on_screen(errors.getvalue())[-1] == ""
