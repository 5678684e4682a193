"""`gaplint config`, `gaplint init` and `--force-exclude`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kube_gaplint.cli.app import run
from kube_gaplint.config import Config, load
from kube_gaplint.config.settings import PROFILE_KEYS

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


FULL = """\
select: [NCCL, "CKPT003"]
ignore: [NCCL006]
per-file-ignores:
  "tests/**: odd # name": [NCCL]
severity: {NCCL: info}
min-severity: info
fail-on: never
exclude: ["*.tmp", "no"]
baseline: base.json
kinds:
- {group: "", kind: Fleet, pod-templates: ["spec.*.pod"], replicas: count}
profile:
  torch: 2.10
  kubernetes: "1.30.2"
  autoscaler: none
  rdma: false
  gpus_per_node: 8
  step_seconds: 0.25
"""


def test_what_is_shown_is_a_configuration_that_says_the_same(folder: Path, capsys: Captured) -> None:
    (folder / ".gaplint.yaml").write_text(FULL)
    assert run(["config", "show"]) == 0
    text = capsys.readouterr().out
    (folder / "again.yaml").write_text(text)
    again, first = load([], "again.yaml"), load(["."])
    for name in Config.__struct_fields__:
        if name not in ("path", "places"):
            assert getattr(again, name) == getattr(first, name), name
    rows = dict(line.split("# ", 1) for line in text.splitlines() if " # .gap" in line)
    assert {key.strip(): origin for key, origin in rows.items()}["rdma: false"] == ".gaplint.yaml:16"


def test_show_without_a_file(folder: Path, capsys: Captured) -> None:
    assert run(["config"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# no configuration file\n")
    assert "# default: all rules" in text
    (folder / "again.yaml").write_text(text)
    assert load([], "again.yaml").profile == Config().profile


def test_show_for_programs(folder: Path, capsys: Captured) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs" / ".gaplint.yaml").write_text("fail-on: info\n")
    assert run(["config", "show", "jobs", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["file"] == "jobs/.gaplint.yaml"
    settings = {tuple(row["key"]): row for row in data["settings"]}
    assert settings["fail-on",] == {"key": ["fail-on"], "value": "info", "origin": "jobs/.gaplint.yaml:1"}
    assert settings["profile", "torch"]["value"] is None
    assert run(["config", "show", "jobs", "--isolated", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] is None


def test_control_characters_are_shown(folder: Path, capsys: Captured) -> None:
    (folder / ".gaplint.yaml").write_text('exclude: ["\\e[31m"]\nper-file-ignores: {"a\\nb": [NCCL]}\n')
    run(["config"])
    assert "\x1b" not in capsys.readouterr().out


def test_schema(folder: Path, capsys: Captured) -> None:
    assert run(["config", "schema"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data["properties"]["profile"]["properties"]) == set(PROFILE_KEYS)
    assert not list(folder.iterdir())


def test_a_misspelt_action(capsys: Captured) -> None:
    assert run(["config", "shwo"]) == 2
    assert "Did you mean show?" in capsys.readouterr().err


# init


def test_init_writes_a_configuration_that_changes_nothing(folder: Path, capsys: Captured) -> None:
    assert run(["init"]) == 0
    config = load(["."])
    assert config == Config(path=".gaplint.yaml", folder=str(folder))
    assert run(["init"]) == 2
    assert ".gaplint.yaml is there already" in capsys.readouterr().err


def test_every_line_of_it_can_be_taken_in(folder: Path, capsys: Captured) -> None:
    assert run(["init", "--stdout"]) == 0
    assert not list(folder.iterdir())
    lines = capsys.readouterr().out.splitlines()
    keys = ["fail-on", "min-severity", "ignore", "select", "severity", "exclude", "per-file-ignores", "baseline"]
    keys += ["profile", "kinds", "- ", "  CKPT003", "  examples", "  kind", "  pod-templates", "  replicas"]
    keys += [f"  {name}" for name in PROFILE_KEYS]
    taken = [line[2:] for line in lines if line.startswith("# ") and line[2:].startswith(tuple(keys))]
    (folder / ".gaplint.yaml").write_text("\n".join(taken) + "\n")
    config = load(["."])
    assert {key.removeprefix("profile.") for key in config.places if key.startswith("profile.")} == set(PROFILE_KEYS)
    assert config.kinds and config.exclude and config.severity and config.per_file_ignores


@pytest.mark.parametrize("there", [".gaplint.yml", "pyproject.toml"])
def test_init_beside_another_configuration(folder: Path, there: str, capsys: Captured) -> None:
    (folder / there).write_text("[tool.gaplint]\n")
    assert run(["init"]) == 2
    assert f"{there} is there already" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == [there]


# Hooks name the files


def test_named_files_are_excluded_where_it_is_asked_for(folder: Path, capsys: Captured) -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {spec: {}}}\n"
    for name in ("old/a.yaml", "new/b.yaml"):
        (folder / name).parent.mkdir()
        (folder / name).write_text(job)
    (folder / ".gaplint.yaml").write_text("exclude: [old/]\n")

    def files(*arguments: str) -> int:
        run([*arguments, "--format", "json"])
        return int(json.loads(capsys.readouterr().out)["summary"]["files"])

    assert files("old/a.yaml", "new/b.yaml") == 2
    assert files("old/a.yaml", "new/b.yaml", "--force-exclude") == 1
    assert files("old", "new", "--force-exclude") == 1
