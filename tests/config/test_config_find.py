"""Which configuration file a run reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kube_gaplint.config import Config, ConfigProblem, load


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str = "fail-on: error\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_none(folder: Path) -> None:
    assert load([str(folder)]) == load(["."]) == Config()


@pytest.mark.parametrize("name", [".gaplint.yaml", ".gaplint.yml"])
def test_in_the_current_folder(folder: Path, name: str) -> None:
    write(folder / name)
    assert load(["."]).path == name
    assert load(["-"]).path == name
    (folder / "jobs" / "deep").mkdir(parents=True)
    assert load(["jobs/deep"]).path == name
    assert load(["jobs/deep/missing.yaml"]).path == name


def test_the_closest_one_wins(folder: Path) -> None:
    (folder / ".git").mkdir()
    write(folder / ".gaplint.yaml")
    write(folder / "team" / ".gaplint.yaml", "fail-on: never\n")
    job = write(folder / "team" / "job.yaml", "")
    assert load(["team"]).fail_on == "never"
    assert load([str(job)]).fail_on == "never"
    assert load([str(job), "."]).fail_on == "error"  # the folder that both lie in


def test_the_search_ends_at_the_top_of_the_repository(folder: Path) -> None:
    write(folder / ".gaplint.yaml")
    (folder / "repo" / ".git").mkdir(parents=True)
    (folder / "repo" / "jobs").mkdir()
    assert load(["repo/jobs"]) == Config()


def test_without_git_a_folder_elsewhere_stands_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / ".gaplint.yaml")
    (folder / "here").mkdir()
    (folder / "there").mkdir()
    monkeypatch.chdir(folder / "here")
    assert load(["../there"]) == Config()


def test_pyproject_counts_only_with_its_table(folder: Path) -> None:
    write(folder / ".gaplint.yaml")
    write(folder / "a" / "pyproject.toml", "[project]\nname = 'kube-gaplint'\n")
    write(folder / "b" / "pyproject.toml", "[tool.gaplint]\nfail-on = 'never'\n")
    assert load(["a"]).fail_on == "error"
    assert load(["b"]).fail_on == "never"
    write(folder / "b" / ".gaplint.yaml", "fail-on: info\n")
    assert load(["b"]).fail_on == "info"


def test_the_named_one(folder: Path) -> None:
    write(folder / ".gaplint.yaml")
    write(folder / "ci" / "strict.yaml", "fail-on: info\nexclude: [old/]\n")
    config = load(["."], "ci/strict.yaml")
    assert (config.fail_on, config.folder) == ("info", str(folder / "ci"))
    with pytest.raises(ConfigProblem, match=r"nope\.yaml: no such file"):
        load(["."], "nope.yaml")
    with pytest.raises(ConfigProblem, match="ci: it cannot be read as a file"):
        load(["."], "ci")


def test_a_link_out_of_the_repository_is_not_followed(folder: Path) -> None:
    secret = write(folder / "secret.yaml")
    (folder / "repo" / ".git").mkdir(parents=True)
    (folder / "repo" / ".gaplint.yaml").symlink_to(secret)
    with pytest.raises(ConfigProblem, match="symbolic link out of"):
        load(["repo"])


def test_what_is_no_file(folder: Path) -> None:
    os.mkfifo(folder / ".gaplint.yaml")
    with pytest.raises(ConfigProblem, match="cannot be read as a file"):
        load(["."])
