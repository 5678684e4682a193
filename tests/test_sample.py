"""The draw of findings for people to judge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

import sample


def finding(code: str, line: int, file: str = "job.yaml") -> dict[str, Any]:
    location = {"file": file, "line": line, "column": 1, "endLine": line, "endColumn": 5}
    return {
        "code": code, "name": "some-rule", "severity": "warning", "message": f"a | gap of `{code}`", "consequence": "",
        "object": {"kind": "Job", "name": "train", "namespace": "", "container": "main"}, "location": location,
        "related": [{"location": location, "message": "the other place"}], "suppressed": None,
    }  # fmt: skip


MANY = [finding("AAA001", line) for line in range(1, 101)] + [finding("BBB001", line) for line in range(1, 4)]


def test_the_draw_is_stable_and_spread_over_the_rules() -> None:
    drawn = sample.draw(MANY, 10, "seed")
    assert drawn == sample.draw(list(reversed(MANY)), 10, "seed"), "the order of the findings does not matter"
    assert [row["code"] for row in drawn].count("BBB001") == 3
    assert len(drawn) == 10
    assert drawn != sample.draw(MANY, 10, "another")


def test_fewer_findings_than_asked_for() -> None:
    assert len(sample.draw(MANY[:4], 10, "x")) == 4
    assert sample.draw([], 10, "x") == []


def test_the_sheet(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("one\ntwo ``` three\nfour\n", encoding="utf-8")
    rows = [finding("AAA001", 2, str(file))]
    text = "\n".join(sample.sheet(rows, rows, [tmp_path], "s"))
    assert "# 1 of 1 findings, seed s" in text
    assert ">     2 two ``` three" in text
    assert "````" in text, "the fence is longer than what it holds"
    assert "| AAA001 | 1 | 1 |" in text
    assert "the other place" in text
    assert "a \\| gap of \\`AAA001\\`" in text
    assert text.count("Verdict:") == 1


def test_a_file_that_is_gone_is_told() -> None:
    assert "cannot be read" in "\n".join(sample.entry(1, finding("AAA001", 1, "/no/such/file.yaml")))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake = tmp_path / "fake.py"
    report = {"findings": [finding("AAA001", 1), {**finding("AAA001", 2), "suppressed": {"reason": "known"}}]}
    fake.write_text(f"import sys\nassert '--isolated' in sys.argv\nprint({json.dumps(report)!r})\n", encoding="utf-8")
    assert sample.main([str(tmp_path), "--gaplint", f"{sys.executable} {fake}", "--codes", "AAA"]) == 0
    assert "1 of 1 findings" in capsys.readouterr().out
    fake.write_text("import sys\nsys.exit(2)\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="ended with 2"):
        sample.main([str(tmp_path), "--gaplint", f"{sys.executable} {fake}"])
