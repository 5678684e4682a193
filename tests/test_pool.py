"""Several processes: the same bytes whatever their number, and one process where the others end."""

from __future__ import annotations

import os
import signal
from itertools import chain, islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixture_files import ROOT
from kube_gaplint import pool, share
from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Severity
from kube_gaplint.judging import Judge, Part
from kube_gaplint.report import render
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.share import ALL, LEAST, Share, runs
from kube_gaplint.text.compose import compose
from kube_gaplint.text.source import Place, Source, Span

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

FAMILIES = sorted({path.name.rstrip("0123456789") for path in ROOT.glob("[A-Z]*[0-9]")})


@given(st.integers(0, 500), st.lists(st.integers(0, 2), max_size=40))
def test_shares_hold_everything_once(count: int, turns: list[int]) -> None:
    """Whichever process is ready when: each goes on to its next thing when its turn comes."""
    tickets = iter(range(runs(count)))
    split = [Share(tickets, first=at == 0) for at in range(3)]
    mine: list[list[int]] = [[], [], []]
    going = [filter(one.has, range(count)) for one in split]
    for at in turns:
        mine[at].extend(islice(going[at], 10))
    for at in range(3):
        mine[at].extend(going[at])
    assert sorted(chain(*mine)) == list(range(count))
    assert sorted(run for one in split for run in one.taken if run < runs(count)) == list(range(runs(count)))


def test_one_share_is_the_whole() -> None:
    assert Share().first
    assert all(map(Share().has, range(100)))


def report_of(paths: tuple[str, ...], jobs: int) -> tuple[str, ...]:
    report = lint(Request(paths=paths, min_severity=Severity.INFO, jobs=jobs))
    return tuple(render(name, report, RenderOptions(min_severity=Severity.INFO)) for name in ("json", "full"))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_number_of_processes_changes_nothing(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixtures of a family in one run, with the node pools of others beside them."""
    monkeypatch.setattr(share, "LEAST", 1)
    monkeypatch.chdir(ROOT)
    folders = [*ROOT.glob(f"{family}[0-9]*"), ROOT / "NODE003", ROOT / "EVICT003"]
    paths = tuple(sorted({str(path.relative_to(ROOT)) for path in folders}))
    alone = report_of(paths, 1)
    assert report_of(paths, 2) == alone
    assert report_of(paths, 3) == alone


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: nvcr.io/nvidia/pytorch:24.05-py3
        command: [torchrun, --nproc-per-node=8, train.py]
        envFrom: [{configMapRef: {name: missing}}]
        resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_a_reference_that_many_builds_miss_is_told_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first build that misses it falls to the second process, later ones to the first."""
    monkeypatch.setattr(share, "LEAST", 1)
    monkeypatch.setattr(share, "_RUN", 4)
    for name, job in (("whole", JOB.replace("envFrom", "x")), ("base", JOB)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.yaml").write_text(job)
        (tmp_path / name / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    for number in range(12):
        overlay = tmp_path / f"overlay-{number:02}"
        overlay.mkdir()
        base = "whole" if number < 4 else "base"
        (overlay / "kustomization.yaml").write_text(f"namePrefix: n{number:02}-\nresources: [../{base}]\n")
    monkeypatch.chdir(tmp_path)
    alone = report_of((".",), 1)
    assert "n04-train" in alone[1]
    assert report_of((".",), 2) == alone
    assert report_of((".",), 3) == alone


def test_processes_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share, "LEAST", 1)
    used: list[int] = []
    shared = pool.shared
    monkeypatch.setattr(
        pool, "shared", lambda work, number, sources: used.append(number) or shared(work, number, sources)
    )
    report_of((str(ROOT / "demo"),), 2)
    assert used == [2]


def test_a_process_that_ends_leaves_the_work_to_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may kill a process, for want of memory say."""
    monkeypatch.setattr(share, "LEAST", 1)
    alone = report_of((str(ROOT / "demo"),), 1)
    here = os.getpid()
    run = Judge.run

    def dies_elsewhere(judge: Judge, share: Share = ALL) -> Part:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return run(judge, share)

    monkeypatch.setattr(Judge, "run", dies_elsewhere)
    assert report_of((str(ROOT / "demo"),), 2) == alone


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_what_goes_wrong_in_a_process_is_raised_here(failing: int) -> None:
    def fails(number: int) -> int:
        if number == failing:
            raise LookupError(f"number {number}")
        return number

    with pytest.raises(LookupError, match=f"number {failing}"):
        pool.shared(fails, 3, [])
    with pytest.raises(ChildProcessError):  # nobody is left behind
        os.waitpid(-1, os.WNOHANG)


def test_results_keep_their_order() -> None:
    assert pool.shared(lambda number: (number, os.getpid() == os.getppid(), "x" * 100_000), 3, []) == [
        (number, False, "x" * 100_000) for number in range(3)
    ]


def test_a_text_that_both_sides_have_is_not_copied_and_nodes_stay(tmp_path: Path) -> None:
    source = Source(str(tmp_path / "a.yaml"), "a: 1\n" * 1000)
    root = compose(source).documents[0].root
    place = Place(source, Span(0, 4))
    found = pool.shared(lambda _: (place, root), 2, [source])
    assert found is not None
    back, node = found[1]
    assert back == place
    assert back.source is source
    assert node is None


@pytest.mark.parametrize(("wanted", "things", "expected"), [(2, LEAST - 1, 1), (2, LEAST, 2), (5, 10_000, 5)])
def test_few_things_are_judged_by_one_process(wanted: int, things: int, expected: int) -> None:
    assert share.jobs_for(wanted, things) == expected


def test_auto_stays_below_a_bound() -> None:
    assert 1 <= share.jobs_for(0, 10_000) <= share.MOST
