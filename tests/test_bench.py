"""The folders that timings are taken on. Nothing is timed here."""

from __future__ import annotations

from pathlib import Path

import pytest

import corpora
from kube_gaplint.engine import Request, read


@pytest.mark.parametrize(("count", "share", "expected"), [(50, 0.02, 1), (40, 1.0, 40), (10, 0.0, 0)])
def test_the_share_of_relevant_files(count: int, share: float, expected: int) -> None:
    made = list(corpora.files(count, share))
    ours = {name for name, _ in corpora.relevant()}
    assert len(made) == len({path for path, _ in made}) == count
    assert sum(path.rpartition("/")[2].partition("-")[2] in ours for path, _ in made) == expected


def test_a_corpus_is_the_same_each_time_and_written_once(tmp_path: Path) -> None:
    folder = corpora.write(tmp_path, 20, 0.5)
    texts = {path: path.read_text() for path in folder.rglob("*.y*ml")}
    assert corpora.write(tmp_path, 20, 0.5) == folder
    assert {path: path.read_text() for path in folder.rglob("*.y*ml")} == texts
    assert texts


def test_relevant_files_hold_workloads(tmp_path: Path) -> None:
    summary = read(Request((str(corpora.write(tmp_path, 30, 1.0)),))).summary()
    assert sum(summary.by_class.values()) > 10


def test_a_large_file_has_about_its_size_and_no_faults(tmp_path: Path) -> None:
    path = corpora.write_large(tmp_path, 40)
    assert 40 <= path.stat().st_size / 1024 < 60
    reading = read(Request((str(path),)))
    assert not reading.errors
    assert not [problem for problem in reading.loaded.problems if problem.kind != "duplicate-key"]
