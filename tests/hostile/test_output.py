"""Where results go: disks that are full, folders that may not be written to, streams that are closed, signals.

What was there before stays whole, and nothing half-written stays behind.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import PATIENCE, environment, gaplint, job, modules_before

WRITERS = {
    "--output": ["--output", "json=disk/out.json", "job.yaml"],
    "--write-baseline": ["--write-baseline", "--baseline", "disk/out.json", "job.yaml"],
    "--fix": ["--fix", "--unsafe-fixes", "disk/job.yaml"],
    "--add-suppressions": ["--add-suppressions", "somebody looks at it every day", "disk/job.yaml"],
}
"""Ways of writing into the folder `disk`."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(job())
    disk = tmp_path / "disk"
    disk.mkdir()
    return tmp_path


def fill(folder: Path) -> dict[str, bytes]:
    """What is there before: a job with gaps, and an older report."""
    (folder / "disk/job.yaml").write_text(job())
    (folder / "disk/out.json").write_text('{"version": 1, "findings": []}')
    return content(folder)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "disk").iterdir() if path.name != "ballast"}


@pytest.fixture
def full_disk(folder: Path) -> Iterator[Path]:
    """The folder, whose folder `disk` is a file system without room."""
    libc = ctypes.CDLL(None, use_errno=True)
    disk = os.fsencode(folder / "disk")
    if libc.mount(b"tmpfs", disk, b"tmpfs", 0, b"size=64k") != 0:
        pytest.skip(f"a small file system cannot be mounted: {os.strerror(ctypes.get_errno())}")
    try:
        fill(folder)
        ballast = os.open(folder / "disk/ballast", os.O_CREAT | os.O_WRONLY)
        with pytest.raises(OSError, match="No space"):
            while True:
                os.write(ballast, b"x" * 1024)
        os.close(ballast)
        yield folder
    finally:
        libc.umount2(disk, 2)


@pytest.mark.parametrize("arguments", WRITERS.values(), ids=WRITERS)
def test_a_full_disk(arguments: list[str], full_disk: Path) -> None:
    before = content(full_disk)
    outcome = gaplint(*arguments, folder=full_disk)
    assert outcome.code == 2
    assert "No space left on device" in outcome.errors
    assert content(full_disk) == before


@pytest.mark.parametrize("arguments", WRITERS.values(), ids=WRITERS)
def test_a_folder_that_may_not_be_written_to(arguments: list[str], folder: Path) -> None:
    before = fill(folder)
    (folder / "disk").chmod(0o555)
    try:
        outcome = gaplint(*arguments, folder=folder, powerless=True)
    finally:
        (folder / "disk").chmod(0o755)
    assert outcome.code == 2
    assert "Permission denied" in outcome.errors
    assert content(folder) == before


@pytest.mark.parametrize("path", ["none/out.json", "job.yaml/out.json", "disk", "/proc/none/x", "/dev/full", "x" * 300])
def test_an_output_that_cannot_be_made(path: str, folder: Path) -> None:
    fill(folder)
    outcome = gaplint("--output", f"json={path}", "job.yaml", folder=folder)
    assert outcome.code == 2
    assert outcome.errors.count("error:") == 1


@pytest.mark.parametrize("arguments", [WRITERS["--output"], WRITERS["--write-baseline"]], ids=["--output", "baseline"])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_out_of_its_folder_is_not_written_through(arguments: list[str], there: bool, folder: Path) -> None:
    """A repository that holds its own `report.json` must not choose a file of whoever runs gaplint."""
    precious = folder / "precious"
    empty_baseline = '{"version": 1, "findings": []}'
    if there:
        precious.write_text(empty_baseline)
    (folder / "disk/out.json").symlink_to(precious)
    outcome = gaplint(*arguments, folder=folder)
    assert outcome.code == 2
    assert "symbolic link" in outcome.errors or "no baseline" in outcome.errors
    assert precious.exists() == there
    assert not there or precious.read_text() == empty_baseline


def test_a_link_within_its_folder_is_written_through(folder: Path) -> None:
    """`latest.json` beside the reports of each day."""
    (folder / "disk/out.json").symlink_to("today.json")
    assert gaplint(*WRITERS["--output"], folder=folder).code == 1
    assert (folder / "disk/out.json").is_symlink()
    assert json.loads((folder / "disk/today.json").read_text())["summary"]["workloads"] == 1


SIGNALS = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup, whose children ignore it
def signalled(event, arguments):
    if event == {event!r} and "disk" in str(arguments[0]):
        os.kill(os.getpid(), signal.{name})
sys.addaudithook(signalled)
"""
"""Sends a signal to itself in the middle of writing: when the file is opened, or when it is to take its place."""


@pytest.mark.parametrize("event", ["open", "os.rename"])
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("arguments", [WRITERS["--output"], WRITERS["--fix"]], ids=["--output", "--fix"])
def test_a_signal_while_a_file_is_written(arguments: list[str], name: str, code: int, event: str, folder: Path) -> None:
    before = fill(folder)
    (folder / "hook").mkdir()
    (folder / "hook/sitecustomize.py").write_text(SIGNALS.format(event=event, name=name))
    outcome = gaplint(*arguments, folder=folder, variables={"PYTHONPATH": modules_before(folder / "hook")})
    assert outcome.code == code
    assert outcome.errors.count("\n") == 1
    assert outcome.errors in ("gaplint: interrupted\n", "gaplint: terminated\n")
    assert content(folder) == before


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams(closed: tuple[int, ...], folder: Path) -> None:
    """As a service manager may start it: `gaplint >&-`. A file that is opened must not take the stream's place."""
    fill(folder)

    def close() -> None:
        for descriptor in closed:
            os.close(descriptor)

    command = [sys.executable, "-m", "kube_gaplint", "--output", "json=disk/out.json", "job.yaml"]
    done = subprocess.run(
        command, cwd=folder, preexec_fn=close, env=environment(), timeout=PATIENCE, check=False, capture_output=True
    )
    assert done.returncode == (2 if 1 in closed else 1)
    assert b"Traceback" not in done.stderr
    assert json.loads((folder / "disk/out.json").read_text())["summary"]["workloads"] == 1


def test_standard_input_that_is_closed(folder: Path) -> None:
    command = [sys.executable, "-m", "kube_gaplint", "-"]
    done = subprocess.run(
        command,
        cwd=folder,
        preexec_fn=lambda: os.close(0),
        env=environment(),
        timeout=PATIENCE,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["-"], ["."], ["--format=json", "job.yaml"]])
def test_a_standard_output_without_room(arguments: list[str], folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        outcome = gaplint(*arguments, folder=folder, stdin=job().encode(), stdout=full)
    assert outcome.code == 2
    assert "No space left on device" in outcome.errors


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict", "cp1252", "utf-16", "shift_jis"])
def test_encodings_of_the_terminal(encoding: str, folder: Path) -> None:
    (folder / "job.yaml").write_text(job(name='"größe-\\u202e-🚀"'))
    outcome = gaplint("job.yaml", folder=folder, variables={"PYTHONIOENCODING": encoding})
    assert outcome.code == 1
    assert "backoffLimit is 0" in outcome.out.decode(encoding.partition(":")[0])


def test_a_signal_to_all_processes_of_a_run(tmp_path: Path) -> None:
    """Ctrl-C goes to the whole group; no process stays behind."""
    (tmp_path / "many.yaml").write_text("---\n".join(job(name=f"train-{number}") for number in range(900)))
    command = [sys.executable, "-m", "kube_gaplint", "--jobs=2", "many.yaml"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    ) as process:
        tasks = Path(f"/proc/{process.pid}/task")
        while process.poll() is None and not any(path.read_text() for path in tasks.glob("*/children")):
            pass
        os.killpg(process.pid, signal.SIGINT)
        out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
