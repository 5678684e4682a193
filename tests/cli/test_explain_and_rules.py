"""`gaplint explain` and `gaplint rules`."""

from __future__ import annotations

import json

import pytest

from kube_gaplint import registry
from kube_gaplint.cli.app import run
from kube_gaplint.report.layout import Palette, width_of
from kube_gaplint.report.page import page_lines

CODES = [row.code for row in registry.rules()]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("code", CODES)
def test_every_page_is_shown(capsys: Captured, code: str) -> None:
    assert run(["explain", code]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{code} {registry.info(code).name}  ")
    for heading in ("What it flags", "Why it hurts", "Bad", "Good", "When to keep it", "Fix safety", "References"):
        assert f"\n{heading}\n" in shown
    assert "```" not in shown
    assert "\x1b" not in shown


def test_a_rule_by_name_and_in_any_case(capsys: Captured) -> None:
    run(["explain", "NCCL001"])
    wanted = capsys.readouterr().out
    for name in ("async-error-handling", "nccl001"):
        assert run(["explain", name]) == 0
        assert capsys.readouterr().out == wanted


def test_evidence_of_a_rule(capsys: Captured) -> None:
    run(["explain", "SLURM001"])
    shown = capsys.readouterr().out
    assert "\nEvidence\n  Direct: an incident shows this very condition.\n  IL-0125  BLOOM" in shown
    assert "https://github.com/bigscience-workshop/" in shown


def test_an_incident(capsys: Captured) -> None:
    assert run(["explain", "IL-0125"]) == 0
    shown = capsys.readouterr().out
    for heading in ("What happened", "Cause", "Lesson", "What a manifest would have shown", "Sources"):
        assert f"\n{heading}\n" in shown
    assert "(SLURM001)" in shown
    assert [line for line in shown.splitlines() if width_of(line) > 80 and "://" not in line] == []


def test_a_family_is_listed(capsys: Captured) -> None:
    assert run(["explain", "ckpt"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("CKPT0")
    assert "NCCL" not in shown


def test_several_topics(capsys: Captured) -> None:
    assert run(["explain", "GAP001", "GAP002"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("GAP001") < shown.index("GAP002 ")


def test_unknown_topics(capsys: Captured) -> None:
    assert run(["explain", "NCCL01"]) == 2
    assert "there is no rule, family or incident 'NCCL01'. Did you mean NCCL001" in capsys.readouterr().err
    assert run(["explain", "x\x1b[31m"]) == 2
    assert "\x1b" not in capsys.readouterr().err
    assert run(["explain"]) == 2
    assert "`gaplint explain --help`" in capsys.readouterr().err


def test_rules(capsys: Captured) -> None:
    assert run(["rules"]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines() if not line.startswith(" ")] == CODES
    assert [line for line in shown.splitlines() if width_of(line) > 80] == []
    assert run(["rules", "NCCL", "srun-survives-dead-rank"]) == 0
    codes = [line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert codes == [code for code in CODES if code.startswith("NCCL")] + ["SLURM001"]


def test_rules_as_json(capsys: Captured) -> None:
    assert run(["rules", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["code"] for row in rows] == CODES
    assert [*rows[0]] == ["code", "name", "severity", "family", "tier", "summary"]


def test_rules_of_an_unknown_family(capsys: Captured) -> None:
    assert run(["rules", "NCLC"]) == 2
    assert "Did you mean NCCL" in capsys.readouterr().err


def test_markdown_of_a_page() -> None:
    page = """First line.

    ## What it flags
    A long sentence that has to be wrapped, with `code` and [a link](https://example.org/x) in it.
    - one item that is long enough to be wrapped as well, I hope
      and goes on
    - two

    ```yaml
    a:
      b: 1
    ```
    """
    assert page_lines(page, 50, Palette()) == [
        "  First line.",
        "",
        "What it flags",
        "  A long sentence that has to be wrapped, with",
        "  `code` and a link (https://example.org/x) in it.",
        "  - one item that is long enough to be wrapped as",
        "    well, I hope and goes on",
        "  - two",
        "",
        "    a:",
        "      b: 1",
    ]
    assert "\x1b[36m`code`\x1b[0m" in "\n".join(page_lines(page, 50, Palette(True)))
