"""Whole-process timings of gaplint against plain Python and other linters, in turn, as ratios of medians.

    python bench/run.py [--files N] [--repeat N] [--peers] [--large] [--write]

The commands of one table run A B C, A B C, …, so that a machine that gets slower does so for all of them; a ratio of
one run can be compared with that of another, a time cannot. `--peers` measures yamllint and checkov too, and installs
them into a virtual environment of their own first (this alone goes on the network). `--large` measures ten times the
files, with one process and with two (some minutes). `--write` renews RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import corpora

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
REPEATED = (str(BIN / "gaplint"), "--isolated", "--format", "concise")
"""gaplint with its cache: from the second run on, and the first is not counted, the result is repeated."""
GAPLINT = (*REPEATED, "--no-cache")
PYTHON = (sys.executable, "-I", "-c", "pass")
PEERS = ("yamllint", "checkov")


@dataclass(slots=True)
class Command:
    """One row of a table. `base`: the row that its ratio is taken against."""

    title: str
    words: tuple[str, ...]
    base: str = ""
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    memory: int = 0
    """Largest resident set, bytes."""

    def run(self) -> None:
        """Run it once more; what it prints goes nowhere. An exit code above 1 is a failure of the measurement.

        Raises:
            RuntimeError: the command failed.
        """
        started = time.perf_counter()
        process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(self.words)} exited with {process.returncode}: {said[-500:]!r}")
        self.wall.append(time.perf_counter() - started)
        self.cpu.append(usage.ru_utime + usage.ru_stime)
        self.memory = max(self.memory, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def measure(commands: Sequence[Command], repeat: int) -> None:
    """Run all commands in turn: once to warm the caches of the system, then `repeat` times."""
    for turn in range(repeat + 1):
        for command in commands:
            command.run()
            if turn == 0:
                command.cpu.clear()
                command.wall.clear()


def table(title: str, commands: Sequence[Command]) -> str:
    """A Markdown table with medians, and the ratios of processor seconds and of time on the wall."""
    cpu = {command.title: statistics.median(command.cpu) for command in commands}
    wall = {command.title: statistics.median(command.wall) for command in commands}
    lines = [
        f"## {title}",
        "",
        "| command | CPU s | wall s | memory MiB | CPU ratio | wall ratio | to |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for command in commands:
        name, base = command.title, command.base
        ratios = f"{cpu[name] / cpu[base]:.1f} | {wall[name] / wall[base]:.1f}" if base else " | "
        memory = command.memory / 2**20
        lines.append(f"| {name} | {cpu[name]:.3f} | {wall[name]:.3f} | {memory:.0f} | {ratios} | {base} |")
    return "\n".join([*lines, ""])


def start_up() -> list[Command]:
    """The costs that a hook pays at every commit."""
    fixtures = HERE.parent / "fixtures"
    one = str(fixtures / "demo" / "jobs" / "vision-pretrain.yaml")
    five = [str(path) for path in sorted((fixtures / "NCCL003").glob("*.yaml"))[:5]]
    nothing = str(fixtures.parent / "mkdocs.yml")
    base = "python -c pass"
    return [
        Command(base, PYTHON),
        Command("gaplint --version", (str(BIN / "gaplint"), "--version"), base),
        Command("gaplint, nothing to judge", (*GAPLINT, nothing), base),
        Command("gaplint, one manifest", (*GAPLINT, one), base),
        Command("gaplint, five manifests", (*GAPLINT, *five), base),
        Command("gaplint, five manifests, repeated", (*REPEATED, *five), base),
    ]


def scan(root: Path, count: int, share: float, peers: Path | None) -> list[Command]:
    """A whole folder, against the least that reading it costs."""
    folder = str(corpora.write(root, count, share))
    base = "walk and read"
    rows = [
        Command(base, (sys.executable, "-I", str(HERE / "walk.py"), folder)),
        Command("gaplint", (*GAPLINT, folder), base),
        Command("gaplint, repeated", (*REPEATED, folder), base),
    ]
    if peers is not None:
        rows.append(Command("yamllint", (str(peers / "yamllint"), "-d", "relaxed", folder), "gaplint"))
        checkov = (str(peers / "checkov"), "--quiet", "--compact", "--framework", "kubernetes", "-d", folder)
        rows.append(Command("checkov", checkov, "gaplint"))
    return rows


def growth(root: Path, count: int) -> list[Command]:
    """Ten times the files, and ten times the bytes in one file: the ratio should be about ten times the work."""
    few, many = corpora.write(root, count // 10, 1.0), corpora.write(root, count, 1.0)
    small, large = corpora.write_large(root, 50), corpora.write_large(root, 500)
    return [
        Command(f"{count // 10} files", (*GAPLINT, str(few))),
        Command(f"{count} files", (*GAPLINT, str(many)), f"{count // 10} files"),
        Command("one file of 50 KB", (*GAPLINT, str(small))),
        Command("one file of 500 KB", (*GAPLINT, str(large)), "one file of 50 KB"),
    ]


def processes(root: Path, count: int) -> list[Command]:
    """Many relevant files, with one process and with two."""
    folder = str(corpora.write(root, count, 1.0))
    return [
        Command("--jobs 1", (*GAPLINT, "--jobs", "1", folder)),
        Command("--jobs 2", (*GAPLINT, "--jobs", "2", folder), "--jobs 1"),
    ]


def peers_in(folder: Path) -> Path:
    """The programs of the other linters, installed on first use."""
    programs = folder / "bin"
    if not all((programs / name).exists() for name in PEERS):
        venv.create(folder, with_pip=True)
        subprocess.run([str(programs / "pip"), "install", "--quiet", *PEERS], check=True)
    return programs


def machine() -> str:
    """The machine and the date, for the head of the results."""
    today = datetime.now(UTC).date().isoformat()
    return f"{today}, Python {platform.python_version()}, {os.cpu_count()} processors, {platform.machine()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000, help="files of the scanned folders (default 1000)")
    parser.add_argument("--repeat", type=int, default=5, help="counted runs of each command (default 5)")
    parser.add_argument("--peers", action="store_true", help="measure yamllint and checkov too")
    parser.add_argument("--large", action="store_true", help="measure ten times the files, too")
    parser.add_argument("--write", action="store_true", help="write bench/RESULTS.md")
    options = parser.parse_args()
    # compiled once, as an installation is: not every start is to pay for it
    sources = [str(HERE.parent / "lint"), str(HERE.parent / "rules")]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *sources], check=True)
    with tempfile.TemporaryDirectory(prefix="gaplint-bench-") as folder:
        root = Path(folder)
        os.environ.pop("GAPLINT_NO_CACHE", None)
        os.environ["GAPLINT_CACHE_DIR"] = str(root / "cache")
        peers = peers_in(HERE / ".peers") if options.peers else None
        count, few = options.files, max(1, options.repeat // 2)
        parts = [
            ("Start-up", start_up(), options.repeat),
            (f"{count:,} files, 2 % relevant", scan(root, count, 0.02, peers), few),
            (f"{count:,} files, all relevant", scan(root, count, 1.0, peers), few),
            ("Growth", growth(root, count), few),
            (f"Processes, {count:,} files, all relevant", processes(root, count), few),
        ]
        if options.large:
            parts += [
                (f"{10 * count:,} files, 2 % relevant", scan(root, 10 * count, 0.02, None), few),
                (f"Processes, {10 * count:,} files, all relevant", processes(root, 10 * count), 1),
            ]
        texts = []
        for title, commands, repeat in parts:
            measure(commands, repeat)
            texts.append(table(title, commands))
            print(texts[-1], flush=True)
    if options.write:
        head = f"# Timings\n\n{machine()}. Medians; the ratio is what counts. Made by `make bench`.\n\n"
        (HERE / "RESULTS.md").write_text(head + "\n".join(texts))


if __name__ == "__main__":
    main()
