"""Fixes are judged before they are made: what they answer is gone, nothing new is there, and a second run rests."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixture_files import ROOT, fixtures
from kube_gaplint.cli.app import run
from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Finding, Fix, ReplaceValue, Severity
from kube_gaplint.fix import FixPlan, repair
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.comments import comments
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import scalar
from kube_gaplint.text.source import Source

Captured = pytest.CaptureFixture[str]
SINGLE_FILES = [path for path in fixtures("fires") if path.is_file() and not path.parent.name.startswith("GAP")]


def found(path: Path) -> list[Finding]:
    return lint(Request((str(path),), min_severity=Severity.INFO)).findings


def counted(findings: list[Finding]) -> Counter[tuple[str, ...]]:
    return Counter((f.code, f.subject.kind, f.subject.namespace, f.subject.name) for f in findings if not f.suppressed)


def by_meaning(findings: list[Finding]) -> Counter[tuple[str, Severity]]:
    """How many findings of each meaning there are, from each severity up: a worse one is one more."""
    live = [one for one in findings if one.suppressed is None]
    return Counter((one.digest, least) for one in live for least in Severity if one.severity >= least)


def fixed(path: Path, *options: str) -> None:
    assert run([str(path), "--fix", "--min-severity", "info", "--fail-on", "never", "--quiet", *options]) == 0


def comment_texts(path: Path) -> list[str]:
    """Comments on lines of their own: a removed entry may take the one on its line with it."""
    source = Source("x", path.read_text())
    return [comment.text for comment in comments(source, compose(source).documents) if comment.own_line]


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(SINGLE_FILES), min_size=1, max_size=3), st.booleans(), st.booleans(), st.randoms())
def test_on_documents_of_several_fixtures(
    tmp_path: Path, capsys: Captured, chosen: list[Path], unsafe: bool, crlf: bool, chance: random.Random
) -> None:
    """Manifests put together by chance, with either line end: no finding is added, and a second run changes nothing."""
    options = ["--unsafe-fixes"] if unsafe else []
    manifests = [path for path in chosen if path.suffix == ".yaml"]
    scripts = [path for path in chosen if path.suffix != ".yaml"]
    chance.shuffle(manifests)
    target = tmp_path / "all"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    text = "\n---\n".join(path.read_text() for path in manifests)
    if text:
        (target / "all.yaml").write_bytes((text.replace("\n", "\r\n") if crlf else text).encode())
    for script in scripts[:1]:
        (target / script.name).write_bytes(script.read_bytes())
    before, remarks = found(target), {path: comment_texts(path) for path in target.glob("*.yaml")}
    fixed(target, *options)
    after = found(target)
    assert not by_meaning(after) - by_meaning(before)
    for path in target.iterdir():
        data = path.read_bytes()
        if crlf and path.suffix == ".yaml":
            assert b"\n" not in data.replace(b"\r\n", b"")
        if path in remarks:
            assert not Counter(remarks[path]) - Counter(comment_texts(path))
    once = {path: path.read_bytes() for path in target.iterdir()}
    fixed(target, *options)
    assert {path: path.read_bytes() for path in target.iterdir()} == once
    capsys.readouterr()
    assert run([str(target), "--diff", "--min-severity", "info", "--quiet", *options]) == 0
    assert capsys.readouterr().out == ""


def test_a_fix_that_another_makes_possible_is_made_with_it(tmp_path: Path) -> None:
    """A job is started again by an array once it goes on from its checkpoint: not only at the next run."""
    script = tmp_path / "train.sbatch"
    script.write_bytes((ROOT / "CKPT005" / "fires-requeued-by-default.sbatch").read_bytes())
    fixed(tmp_path, "--unsafe-fixes")
    once = script.read_text()
    assert "--load" in once
    assert "#SBATCH --array=" in once
    fixed(tmp_path, "--unsafe-fixes")
    assert script.read_text() == once


JOB: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "gpt"},
    "spec": {
        "pytorchReplicaSpecs": {
            "Worker": {
                "replicas": 4,
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "pytorch",
                                "image": "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
                                "command": ["torchrun", "train.py"],
                                "env": [{"name": "NCCL_ASYNC_ERROR_HANDLING", "value": "1"}],
                                "volumeMounts": [{"name": "out", "mountPath": "/out"}],
                                "resources": {"limits": {"nvidia.com/gpu": 8}},
                            }
                        ],
                        "volumes": [{"name": "out", "persistentVolumeClaim": {"claimName": "out"}}],
                    }
                },
            }
        }
    },
}


def test_what_a_fix_brings_up_is_fixed_as_well_or_the_fix_is_dropped(tmp_path: Path, capsys: Captured) -> None:
    """Fast links that come back want a longer timeout, which has a fix of its own."""
    target = tmp_path / "job.yaml"
    shutil.copy(ROOT / "NCCL010" / "fires-infiniband.yaml", target)
    text = target.read_text()
    run([str(target), "--fix", "--unsafe-fixes", "--select", "NCCL010"])
    assert "NCCL010 is not fixed: it would bring up NCCL005 (NCCL_IB_TIMEOUT is not set" in capsys.readouterr().err
    assert target.read_text() == text
    before = by_meaning(found(target))
    run([str(target), "--fix", "--unsafe-fixes", "--select", "NCCL010,NCCL005"])
    assert "NCCL_IB_TIMEOUT" in target.read_text()
    assert not by_meaning(found(target)) - before


class Stand:
    """A job with a gap that has a fix, and a judge whose answer to the fix is given."""

    def __init__(self, *after: str, severity: Severity = Severity.WARNING) -> None:
        self.source = Source("job.yaml", "spec:\n  backoffLimit: 0\n  completions: 4\n")
        (document,) = compose(self.source).documents
        node = scalar(document.root, "spec", "backoffLimit")
        assert node is not None
        self.origin = Origin(node.place, node=node)
        self.gap = self.finding("RETRY001", fix=Fix("more", (ReplaceValue(self.origin, "3"),), safe=True))
        self.after = [self.finding(code, severity) for code in after]
        self.before: list[Finding] = []
        self.judged: list[dict[str, str]] = []

    def finding(self, code: str, severity: Severity = Severity.WARNING, fix: Fix | None = None) -> Finding:
        subject = Subject("Job", "batch/v1", "", "train")
        return Finding(code, code.lower(), severity, f"{code} here", "", subject, self.origin, (), (), fix, f"{code}f")

    def judge(self, texts: Mapping[str, str]) -> list[Finding]:
        self.judged.append(dict(texts))
        return self.after if texts else [self.gap, *self.before]

    def plan(self) -> FixPlan:
        return repair({self.gap.fingerprint}, self.judge, unsafe=False, codes={"RETRY001"})


def test_a_fix_is_made_when_its_gap_is_gone() -> None:
    stand = Stand()
    (change,) = stand.plan().changes
    assert change.new_text == stand.source.text.replace("0", "3")
    assert stand.judged == [{}, {"job.yaml": change.new_text}]


@pytest.mark.parametrize(
    ("after", "severity", "reason"),
    [
        (["RETRY001"], Severity.WARNING, "the gap is still there afterwards"),
        (["CKPT001"], Severity.ERROR, "it would bring up CKPT001 (CKPT001 here)"),
        (["CKPT001", "CKPT002"], Severity.INFO, "it would bring up CKPT001 (CKPT001 here)"),
    ],
)
def test_a_fix_that_does_not_keep_the_promise_is_dropped(after: list[str], severity: Severity, reason: str) -> None:
    plan = Stand(*after, severity=severity).plan()
    assert plan.changes == []
    assert [(dropped.finding.code, dropped.reason) for dropped in plan.dropped] == [("RETRY001", reason)]


@pytest.mark.parametrize(
    ("severity", "made"), [(Severity.INFO, True), (Severity.WARNING, True), (Severity.ERROR, False)]
)
def test_a_finding_that_was_there_may_stay_but_get_no_worse(severity: Severity, made: bool) -> None:
    stand = Stand("CKPT001", severity=severity)
    stand.before = [stand.finding("CKPT001", Severity.WARNING)]
    assert bool(stand.plan().changes) is made


def test_fixes_that_meet_at_one_place_are_all_made(tmp_path: Path) -> None:
    """One fix removes the last variable, another adds some behind it."""
    target = tmp_path / "job.yaml"
    target.write_text(json.dumps(JOB, indent=2))
    fixed(target, "--unsafe-fixes")
    container = json.loads(target.read_text())["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"][
        "containers"
    ]
    names = [entry["name"] for entry in container[0]["env"]]
    assert "TORCH_NCCL_TRACE_BUFFER_SIZE" in names
    assert len(names) == len(set(names))
    left = counted(found(target))
    assert not {"NCCL006", "NCCL009"} & {code for code, *_ in left}


def test_diff_shows_what_fix_makes(tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "job.yaml"
    target.write_text(json.dumps(JOB, indent=2))
    assert run([str(target), "--diff", "--unsafe-fixes", "--min-severity", "info"]) == 1
    patch = capsys.readouterr().out
    before = target.read_text()
    fixed(target, "--unsafe-fixes")
    added = [line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")]
    kept = set(before.splitlines())
    assert [line for line in target.read_text().splitlines() if line not in kept] == [
        line for line in added if line not in kept
    ]


def test_only_what_is_shown_is_fixed(tmp_path: Path) -> None:
    target = tmp_path / "job.yaml"
    target.write_text(json.dumps(JOB, indent=2))
    assert run([str(target), "--fix", "--select", "CKPT"]) in (0, 1)
    assert json.loads(target.read_text()) == JOB


def test_standard_input_is_judged_as_well(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(JOB, indent=2).encode())))
    assert run(["-", "--diff", "--unsafe-fixes", "--min-severity", "info"]) == 1
    captured = capsys.readouterr()
    assert "TORCH_NCCL_TRACE_BUFFER_SIZE" in captured.out
    assert "findings would be fixed in 1 file." in captured.err
