"""Processor seconds and memory of gaplint over every row of the hostile tables in tests/hostile.

    python bench/hostile.py [--slowest N]

Each input is a process of its own; slow ones are tried twice. It must stay below 2 s of the processor and 500 MB; exit
code 1 says that one does not. The tests hold the memory as a limit of the process; time is measured here alone, as it
is the machine's as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/hostile"))

import test_kustomize  # noqa: E402
import test_limits  # noqa: E402
import test_manifests  # noqa: E402
import test_scripts  # noqa: E402
from running import environment  # noqa: E402

SECONDS = 2.0
MEGABYTES = 500.0


_RUN = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "kube_gaplint", *sys.argv[1:]], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(done.returncode not in (0, 1))
"""
"""A small process that starts gaplint: a process has the memory of the one that started it to begin with."""


class Measured(NamedTuple):
    seconds: float
    megabytes: float
    name: str


def inputs() -> Iterator[tuple[str, dict[str, str | bytes]]]:
    """Every row with its files."""
    for manifest in test_manifests.ROWS:
        yield f"manifest {manifest.name}", {"job.yaml": manifest.make()}
    for script in test_scripts.ROWS:
        yield f"script {script.name}", {"job.sbatch": test_scripts.HEADER + script.make()}
    for build in (*test_kustomize.ROWS, *test_kustomize.REFERENCES):
        yield f"build {build.name}", dict(build.make())
    for limit, (name, make) in test_limits.INPUTS.items():
        yield f"limit {limit.of}", {name: make()}


def measured(name: str, files: dict[str, str | bytes]) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        for path, content in files.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        path = f"./{next(iter(files))}" if len(files) == 1 else "."
        command = [sys.executable, "-c", _RUN, "--isolated", "--format=json", "--min-severity=info", path]
        done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr[-1000:]}")
    seconds, memory = done.stdout.split()
    unit = 1 if sys.platform == "darwin" else 1024
    return Measured(float(seconds), int(memory) * unit / 1e6, name)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--slowest", type=int, default=5, help="how many of the slowest and largest to show")
    options = parser.parse_args(arguments)
    rows = []
    for name, files in inputs():
        row = measured(name, files)
        rows.append(min(row, measured(name, files)) if row.seconds > SECONDS / 2 else row)
    print(f"{len(rows)} inputs")
    for by, title in ((0, "slowest"), (1, "largest")):
        for row in sorted(rows, key=lambda one: -one[by])[: options.slowest]:
            print(f"{title}: {row.seconds:.2f} s {row.megabytes:.0f} MB  {row.name}")
    return int(any(row.seconds >= SECONDS or row.megabytes >= MEGABYTES for row in rows))


if __name__ == "__main__":
    sys.exit(main())
