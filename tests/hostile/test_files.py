"""Folders and command lines that mean harm: links, pipes, devices, names, what vanishes, what cannot be read."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from running import JOB_CODES, PATIENCE, environment, gaplint, job, lint, modules_before, raw_controls

from kube_gaplint.report import FORMATS


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(job())


# What is no plain file


def test_links_are_followed_within_the_folder_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    write(tmp_path, "inside/job.yaml", "outside/other.yaml")
    (outside / "secret.yaml").write_text(job().replace("train", "secret-name"))
    for name, target in (
        ("loop", inside),
        ("up", tmp_path),
        ("a", inside / "b"),
        ("b", inside / "a"),
        ("self.yaml", inside / "self.yaml"),
        ("out.yaml", outside / "secret.yaml"),
        ("passwd.yaml", Path("/etc/passwd")),
        ("zero.yaml", Path("/dev/zero")),
        ("gone.yaml", inside / "none.yaml"),
        ("memory.yaml", Path("/proc/self/mem")),
        ("long.yaml", Path("x/" * 2_000)),
    ):
        (inside / name).symlink_to(target)
    found = lint(".", folder=inside)
    assert set(found.codes) >= JOB_CODES
    assert found.report["summary"]["workloads"] == 1
    assert "secret-name" not in found.text
    assert "root:" not in found.text
    skipped = found.report["summary"]["skipped"]
    assert skipped["symbolic link"] + skipped["symbolic link out of the given folder"] == 11


def test_pipes_devices_and_sockets_are_not_opened(tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    for name in ("pipe.yaml", "kustomization.yaml", "slurm.conf", ".gitignore", "run.sh"):
        os.mkfifo(tmp_path / name)
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(tmp_path)  # the path of a socket must be short
        listening.bind("socket.yaml")
        found = lint(".", folder=tmp_path)
    assert set(found.codes) >= JOB_CODES
    assert found.report["summary"]["skipped"]["not a regular file"] == 6


@pytest.mark.parametrize("path", ["pipe.yaml", "/dev/zero", "/dev/stdin", "/proc/self/mem", "/dev/tty"])
def test_a_named_pipe_or_device_is_refused(path: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    outcome = gaplint(path, folder=tmp_path)
    assert outcome.code == 2
    assert path in outcome.errors


@pytest.mark.parametrize("name", [".gaplint.yaml", "pyproject.toml"])
def test_a_configuration_that_is_a_pipe(name: str, tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / name)
    outcome = gaplint(".", folder=tmp_path)
    assert outcome.code in (1, 2)


@pytest.mark.parametrize("option", ["--config", "--baseline"])
def test_a_named_pipe_for_an_option(option: str, tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    os.mkfifo(tmp_path / "pipe")
    outcome = gaplint(option, "pipe", ".", folder=tmp_path)
    assert outcome.code == 2
    assert "pipe" in outcome.errors


def test_what_may_not_be_read_is_told_and_the_rest_is_judged(tmp_path: Path) -> None:
    write(tmp_path, "job.yaml", "closed/job.yaml", "secret.yaml")
    (tmp_path / ".gitignore").write_text("x\n")
    for name in ("closed", "secret.yaml", ".gitignore"):
        (tmp_path / name).chmod(0)
    found = lint(".", folder=tmp_path, powerless=True)
    named = gaplint("secret.yaml", folder=tmp_path, powerless=True)
    (tmp_path / "closed").chmod(0o700)
    assert set(found.codes) >= JOB_CODES
    denied = {error["file"]: error["reason"] for error in found.report["errors"]}
    assert denied == dict.fromkeys(("closed", "secret.yaml", ".gitignore"), "permission denied")
    assert named.code == 2
    assert "permission denied" in named.errors


VANISHING = """
import os, sys
def gone(event, arguments):
    if event == "open" and str(arguments[0]).endswith("gone.yaml"):
        try:
            os.unlink(arguments[0])
        except FileNotFoundError:
            pass
    if event == "os.scandir" and str(arguments[0]).endswith("/folder"):
        try:
            os.rename(arguments[0], str(arguments[0]) + "-moved")
        except FileNotFoundError:
            pass
sys.addaudithook(gone)
"""


def test_what_vanishes_while_it_is_read(tmp_path: Path) -> None:
    """The file is removed in the moment in which it is opened, the folder in which it is listed."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook/sitecustomize.py").write_text(VANISHING)
    folder = tmp_path / "repository"
    write(folder, "job.yaml", "gone.yaml", "folder/job.yaml")
    outcome = gaplint("--format=json", ".", folder=folder, variables={"PYTHONPATH": modules_before(tmp_path / "hook")})
    report = json.loads(outcome.out)
    assert {finding["code"] for finding in report["findings"]} >= JOB_CODES
    assert {error["file"]: error["reason"] for error in report["errors"]} == {
        "folder": "no such file or folder",
        "gone.yaml": "no such file or folder",
    }


# Names


NAMES = [
    "a\nb.yaml", "::error::x.yaml", "\n::error file=x::y.yaml", "a\x1b[31mb.yaml", "a\x1b]0;title\x07.yaml", "\u202egnp.yaml",
    "a\u2066b.yaml", "a\rb.yaml", "%0A::error.yaml", "a,b:c.yaml", "##[error]x.yaml", "<b>&\"'.yaml", "a]]>b.yaml",
    "`$(touch owned)`.yaml", "-x.yaml", "--help.yaml", " .yaml", "\\.yaml", "|x|.yaml", "[a](javascript:b).yaml",
    "é" * 120 + ".yaml", "x" * 250 + ".yaml", "\u200b.yaml", "\U000e0041.yaml", "~.yaml", "*.yaml", "a\x7f\x9b.yaml",
]  # fmt: skip
BYTES = [b"\xff\xfe.yaml", b"a\x80b.yaml", b"\xed\xa0\x80.yaml"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files with such names, whose objects have them as well."""
    folder = tmp_path_factory.mktemp("names")
    for name in NAMES:
        (folder / name).write_text(job(name=json.dumps(name)))
    for name in BYTES:
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_text(job())
    return folder


@pytest.mark.parametrize("name", FORMATS)
def test_names_are_shown_and_not_obeyed(name: str, named: Path) -> None:
    outcome = gaplint(f"--format={name}", "--color=never", ".", folder=named)
    assert outcome.code == 1
    text = outcome.out.decode()  # valid UTF-8
    assert raw_controls(text) == []
    commands = [line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line]
    if name == "github":
        assert all(re.match(r"::(error|warning|notice) file=", line) for line in commands)
    else:
        assert commands == []
    if name in ("json", "sarif", "gitlab"):
        json.loads(text)
    elif name == "junit":
        ElementTree.fromstring(text)
    elif name in ("jsonl", "rdjson"):
        [json.loads(line) for line in (text.splitlines() if name == "jsonl" else [text])]
    assert not (named / "owned").exists()


def test_paths_that_begin_with_a_dash(tmp_path: Path) -> None:
    write(tmp_path, "-x.yaml", "--help", "-")
    (tmp_path / "--help").rename(tmp_path / "--help.yaml")
    (tmp_path / "-").rename(tmp_path / "-.yaml")
    found = lint(".", folder=tmp_path)
    assert found.report["summary"]["files"] == 3
    for path in ("-x.yaml", "--help.yaml", "-.yaml"):
        assert set(lint("--", path, folder=tmp_path).codes) >= JOB_CODES
        assert set(lint(f"./{path}", folder=tmp_path).codes) >= JOB_CODES
    outcome = gaplint("-x.yaml", folder=tmp_path)
    assert outcome.code == 2
    assert "No such option" in outcome.errors or "-x" in outcome.errors


@pytest.mark.parametrize(
    "path", ["", "none.yaml", "a\0b", "x" * 5_000, "/" * 5_000 + "none", "\udcff", "job.yaml/x", "~", "*"]
)
def test_paths_that_lead_nowhere(path: str, tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    if "\0" in path:
        with pytest.raises(ValueError, match="null byte"):
            gaplint(path, folder=tmp_path)
        return
    outcome = gaplint(path, folder=tmp_path)
    assert outcome.code == 2
    assert outcome.errors.startswith("gaplint: error: ")
    assert raw_controls(outcome.errors) == []


def test_thousands_of_arguments(tmp_path: Path) -> None:
    names = [f"a{number}.yaml" for number in range(3_000)]
    for name in names:
        (tmp_path / name).write_text("apiVersion: v1\nkind: Service\nmetadata: {name: x}\n")
    write(tmp_path, "job.yaml")
    found = lint(*names, "job.yaml", *names, folder=tmp_path)
    assert set(found.codes) >= JOB_CODES
    assert found.report["summary"]["files"] == 3_001


def test_thousands_of_options(tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    found = lint(*["--exclude=x*"] * 3_000, *["--ignore=NCCL001"] * 3_000, ".", folder=tmp_path)
    assert set(found.codes) >= JOB_CODES
    outcome = gaplint("--select", "A" * 100_000, ".", folder=tmp_path)
    assert outcome.code == 2


@contextlib.contextmanager
def nested(folder: Path, names: list[str]) -> Iterator[None]:
    """A job in folders within one another: paths are longer than the system allows, or shutil.rmtree can take away."""
    here = os.open(folder, os.O_RDONLY)
    for name in names:
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with os.fdopen(os.open("job.yaml", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
        file.write(job())
    os.close(here)
    try:
        yield
    finally:
        subprocess.run(["rm", "-rf", names[0]], cwd=folder, check=True)


def test_a_path_longer_than_the_system_allows(tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    with nested(tmp_path, ["d" * 200] * 30):
        found = lint(".", folder=tmp_path)
    assert set(found.codes) >= JOB_CODES
    (error,) = found.report["errors"]
    assert error["reason"] == "file name too long"


def test_1000_nested_folders(tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    with nested(tmp_path, ["d"] * 1_000):
        assert lint(".", folder=tmp_path).report["summary"]["workloads"] == 2


# Files of their own


@pytest.mark.parametrize(
    "content",
    [
        b"a: &a [*a]\n", b"[" * 100_000, b"select: " + b"[" * 200 + b"]" * 200, b"\xff\xfe", b"\0", b"exclude: ['" + b"(" * 5_000 + b"']\n",
        b"exclude: ['" + b"*a" * 5_000 + b"b']\n", b"exclude: ['!', '/', '**', '[', '\\\\', '']\n", b"select: !!python/object/apply:os.system ['touch owned']\n",
        b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (n + 1, n + 1, *[n] * 9) for n in range(97, 106)),
        b"profile: {torch: '" + b"9" * 10_000 + b"'}\n", b"profile: {step_seconds: 1e999, run_days: -1}\n", b"kinds: [{kind: X, pod-templates: ['" + b"*." * 5_000 + b"']}]\n",
        b"baseline: /etc/passwd\n", b"baseline: ../../../../../etc/shadow\n", b"severity: {NCCL001: [a]}\n", b"x: " + b"y" * 9_000_000, b"- a\n", b"",
    ],
    ids=range(19),
)  # fmt: skip
def test_a_configuration_that_means_harm(content: bytes, tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gaplint.yaml").write_bytes(content)
    outcome = gaplint(".", folder=tmp_path)
    assert outcome.code in (1, 2)
    if outcome.code == 2:
        assert ".gaplint.yaml" in outcome.errors or "passwd" in outcome.errors or "shadow" in outcome.errors
    assert "root:" not in outcome.text + outcome.errors
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "content",
    [b"[" * 200_000, b'{"a":' * 50_000, b"\xff", b"", b"null", b'{"version": 1, "findings": [1, null, {"count": 1e999}]}',
     b'{"version": ' + b"9" * 5_000 + b"}", b'{"version": 1, "findings": {}}', b"{" + b" " * 20_000_000 + b"}"],
    ids=range(9),
)  # fmt: skip
def test_a_baseline_that_means_harm(content: bytes, tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    (tmp_path / "base.json").write_bytes(content)
    outcome = gaplint("--baseline", "base.json", ".", folder=tmp_path)
    assert outcome.code == 2
    assert "base.json" in outcome.errors


@pytest.mark.parametrize(
    "content",
    [b"*" * 100_000 + b"\n", b"**/" * 20_000 + b"a\n", b"(" * 10_000 + b"\n", b"[" * 10_000 + b"\n", b"!\n\\\n/\n//\n!!\n[\n[]\n[!]\n", b"\xff\xfe\n\0\n",
     b"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab\n" * 50, b"a\n" * 400_000, b"# " + b"x" * 20_000_000],
    ids=range(9),
)  # fmt: skip
def test_git_ignore_files_that_mean_harm(content: bytes, tmp_path: Path) -> None:
    write(tmp_path, "job.yaml")
    (tmp_path / ("a" * 200 + ".yaml")).write_text("a: 1\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_bytes(content)
    found = lint(".", folder=tmp_path)
    ignored = b"*" * 100_000 in content
    assert ignored or set(found.codes) >= JOB_CODES


def test_a_neverending_standard_input() -> None:
    with Path("/dev/zero").open("rb") as zeros:
        found = gaplint("--format=json", "-", endless=zeros)
    assert found.code == 1
    assert json.loads(found.out)["findings"][0]["code"] == "GAP002"


def test_other_files_around_a_job(tmp_path: Path) -> None:
    """A Dockerfile, slurm.conf, a README and programs that mean harm, beside a batch script that leads to them."""
    script = "#!/bin/bash\n#SBATCH --gpus-per-node=8\n#SBATCH --container-image=x\ntorchrun train.py --config c.yaml --other t.toml\n"
    (tmp_path / "job.sbatch").write_text(script)
    (tmp_path / "Dockerfile").write_text(
        "FROM a\n" * 50_000 + "RUN " + "x && \\\n" * 50_000 + "\nFROM x AS x\nFROM x\nARG A=$A\n"
    )
    (tmp_path / "slurm.conf").write_text(
        "Include slurm.conf\n" * 50_000 + "NodeName=" + "[0-9999]" * 200 + "\n" + "A=" + "x" * 1_000_000 + "\n"
    )
    (tmp_path / "README.md").write_text("```\nsbatch job.sbatch\n" * 50_000)
    (tmp_path / "train.py").write_text("x = " + "(" * 100_000 + "\n" + "import os\nos.system('touch owned')\n")
    (tmp_path / "c.yaml").write_text("a: &a [*a]\nb: ${b}\nc: ${d}\nd: ${c}${c}\n" + "e: " + "{a: " * 10_000)
    (tmp_path / "t.toml").write_text("a = " + "[" * 100_000)
    (tmp_path / "submit.sh").write_text("sbatch job.sbatch\n" * 100_000)
    found = lint(".", folder=tmp_path)
    assert found.report["summary"]["workloads"] == 1
    assert not (tmp_path / "owned").exists()


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    """`gaplint . | head -1`."""
    for number in range(200):
        (tmp_path / f"a{number}.yaml").write_text(job(name=f"train-{number}"))
    command = [sys.executable, "-m", "kube_gaplint", "."]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(PATIENCE) == 141
    assert errors == b""
