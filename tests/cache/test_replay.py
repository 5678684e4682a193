"""A run is repeated where nothing has changed, and only there."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from caching import Runner, later

import kube_gaplint
from kube_gaplint import share, trace
from kube_gaplint.cache import key, place, replay
from kube_gaplint.cache.entry import Entry
from kube_gaplint.cli import checking
from kube_gaplint.cli.names import COMPLETION
from kube_gaplint.engine import Request, lint

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: nccl}
data: {TORCH_NCCL_ASYNC_ERROR_HANDLING: "0"}
"""


def test_a_second_run_is_repeated(run: Runner) -> None:
    first = run()
    assert first.code == 1
    assert b"GPU001" in first.out
    assert run.runs == 1
    assert run() == first
    assert run.runs == 1
    assert len(run.entries) == 1


def test_hints_and_summaries_on_standard_error_are_repeated(run: Runner) -> None:
    first = run("--format", "json", "--ignore", "GPU")
    assert first.errors
    assert run.repeats("--format", "json", "--ignore", "GPU")


@pytest.mark.parametrize("format_", ["full", "concise", "json", "sarif", "html", "github"])
def test_every_format_is_repeated(run: Runner, format_: str) -> None:
    run("--format", format_)
    assert run.repeats("--format", format_)


def test_errors_are_found_anew(run: Runner) -> None:
    assert run("missing.yaml").code == run("missing.yaml").code == 2
    assert run.runs == 2
    assert not run.entries


def test_an_empty_run_is_repeated_with_its_code(run: Runner) -> None:
    (run.folder / "job.yaml").unlink()
    assert run("--fail-if-empty").code == 3
    assert run.repeats("--fail-if-empty")


CHANGES: dict[str, Callable[[Path], object]] = {
    "other content": lambda folder: (folder / "job.yaml").write_text("kind: Job\n"),
    "a file more": lambda folder: (folder / "other.yaml").write_text(CONFIG_MAP),
    "a folder more, with a file": lambda folder: [
        (folder / "deep" / "er").mkdir(parents=True),
        (folder / "deep" / "er" / "map.yaml").write_text(CONFIG_MAP),
    ],
    "a file less": lambda folder: (folder / "job.yaml").unlink(),
    "another name": lambda folder: (folder / "job.yaml").rename(folder / "work.yaml"),
    "a git-ignore file": lambda folder: (folder / ".gitignore").write_text("job.yaml\n"),
    "a configuration": lambda folder: (folder / ".gaplint.yaml").write_text("ignore: [GPU001]\n"),
    "a configuration in TOML": lambda folder: (folder / "pyproject.toml").write_text(
        '[tool.gaplint]\nignore = ["GPU001"]\n'
    ),
    "a repository around": lambda folder: (folder / ".git").mkdir(),
    "a configuration above": lambda folder: [
        (folder.parent / ".git").mkdir(),
        (folder.parent / ".gaplint.yaml").write_text("ignore: [GPU001]\n"),
    ],
    "a link instead": lambda folder: [
        (folder / "job.yaml").rename(folder.parent / "job.yaml"),
        (folder / "job.yaml").symlink_to(folder.parent / "job.yaml"),
    ],
    "a folder instead": lambda folder: [(folder / "job.yaml").unlink(), (folder / "job.yaml").mkdir()],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("settled", [True, False])
def test_what_changes_is_seen(
    run: Runner, change: Callable[[Path], object], settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if settled:  # files count as settled at once: only times and sizes are compared
        monkeypatch.setattr(key, "SETTLED", 0)
        later(run.folder)
    run()
    assert run.repeats()
    change(run.folder)
    later(run.folder)
    assert not run.repeats()
    assert run.repeats()


@pytest.mark.parametrize("settled", [True, False])
def test_the_same_size_and_time_hide_nothing(run: Runner, settled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if settled:
        monkeypatch.setattr(key, "SETTLED", 0)
        later(run.folder)
    job = run.folder / "job.yaml"
    before, status = run(), job.stat()
    later(run.folder)
    job.write_bytes(job.read_bytes().replace(b"backoffLimit: 0", b"backoffLimit: 7"))
    os.utime(job, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert job.stat().st_size == status.st_size
    assert run() != before
    assert run.repeats()


def test_new_times_over_old_contents_are_seen_through_once(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a new checkout: contents are compared, and what is known then spares the next run the comparison."""
    monkeypatch.setattr(key, "SETTLED", 0)
    later(run.folder)
    run()
    for path in run.folder.iterdir():
        text = path.read_bytes()
        path.unlink()
        path.write_bytes(text)
    later(run.folder)
    compared: list[str] = []
    see = trace.see

    def seen(path: str, argument: int) -> tuple[os.stat_result, bytes]:
        compared.append(path)
        return see(path, argument)

    monkeypatch.setattr(trace, "see", seen)
    assert run.repeats()
    assert str(run.folder / "job.yaml") in compared
    compared.clear()
    assert run.repeats()
    assert not compared


def test_files_that_settle_are_compared_once_more(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    compared: list[str] = []
    see = trace.see

    def seen(path: str, argument: int) -> tuple[os.stat_result, bytes]:
        compared.append(path)
        return see(path, argument)

    monkeypatch.setattr(trace, "see", seen)
    assert run.repeats()
    assert compared  # they are younger than two seconds
    decode = replay.decoded

    def long_ago(data: bytes, own: bytes) -> Entry:
        """The entry as if the files had been young when it was made, and are not now."""
        entry = decode(data, own)
        return entry.seen_at(0, entry.seen)

    later(run.folder.parent)
    monkeypatch.setattr(key, "SETTLED", 0)
    monkeypatch.setattr(replay, "decoded", long_ago)
    assert run.repeats()
    monkeypatch.setattr(replay, "decoded", decode)
    compared.clear()
    assert run.repeats()
    assert not compared


def test_a_change_that_leaves_the_status_as_it_was(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within one tick of the system's clock. Young files are compared by content, so it is noticed."""
    job = run.folder / "job.yaml"
    run()
    status, lstat = job.stat(), os.lstat
    job.write_bytes(job.read_bytes().replace(b"backoffLimit: 0", b"backoffLimit: 7"))
    monkeypatch.setattr(replay.os, "lstat", lambda path: status if path == str(job) else lstat(path))
    assert not run.repeats()


def test_a_repeated_run_writes_nothing(run: Runner) -> None:
    run()
    (entry,) = run.entries
    before, data = entry.stat(), entry.read_bytes()
    assert run.repeats()
    after = entry.stat()  # it was read, so that its time of access may be another
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
    assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)
    assert entry.read_bytes() == data


def test_a_configuration_further_up(run: Runner) -> None:
    (run.folder / ".git").mkdir()
    (run.folder / "jobs").mkdir()
    (run.folder / "job.yaml").rename(run.folder / "jobs" / "job.yaml")
    run("jobs")
    assert run.repeats("jobs")
    (run.folder / ".gaplint.yaml").write_text("ignore: [GPU001]\n")
    assert not run.repeats("jobs")


def test_the_exclusions_of_git(run: Runner) -> None:
    (run.folder / ".git" / "info").mkdir(parents=True)
    run()
    assert run.repeats()
    (run.folder / ".git" / "info" / "exclude").write_text("job.yaml\n")
    assert not run.repeats()


def test_what_lies_outside_and_is_referred_to_counts(run: Runner) -> None:
    (run.folder / ".git").mkdir()
    jobs = run.folder / "jobs"
    jobs.mkdir()
    (run.folder / "job.yaml").rename(jobs / "job.yaml")
    before = run("jobs")
    assert run.repeats("jobs")
    (run.folder / "map.yaml").write_text(CONFIG_MAP)
    assert run("jobs") != before
    assert run.repeats("jobs")


def test_the_files_of_a_hook(run: Runner) -> None:
    (run.folder / ".git").mkdir()
    arguments = ("--changed", "--", "job.yaml")
    run(*arguments)
    assert run.repeats(*arguments)
    (run.folder / "map.yaml").write_text(CONFIG_MAP)
    assert not run.repeats(*arguments)


def test_a_baseline_counts(run: Runner) -> None:
    run("--write-baseline")
    arguments = ("--baseline", ".gaplint-baseline.json")
    assert run(*arguments).code == 0
    assert run.repeats(*arguments)
    (run.folder / ".gaplint-baseline.json").write_text('{"version": 1, "findings": []}\n')
    assert not run.repeats(*arguments)


@pytest.mark.parametrize("name", key.ENVIRONMENT)
def test_the_environment_counts(run: Runner, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    run()
    assert run.repeats()
    monkeypatch.setenv(name, "77")
    assert not run.repeats()


def test_no_other_variable_is_read() -> None:
    """Of those that the code names; what git is given is its own affair, and such runs are not repeated."""
    of_the_cache = {place.FOLDER, place.OFF, "XDG_CACHE_HOME", COMPLETION}
    assert _variables() == {*key.ENVIRONMENT, *of_the_cache}


def _variables() -> set[str]:
    """The variables of its environment that the engine asks for, by its own text."""
    files = [path for path in Path(kube_gaplint.__file__).parent.rglob("*.py") if path.name != "revision.py"]
    trees = [ast.parse(path.read_text()) for path in files]
    shared = {name: texts for tree in trees for name, texts in _constants(tree).items()}
    found: set[str] = set()
    for tree in trees:
        known = shared | _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv"):
                asked = node.args[0]
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
                asked = node.slice
            else:
                continue
            found.update([asked.value] if isinstance(asked, ast.Constant) else known[ast.unparse(asked)])
    return found


def _constants(tree: ast.AST) -> dict[str, list[str]]:
    """By the name of a variable, the texts that it is set to or that it goes through."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.For | ast.comprehension):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = node.value if isinstance(node, ast.Assign) else node.iter
            texts = [one.value for one in ast.walk(value) if isinstance(one, ast.Constant)]
            found[ast.unparse(target)] = [text for text in texts if isinstance(text, str)]
    if "name" in found and not found["name"] and "ENVIRONMENT" in found:
        found["name"] = found["ENVIRONMENT"]
    return found


def test_the_folder_from_which_it_runs_counts(run: Runner) -> None:
    (run.folder / "inner").mkdir()
    target = str(run.folder / "job.yaml")
    run("--format", "github", target)
    run.folder = run.folder / "inner"
    run("--format", "github", target)
    assert run.runs == 2


def test_standard_input_is_read_each_time(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("kind: Job\napiVersion: batch/v1\n", "a: b\n"):
        read, write = os.pipe()
        os.write(write, text.encode())
        os.close(write)
        with open(read) as stdin:  # noqa: PTH123 - a descriptor
            monkeypatch.setattr(sys, "stdin", stdin)
            run("-")
    assert run.runs == 2
    assert not run.entries


@pytest.mark.parametrize(
    "arguments",
    [
        ("--fix",),
        ("--diff",),
        ("--add-suppressions", "later"),
        ("--write-baseline",),
        ("--output", "json=../report.json"),
        ("--no-cache",),
        ("--help",),
    ],
    ids=" ".join,
)
def test_runs_that_write_or_ask_elsewhere_are_not_kept(run: Runner, arguments: tuple[str, ...]) -> None:
    run(*arguments)
    run(*arguments)
    assert run.runs == 2
    assert not run.entries


def test_a_shell_that_asks_for_completions_gets_no_report(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setenv(COMPLETION, "bash_source")
    assert b"complete" in run().out
    assert run.runs == 2


def test_nothing_is_looked_up_without_the_cache(run: Runner) -> None:
    run()
    run.fresh()
    assert run.runs == 2


def test_a_date_holds_for_its_day(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    job = run.folder / "job.yaml"
    job.write_text(
        job.read_text().replace("- name: main", "- name: main  # gaplint: ignore[GPU001] until=2027-03-31 why")
    )
    now = date(2027, 3, 31)

    class Calendar(date):
        @classmethod
        def today(cls) -> date:  # type: ignore[override]
            return now

    monkeypatch.setattr(checking, "date", Calendar)
    monkeypatch.setattr(replay.time, "strftime", lambda _: now.isoformat())
    before = run()
    assert run.repeats()
    now = date(2027, 4, 1)
    after = run()
    assert run.runs == 3
    assert after != before
    assert b"GAP013" in after.out
    assert run.repeats()


def test_without_a_date_the_day_does_not_matter(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(replay.time, "strftime", lambda _: "2099-01-01")
    assert run.repeats()


def test_files_that_change_meanwhile_are_not_kept(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question with two answers."""
    original, number = checking.render, 0

    def rendered(*arguments: object) -> str:
        nonlocal number
        number += 1
        path = str(run.folder / "job.yaml")
        (run.folder / "job.yaml").write_text(f"a: {number}\n")
        trace.read(path, 10 * 2**20)
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(checking, "render", rendered)
    run()
    assert not run.entries


def test_processes_hand_back_what_they_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share, "LEAST", 1)
    script = "#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --gres=gpu:8\nsource ./env-{0}.sh\nsrun bash run-{0}.sh\n"
    for number in range(6):
        (tmp_path / f"job-{number}.sbatch").write_text(script.format(number))
        (tmp_path / f"env-{number}.sh").write_text("export NCCL_DEBUG=INFO\n")
        (tmp_path / f"run-{number}.sh").write_text("torchrun train.py\n")
    noted = []
    for jobs in (1, 2):
        noted.append(trace.begin())
        lint(Request((str(tmp_path),), jobs=jobs))
        trace.end()
    alone, shared = noted
    assert any(path.endswith("run-5.sh") for path, _ in alone.seen)
    assert alone.seen == shared.seen
    assert alone.answers == shared.answers


def test_a_reader_that_goes_away(run: Runner) -> None:
    command = [sys.executable, "-m", "kube_gaplint", str(run.folder)]
    where = run.folder.parent
    first = subprocess.run(command, cwd=where, env=run.environment, stdout=subprocess.PIPE, check=False)
    assert first.returncode == 1
    again = subprocess.Popen(command, cwd=where, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert again.stdout is not None
    assert again.stderr is not None
    again.stdout.close()
    assert again.stderr.read() == b""
    again.stderr.close()
    assert again.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_disk(run: Runner) -> None:
    command = [sys.executable, "-m", "kube_gaplint", str(run.folder)]
    for _ in range(2):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(command, env=run.environment, stdout=full, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 2
        assert done.stderr == b"gaplint: error: the report could not be written: No space left on device\n"
        subprocess.run(command, env=run.environment, stdout=subprocess.DEVNULL, check=False)


def test_a_repeated_run_imports_next_to_nothing(run: Runner) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "kube_gaplint", str(run.folder)]
    for _ in range(2):
        done = subprocess.run(
            command, cwd=run.folder.parent, env=run.environment, capture_output=True, text=True, check=False
        )
    names = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "GPU001" in done.stdout
    assert not names & {"click", "msgspec", "pathlib", "re", "typing", "hashlib", "json", "tempfile", "ruamel.yaml"}
    ours = {name for name in names if name.startswith("kube_gaplint")}
    assert ours == {
        "kube_gaplint", "kube_gaplint.cache", "kube_gaplint.cache.entry", "kube_gaplint.cache.key",
        "kube_gaplint.cache.place", "kube_gaplint.cache.replay", "kube_gaplint.cache.shelf", "kube_gaplint.cli",
        "kube_gaplint.cli.names", "kube_gaplint.filesystem", "kube_gaplint.streams", "kube_gaplint.trace",
        "kube_gaplint_rules",
    }  # fmt: skip
