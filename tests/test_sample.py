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


# Quiet workloads


def workload(name: str, file: str = "job.yaml", line: int = 1, purpose: str = "training") -> dict[str, Any]:
    unknown = {"state": "unknown", "reason": "the text of train.py is not visible"}
    process = {
        "program": "train.py", "opaqueBecause": "", "launchers": [{"kind": "torchrun"}], "framework": None,
        "torch": {"state": "set", "value": "2.3"}, "nccl": unknown, "timeoutSeconds": {"state": "absent"},
        "checkpoints": {
            "interval": {"state": "set", "value": {"amount": 500, "unit": "steps"}}, "path": unknown,
            "storage": {"state": "unknown"}, "resume": unknown,
        },
    }  # fmt: skip
    return {
        "object": {"kind": "Job", "namespace": "", "name": name}, "purpose": purpose, "purposeReason": "it trains",
        "location": {"file": file, "line": line, "column": 1, "endLine": line, "endColumn": 2},
        "nodes": {"state": "set", "value": 8}, "acceleratorsPerNode": {"state": "set", "value": 8},
        "restartBudget": {"state": "set", "value": "unbounded"}, "notes": ["the claim x is not in the given paths"],
        "roles": [{"name": "Worker", "containers": [{"processes": [process]}]}],
    }  # fmt: skip


def of(name: str, file: str = "job.yaml") -> dict[str, Any]:
    return {**finding("AAA001", 1, file), "object": {"kind": "Job", "namespace": "", "name": name, "container": "c"}}


def test_quiet_workloads_are_those_without_findings() -> None:
    found = [workload("a"), workload("b"), workload("c", purpose="inference")]
    assert [one["object"]["name"] for one in sample.quiet(found, [of("a")], "training")] == ["b"]
    assert [one["object"]["name"] for one in sample.quiet(found, [of("a")], "any")] == ["b", "c"]
    assert [one["object"]["name"] for one in sample.quiet(found, [], "inference")] == ["c"]


def test_workloads_of_one_name_are_told_apart_by_their_file() -> None:
    found = [workload("a", "x.yaml"), workload("a", "y.yaml")]
    assert [one["location"]["file"] for one in sample.quiet(found, [of("a", "x.yaml")], "any")] == ["y.yaml"]
    assert sample.quiet(found, [of("a", "shared-script.yaml")], "any") == [], "either may be meant"


def test_the_draw_of_workloads_is_stable_and_spread_over_the_folders() -> None:
    many = {"big": [workload("a", line=line) for line in range(1, 200)], "small": [workload("b", "z.yaml")]}
    drawn = sample.draw_workloads(many, 10, "seed")
    assert len(drawn) == 10
    assert sum(one["object"]["name"] == "b" for one in drawn) == 1
    again = {"small": many["small"], "big": list(reversed(many["big"]))}
    assert sample.draw_workloads(again, 10, "seed") == drawn
    assert sample.draw_workloads(many, 10, "other") != drawn


def test_the_sheet_of_quiet_workloads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("apiVersion: batch/v1\nkind: Job\n", encoding="utf-8")
    fake = tmp_path / "fake.py"
    shown = {"workloads": [workload("quiet", str(job)), workload("loud", str(job))]}
    report = {"findings": [of("loud", str(job))]}
    fake.write_text(
        f"import sys\nprint({json.dumps(shown)!r} if sys.argv[1] == 'show' else {json.dumps(report)!r})\n",
        encoding="utf-8",
    )
    command = [str(tmp_path), "--quiet-workloads", "--seed", "s", "--gaplint", f"{sys.executable} {fake}"]
    assert sample.main(command) == 0
    text = capsys.readouterr().out
    assert "# 1 of 1 quiet workloads (training), seed s" in text
    assert "| 2 | 2 | 1 |" in text
    assert "## 1. Job quiet" in text
    assert "loud" not in text
    for line in (
        "- nodes × accelerators: 8 × 8",
        "- process of Worker: torchrun → train.py",
        "- saves every: 500 steps",
        "- timeout: none",
        "- not seen: the claim x is not in the given paths",
        ">     1 apiVersion: batch/v1",
        "Missed:",
    ):
        assert line in text
