"""The baseline: what it accepts, what is new, what is gone, and the mistakes that people make with it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kube_gaplint import baseline, engine
from kube_gaplint.baseline import Accepted, Baseline, BaselineProblem
from kube_gaplint.cli.app import run
from kube_gaplint.findings import Report, Severity

Captured = pytest.CaptureFixture[str]


def job(name: str, *, nodes: int = 4, ib_timeout: str = "5", backoff: int = 0) -> dict[str, Any]:
    container = {
        "name": "train",
        "image": "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel",
        "command": ["torchrun", f"--nnodes={nodes}", "--nproc-per-node=8", "train.py"],
        "env": [{"name": "NCCL_IB_TIMEOUT", "value": ib_timeout}],
        "resources": {"limits": {"nvidia.com/gpu": 8}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completions": nodes,
            "parallelism": nodes,
            "completionMode": "Indexed",
            "backoffLimit": backoff,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def written(*documents: dict[str, Any]) -> str:
    return "---\n".join(f"{json.dumps(document, indent=1)}\n" for document in documents)


def linted(accepted: Baseline | None = None, path: str = ".") -> Report:
    return engine.lint(engine.Request((path,), min_severity=Severity.INFO, baseline=accepted))


def live(report: Report) -> list[tuple[str, str]]:
    return [(f.code, f.subject.name) for f in report.findings if f.suppressed is None]


def accepting(report: Report, path: str = "base.json") -> Baseline:
    scope = baseline.Scope.of(["."], frozenset(f.code for f in report.findings), "")
    made = baseline.at(path).renewed(report.findings, scope)
    Path(path).write_text(made.text())
    return baseline.read(path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shuffled(data: Any, chance: random.Random) -> Any:
    """The same data with the keys of mappings in another order."""
    if isinstance(data, dict):
        keys = sorted(data)
        chance.shuffle(keys)
        return {key: shuffled(data[key], chance) for key in keys}
    return [shuffled(below, chance) for below in data] if isinstance(data, list) else data


_JOBS = st.lists(
    st.builds(
        job,
        st.sampled_from(["a", "b"]),
        nodes=st.sampled_from([1, 4]),
        ib_timeout=st.sampled_from(["5", "22"]),
        backoff=st.sampled_from([0, 6]),
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_JOBS, st.randoms(use_true_random=False), st.booleans())
def test_it_hides_exactly_its_findings_whatever_the_order(
    folder: Path, jobs: list[dict[str, Any]], chance: random.Random, two_files: bool
) -> None:
    for old in folder.iterdir():
        old.unlink()
    (folder / "jobs.yaml").write_text(written(*jobs))
    first = linted()
    accepted = accepting(first)
    assert sum(row.count for row in accepted.rows) == len(first.findings)
    again = [shuffled(one, chance) for one in jobs]
    chance.shuffle(again)
    (folder / "jobs.yaml").unlink()
    cut = len(again) // 2 if two_files else 0
    (folder / "new-name.yaml").write_text("# moved\n\n" + written(*again[cut:]))
    (folder / "other.yaml").write_text(written(*again[:cut]))
    second = linted(accepted)
    assert live(second) == []
    assert (second.summary.accepted, second.summary.gone) == (len(first.findings), 0)
    # A job that was not there before is told in full.
    fresh = job("fresh")
    (folder / "fresh.yaml").write_text(written(fresh))
    third = linted(accepted)
    assert live(third)
    assert {name for _, name in live(third)} == {"fresh"}


def test_of_two_copies_the_new_one_is_told(folder: Path) -> None:
    (folder / "b.yaml").write_text(written(job("same")))
    accepted = accepting(linted())
    (folder / "a.yaml").write_text(written(job("same")))
    report = linted(accepted)
    assert live(report)
    assert {f.place.source.path for f in report.findings if f.suppressed is None} == {"a.yaml"}


def test_what_is_gone_is_told_and_taken_out(folder: Path, capsys: Captured) -> None:
    (folder / "a.yaml").write_text(written(job("one"), job("two")))
    assert run(["--write-baseline"]) == 0
    assert run(["--baseline", ".gaplint-baseline.json"]) == 0
    before = len(baseline.read(".gaplint-baseline.json").rows)
    (folder / "a.yaml").write_text(written(job("one")))
    capsys.readouterr()
    assert run(["--baseline", ".gaplint-baseline.json"]) == 0
    assert "of the baseline are gone: --write-baseline takes them out" in capsys.readouterr().out
    assert run(["--write-baseline"]) == 0
    assert f"(0 new, {before // 2} gone)" in capsys.readouterr().err
    assert len(baseline.read(".gaplint-baseline.json").rows) == before // 2
    (folder / "a.yaml").unlink()
    run(["--format", "json", "--baseline", ".gaplint-baseline.json"])
    assert json.loads(capsys.readouterr().out)["summary"]["gone"] == before // 2


def test_a_run_over_a_part_leaves_the_rest_alone(folder: Path, capsys: Captured) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "a.yaml").write_text(written(job(name)))
    run(["--write-baseline"])
    text = (folder / ".gaplint-baseline.json").read_text()
    (folder / "one" / "a.yaml").write_text(written(job("one", backoff=6)))
    capsys.readouterr()
    run(["two", "--baseline", ".gaplint-baseline.json"])
    assert "gone" not in capsys.readouterr().out
    run(["two", "--write-baseline"])
    assert (folder / ".gaplint-baseline.json").read_text() == text
    run(["--select", "NCCL", "--write-baseline"])
    assert (folder / ".gaplint-baseline.json").read_text() == text


def test_one_finding_a_line_in_a_stable_order(folder: Path) -> None:
    (folder / "a.yaml").write_text(written(job("one"), job("two")))
    run(["--write-baseline"])
    text = (folder / ".gaplint-baseline.json").read_text()
    lines = text.splitlines()
    rows = [json.loads(line.rstrip(",")) for line in lines[1:-1]]
    assert rows == json.loads(text)["findings"]
    assert rows == sorted(rows, key=lambda row: (row["file"], row["code"], row["object"]))
    run(["--write-baseline"])
    assert (folder / ".gaplint-baseline.json").read_text() == text


def test_an_empty_one(folder: Path) -> None:
    assert json.loads(Baseline("b", str(folder)).text()) == {"version": 1, "findings": []}


def test_by_configuration(folder: Path, capsys: Captured) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs" / "a.yaml").write_text(written(job("one")))
    (folder / ".gaplint.yaml").write_text("baseline: ci/base.json\n")
    assert run([]) == 2
    assert "there is no baseline ci/base.json; `gaplint --write-baseline` writes it" in capsys.readouterr().err
    (folder / "ci").mkdir()
    assert run(["--write-baseline", "jobs"]) == 0
    assert (folder / "ci" / "base.json").exists()
    assert run([]) == 0
    assert run(["--no-baseline"]) == 1
    assert run(["--isolated"]) == 1


def test_on_standard_input(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    def piped() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written(job("one")).encode())))

    piped()
    assert run(["-"]) == 1
    piped()
    assert run(["-", "--write-baseline"]) == 0
    assert (folder / ".gaplint-baseline.json").exists()
    piped()
    assert run(["-", "--baseline", ".gaplint-baseline.json"]) == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    capsys.readouterr()
    run(["-", "--baseline", ".gaplint-baseline.json", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["summary"]["gone"] > 0


def test_suppressed_findings_are_not_accepted(folder: Path) -> None:
    (folder / "a.yaml").write_text(written(job("one")))
    first = len(linted().findings)
    text = "# gaplint: ignore-file[RETRY] known\n" + written(job("one"))
    (folder / "a.yaml").write_text(text.replace("[RETRY]", "[RETRY001]"))
    report = linted()
    accepted = accepting(report)
    assert sum(row.count for row in accepted.rows) < first
    assert "RETRY001" not in {row.code for row in accepted.rows}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "base.json:1 is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "base.json is no baseline of gaplint"),
        (
            '{"version": 2, "findings": []}',
            "has version 2, and this gaplint knows version 1: it was written by",
        ),
        ('{"version": "1", "findings": []}', "is no baseline of gaplint"),
        ('{"version": 1}', "is no baseline of gaplint"),
        ('{"version": 1, "findings": [{"code": "A"}]}', 'holds {"code": "A"}, which is no finding'),
        (
            '{"version": 1, "findings": [{"code": "A", "file": "", "object": "", "fingerprint": "", "count": true}]}',
            "which is no finding",
        ),
        ("\ud800", "is not JSON"),
    ],
)
def test_what_is_no_baseline(folder: Path, text: str, message: str) -> None:
    (folder / "base.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(BaselineProblem) as problem:
        baseline.read("base.json")
    assert message in str(problem.value)


@given(st.lists(st.builds(Accepted, *[st.text("ab/é\n\"'", max_size=4)] * 4, st.integers(1, 5)), max_size=5))
def test_what_is_written_is_read(rows: list[Accepted]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "base.json"
        path.write_text(Baseline(str(path), folder, tuple(rows)).text())
        assert sorted(baseline.read(str(path)).rows) == sorted(rows)


def test_conflicts(folder: Path, capsys: Captured) -> None:
    for arguments in (["--write-baseline", "--fix"], ["--baseline", "x", "--no-baseline"]):
        assert run(arguments) == 2
    assert not list(folder.iterdir())
    assert "--no-baseline leaves alone" in capsys.readouterr().err
