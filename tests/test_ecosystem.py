"""What a change does to findings over repositories, as a review gets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ecosystem
from accuracy.reports import Finding, Location, Report, Subject
from accuracy.repositories import Repository

REPOSITORY = Repository(Path("a"), "someone/a", "1" * 40)


def finding(code: str, print_: str, line: int = 1, severity: str = "warning", message: str = "a | gap") -> Finding:
    return Finding(code, "some-rule", severity, message, Location("some job.yaml", line), print_,
                   object=Subject("Job", "", "train"))  # fmt: skip


def kinds(before: list[Finding], after: list[Finding]) -> list[tuple[str, str]]:
    changes = ecosystem.compare(REPOSITORY, Report(tuple(before)), Report(tuple(after)))
    return [(change.kind, change.finding.fingerprint) for change in changes]


def test_findings_are_paired_by_what_they_are() -> None:
    before = [finding("A1", "same"), finding("A1", "lost"), finding("A1", "worse"), finding("A1", "reworded")]
    after = [
        finding("A1", "same", line=9),
        finding("A1", "worse", severity="error"),
        finding("A1", "reworded", message="other words"),
        finding("A1", "gained"),
    ]
    assert sorted(kinds(before, after)) == [
        ("gained", "gained"), ("lost", "lost"), ("message", "reworded"), ("severity", "worse"),
    ]  # fmt: skip
    assert kinds(before, before) == []


def test_alike_findings_are_counted() -> None:
    assert kinds([finding("A1", "x"), finding("A1", "x", 2)], [finding("A1", "x")]) == [("lost", "x")]
    assert kinds([], [finding("A1", "x"), finding("A1", "x", 2)]) == [("gained", "x"), ("gained", "x")]


def test_many_changes_of_a_rule_show_all_repositories_first() -> None:
    other = Repository(Path("b"), "someone/b", "")
    changes = [ecosystem.Change(REPOSITORY, None, finding("A1", f"{line}", line)) for line in range(5)]
    changes.append(ecosystem.Change(other, None, finding("A1", "z", 7)))
    lines = list(ecosystem.listed("Gained", changes, 2))
    assert "- … and 4 more" in lines
    assert sum("someone/b some job.yaml:7" in line for line in lines) == 1


def fake(folder: Path, findings: list[dict[str, Any]]) -> str:
    script = folder / f"fake{len(list(folder.iterdir()))}.py"
    script.write_text(f"print({json.dumps({'findings': findings})!r})\n", encoding="utf-8")
    return f"{sys.executable} {script}"


def said(code: str, line: int, severity: str = "warning") -> dict[str, Any]:
    return {
        "code": code, "name": "some-rule", "severity": severity, "message": "it `is` <so>",
        "location": {"file": "job.yaml", "line": line}, "fingerprint": f"{code}{line}",
        "object": {"kind": "Job", "name": "train"}, "suppressed": None,
    }  # fmt: skip


def test_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (tmp_path / "COMMITS").write_text(f"repository someone/a {'1' * 40}\n", encoding="utf-8")
    old = fake(tmp_path, [said("AAA001", 1), said("AAA001", 2), said("BBB001", 1)])
    new = fake(tmp_path, [said("AAA001", 2, "error"), said("AAA001", 3), said("BBB001", 1)])
    assert ecosystem.main([old, new, str(repository)]) == 0
    text = capsys.readouterr().out
    assert "3 before, 3 after: 1 gained, 1 lost, 1 other severity, 0 other message." in text
    assert "| AAA001 some-rule | 2 | 2 | 1 | 1 | 1 | 0 | 1 |" in text
    assert "BBB001" not in text
    link = f"https://github.com/someone/a/blob/{'1' * 40}/job.yaml#L3"
    assert f"- [someone/a job.yaml:3]({link}) Job train: warning: it \\`is\\` \\<so\\>" in text
    assert "warning: it \\`is\\` \\<so\\> → error: it" in text


def test_a_version_that_fails_is_told(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    report = tmp_path / "report.md"
    old = fake(tmp_path, [])
    assert ecosystem.main([old, "no-such-gaplint", str(repository), "--output", str(report)]) == 2
    assert "**no-such-gaplint failed on repository**" in report.read_text(encoding="utf-8")


def test_a_revision_is_run_from_a_tree_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    package = root / "lint" / "kube_gaplint"
    package.mkdir(parents=True)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout

    git("init", "-q")
    (package / "__init__.py").touch()
    for release in (1, 2):
        report = json.dumps({"findings": [], "summary": {"files": release}})
        (package / "__main__.py").write_text(f"print({report!r})\n", encoding="utf-8")
        git("add", ".")
        git("commit", "-q", "-m", str(release))
    monkeypatch.setattr(ecosystem, "ROOT", root)
    with ecosystem.version("HEAD~1") as gaplint:
        tree = Path(gaplint.environment["PYTHONPATH"].partition(":")[0])
        assert gaplint.findings(Repository(tmp_path, "here", "")).summary.files == 1
    assert not tree.exists()
    assert git("worktree", "list").count("\n") == 1
