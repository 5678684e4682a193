"""Completion: what the shells are told may stand at the cursor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kube_gaplint.cli.app import run
from kube_gaplint.cli.names import COMMANDS, COMPLETION

Captured = pytest.CaptureFixture[str]


def asked(monkeypatch: pytest.MonkeyPatch, capsys: Captured, line: str) -> list[tuple[str, str]]:
    """What bash is told for the last word of a line: kind and value."""
    words = line.split(" ")
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setenv(COMPLETION, "bash_complete")
    assert run([]) == 0
    rows = [line.split(",", 1) for line in capsys.readouterr().out.splitlines()]
    return [(kind, value) for kind, value in rows]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("gaplint ex", ["explain"]),
        ("gaplint --sel", ["--select"]),
        ("gaplint train.yaml --diff-b", ["--diff-base"]),
        ("gaplint check --fail-on ", ["error", "warning", "info", "never"]),
        ("gaplint --format sa", ["sarif"]),
        ("gaplint show --format ", ["tree", "json"]),
        ("gaplint --select RETRY00", [f"RETRY00{number}" for number in range(1, 10)]),
        ("gaplint --select NCCL001,sched", ["NCCL001,SCHED"]),
        ("gaplint --incident il-003", ["IL-0032"]),
        ("gaplint explain IL-019", ["IL-0198"]),
        ("gaplint explain CKPT00", ["CKPT001", "CKPT002"]),
        ("gaplint incidents --symptom hang,no-r", ["hang,no-restart"]),
        ("gaplint incidents --org bytedan", ["bytedance"]),
        ("gaplint incidents --year 202", ["2020", "2021"]),
        ("gaplint incidents --rule RETRY00", ["RETRY001"]),
        ("gaplint rules NCCL00", [f"NCCL00{number}" for number in range(1, 10)]),
    ],
)
def test_what_may_stand_there(monkeypatch: pytest.MonkeyPatch, capsys: Captured, line: str, values: list[str]) -> None:
    found = [value for kind, value in asked(monkeypatch, capsys, line) if kind == "plain"]
    assert found[: len(values)] == values


@pytest.mark.parametrize(
    "line", ["gaplint jo", "gaplint check jo", "gaplint --quiet jo", "gaplint --config jo", "gaplint show jo"]
)
def test_files(monkeypatch: pytest.MonkeyPatch, capsys: Captured, line: str) -> None:
    assert ("file", "jo") in asked(monkeypatch, capsys, line)


def test_all_commands_are_offered_first(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    offered = asked(monkeypatch, capsys, "gaplint ")
    assert [value for kind, value in offered if kind == "plain"] == list(COMMANDS)


def test_zsh_gets_an_empty_value_last(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("COMP_WORDS", "gaplint ")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv(COMPLETION, "zsh_complete")
    assert run([]) == 0
    rows = capsys.readouterr().out.split("\n")
    assert [row for row in rows if row in COMMANDS] == list(COMMANDS)
    assert rows[-4:] == ["file", "", "_", ""]


def test_bash_takes_commands_beside_files(monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path) -> None:
    with monkeypatch.context() as patched:
        patched.setenv(COMPLETION, "bash_source")
        assert run([]) == 0
    command = tmp_path / "gaplint"
    paths = os.pathsep.join(sys.path)
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{paths}" exec "{sys.executable}" -m kube_gaplint "$@"\n')
    command.chmod(0o755)
    asks = 'COMP_WORDS=(gaplint ex); COMP_CWORD=1; _gaplint_completion "$0"; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", f"{capsys.readouterr().out}\n{asks}", command], stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout.split() == ["explain"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(monkeypatch: pytest.MonkeyPatch, capsys: Captured, shell: str) -> None:
    def started(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a program was started")

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "run", started)
        patched.setattr(subprocess, "Popen", started)
        patched.setenv(COMPLETION, f"{shell}_source")
        assert run([]) == 0
    script = capsys.readouterr().out
    assert f"{COMPLETION}={shell}_complete" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("instruction", ["csh_source", "bash_dance", "1"])
def test_what_is_no_shell(monkeypatch: pytest.MonkeyPatch, capsys: Captured, instruction: str) -> None:
    monkeypatch.setenv(COMPLETION, instruction)
    assert run([]) == 2
    assert "bash_source" in capsys.readouterr().err
