"""The installed command, run as a user runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

GAPLINT = str(Path(sys.executable).parent / "gaplint")
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("NO_COLOR", "GAPLINT_DEBUG", "COLUMNS", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "PYTHONIOENCODING")
} | {"PYTHONUTF8": "1"}
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
srun python train.py
"""


def gaplint(
    *arguments: str, folder: Path, stdin: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [GAPLINT, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=ENVIRONMENT | (environment or {}),
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.sbatch").write_text(SCRIPT)
    return tmp_path


def imported(*arguments: str, folder: Path) -> set[str]:
    """The top-level modules that a run imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kube_gaplint", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line}


def test_version_is_answered_without_click(folder: Path) -> None:
    for option in ("--version", "-V"):
        done = gaplint(option, folder=folder)
        assert re.fullmatch(rb"gaplint \d+\.\d+\.\d+\S* \(rules \d+\.\d+\.\d+\S*\)\n", done.stdout)
        assert done.returncode == 0
    assert not imported("--version", folder=folder) & {"click", "ruamel", "tree_sitter", "jsonschema", "json"}


def test_help_imports_no_parser(folder: Path) -> None:
    modules = imported("--help", folder=folder)
    assert "click" in modules
    assert not modules & {"ruamel", "_ruamel_yaml", "tree_sitter", "jsonschema", "pathspec"}


def test_a_run_imports_no_checker_of_schemas(folder: Path) -> None:
    assert not imported("train.sbatch", folder=folder) & {"jsonschema", "hypothesis", "pytest"}


def test_findings(folder: Path) -> None:
    done = gaplint("--select", "SLURM001", folder=folder)
    assert done.returncode == 1
    shown = done.stdout.decode()
    assert shown.startswith("── train.sbatch ─")
    assert "warning SLURM001 srun-survives-dead-rank\n" in shown
    assert "  5 │ srun python train.py\n" in shown
    assert "1 warning in 1 workload, 1 file.\n" in shown
    assert done.stderr == b""


def test_same_input_same_bytes(folder: Path) -> None:
    for name in ("full", "json"):
        runs = {gaplint("--format", name, "--min-severity", "info", folder=folder).stdout for _ in range(2)}
        assert len(runs) == 1


def test_json_paths_are_as_given(folder: Path) -> None:
    for given in ("train.sbatch", str(folder / "train.sbatch")):
        data = json.loads(gaplint("--format", "json", given, folder=folder).stdout)
        assert {finding["location"]["file"] for finding in data["findings"]} == {given}


def test_standard_input(folder: Path) -> None:
    job = b"apiVersion: batch/v1\nkind: Job\nmetadata: {name: x\nspec: {}\n"
    done = gaplint("-", "--format", "concise", "-q", folder=folder, stdin=job)
    assert done.stdout.startswith(b"<stdin>:")
    assert b"[GAP001 invalid-yaml]" in done.stdout
    done = gaplint("-", "--stdin-filename", "out.yaml", "--format", "concise", "-q", folder=folder, stdin=job)
    assert done.stdout.startswith(b"out.yaml:")
    assert done.returncode == 1


def test_mistakes_exit_with_2(folder: Path) -> None:
    done = gaplint("missing.yaml", folder=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gaplint: error: ")
    assert b"missing.yaml" in done.stderr
    done = gaplint("--select", "SLURM01", folder=folder)
    assert done.returncode == 2
    assert b"Did you mean SLURM001" in done.stderr


def test_nothing_to_check(tmp_path: Path) -> None:
    done = gaplint(folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(b"Nothing to judge")
    assert gaplint("--fail-if-empty", folder=tmp_path).returncode == 3
    (tmp_path / "service.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: gpu-train}\n")
    (tmp_path / ".gaplint.yaml").write_text("{}\n")
    for paths in (("service.yaml",), (".",)):  # read, and there was nothing that a rule looks at
        done = gaplint("--fail-if-empty", *paths, folder=tmp_path)
        assert done.returncode == 3
        assert done.stdout.startswith(b"Nothing to judge")
        assert b"not YAML" not in done.stdout  # one's own configuration is no file that was passed over


def test_templates_are_told_how_they_are_judged(tmp_path: Path) -> None:
    template = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {{ .spec }}\n"
    told = {
        1: "Hint: 0.yaml is a template: give gaplint what it becomes, by a pipe into `gaplint -`",
        2: "Hint: 0.yaml and 1.yaml are templates: give gaplint what they become, by a pipe into `gaplint -`",
        4: "Hint: 0.yaml, 1.yaml and 2 more are templates: give gaplint what they become, by a pipe into `gaplint -`",
    }
    for number in range(4):
        (tmp_path / f"{number}.yaml").write_text(template)
        if number + 1 in told:
            done = gaplint("--fail-if-empty", folder=tmp_path)
            assert told[number + 1] in done.stdout.decode()
            assert done.returncode == 3


def test_names_that_speak_to_terminals_and_runners(tmp_path: Path) -> None:
    names = ["\x1b[2J.sbatch", "a\n::error title=x::y.sbatch", "b\u202ec.sbatch", "d\r##[group]e.sbatch"]
    for name in names:
        (tmp_path / name).write_text(SCRIPT.replace("train.py", "train.py \x1b[31m\u202e"))
    for form in ("full", "concise", "github"):
        done = gaplint("--format", form, "--select", "SLURM001", folder=tmp_path)
        shown = done.stdout.decode() + done.stderr.decode()
        assert not set(shown) & set("\x1b\r\u202e")
        commands = [line for line in shown.splitlines() if line.lstrip().startswith("::")]
        assert len(commands) == (len(names) if form == "github" else 0)
        assert "##[" not in shown


@pytest.mark.parametrize("arguments", [["{}"], ["--changed", "{}"], ["--baseline", "{}"], ["--config", "{}"]])
def test_a_missing_path_with_a_line_end_is_named_on_one_line(folder: Path, arguments: list[str]) -> None:
    done = gaplint(*(word.format("no\nsuch\r") for word in arguments), folder=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no\\nsuch\\r" in done.stderr
    assert b"\nsuch" not in done.stderr


def test_a_path_that_is_not_utf8(tmp_path: Path) -> None:
    name = os.path.join(os.fsencode(tmp_path), b"caf\xe9.sbatch")  # noqa: PTH118
    try:
        with open(name, "w") as file:  # noqa: PTH123
            file.write(SCRIPT)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    for form in ("full", "sarif", "junit"):
        done = gaplint("--format", form, folder=tmp_path)
        assert done.returncode == 1
        done.stdout.decode()  # valid UTF-8


def test_an_encoding_without_box_characters(folder: Path) -> None:
    done = gaplint("--select", "SLURM001", folder=folder, environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 1
    assert "    --> train.sbatch:5:1" in done.stdout.decode("ascii")


def test_a_reader_that_goes_away(folder: Path) -> None:
    for number in range(60):
        (folder / f"{number}.sbatch").write_text(SCRIPT)
    with subprocess.Popen(
        [GAPLINT, "--format", "json", "-q"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [GAPLINT], cwd=folder, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=60, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"gaplint: error: the report could not be written: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["rules"]])
def test_a_full_disk_for_whatever_is_told(folder: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [GAPLINT, *arguments], cwd=folder, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False
        )
    assert done.returncode == 2
    assert b"could not be written: No space left on device" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_closed_streams(folder: Path) -> None:
    def outcome(redirections: str) -> tuple[int, bytes]:
        done = subprocess.run(
            f'"{GAPLINT}" {redirections}', shell=True, cwd=folder, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False
        )
        return done.returncode, done.stderr

    assert outcome(">&-") == (2, b"gaplint: error: the report could not be written: standard output is closed\n")
    assert outcome("missing 2>&-") == (2, b"")
    assert outcome(">&- 2>&-") == (2, b"")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_interrupted(folder: Path) -> None:
    with subprocess.Popen(
        [GAPLINT, "-", "--output", "json=report.json"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err == b"gaplint: interrupted\n"
    assert not list(folder.glob("*report.json*"))
    assert not list(folder.glob(".*report.json*"))


def test_the_module_is_the_command(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kube_gaplint", "--format", "concise", "-q"],
        cwd=folder,
        capture_output=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.stdout == gaplint("--format", "concise", "-q", folder=folder).stdout
    assert done.returncode == 1


def test_diff_changes_nothing_and_exits_with_1(folder: Path) -> None:
    done = gaplint("--diff", folder=folder)
    assert done.returncode == 1
    assert b"-srun python train.py\n+srun --kill-on-bad-exit=1 --wait=60 python train.py\n" in done.stdout
    assert done.stderr == b"gaplint: 1 finding would be fixed in 1 file.\n"
    assert (folder / "train.sbatch").read_text() == SCRIPT
    assert gaplint("--diff", "-q", "--select", "CKPT", folder=folder).returncode == 0


def test_fix_then_report_what_remains(folder: Path) -> None:
    done = gaplint("--fix", "--select", "SLURM001", folder=folder)
    assert done.returncode == 0
    assert done.stderr == b"gaplint: 1 finding fixed in 1 file.\n"
    assert done.stdout.startswith(b"No gaps found in 1 workload, 1 file.\n")
    fixed = SCRIPT.replace("srun", "srun --kill-on-bad-exit=1 --wait=60")
    assert (folder / "train.sbatch").read_text() == fixed
    again = gaplint("--fix", "-q", "--select", "SLURM001", folder=folder)
    assert (again.returncode, again.stdout, again.stderr) == (0, b"", b"")
    assert (folder / "train.sbatch").read_text() == fixed


def test_diff_of_standard_input(folder: Path) -> None:
    done = gaplint(
        "-",
        "--diff",
        "--stdin-filename",
        "jobs/a.sbatch",
        "-q",
        folder=folder,
        stdin=SCRIPT.encode().replace(b"\n", b"\r\n"),
    )
    assert done.stdout.startswith(b"--- a/jobs/a.sbatch\n+++ b/jobs/a.sbatch\n")
    assert b"+srun --kill-on-bad-exit=1 --wait=60 python train.py\r\n" in done.stdout
