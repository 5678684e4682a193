"""`--add-suppressions`: every finding is silent afterwards, for the reason given, and no program has changed."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fixture_files import fixtures
from kube_gaplint import suppress
from kube_gaplint.cli.app import run
from kube_gaplint.engine import Request, lint, read
from kube_gaplint.findings import Finding, Severity
from kube_gaplint.text.compose import compose
from kube_gaplint.text.source import Source

Captured = pytest.CaptureFixture[str]
FIRING = [path for path in fixtures("fires") if not path.parent.name.startswith("GAP")]

_WORDS = st.text("ab #;:'\"\\[]{}|>&,=-é%", min_size=1, max_size=25)
_REASONS = _WORDS.map(str.strip).filter(lambda text: not suppress.wrong_reason(text))


def found(path: Path) -> list[Finding]:
    return lint(Request((str(path),), min_severity=Severity.INFO)).findings


def programs(path: Path) -> list[Any]:
    """What runs: the commands of all containers, word by word, with their environments."""
    told = []
    for workload in read(Request((str(path),))).model.workloads:
        for process in workload.processes:
            words = [word.shown for word in process.command.words]
            names = sorted(str(name) for name in process.environment.names)
            told.append((workload.subject.name, process.program, words, names))
    return told


def suppressed(path: Path, reason: str) -> None:
    options = ["--min-severity", "info", "--fail-on", "never", "--quiet", "--format", "json"]
    assert run([str(path), "--add-suppressions", reason, *options]) == 0


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FIRING), _REASONS, st.booleans())
def test_all_findings_are_silent_and_nothing_else_has_changed(
    tmp_path: Path, capsys: Captured, fixture: Path, reason: str, crlf: bool
) -> None:
    target = tmp_path / fixture.name
    for old in tmp_path.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    (shutil.copytree if fixture.is_dir() else shutil.copy)(fixture, target)
    if crlf and target.is_file():
        target.write_bytes(target.read_bytes().replace(b"\n", b"\r\n"))
    before = programs(target)
    suppressed(target, reason)
    after = found(target)
    assert [finding for finding in after if finding.suppressed is None] == []
    assert {finding.suppressed.reason for finding in after if finding.suppressed} <= {suppress_reads(reason)}
    assert programs(target) == before
    if crlf and target.is_file():
        data = target.read_bytes()
        assert data.count(b"\n") == data.count(b"\r\n")
    once = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    suppressed(target, reason)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == once
    capsys.readouterr()


def suppress_reads(reason: str) -> str:
    """A reason as it is told: dashes and colons in front of it belong to the comment."""
    return suppress._until_and_reason(reason)[1]


@given(_REASONS, st.sets(st.sampled_from(["NCCL001", "CKPT003", "RETRY001"]), min_size=1))
def test_a_reason_survives_in_a_comment_and_in_the_annotation(reason: str, codes: set[str]) -> None:
    script = Source("x.sh", f"#!/bin/sh\n{suppress.comment(codes, reason)}\nsrun a\n")
    (one,) = suppress.read(script, [])
    assert (set(one.codes), one.reason) == (codes, suppress_reads(reason))
    value = suppress.annotation(codes, reason, "SLURM001: first; one")
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": {suppress.ANNOTATION: value}}}
    source = Source("x.json", json.dumps(data, ensure_ascii=False))
    read_back = suppress.read(source, compose(source).documents)
    told = {code: entry.reason for entry in read_back for code in entry.codes if code in codes}
    assume(not reason.startswith(("'", '"')) or ";" in reason or "'" in reason or '"' in reason)
    assert told == dict.fromkeys(codes, suppress_reads(reason))


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: pretrain
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: 6
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: registry.example.com/train@sha256:0123456789012345678901234567890123456789012345678901234567890123
        command: [bash, -c]
        args:
{args}
        volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
        resources: {{limits: {{nvidia.com/gpu: 8}}}}
      volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""

PLACES = {
    "literal": """\
        - |
          cd /work
          {mark}
          torchrun --nnodes=4 --nproc-per-node=8 \\
            train.py
""",
    "folded": """\
        {mark}
        - >
          torchrun --nnodes=4
          --nproc-per-node=8 train.py
""",
    "quoted": """\
        {mark}
        - "torchrun --nnodes=4
          --nproc-per-node=8 train.py"
""",
    "plain": """\
        {mark}
        - torchrun --nnodes=4
          --nproc-per-node=8 train.py
""",
    "here-document": """\
        {mark}
        - |
          cat > run.sh <<'EOF'
          torchrun --nnodes=4 --nproc-per-node=8 train.py
          EOF
          bash run.sh
""",
}


@pytest.mark.parametrize("style", PLACES)
def test_a_comment_never_becomes_part_of_the_program(style: str, tmp_path: Path) -> None:
    target = tmp_path / "job.yaml"

    def manifest(mark: str) -> str:
        lines = PLACES[style].splitlines(keepends=True)
        kept = [line.replace("{mark}", mark) for line in lines if mark or "{mark}" not in line]
        return JOB.format(args="".join(kept).rstrip("\n"))

    target.write_text(manifest(""))
    codes = {finding.code for finding in found(target)}
    assert "CKPT002" in codes
    before = programs(target)
    assert run([str(target), "--select", "CKPT002", "--min-severity", "info", "--add-suppressions", "no #1"]) == 0
    assert target.read_text() == manifest("# gaplint: ignore[CKPT002] no #1")
    assert programs(target) == before
    assert "CKPT002" not in {finding.code for finding in found(target) if not finding.suppressed}


def test_json_gets_the_annotation(tmp_path: Path) -> None:
    target = tmp_path / "job.json"
    text = JOB.format(args='        - "torchrun --nnodes=4 train.py"')
    (document,) = compose(Source("x", text)).documents
    assert document.root is not None

    def plain(node: Any) -> Any:
        if hasattr(node, "entries"):
            return {entry.name: plain(entry.value) for entry in node.entries}
        return [plain(item) for item in node] if hasattr(node, "items") else node.value

    data = plain(document.root)
    target.write_text(json.dumps(data, indent=2))
    suppressed(target, "its owner's; see #3")
    after = json.loads(target.read_text())
    value = after["metadata"].pop("annotations")["gaplint.dev/ignore"]
    assert after == data
    assert value.startswith('CKPT002: "its owner\'s; see #3"; ')
    assert all(finding.suppressed for finding in found(target))


def test_one_comment_a_place_and_none_that_is_idle(tmp_path: Path) -> None:
    target = tmp_path / "job.yaml"
    target.write_text(JOB.format(args="        - torchrun --nnodes=4 train.py"))
    suppressed(target, "later")
    report = lint(Request((str(target),), min_severity=Severity.INFO, today=date(2026, 1, 1)))
    assert "GAP010" not in {finding.code for finding in report.findings}
    comments = [line for line in target.read_text().splitlines() if "gaplint:" in line]
    places = [finding.suppressed.place for finding in report.findings if finding.suppressed]
    assert len(comments) == len({place.start.line for place in places if place})


def test_a_script_inside_a_quoted_text_of_a_script(tmp_path: Path) -> None:
    """No comment can stand in the text, so one at the head of the file speaks for it."""
    target = tmp_path / "train.sbatch"
    text = (
        "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n"
        'srun -K1 -W60 bash -c "\n  export NCCL_TIMEOUT=5\n  torchrun --nnodes=4 train.py\n"\n'
    )
    target.write_text(text)
    assert "NCCL007" in {finding.code for finding in found(target)}
    assert run([str(target), "--select", "NCCL007", "--add-suppressions", "ours"]) == 0
    assert target.read_text() == text.replace("#SBATCH", "# gaplint: ignore-file[NCCL007] ours\n#SBATCH", 1)


def test_diff_changes_nothing(tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "job.yaml"
    text = JOB.format(args="        - torchrun --nnodes=4 train.py")
    target.write_text(text)
    assert run([str(target), "--add-suppressions", "later", "--diff"]) == 1
    captured = capsys.readouterr()
    assert "+  # gaplint: ignore[" in captured.out
    assert "would be suppressed in 1 file." in captured.err
    assert target.read_text() == text


@pytest.mark.parametrize("reason", ["", "  ", "--", "two\nlines", "gaplint: ignore[X] y"])
def test_what_is_no_reason(tmp_path: Path, capsys: Captured, reason: str) -> None:
    (tmp_path / "job.yaml").write_text(JOB.format(args="        - torchrun --nnodes=4 train.py"))
    assert run([str(tmp_path), "--add-suppressions", reason]) == 2
    assert "--add-suppressions: this is no reason: it " in capsys.readouterr().err


def test_an_expiry_date_in_the_reason(tmp_path: Path) -> None:
    target = tmp_path / "job.yaml"
    target.write_text(JOB.format(args="        - torchrun --nnodes=4 train.py"))
    suppressed(target, "until=2999-01-31 moved in January")
    told = {(one.suppressed.until, one.suppressed.reason) for one in found(target) if one.suppressed}
    assert told == {("2999-01-31", "moved in January")}
    # One that has run out silences nothing, so it is not written.
    target.write_text(JOB.format(args="        - torchrun --nnodes=4 train.py"))
    suppressed(target, "until=2020-01-31 moved in January")
    assert "gaplint:" not in target.read_text()
