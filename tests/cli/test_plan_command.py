"""`gaplint plan`: options, formats, streams and exit codes."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from kube_gaplint.cli.app import run
from kube_gaplint.cli.plan import command
from kube_gaplint.report.plan.plain import INPUTS, RESULTS

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes=48
#SBATCH --gres=gpu:8
srun torchrun --nnodes=48 --nproc-per-node=8 pretrain_gpt.py --train-iters=100000 --save=/ckpt --load=/ckpt \\
  --save-interval=100
"""
HOSTILE = r"""
apiVersion: batch/v1
kind: Job
metadata: {name: "x\e[31m\u202e::error::", annotations: {gaplint.dev/save-seconds: "9"}}
spec:
  template:
    spec:
      containers:
      - name: main
        image: pytorch/pytorch:2.3.1
        command: [torchrun, --nproc-per-node=8, train.py]
        resources: {limits: {nvidia.com/gpu: 8}}
"""
BLOOM = ("--nodes", "48", "--days", "105", "--step-seconds", "105", "--save-seconds", "40", "--interval-steps", "100")
ROOT = Path(__file__).parents[2]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bloom.sbatch").write_text(SCRIPT.format(name="bloom"))
    (tmp_path / "other.sbatch").write_text(SCRIPT.format(name="other"))
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "GAPLINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def out(capsys: Captured, *arguments: str) -> str:
    assert run(["plan", *arguments]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def err(capsys: Captured, *arguments: str) -> str:
    assert run(["plan", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


def data(capsys: Captured, *arguments: str) -> Any:
    return json.loads(out(capsys, *arguments, "--format", "json"))


# Text


def test_a_plan_from_numbers(capsys: Captured) -> None:
    shown = out(capsys, *BLOOM, "--failures-per-1000-node-days", "4.46")
    assert shown.startswith("With 2.9 h (100 steps) between saves 98.3 % of the time trains the model; about 94.3")
    for line in (
        "  nodes                         48          --nodes",
        "  GPUs                          384         nodes × GPUs a node",
        "  until training goes on        5 min       default: assumed by Kokolis et al., who saw 5 to 20 min",
        "  expected over the run         22          nodes × days × rate",
        "  mean time between two         4.7 days    1 ÷ (nodes × rate)",
        "  restarts for a chance of 99 % 34          Poisson, 99 % quantile",
        "  best time between saves       94.3 min (54 steps)  Daly's higher order",
    ):
        assert f"\n{line}\n" in shown


def test_no_line_is_wider_than_the_terminal(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (60, 80, 100, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = out(capsys, ".", "--save-seconds", "40", "--step-seconds", "105").splitlines()
        assert max(map(len, lines)) <= columns


def test_the_curve_is_drawn_plain_where_there_is_no_terminal(capsys: Captured) -> None:
    shown = out(capsys, *BLOOM)
    assert "share of time lost" in shown
    assert re.search("[\u2801-\u28ff]", shown)
    assert " now" in shown
    assert " best" in shown
    assert "\x1b" not in shown


def test_colours_where_they_are_wanted(capsys: Captured) -> None:
    coloured = out(capsys, *BLOOM, "--color", "always")
    assert "\x1b[" in coloured
    plain = out(capsys, *BLOOM)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_without_the_library_there_is_a_hint_and_no_curve(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    found = util.find_spec
    monkeypatch.setitem(sys.modules, "plotille", None)
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "plotille" else found(name))
    assert run(["plan", *BLOOM]) == 0
    shown = capsys.readouterr()
    assert "share of time lost" not in shown.out
    assert "best time between saves" in shown.out
    assert shown.err == "gaplint: hint: the curve needs plotille: pip install 'kube-gaplint[plot]'\n"


def test_an_encoding_without_dots_and_signs(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kube_gaplint.cli.console.is_ascii_only", lambda _stream: True)
    shown = out(capsys, *BLOOM)
    assert shown.isascii()
    assert "sqrt(2 x save x time between failures), Young" in shown


# Manifests


def test_the_numbers_of_a_manifest_name_their_lines(capsys: Captured) -> None:
    shown = out(capsys, "bloom.sbatch", "--step-seconds", "105")
    assert shown.startswith("sbatch bloom (bloom.sbatch:2)\n")
    assert "  nodes                         48          bloom.sbatch:3\n" in shown
    assert "  time between saves            2.9 h (100 steps)  bloom.sbatch:6\n" in shown
    assert "unknown: give --save-seconds" in re.sub(r"\n *", " ", shown)


def test_names_from_outside_stay_text(capsys: Captured, folder: Path) -> None:
    folder.joinpath("a\x1b]0;b.yaml").write_text(HOSTILE)
    shown = out(capsys, ".", "--name", "x*")
    assert "Job x\\x1b[31m\\u202e::error:: (a\\x1b]0;b.yaml:2)" in shown
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", shown)
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", out(capsys, ".", "--name", "x*", "--format", "json"))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", out(capsys, ".", "--name", "x*", "--format", "svg"))


def test_gpus_that_a_manifest_does_not_show_are_asked_for(capsys: Captured, folder: Path) -> None:
    script = SCRIPT.format(name="plain").replace("#SBATCH --gres=gpu:8\n", "#SBATCH --partition=a100\n")
    (folder / "bloom.sbatch").write_text(script.replace("--nproc-per-node=8", "--nproc-per-node=gpu"))
    shown = out(capsys, "bloom.sbatch", "--save-seconds", "40", "--step-seconds", "105")
    assert re.search(r"  GPUs +unknown: give --gpus-per-node \(", shown)
    assert "one failure costs             unknown: give --gpus-per-node\n" in shown
    assert "best time between saves       89 min (51 steps)" in shown
    assert "GPUs                          384" in out(capsys, "bloom.sbatch", "--gpus-per-node", "8")


def test_a_step_time_that_nobody_knows(capsys: Captured) -> None:
    shown = out(capsys, "bloom.sbatch", "--save-seconds", "40")
    assert "  time between saves            100 steps; in time unknown: give --step-seconds\n" in shown
    assert "  now                           unknown: give --step-seconds\n" in shown
    assert "  at the best                   98." in shown


def test_the_profile_counts_with_and_without_a_manifest(capsys: Captured, folder: Path) -> None:
    (folder / ".gaplint.yaml").write_text("profile:\n  save_seconds: 40\n  failures_per_1000_node_days: 3\n")
    for arguments in (("--nodes", "48"), ("bloom.sbatch",)):
        shown = out(capsys, *arguments)
        assert "  a save stops training for     40 s        .gaplint.yaml:2\n" in shown
        assert "  failures                      3 per 1,000 node-days  .gaplint.yaml:3\n" in shown
        assert ".gaplint.yaml" not in out(capsys, *arguments, "--isolated")


def test_jobs_are_chosen_by_name(capsys: Captured) -> None:
    assert [one["title"] for one in data(capsys)["plans"]] == ["sbatch bloom", "sbatch other"]
    assert [one["title"] for one in data(capsys, "--name", "bl*")["plans"]] == ["sbatch bloom"]
    assert "no object is called opt. There are bloom, other." in err(capsys, "--name", "opt")


def test_a_folder_without_a_job(capsys: Captured) -> None:
    shown = err(capsys, "none")
    assert "there is no training job in none" in shown
    assert "gaplint plan --nodes N" in shown


# JSON


def test_every_number_has_its_unit_and_its_source(capsys: Captured) -> None:
    [found] = data(capsys, "bloom.sbatch", "--save-seconds", "40")["plans"]
    assert list(found["inputs"]) == [name for name, _, _ in INPUTS]
    assert list(found["results"]) == [name for name, _, _ in RESULTS]
    for number in (*found["inputs"].values(), *found["results"].values()):
        assert number["unit"]
        assert (number["value"] is None) == ("unknown" in number) != ("via" in number)
    assert found["inputs"]["nodes"] == {
        "value": 48, "unit": "nodes", "via": "manifest", "location": {"file": "bloom.sbatch", "line": 3, "column": 9},
    }  # fmt: skip
    assert found["inputs"]["saveTime"] == {"value": 40, "unit": "seconds", "via": "given", "note": "--save-seconds"}
    assert found["results"]["goodputNow"] == {"value": None, "unit": "share", "unknown": "unknown: give --step-seconds"}


def test_the_points_of_the_curve(capsys: Captured) -> None:
    [found] = data(capsys, *BLOOM)["plans"]
    best = found["results"]["bestInterval"]["value"]
    least = min(found["curve"], key=lambda point: point["lost"])
    assert least["interval"] == pytest.approx(best)
    assert least["lost"] == pytest.approx(1 - found["results"]["goodputAtBest"]["value"])
    [found] = data(capsys, "--nodes", "8")["plans"]
    assert found["curve"] is None


def test_the_options_of_the_answer(capsys: Captured) -> None:
    [usual] = data(capsys, *BLOOM)["plans"]
    [found] = data(capsys, *BLOOM, "--quantile", "0.5", "--within", "50")["plans"]
    assert (found["quantile"], found["within"]) == (0.5, 0.5)
    assert found["results"]["restartsNeeded"]["value"] < usual["results"]["restartsNeeded"]["value"]
    assert found["results"]["goodIntervalTo"]["value"] > usual["results"]["goodIntervalTo"]["value"]


# SVG


def test_an_image_of_one_job(capsys: Captured) -> None:
    image = out(capsys, "bloom.sbatch", "--save-seconds", "40", "--step-seconds", "105", "--format", "svg")
    assert ET.fromstring(image).tag == "{http://www.w3.org/2000/svg}svg"
    assert "now: 2.9 h (100 steps)" in image


def test_an_image_needs_one_job_and_a_save_time(capsys: Captured) -> None:
    shown = err(capsys, ".", "--save-seconds", "40", "--format", "svg")
    assert "there are 2: sbatch bloom, sbatch other. Choose with --name." in shown
    assert "unknown: give --save-seconds" in err(capsys, "bloom.sbatch", "--format", "svg")


# Wrong use


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--nodes", "0"), "Invalid value for '--nodes': it is from 1 to 1,000,000,000, and 0 is not."),
        (("--nodes", "2.5"), "'2.5' is not a whole number."),
        (("--nodes", "nan"), "'nan' is not a whole number."),
        (("--nodes", "inf"), "'inf' is not a whole number."),
        (("--days", "-1"), "it is above 0, and -1 is not."),
        (("--save-seconds", "40s"), "'40s' is not a number."),
        (("--quantile", "1"), "and 1 is not."),
        (("--nodes", "4", "--interval-steps", "1", "--interval-minutes", "1"), "give one of them."),
        (("--nodes", "4", "--gpus", "9", "--gpus-per-node", "1"), "4 nodes with 1 GPUs are not 9 GPUs; leave one of"),
        (("--nodes", "4", "--name", "x"), "--name chooses among the jobs of a PATH"),
        (("missing.yaml",), "missing.yaml"),
    ],
)
def test_wrong_use_is_answered(capsys: Captured, arguments: tuple[str, ...], message: str) -> None:
    assert message in err(capsys, *arguments)


@pytest.mark.parametrize("page", ["README.md", "docs/plan.md"])
def test_the_examples_are_what_it_says(page: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "96")
    text = (ROOT / page).read_text(encoding="utf-8")
    [(arguments, shown)] = re.findall(r"```\n\$ gaplint plan ([^\n]*)\n(.*?)```", text, re.S)
    said = out(capsys, *arguments.split())
    for part in shown.split("…\n"):  # lines that are left out
        assert part in said


def test_all_options_of_the_run_are_in_the_documentation() -> None:
    page = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
    own = [name for one in command.params for name in one.opts if getattr(one, "group", "") != "Input"]
    assert [name for name in own if name.startswith("--") and name not in page] == []
    assert [name for name, _, _ in (*INPUTS, *RESULTS) if f"`{name}`" not in page] == []
