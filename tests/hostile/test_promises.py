"""What gaplint promises of itself: it starts nothing, goes nowhere, runs nothing of yours, and writes where it says.

The command runs with an audit hook that notes what it does: files that are opened to be written, programs, sockets,
modules. Each promise is held against those notes.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from running import ROOT, environment, job, modules_before

from conftest import FENCES, Fenced

GAPLINT = Path(sys.executable).with_name("gaplint")
"""The installed command: unlike `python -m`, it looks for no module in the current folder."""
FORMATS = ("json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson", "html", "full", "concise")

SPY = """
import json, os, sys
notes = os.open(os.environ["SPY_NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def spy(event, arguments):
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & WRITING):
        return
    if event == "open" or event.startswith(("subprocess", "socket", "os.", "pty", "shutil", "ctypes", "import", "webbrowser")):
        os.write(notes, (json.dumps([event, [str(one) for one in arguments]]) + "\\n").encode())
sys.addaudithook(spy)
"""
_LOOKING = {"os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.add_dll_directory", "os.getxattr", "os.listxattr"}
TRAP = "import os, pathlib; pathlib.Path({owned!r}).write_text(__name__)\n"


class Spied:
    """One run and its notes."""

    def __init__(self, code: int, out: bytes, errors: bytes, notes: list[tuple[str, list[str]]]) -> None:
        self.code, self.out, self.errors, self.notes = code, out, errors, notes

    def of(self, *prefixes: str) -> list[tuple[str, list[str]]]:
        return [note for note in self.notes if note[0].startswith(prefixes)]

    @property
    def programs(self) -> list[str]:
        """Programs that were started, by name."""
        started = self.of("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn")
        return [arguments[0] for _, arguments in started]

    @property
    def changed(self) -> list[str]:
        """Files that were opened to be written, made, moved or removed."""
        events = [note for note in self.of("open", "os.", "shutil.") if note[0] not in _LOOKING]
        skipped = (
            "os.fork",
            "os.putenv",
            "os.unsetenv",
            "os.kill",
            "os.killpg",
            "os.exec",
            "os.posix_spawn",
            "os.system",
        )
        paths = [
            path
            for event, arguments in events
            if event not in skipped
            for path in arguments[: 1 + (event == "os.rename")]
        ]
        return [path for path in paths if path != os.devnull and not path.isdecimal()]  # a number: it is open already


def spied(
    *arguments: str, folder: Path, notes: Path, stdin: bytes | None = None, variables: dict[str, str] | None = None
) -> Spied:
    hook = notes.parent / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(SPY)
    changes = {
        "PYTHONPATH": modules_before(hook),
        "SPY_NOTES": str(notes),
        "PYTHONDONTWRITEBYTECODE": "1",
        **(variables or {}),
    }
    notes.unlink(missing_ok=True)
    done = subprocess.run(
        [GAPLINT, *arguments],
        cwd=folder,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        env=environment(**changes),
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return Spied(done.returncode, done.stdout, done.stderr, [tuple(json.loads(line)) for line in notes.open()])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "spy").mkdir()
    return tmp_path / "spy/notes"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Jobs in a repository of git whose every part would like to be run."""
    folder = tmp_path / "repository"
    folder.mkdir()
    owned = str(folder / "owned")
    trap = TRAP.format(owned=owned)
    modules = (
        "sitecustomize", "usercustomize", "conftest", "setup", "gaplint", "kube_gaplint", "kube_gaplint_rules", "click",
        "ruamel", "yaml", "json", "msgspec", "pathspec", "tree_sitter", "tree_sitter_bash", "train", "tomllib", "_ruamel_yaml",
    )  # fmt: skip
    for name in modules:
        (folder / f"{name}.py").write_text(trap)
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(trap)
    (folder / "job.yaml").write_text(
        job(script="source ./run.sh\npython train.py\n./configure; make; eval $(cat run.sh)")
    )
    shell = f"#!/bin/sh\ntouch {owned}\n"
    for name in ("run.sh", "configure", "gaplint", "git"):
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(shell)
        path.chmod(0o755)
    (folder / "job.sbatch").write_text(
        f"#!/bin/bash\n#SBATCH --gpus-per-node=8\ntouch {owned}\n$(touch {owned})\npython train.py\n"
    )
    (folder / "Makefile").write_text(f"$(shell touch {owned})\n")
    (folder / "pyproject.toml").write_text(
        "[build-system]\nbuild-backend = 'setup'\nbackend-path = ['.']\n[tool.gaplint]\nignore = []\n"
    )
    (folder / ".envrc").write_text(f"touch {owned}\n")
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "core.hooksPath=/nonexistent", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def committed(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")


COMMANDS: dict[str, list[str]] = {
    "lint": ["."],
    "json": ["--format=json", "--min-severity=info", "."],
    "show": ["show", "."],
    "diff": ["--diff", "--unsafe-fixes", "."],
    "changed": ["--changed", "job.yaml"],
    "explain": ["explain", "RETRY001"],
    "rules": ["rules"],
    "incidents": ["incidents"],
    "config": ["config"],
    "version": ["--version"],
    "help": ["--help"],
}
"""What only looks."""


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_what_only_looks_starts_nothing_and_writes_nothing(arguments: list[str], repository: Path, notes: Path) -> None:
    committed(repository)
    before = sorted(repository.rglob("*"))
    run = spied(*arguments, folder=repository, notes=notes)
    assert run.code in (0, 1)
    assert run.programs == []
    assert run.of("socket", "webbrowser") == []
    assert run.changed == []
    assert sorted(repository.rglob("*")) == before
    loaded = [arguments[1] for _, arguments in run.of("import") if arguments[1] != "None"]
    assert not [path for path in loaded if path.startswith(str(repository))]


def test_results_are_remembered_in_the_home_alone(repository: Path, notes: Path, tmp_path: Path) -> None:
    """Where there is a home; a run that is repeated writes nothing."""
    (tmp_path / "home").mkdir()
    before = sorted(repository.rglob("*"))
    variables = {"HOME": str(tmp_path / "home"), "GAPLINT_NO_CACHE": ""}
    first = spied(".", folder=repository, notes=notes, variables=variables)
    cache = tmp_path / "home/.cache/gaplint"
    made = {path for path in first.changed if Path(path).is_absolute()}
    assert made == {str(cache.parent), str(cache)}
    inside = set(first.changed) - made  # named from within that folder
    assert inside
    assert all((cache / path.split(".")[0]).parent == cache for path in inside)
    assert {path.name.rpartition(".")[2] for path in cache.iterdir()} - {"code"} == {"run", "TAG"}
    again = spied(".", folder=repository, notes=notes, variables=variables)
    assert (again.code, again.out) == (first.code, first.out)
    assert not [path for path in again.changed if ".code" not in path]
    assert again.programs == again.of("socket") == []
    assert sorted(repository.rglob("*")) == before


def test_standard_input_starts_nothing(repository: Path, notes: Path) -> None:
    many = "---\n".join(job(name=f"train-{number}") for number in range(30))
    run = spied("-", folder=repository, notes=notes, stdin=many.encode())
    assert run.code == 1
    assert run.programs == []
    assert run.of("socket") == []
    assert run.changed == []


def test_only_git_is_started_and_only_for_a_revision(repository: Path, notes: Path) -> None:
    committed(repository)
    run = spied("--diff-base", "HEAD", ".", folder=repository, notes=notes)
    assert run.code == 0
    assert set(run.programs) == {"git"}
    assert run.changed == []
    assert run.of("socket") == []


def test_git_runs_nothing_of_the_repository(repository: Path, notes: Path) -> None:
    """Settings, hooks and attributes by which a repository would have git run its programs."""
    committed(repository)
    trap = str(repository / "bin/run.sh")
    settings = (
        "core.fsmonitor", "diff.external", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "pager.diff",
        "diff.trap.command", "diff.trap.textconv", "filter.trap.clean", "filter.trap.smudge", "filter.trap.process",
        "gpg.program", "credential.helper", "merge.trap.driver", "sequence.editor", "uploadpack.packObjectsHook",
        "core.alternateRefsCommand", "interactive.diffFilter", "alias.diff", "trailer.x.command", "core.gitProxy",
    )  # fmt: skip
    for name in settings:
        git(repository, "config", name, trap)
    git(repository, "config", "filter.trap.required", "true")
    git(repository, "config", "core.hooksPath", "bin")
    hooks = repository / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit", "reference-transaction"):
        (hooks / name).write_bytes(Path(trap).read_bytes())
        (hooks / name).chmod(0o755)
    (repository / ".gitattributes").write_text("* diff=trap filter=trap merge=trap\n")
    (repository / "job.yaml").write_text(job(script="python train.py"))
    (repository / "new.yaml").write_text(job(name="new"))
    path = f"{os.environ['PATH']}{os.pathsep}{repository / 'bin'}"
    run = spied("--diff-base", "HEAD", "--format=json", ".", folder=repository, notes=notes, variables={"PATH": path})
    assert run.code == 1
    assert {one["location"]["file"] for one in json.loads(run.out)["findings"]} >= {"new.yaml"}
    assert not (repository / "owned").exists()
    assert set(run.programs) == {"git"}


WRITERS: dict[str, tuple[list[str], set[str]]] = {
    "output": (
        ["--output", "json=out/report.json", "--output", "html=out/report.html", "."],
        {"report.json", "report.html"},
    ),
    "baseline": (["--write-baseline", "--baseline", "out/base.json", "."], {"base.json"}),
    "fix": (["--fix", "job.yaml"], {"job.yaml"}),
    "suppressions": (["--add-suppressions", "somebody watches it by day", "job.yaml"], {"job.yaml"}),
    "init": (["init"], {".gaplint.yaml"}),
}


@pytest.mark.parametrize(("arguments", "names"), WRITERS.values(), ids=WRITERS)
def test_what_writes_writes_there_alone(arguments: list[str], names: set[str], repository: Path, notes: Path) -> None:
    """Each file by way of another in its own folder, so that it is there whole or not at all."""
    (repository / "out").mkdir()
    (repository / "pyproject.toml").unlink()
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    run = spied(*arguments, folder=repository, notes=notes)
    assert run.programs == []
    assert run.changed
    for path in run.changed:
        name = Path(path).name
        assert name in names or any(name.startswith(f".{wanted}.") for wanted in names), path
        folder = (repository / path).parent
        assert folder in (repository, repository / "out"), path
    after = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    assert {path.name for path in after if before.get(path) != after[path]} == names
    if arguments[0] != "init":  # which makes a new file, and nothing else
        assert not [note for note in run.of("open") if Path(note[1][0]).name in names], "not written in place"


def test_the_same_bytes_every_time(tmp_path: Path) -> None:
    """Whatever the seed of hashes, and however many processes."""
    outcomes: list[dict[str, bytes]] = []
    for seed, jobs in (("0", "1"), ("1", "2"), ("4242", "1")):
        folder = tmp_path / f"{seed}-{jobs}"
        folder.mkdir()
        outputs = [f"--output={name}={folder / name}" for name in FORMATS]
        done = subprocess.run(
            [
                GAPLINT,
                "--isolated",
                "--min-severity=info",
                "--statistics",
                f"--jobs={jobs}",
                *outputs,
                "demo",
                "incidents",
                "NCCL001",
            ],
            cwd=ROOT / "fixtures",
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        outcomes.append({name: (folder / name).read_bytes() for name in FORMATS} | {"stdout": done.stdout})
    first, *others = outcomes
    for other in others:
        assert [name for name in first if first[name] != other[name]] == []


def test_the_fences_of_the_suite_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """In other test files gaplint could not even try."""
    forbidden = frozenset({"subprocess.Popen", "os.system", "socket.connect", "socket.getaddrinfo"})
    monkeypatch.setattr(FENCES, "events", forbidden)
    attempts: list[Any] = [
        lambda: subprocess.run(["true"], check=False),
        lambda: os.system("true"),
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: socket.create_connection(("127.0.0.1", 9)),
    ]
    for attempt in attempts:
        with pytest.raises(Fenced):
            attempt()
