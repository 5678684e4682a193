"""Every question to the disk is noted with its answer, and can be asked again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kube_gaplint import disk, trace
from kube_gaplint.disk import Refused
from kube_gaplint.trace import DIGEST, Trace

QUESTIONS: dict[str, Callable[[str], object]] = {
    "read": disk.read,
    "read with a limit": lambda path: disk.read(path, 4),
    "head": lambda path: disk.head(path, 4),
    "entries": disk.entries,
    "type": disk.file_type,
    "is file": disk.is_file,
    "exists": disk.exists,
    "real": disk.real,
    "boundary": disk.boundary_of,
    "names": lambda path: disk.file_names(path, links=True),
}
THINGS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "a file": lambda path: path.write_text("abc"),
    "another file": lambda path: path.write_text("abd"),
    "a larger file": lambda path: path.write_text("abcdefgh"),
    "a folder": lambda path: path.mkdir(),
    "a folder with a file": lambda path: [path.mkdir(), (path / "a").write_text("")],
    "a folder with a link": lambda path: [path.mkdir(), (path / "a").symlink_to("/dev/null")],
    "a repository": lambda path: [path.mkdir(), (path / ".git").mkdir()],
    "a link": lambda path: path.symlink_to(path.parent),
    "a link to nothing": lambda path: path.symlink_to(path.parent / "missing"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a pipe": os.mkfifo,
}


@pytest.fixture
def noted() -> Iterator[Trace]:
    yield trace.begin()
    trace.end()


def _ask(question: Callable[[str], object], path: Path) -> object:
    try:
        return question(str(path))
    except (OSError, Refused) as problem:
        return type(problem), str(problem)


def _holds(noted: Trace) -> bool:
    """Whether all that was noted is still so."""
    try:
        seen = all(trace.see(path, argument)[1] == record[-DIGEST:] for (path, argument), record in noted.seen.items())
    except (OSError, Refused):
        return False
    return seen and all(trace.answer(*question) == told for question, told in noted.answers.items())


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("first", THINGS.values(), ids=THINGS)
def test_an_answer_that_changes_is_noticed(
    tmp_path: Path, noted: Trace, question: Callable[[str], object], first: Callable[[Path], object]
) -> None:
    """Whatever is there instead: where the answer is another, the record no longer holds."""
    path = tmp_path / "it"
    first(path)
    told = _ask(question, path)
    trace.end()
    assert noted.seen or noted.answers
    assert not noted.spoiled
    assert _holds(noted)
    for then in THINGS.values():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        then(path)
        if _ask(question, path) != told:
            assert not _holds(noted)
        elif then is first:
            assert _holds(noted)


def test_nothing_is_noted_outside_of_a_record(tmp_path: Path) -> None:
    noted = trace.begin()
    trace.end()
    disk.entries(str(tmp_path))
    trace.said(trace.OUT, b"x")
    trace.complete()
    assert not noted.seen
    assert not noted.said
    assert not noted.complete


@pytest.mark.parametrize("question", ["read", "entries", "type", "exists", "real", "boundary"])
def test_two_answers_to_one_question_spoil_the_record(tmp_path: Path, noted: Trace, question: str) -> None:
    path = tmp_path / "it"
    before, after = ("a folder", "a folder with a file") if question == "entries" else ("a file", "another file")
    if question not in ("read", "entries"):
        before, after = ("a repository", "a link to nothing") if question != "exists" else ("a file", "nothing")
    THINGS[before](path)
    _ask(QUESTIONS[question], path)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    THINGS[after](path)
    assert not noted.spoiled
    _ask(QUESTIONS[question], path)
    assert noted.spoiled


def test_files_that_are_not_on_the_disk_spoil_the_record(tmp_path: Path, noted: Trace) -> None:
    with disk.reading_instead({str(tmp_path / "it"): b"x"}):
        pass
    assert noted.spoiled
