"""Fuzz gaplint for some seconds: `make fuzz`, or

    tools/fuzz/run.py --seconds 600 --targets shell,fixes --seed 7

The plain engine changes seeds at random, repeatably. With the extra `fuzz` installed, `--engine atheris` is guided by
coverage (libFuzzer). Either way an input on which a target raises, takes long or needs much memory is written to the
folder of `--findings`, once for each place that raises; exit code 1 says that there is one. A finding that was mended
becomes a file in tests/hostile/crashes/<target>/, which the test suite replays.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from random import Random
from types import FrameType

SLOW = 4
"""Seconds of the processor after which an input counts as a hang."""
MEMORY = 3 << 30
INTERVAL = 10
"""Seconds between two lines of the log."""


class Hang(Exception):
    """An input took too long."""


class Recorder:
    """Runs a target, counts, and keeps one input for each place that raises."""

    def __init__(self, name: str, folder: Path, log: Path, **about: object) -> None:
        from targets import TARGETS

        self.name = name
        self.target = TARGETS[name]
        self.folder = folder
        self.log = log
        self.about = about
        self.told = time.monotonic()
        self.executions = 0
        self.found: dict[str, str] = {}
        self.slowest = 0.0

    def run(self, data: bytes) -> None:
        self.executions += 1
        started = time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        try:
            self.target.run(data)
        except Exception as problem:
            self._keep(data, problem)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        now = time.monotonic()
        self.slowest = max(self.slowest, now - started)
        if now - self.told > INTERVAL:
            self.tell()

    def _keep(self, data: bytes, problem: Exception) -> None:
        frames = traceback.extract_tb(problem.__traceback__)
        where = frames[-1] if frames else None
        at = "" if where is None else f"{Path(where.filename).name}:{where.lineno}"
        what = type(problem).__name__ if isinstance(problem, Hang) else f"{type(problem).__name__}: {problem}"
        key = what if isinstance(problem, Hang) else f"{type(problem).__name__} {at} {str(problem)[:60]}"
        if key in self.found:
            return
        name = f"{self.name}-{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:12]}"
        self.found[key] = name
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(data)
        told = "".join(traceback.format_exception(problem))
        (self.folder / f"{name}.txt").write_text(told, encoding="utf-8", errors="backslashreplace")
        print(f"{self.name}: {what[:200]} at {at} ({self.folder / name})", file=sys.stderr, flush=True)

    def tell(self) -> None:
        """Add a line to the log: what was run since the last one. libFuzzer ends the process without a word."""
        row = {"target": self.name, **self.about, "executions": self.executions, "slowest": round(self.slowest, 3)}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({**row, "found": sorted(self.found.values())}) + "\n")
        self.told, self.executions, self.slowest = time.monotonic(), 0, 0.0


def _hang(_number: int, _frame: FrameType | None) -> None:
    raise Hang


def plain(recorder: Recorder, seconds: float, seed: int) -> None:
    """Change the seeds at random until the time is over."""
    from mutate import mutated

    random = Random(seed)
    inputs = recorder.target.seeds()
    end = time.monotonic() + seconds
    for data in inputs if seed == 0 else ():
        recorder.run(data)
    while time.monotonic() < end:
        recorder.run(mutated(random.choice(inputs), inputs, random))


def guided(recorder: Recorder, seconds: float, seed: int, corpus: Path) -> None:
    """Let libFuzzer choose. It ends the process by itself."""
    import atheris
    from mutate import LONGEST, mutated

    inputs = recorder.target.seeds()
    corpus.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        random = Random(number)
        changed = mutated(data, inputs, random) if random.getrandbits(2) else atheris.Mutate(data, most)
        return bytes(changed[:most])

    arguments = [
        sys.argv[0],
        str(corpus),
        f"-max_total_time={int(seconds)}",
        f"-seed={seed or 1}",
        f"-max_len={LONGEST}",
    ]
    arguments += ["-rss_limit_mb=0", "-timeout=600", "-verbosity=0", "-print_final_stats=0"]
    atheris.Setup(arguments, recorder.run, custom_mutator=mutate)
    atheris.Fuzz()


def _one(options: argparse.Namespace) -> int:
    """Fuzz one target in this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)) if options.engine == "plain" else None
    if options.engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["kube_gaplint", "kube_gaplint_rules"]):
            import targets  # noqa: F401
    name = options.targets
    recorder = Recorder(name, options.findings, options.log, engine=options.engine, seed=options.seed)
    signal.signal(signal.SIGPROF, _hang)
    if options.engine == "atheris":
        guided(recorder, options.seconds, options.seed, options.corpus / name)
    else:
        plain(recorder, options.seconds, options.seed)
        recorder.tell()
    return 1 if recorder.found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--seconds", type=float, default=60, help="in all (default 60)")
    parser.add_argument("--targets", default="", help="names, by commas (default: all)")
    parser.add_argument("--engine", choices=("plain", "atheris"), default="plain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="where inputs go that fail")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"), help="where atheris keeps its inputs")
    parser.add_argument("--log", type=Path, default=Path("fuzz-findings/log.jsonl"), help="one line a target")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.log.parent.mkdir(parents=True, exist_ok=True)
    if options.one:
        return _one(options)
    from targets import TARGETS

    names = options.targets.split(",") if options.targets else list(TARGETS)
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        parser.error(f"no such target: {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    failed = False
    whole = sum(TARGETS[name].share for name in names)
    for name in names:
        seconds = options.seconds * TARGETS[name].share / whole
        command = [
            sys.executable,
            __file__,
            "--one",
            "--targets",
            name,
            "--seconds",
            str(seconds),
            "--engine",
            options.engine,
        ]
        command += ["--seed", str(options.seed), "--findings", str(options.findings), "--corpus", str(options.corpus)]
        failed |= subprocess.run([*command, "--log", str(options.log)], check=False).returncode != 0
    print(f"{'findings' if failed else 'nothing found'}; counts in {options.log}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
