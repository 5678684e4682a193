"""The accuracy harness, on made-up repositories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accuracy import census, judging, page, verdicts
from accuracy.attribution import attribute
from accuracy.census import Count
from accuracy.cli import main
from accuracy.drawing import Candidate, Quiet, draw, draw_quiet
from accuracy.estimate import Share, percent, plain, weighted
from accuracy.reports import Finding, Gaplint, Location, Subject, Workload
from accuracy.repositories import Repository, repositories
from accuracy.verdicts import Row

GAPLINT = f"{sys.executable} -m kube_gaplint"

LOUD = """\
apiVersion: batch/v1
kind: Job
metadata: {name: loud}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime
        command: [bash, -c, "torchrun --nproc-per-node=8 train.py; echo done"]
        resources: {limits: {nvidia.com/gpu: 8}}
"""
MENDED = LOUD.replace("; echo done", "; status=$?; echo done; exit $status")
SILENT = """\
apiVersion: batch/v1
kind: Job
metadata: {name: silent}
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - name: main
        image: pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime
        command: [python, train.py]
        resources: {limits: {nvidia.com/gpu: 1, cpu: 8, memory: 64Gi}}
"""


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two repositories, one with findings and one with a quiet training job."""
    root = tmp_path / "repositories"
    for name, text in (("one", LOUD), ("two", SILENT)):
        (root / name).mkdir(parents=True)
        (root / name / "job.yaml").write_text(text, encoding="utf-8")
    (root / "COMMITS").write_text(f"one someone/one {'1' * 40}\ntwo someone/two {'2' * 40}\n", encoding="utf-8")
    return [root / "one", root / "two"]


@pytest.fixture
def run(folders: list[Path], tmp_path: Path) -> Callable[..., int]:
    """The command over both repositories, with tables of its own."""

    def call(command: str, *words: object) -> int:
        over = {"draw": folders, "census": folders, "recheck": folders}.get(command, [])
        tables: dict[str, list[object]] = {
            "verdicts": ["--verdicts", tmp_path / "verdicts.tsv"],
            "census": ["--census", tmp_path / "census.tsv"],
        }
        uses = {"read": ["verdicts"], "census": ["census"], "recheck": ["verdicts"]}
        named = [word for name in uses.get(command, ()) for word in tables[name]]
        if command in ("numbers", "page"):
            named = [*tables["verdicts"], *tables["census"]]
        asked = ["--gaplint", GAPLINT] if over else []
        return main([command, *map(str, [*words, *over, *named, *asked])])

    return call


def answer(sheets: Path, verdict: Callable[[Row], str]) -> Path:
    rows = verdicts.read(sheets / judging.KEY)
    file = sheets / "answers.tsv"
    file.write_text("".join(f"{judging.identifier(row)}\t{verdict(row)}\n" for row in rows), encoding="utf-8")
    return file


# The way of a sample: drawn, judged, counted, checked again


def test_the_way_of_a_sample(
    run: Callable[..., int], folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets = tmp_path / "sheets"
    assert run("draw", "--seed", "s", "--into", sheets, "--findings", 40, "--quiet", 3) == 0
    drawn = verdicts.read(sheets / judging.KEY)
    assert {(row.repository, row.commit, row.code) for row in drawn} >= {
        ("someone/one", "1" * 40, "RETRY004"),
        ("someone/two", "2" * 40, ""),
    }
    text = (sheets / "findings-01.txt").read_text(encoding="utf-8")
    assert "RETRY004 exit-code-swallowed (error)" in text
    assert '>    11         command: [bash, -c, "torchrun --nproc-per-node=8 train.py; echo done"]' in text
    assert "When to keep it" in text
    assert "\nBad\n" not in text, "the pages stand without their examples"
    quiet = (sheets / "quiet-01.txt").read_text(encoding="utf-8")
    assert "Job silent" in quiet
    assert "process train.py" in quiet
    assert "metadata: {name: silent}" in quiet
    assert "RETRY004 exit-code-swallowed (error): " in quiet, "the promises of the core rules"
    assert "\n  A shell script that loses the exit status of the training program" in quiet, "what each of them flags"
    assert "The batch script of BLOOM" not in quiet, "and no more of their pages"

    answers = answer(sheets, lambda _: "RIGHT\tso it is")
    assert run("read", sheets, answers) == 0
    judged = verdicts.read(tmp_path / "verdicts.tsv")
    assert len(judged) == len(drawn)
    capsys.readouterr()
    assert run("recheck") == 0
    assert f"{len(judged)} right findings and quiet workloads as they were judged" in capsys.readouterr().out

    job = folders[0] / "job.yaml"
    job.write_text(MENDED, encoding="utf-8")
    assert run("recheck", "--write") == 1
    assert "1 right findings that vanished" in capsys.readouterr().out
    gone = {row.code for row in verdicts.read(tmp_path / "verdicts.tsv") if row.now == "gone"}
    assert gone == {"RETRY004"}


def test_wrong_findings_and_missed_gaps_are_debts_until_they_are_mended(
    run: Callable[..., int], folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets = tmp_path / "sheets"
    run("draw", "--seed", "s", "--into", sheets)
    wrong = answer(
        sheets,
        lambda row: "WRONG\tRETRY004 should have spoken" if row.severity == "quiet" else (
            "WRONG\techo may fail" if row.code == "RETRY004" else "RIGHT\tyes"
        ),
    )  # fmt: skip
    assert run("read", sheets, wrong) == 0
    assert run("recheck") == 1
    assert "2 wrong findings that are still there, and gaps that are still missed" in capsys.readouterr().out
    (folders[0] / "job.yaml").write_text(MENDED, encoding="utf-8")
    (folders[1] / "job.yaml").write_text(
        SILENT.replace("[python, train.py]", '[bash, -c, "python train.py; echo done"]'), encoding="utf-8"
    )
    assert run("recheck", "--write") == 0
    assert "2 wrong findings that are gone, and missed gaps that are found" in capsys.readouterr().out
    assert run("numbers") == 0
    said = capsys.readouterr().out
    assert said.count("mended") == 2
    assert "RETRY004 1×" in said


def test_a_quiet_workload_that_something_is_found_of_is_to_be_judged(
    run: Callable[..., int], folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets = tmp_path / "sheets"
    run("draw", "--seed", "s", "--into", sheets, "--findings", 0)
    run("read", sheets, answer(sheets, lambda _: "RIGHT\tnothing to say"))
    (folders[1] / "job.yaml").write_text(LOUD.replace("name: loud", "name: silent"), encoding="utf-8")
    assert run("recheck") == 0
    assert "1 rightly quiet workloads that something is found of now" in capsys.readouterr().out


def test_what_cannot_be_looked_at_is_told(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        row("AAA001", repository="someone/one", commit="1" * 40),
        row("RETRY004", repository="someone/one", commit="9" * 40),
        row("RETRY004", repository="someone/else"),
    ]
    verdicts.write(tmp_path / "verdicts.tsv", rows)
    assert run("recheck") == 0
    assert "1 of rules that exist no longer, 2 not seen here" in capsys.readouterr().out
    verdicts.write(tmp_path / "verdicts.tsv", [])
    with pytest.raises(SystemExit, match="holds no verdicts"):
        run("recheck")


def test_reports_are_kept_and_used_again(folders: list[Path], tmp_path: Path) -> None:
    (one, _) = repositories(folders)
    kept = Gaplint((sys.executable, "-m", "kube_gaplint"), kept=tmp_path / "reports")
    first = kept.findings(one, "info")
    again = Gaplint(("no-such-command",), kept=tmp_path / "reports").findings(one, "info")
    assert again == first
    assert first.findings


@pytest.mark.parametrize(
    ("program", "said"),
    [("import sys; sys.exit(2)", "ended with 2"), ("print('[]')", "not of the expected form"), (None, "No such file")],
)
def test_a_gaplint_that_fails_is_told(program: str | None, said: str, folders: list[Path]) -> None:
    command = (sys.executable, "-c", program) if program else ("no-such-command",)
    with pytest.raises(SystemExit, match=said):
        Gaplint(command).findings(repositories(folders)[0])


# Repositories


def test_names_and_commits(folders: list[Path], tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for words in (
        ("init", "-q"), ("remote", "add", "origin", "git@example.org:someone/cloned.git"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"),
    ):  # fmt: skip
        clone.mkdir(exist_ok=True)
        subprocess.run(["git", "-C", str(clone), *words], check=True, env=environment)
    bare = tmp_path / "bare"
    bare.mkdir()
    found = {one.name: one for one in repositories([*folders, clone, bare])}
    assert list(found) == ["bare", "someone/cloned", "someone/one", "someone/two"]
    assert found["someone/one"].commit == "1" * 40
    assert len(found["someone/cloned"].commit) == 40
    assert found["bare"].commit == ""
    with pytest.raises(SystemExit, match="no such folder"):
        repositories([tmp_path / "none"])
    with pytest.raises(SystemExit, match="are both someone/one"):
        repositories([folders[0], folders[0]])


# The draw

REPOSITORY = Repository(Path("a"), "someone/a", "1")


def finding(
    code: str, line: int = 1, file: str = "job.yaml", name: str = "train", severity: str = "warning"
) -> Finding:
    return Finding(code, "some-rule", severity, f"gap {line}", Location(file, line), f"print{line}",
                   object=Subject("Job", "", name))  # fmt: skip


def workload(name: str, line: int = 1, file: str = "job.yaml", purpose: str = "training") -> Workload:
    return Workload(Subject("Job", "", name), Location(file, line), purpose)


def many() -> list[Candidate]:
    big, small = (Repository(Path(name), f"someone/{name}", "1") for name in ("big", "small"))
    return [
        *(Candidate(big, finding("AAA001", line, f"{line}.yaml")) for line in range(100)),
        *(Candidate(small, finding("AAA001", line, f"{line}.yaml")) for line in range(10)),
        *(Candidate(small, finding("BBB001", line, "one-file.yaml")) for line in range(10)),
        *(Candidate(big, finding("CCC001", line, f"{line}.yaml")) for line in range(3)),
    ]


def test_the_draw_is_stable_and_spread() -> None:
    drawn = draw(many(), 24, "seed")
    assert [one.candidate.said for one in draw(list(reversed(many())), 24, "seed")] == [
        one.candidate.said for one in drawn
    ], "the order of the findings does not matter"
    assert [one.candidate.said for one in draw(many(), 24, "other")] != [one.candidate.said for one in drawn]
    codes = [one.candidate.finding.code for one in drawn]
    assert codes.count("BBB001") == 1, "a rule gives one finding a file"
    assert 1 <= codes.count("CCC001") <= 3
    names = [one.candidate.repository.name for one in drawn]
    assert max(map(names.count, names)) == 3, "an eighth of 24"
    assert names.count("someone/small") == 3


def test_the_weights_add_up_to_what_was_found() -> None:
    weights: dict[str, float] = {}
    for one in draw(many(), 24, "seed"):
        code = one.candidate.finding.code
        weights[code] = weights.get(code, 0) + one.stands_for
    assert {code: round(weight) for code, weight in weights.items()} == {"AAA001": 110, "BBB001": 10, "CCC001": 3}


def test_the_draw_of_quiet_workloads() -> None:
    big, small = (Repository(Path(name), f"someone/{name}", "1") for name in ("big", "small"))
    found = [*(Quiet(big, workload(f"w{line}", line)) for line in range(50)), Quiet(small, workload("w", 1))]
    drawn = draw_quiet(found, 16, "seed")
    assert drawn == draw_quiet(found[::-1], 16, "seed")
    assert [one.repository.name for one in drawn].count("someone/big") == 2, "an eighth of 16"
    assert len(drawn) == 3
    assert draw_quiet([], 16, "seed") == []


# Which workload a finding is about


def test_findings_go_to_their_workload() -> None:
    found = [workload("a", 1, "x.yaml"), workload("a", 20, "x.yaml"), workload("a", 1, "y.yaml"), workload("b")]
    findings = [
        finding("AAA001", 25, "x.yaml", "a"),
        finding("AAA001", 3, "y.yaml", "a"),
        finding("AAA001", 3, "shared.yaml", "b"),
        finding("AAA001", 3, "x.yaml", "pool"),
    ]
    about, others = attribute(found, findings)
    assert {index: len(those) for index, those in about.items()} == {1: 1, 2: 1, 3: 1}
    assert others == [findings[-1]]


def test_quiet_workloads_are_of_the_class_and_have_no_error_or_warning() -> None:
    found = [workload("a"), workload("b"), workload("c", purpose="inference"), workload("b", file="z.yaml")]
    findings = [finding("AAA001", name="a"), finding("AAA001", name="b", severity="info")]
    quiet = judging.quiet_workloads(REPOSITORY, found, findings)
    assert [(one.workload.object.name, one.workload.location.file) for one in quiet] == [
        ("b", "job.yaml"),
        ("b", "z.yaml"),
    ]
    shared = msgspec.structs.replace(finding("AAA001", name="a"), also_for=(Subject("Job", "", "b"),))
    assert [one.workload.location.file for one in judging.quiet_workloads(REPOSITORY, found, [shared])] == ["z.yaml"]
    tasks = [workload("a"), workload("a")]  # of one pipeline: a finding of the second is about the object as well
    assert judging.quiet_workloads(REPOSITORY, tasks, [finding("AAA001", name="a")]) == []
    twins = judging.identified(REPOSITORY, [workload("a"), workload("a", 9)])
    assert len({judging.workload_fingerprint(one) for one in twins}) == 2


# Sheets


def test_what_comes_from_outside_stays_on_its_line(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_bytes(b"one\n\x1b[2Jtwo\xff\n" + b"x" * 999 + b"\n")
    repository = Repository(tmp_path, "someone/a", "1")
    lines = list(judging.snippet(repository, Location("job.yaml", 2)))
    assert lines[1] == ">     2 \\x1b[2Jtwo\N{REPLACEMENT CHARACTER}"
    assert max(map(len, lines)) < 260
    assert "cannot be read" in "".join(judging.snippet(repository, Location("gone.yaml", 1)))
    assert judging.visible("a\n\tb\u202e") == "a\\n b\\u202e"


def test_the_block_of_a_workload_is_found_behind_a_wrapped_header() -> None:
    shown = "Job a (batch/v1,\n│  some/long-\n│  path.yaml:7)\n╰─ pods\n\nJob b (batch/v1, other.yaml:1)\n╰─ none\n"
    assert judging.understood(shown, Location("some/long-path.yaml", 7))[-1] == "╰─ pods"
    assert judging.understood(shown, Location("other.yaml", 5)) == ["Job b (batch/v1, other.yaml:1)", "╰─ none"]
    assert judging.understood(shown, Location("third.yaml", 5)) == ["(not shown)"]


def test_sheets_are_of_equal_length() -> None:
    items = list(range(57))
    parts = [items[part] for part in judging.split(items, 28)]
    assert [len(part) for part in parts] == [19, 19, 19]
    assert [one for part in parts for one in part] == items


# Answers and verdicts


def row(code: str = "AAA001", **values: Any) -> Row:
    given = {
        "draw": "d", "repository": "someone/a", "commit": "", "path": "job.yaml", "line": 1, "severity": "warning",
        "object": "Job train", "fingerprint": "f", "verdict": "RIGHT", "reason": "yes",
    } | values  # fmt: skip
    return Row(code=code, **given)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("F-00000000\tRIGHT\tyes", "is no item of"),
        ("{id}\tMAYBE\tyes", "RIGHT or WRONG"),
        ("{id}\tRIGHT\t", "the reason is missing"),
        ("{id}\tRIGHT\tyes\n{id}\tWRONG\tno", "has been judged RIGHT before"),
        ("{quiet}\tWRONG\tsomething is missing", "must name the code"),
    ],
)
def test_answers_that_cannot_be_read_are_told_with_their_line(line: str, said: str, tmp_path: Path) -> None:
    rows = [row(verdict="", reason=""), row("", severity="quiet", verdict="", reason="")]
    judging.write_key(tmp_path, rows)
    file = tmp_path / "answers.tsv"
    ids = [judging.identifier(one) for one in rows]
    file.write_text(line.format(id=ids[0], quiet=ids[1]), encoding="utf-8")
    with pytest.raises(SystemExit, match=rf"answers\.tsv:\d: .*{said}"):
        judging.answers(tmp_path, [file])


def test_items_without_an_answer_are_told(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judging.write_key(tmp_path, [row(verdict=""), row(line=2, verdict="")])
    file = tmp_path / "answers.tsv"
    file.write_text(f"\n{judging.identifier(row())}\tright\tyes\n", encoding="utf-8")
    assert run("read", tmp_path, file) == 1
    assert judging.identifier(row(line=2)) in capsys.readouterr().err
    assert [one.verdict for one in verdicts.read(tmp_path / "verdicts.tsv")] == ["RIGHT"]


def test_a_table_is_written_as_it_is_read(tmp_path: Path) -> None:
    table = tmp_path / "verdicts.tsv"
    rows = [row(path='a "b"\tc\nd.yaml', reason="tab\there", stands_for=2.5), row("", severity="quiet", now="quiet")]
    verdicts.write(table, rows)
    assert verdicts.read(table)[0].path == 'a "b" c d.yaml'
    first = table.read_text(encoding="utf-8")
    verdicts.write(table, verdicts.merged(verdicts.read(table), [verdicts.read(table)[0]]))
    assert table.read_text(encoding="utf-8") == first
    table.write_text(first.replace("\tRIGHT\t", "\tPERHAPS\t", 1), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"verdicts\.tsv:2"):
        verdicts.read(table)
    table.write_text("code\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="the columns must be"):
        verdicts.read(table)
    assert verdicts.read(tmp_path / "none.tsv") == []


# Numbers


@pytest.mark.parametrize(
    ("right", "items", "low", "high"), [(95, 100, 0.8882, 0.9785), (10, 10, 0.7225, 1.0), (0, 10, 0.0, 0.2775)]
)
def test_wilson(right: int, items: int, low: float, high: float) -> None:
    assert Share(right, items).interval == pytest.approx((low, high), abs=5e-5)


def test_shares() -> None:
    rows = [row(), row(), row(verdict="WRONG"), row(stands_for=7)]
    assert plain(rows).value == 0.75
    assert weighted(rows).value == pytest.approx(0.9)
    assert weighted(rows).items == pytest.approx(100 / 52), "one heavy finding tells little"
    assert percent(Share(1, 2)) == "50 % (9–91)"
    assert percent(plain([])) == percent(weighted([])) == "–"


def test_the_census(tmp_path: Path) -> None:
    found = [workload("a"), workload("b"), workload("c", purpose="benchmark")]
    findings = [finding("A1", name="a"), finding("A1", name="a", severity="error"), finding("A1", name="pool")]
    rows = census.count(REPOSITORY, found, findings)
    table = tmp_path / "census.tsv"
    census.write(table, rows)
    assert census.read(table) == rows
    by_class = {one.purpose: one for one in census.densities(rows)}
    assert list(by_class) == ["training", "benchmark", "other"]
    training = by_class["training"]
    assert (training.workloads, training.quiet, training.errors, training.warnings) == (2, 1, 1, 1)
    assert (training.mean, training.median) == (1.0, 1.0)
    assert by_class["other"].warnings == 1
    assert census.count(REPOSITORY, [], []) == [Count("someone/a", "1", "other", 0, 0, 0, 0)]


def test_the_page_is_renewed_between_its_markers_alone(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(f"before {name}\n<!-- {name}: begin -->\nold\n<!-- {name}: end -->\n" for name in page.BLOCKS)
    file = tmp_path / "accuracy.md"
    file.write_text(text, encoding="utf-8")
    verdicts.write(
        tmp_path / "verdicts.tsv",
        [row(), row("BBB001", line=2, severity="error", verdict="WRONG", reason="a `b` | c", now="there")],
    )
    assert run("page", "--check", "--page", file) == 1
    assert "is stale" in capsys.readouterr().err
    assert run("page", "--page", file) == 0
    assert run("page", "--check", "--page", file) == 0
    new = file.read_text(encoding="utf-8")
    assert "old" not in new
    assert new.count("before ") == len(page.BLOCKS)
    assert "| all errors and warnings | 2 | 1 | 50 % (9–91) | 50 % (9–91) |" in new
    assert "| errors | 1 | 0 | 0 % (0–79) |" in new
    assert "| BBB | 1 | 0 |" in new
    assert "a \\`b\\` \\| c | still there |" in new
    with pytest.raises(SystemExit, match="must hold"):
        page.renewed("no markers", [], [])


def test_the_published_page_agrees_with_the_tables() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.renewed(text, verdicts.read(verdicts.VERDICTS), census.read(census.CENSUS)) == text


def test_a_report_as_gaplint_writes_it_is_read(folders: list[Path]) -> None:
    (one, _) = repositories(folders)
    gaplint = Gaplint((sys.executable, "-m", "kube_gaplint"))
    (found,) = gaplint.workloads(one)
    assert (found.object.named, found.location.line, found.purpose) == ("Job loud", 1, "training")
    assert json.loads(msgspec.json.encode(gaplint.findings(one).findings[0]))["object"]["name"] == "loud"


def test_the_newest_draw_comes_first_and_one_without_a_row_before_it() -> None:
    rows = [row(draw=draw) for draw in ("b", "new", "a", "b")]
    found = verdicts.by_draw(rows, {"a": "all", "b": "some"})
    assert [(draw, len(members)) for draw, members in found.items()] == [("new", 1), ("b", 2), ("a", 1)]


def test_the_table_of_draws_names_those_that_were_judged() -> None:
    assert set(verdicts.draws_of(verdicts.DRAWS)) == {row.draw for row in verdicts.read(verdicts.VERDICTS)}
