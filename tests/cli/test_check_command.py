"""`gaplint check`: options, exit codes, streams and files, with the engine replaced."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kube_gaplint import engine
from kube_gaplint.cli.app import run
from kube_gaplint.discover import Exclusion
from kube_gaplint.findings import FileError, Finding, Report, Severity
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.source import Place, Source, Span


def a_finding(severity: Severity = Severity.WARNING, path: str = "job.yaml") -> Finding:
    source = Source(path, "spec:\n  backoffLimit: 0\n")
    return Finding(
        code="RETRY001",
        name="no-restarts",
        severity=severity,
        message="backoffLimit is 0",
        consequence="",
        subject=Subject("Job", "batch/v1", "", "pretrain"),
        origin=Origin(Place(source, Span(8, 23))),
        related=(),
        evidence=(),
        fix=None,
        fingerprint="abc",
    )


def a_report(*findings: Finding) -> Report:
    report = Report(findings=list(findings))
    report.summary.files = report.summary.documents = report.summary.workloads = report.summary.judged = 1
    return report


@dataclass
class Engine:
    """Stands in for the engine: gives `report` or raises it, and remembers the requests."""

    report: Report | BaseException = field(default_factory=a_report)
    requests: list[engine.Request] = field(default_factory=list)

    def lint(self, request: engine.Request) -> Report:
        self.requests.append(request)
        if isinstance(self.report, BaseException):
            raise self.report
        return self.report


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Engine]:
    stand_in = Engine()
    monkeypatch.setattr(engine, "lint", stand_in.lint)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "GAPLINT_DEBUG", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    yield stand_in


Captured = pytest.CaptureFixture[str]


# What is asked of the engine


def test_defaults(fake: Engine) -> None:
    assert run([]) == 0
    (request,) = fake.requests
    assert request.paths == (".",)
    assert request.min_severity is Severity.WARNING
    assert (request.select, request.ignore, request.exclude) == ((), (), ())
    assert request.stdin is None
    assert request.today is not None


def test_paths_and_rules(fake: Engine) -> None:
    run(
        ["check", "a", "b", "--select", "NCCL,CKPT003", "--select", " SLURM ", "--ignore", "x,,y", "--exclude", "*.tmp"]
    )
    (request,) = fake.requests
    assert request.paths == ("a", "b")
    assert request.select == ("NCCL", "CKPT003", "SLURM")
    assert request.ignore == ("x", "y")
    assert request.exclude == (Exclusion(("*.tmp",)),)


@pytest.mark.parametrize(
    ("arguments", "least"),
    [
        (["--min-severity", "info"], Severity.INFO),
        (["--min-severity", "error"], Severity.WARNING),  # the default of --fail-on is below it
        (["--min-severity", "error", "--fail-on", "error"], Severity.ERROR),
        (["--min-severity", "error", "--fail-on", "never"], Severity.ERROR),
        (["--fail-on", "info"], Severity.INFO),
        (["--fail-on", "error"], Severity.WARNING),
    ],
)
def test_fail_on_lowers_the_least_severity(fake: Engine, arguments: list[str], least: Severity) -> None:
    run(arguments)
    assert fake.requests[0].min_severity is least


def test_standard_input(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00")))
    run(["-", "--stdin-filename", "rendered.yaml"])
    assert fake.requests[0].stdin == b"\xff\x00"
    assert fake.requests[0].stdin_filename == "rendered.yaml"


# Exit codes


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        (Severity.ERROR, "error", 1),
        (Severity.WARNING, "error", 0),
        (Severity.WARNING, "warning", 1),
        (Severity.INFO, "warning", 0),
        (Severity.INFO, "info", 1),
        (Severity.ERROR, "never", 0),
    ],
)
def test_exit_code_by_severity(fake: Engine, severity: Severity, fail_on: str, code: int) -> None:
    fake.report = a_report(a_finding(severity))
    assert run(["--fail-on", fail_on]) == code


def test_nothing_to_check(fake: Engine, capsys: Captured) -> None:
    fake.report = Report()
    assert run([]) == 0
    assert run(["--fail-if-empty"]) == 3
    assert "Nothing to judge" in capsys.readouterr().out
    fake.report = Report(errors=[FileError("a.yaml", "permission denied")])
    assert run(["--fail-if-empty"]) == 0


def test_an_unreadable_file_fails_nothing_else(fake: Engine, capsys: Captured) -> None:
    report = a_report()
    report.errors = [FileError("a.yaml", "permission denied")]
    fake.report = report
    assert run([]) == 0
    assert "a.yaml: permission denied" in capsys.readouterr().out


def test_interrupted(fake: Engine, capsys: Captured) -> None:
    fake.report = KeyboardInterrupt()
    assert run([]) == 130
    assert capsys.readouterr().err == "gaplint: interrupted\n"


@pytest.mark.parametrize("failure", [ValueError("bad \x1b[31m value"), RecursionError(), MemoryError(), OSError("x")])
def test_a_crash_asks_for_a_report(fake: Engine, capsys: Captured, failure: BaseException) -> None:
    fake.report = failure
    assert run([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"gaplint: error: gaplint itself failed ({type(failure).__name__}")
    assert "Please report it" in shown.err
    assert "\x1b" not in shown.err
    assert "Traceback" not in shown.err


def test_a_crash_shows_its_traceback_when_asked(
    fake: Engine, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.report = ValueError("x")
    monkeypatch.setenv("GAPLINT_DEBUG", "1")
    assert run([]) == 2
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_usage_problem_of_the_engine(fake: Engine, capsys: Captured) -> None:
    fake.report = engine.UsageProblem("a\x1bb: no such file or folder")
    assert run(["a\x1bb"]) == 2
    assert capsys.readouterr().err == "gaplint: error: a\\x1bb: no such file or folder\n"


def test_a_path_that_is_nearly_a_command(fake: Engine, capsys: Captured) -> None:
    fake.report = engine.UsageProblem("show: no such file or folder")
    assert run(["--isolated", "show", "x"]) == 2
    assert "The command stands first: gaplint show, then options and paths." in capsys.readouterr().err
    fake.report = engine.UsageProblem("explian: no such file or folder")
    assert run(["explian", "NCCL001"]) == 2
    assert "There is no command 'explian' either. Did you mean explain" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["--formt", "json"], "Did you mean '--format'"),
        (["--format", "jsno"], "'jsno' is not one of full, concise, json, jsonl, sarif, github"),
        (["--format", "gitub"], "Did you mean github or gitlab?"),
        (["--min-severity", "errors"], "Did you mean error?"),
        (["--fail-on", "none"], "is not one of error, warning, info, never"),
        (["--color", "y"], "is not one of auto, always, never"),
        (["--select", ","], "it names no rule"),
        (["--jobs", "many"], "is not a number of processes"),
        (["--jobs", "-1"], "is not a number of processes"),
        (["--output", "json"], "is not FORMAT=FILE, as in json=gaplint.json"),
        (["--output", "jso=x"], "there is no format 'jso'"),
        (["--output", "json=missing/x"], "the folder of 'missing/x' does not exist"),
        (["--output", "json=."], "'.' is a folder"),
        (["--output", "json=-"], "'-' names no file; to standard output: --format json"),
        (["--output", "json=x", "--output", "github=./x"], "two reports go to 'x'"),
        (["--unsafe-fixes"], "--unsafe-fixes needs --fix"),
        (["--stdin-filename", "x"], "no path is `-`"),
        (["--fix", "-"], "standard input is none"),
    ],
)
def test_usage_mistakes(fake: Engine, capsys: Captured, arguments: list[str], answer: str) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert answer in " ".join(shown.err.split())
    assert "`gaplint check --help` lists the options" in shown.err
    assert fake.requests == []


# Streams and files


@pytest.mark.parametrize("name", ["json", "jsonl", "github", "sarif"])
def test_formats_for_programs_keep_standard_output_clean(fake: Engine, capsys: Captured, name: str) -> None:
    report = a_report(a_finding())
    report.errors = [FileError("b.yaml", "permission denied")]
    fake.report = report
    assert run(["--format", name]) == 1
    shown = capsys.readouterr()
    if name == "json":
        assert json.loads(shown.out)["findings"][0]["code"] == "RETRY001"
    elif name == "sarif":
        assert json.loads(shown.out)["runs"][0]["results"][0]["ruleId"] == "RETRY001"
    else:
        assert len(shown.out.splitlines()) == 1
    assert "gaplint: b.yaml could not be read: permission denied\n" in shown.err
    assert "gaplint: 1 warning in 1 workload, 1 file.\n" in shown.err


def test_quiet(fake: Engine, capsys: Captured) -> None:
    fake.report = a_report(a_finding())
    run(["-q", "--format", "concise"])
    shown = capsys.readouterr()
    assert shown.out == "job.yaml:2:3: warning: backoffLimit is 0 [RETRY001 no-restarts]\n"
    assert shown.err == ""
    run(["-q", "--format", "github"])
    assert capsys.readouterr().err == ""
    fake.report = a_report()
    run(["-q"])
    assert capsys.readouterr() == ("", "")


def test_colours(fake: Engine, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.report = a_report(a_finding())
    run([])
    assert "\x1b[" not in capsys.readouterr().out
    run(["--color", "always"])
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    run([])
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    run([])
    assert "\x1b[" not in capsys.readouterr().out
    run(["--color", "always", "--format", "json"])
    assert "\x1b[" not in capsys.readouterr().out


def test_reports_to_files(fake: Engine, capsys: Captured, tmp_path: Path) -> None:
    fake.report = a_report(a_finding())
    (tmp_path / "out.txt").write_text("old")
    assert run(["--output", "json=out.json", "--output", "full=out.txt", "--color", "always", "--quiet"]) == 1
    assert json.loads((tmp_path / "out.json").read_text())["version"] == 1
    written = (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert "warning RETRY001 no-restarts" in written
    assert "\x1b" not in written
    assert "RETRY001" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "out.txt"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("job.yaml", "kind: Job\n"),
        ("train.sbatch", "#!/bin/bash\n"),
        ("named.txt", "x"),
        ("job.json", '{"apiVersion": "batch/v1", "kind": "Job"}'),
        ("broken.json", '{"apiVersion": "batch/v1", "kind": "Job", '),
        (".gaplint.yaml", "{}\n"),
        ("kustomization.yaml", "resources: []\n"),
        ("start", "#!/bin/sh\n"),
        ("link.json", None),
    ],
)
def test_no_report_replaces_a_manifest(
    fake: Engine, capsys: Captured, tmp_path: Path, name: str, content: str | None
) -> None:
    target = tmp_path / name
    if content is None:
        (tmp_path / "kept.yaml").write_text("kind: Job\n")
        target.symlink_to("kept.yaml")
    else:
        target.write_text(content)
    before = target.read_text()
    assert run([name if name == "named.txt" else ".", "--output", f"json={name}"]) == 2
    told = "is linted; give the report another file" if name == "named.txt" else "is there and is no report"
    assert f"{name!r} {told}" in capsys.readouterr().err
    assert target.read_text() == before
    assert not fake.requests


@pytest.mark.parametrize(
    ("format_", "name"),
    [("json", "a.json"), ("sarif", "a.json"), ("gitlab", "a.json"), ("jsonl", "a.json"), ("rdjson", "a.json"),
     ("full", "summary"), ("junit", "a.xml"), ("markdown", "a.md")],
)  # fmt: skip
def test_a_report_replaces_the_one_of_the_last_run(fake: Engine, tmp_path: Path, format_: str, name: str) -> None:
    fake.report = a_report(a_finding())
    (tmp_path / name).write_text("")
    for _ in range(2):
        assert run(["--output", f"{format_}={name}"]) == 1


@pytest.mark.usefixtures("fake")
def test_a_report_that_fails_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")

    def broken(_self: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", broken)
    assert run(["--output", "json=out.json"]) == 2
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.usefixtures("fake")
def test_an_interruption_while_writing_leaves_no_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("old")

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    assert run(["--output", "json=old.json", "--output", "sarif=new.sarif"]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "old"


@pytest.mark.usefixtures("fake")
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "out.json").symlink_to("real.json")
    run(["--output", "json=out.json"])
    assert (tmp_path / "out.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["version"] == 1


def test_an_output_without_box_characters(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.report = a_report(a_finding(path="größe.yaml"))
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    run([])
    shown = out.buffer.getvalue().decode("ascii")  # type: ignore[attr-defined]
    assert "--> gr\\xf6\\xdfe.yaml:2:3" in shown


def test_closed_streams(fake: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.report = a_report(a_finding())
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdin", None)
    assert run([]) == 2  # nobody got to see the findings
    assert run(["--output", "json=out.json", "--quiet", "--format", "full"]) == 2
    assert run(["-"]) == 2
    fake.report = a_report()
    assert run(["--quiet"]) == 0


def test_paths_count_from_the_root_of_the_repository(
    fake: Engine, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.report = a_report(a_finding())
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    run(["--format", "github", "-q"])
    assert capsys.readouterr().out.startswith("::warning file=sub/job.yaml,line=2,")
    monkeypatch.setenv("GITHUB_WORKSPACE", "/elsewhere")
    run(["--format", "github", "-q"])
    assert capsys.readouterr().out.startswith("::warning file=job.yaml,line=2,")


# The command itself


def test_help_is_grouped_and_shows_examples(capsys: Captured) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    titles = [
        "Usage:",
        "Commands:",
        "What is reported:",
        "Output:",
        "Fixes:",
        "Input:",
        "Other:",
        "Examples:",
        "Exit codes:",
    ]
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)
    assert run(["check", "-h"]) == 0
    assert "Exit codes:" in capsys.readouterr().out


def test_version_as_one_of_several_arguments(capsys: Captured) -> None:
    assert run(["-V", "x"]) == 0
    assert capsys.readouterr().out.startswith("gaplint ")


def test_a_folder_that_is_called_like_a_command(
    fake: Engine, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kube_gaplint import registry

    monkeypatch.setattr(registry, "rules", lambda: ())
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.py").touch()
    assert run(["rules"]) == 0
    assert capsys.readouterr().err == ""
    (tmp_path / "rules" / "prometheus.yaml").touch()
    assert run(["rules"]) == 0
    assert "gaplint check rules" in capsys.readouterr().err
    assert run(["check", "rules"]) == 0
    assert fake.requests[0].paths == ("rules",)
    assert capsys.readouterr().err == ""
    (tmp_path / "check").touch()
    assert run(["check"]) == 0
    assert "gaplint check check" in capsys.readouterr().err


def test_an_option_may_follow_a_path(fake: Engine) -> None:
    run(["a", "--format", "json", "b"])
    assert fake.requests[0].paths == ("a", "b")


def test_paths_after_two_dashes(fake: Engine) -> None:
    run(["check", "--", "--format", "-x"])
    assert fake.requests[0].paths == ("--format", "-x")


def test_version_beside_other_arguments(capsys: Captured) -> None:
    for arguments in (["check", "--version"], ["somewhere", "-V"]):
        assert run(arguments) == 0
        assert capsys.readouterr().out.startswith("gaplint ")
