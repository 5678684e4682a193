"""gaplint as a process of its own, with little memory, over inputs that mean harm."""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 500_000_000
"""Bytes of address space that a run may use."""
PATIENCE = 240
"""Seconds after which a run is killed: far more than any input needs, so that a hang fails on slow machines too."""
_SCHEMA = json.loads((ROOT / "lint/kube_gaplint/report/schema.json").read_text())


@dataclass
class Outcome:
    """What a run left behind."""

    code: int
    out: bytes
    err: bytes
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")

    @property
    def errors(self) -> str:
        return self.err.decode("utf-8", "replace")

    @property
    def codes(self) -> list[str]:
        """The code of every finding, in order."""
        return [finding["code"] for finding in self.report["findings"]]

    def messages(self, code: str) -> list[str]:
        return [finding["message"] for finding in self.report["findings"] if finding["code"] == code]


def environment(**more: str) -> dict[str, str]:
    """The variables of a run: this tree's code, and no home to find anything in or to remember results."""
    kept = {
        name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    }
    return {**kept, "HOME": "/nonexistent", "GAPLINT_NO_CACHE": "1", "LC_ALL": "C.UTF-8", **more}


def modules_before(folder: Path) -> str:
    """A PYTHONPATH by which modules are sought in a folder first. An empty entry would be the folder that is linted."""
    before = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(folder), before]) if before else str(folder)


_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 24, 1, 2


def _limits(*, powerless: bool) -> Callable[[], None]:
    libc = ctypes.CDLL(None)

    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if powerless:
            for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
                libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)

    return apply


def gaplint(
    *arguments: str | bytes,
    folder: Path | None = None,
    stdin: bytes | None = None,
    variables: Mapping[str, str] | None = None,
    powerless: bool = False,
    endless: IO[bytes] | None = None,
    **streams: Any,
) -> Outcome:
    """Run the command line. `powerless`: modes of files count for root as well; `endless` is a file for
    standard input, `streams` are Popen's.

    Whatever it is given, there is no traceback, and no report of a bug.
    """
    command: list[str | bytes] = [sys.executable, "-m", "kube_gaplint", *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    if stdin is None:
        streams["stdin"] = subprocess.DEVNULL if endless is None else endless
    done = subprocess.run(
        command,
        cwd=folder,
        input=stdin,
        env=environment(**(variables or {})),
        preexec_fn=_limits(powerless=powerless),
        timeout=PATIENCE,
        check=False,
        **streams,
    )
    outcome = Outcome(done.returncode, done.stdout or b"", done.stderr or b"")
    assert "Traceback" not in outcome.errors, outcome.errors
    assert "gaplint itself failed" not in outcome.errors, outcome.errors
    return outcome


def lint(
    *arguments: str | bytes, folder: Path | None = None, stdin: bytes | None = None, powerless: bool = False
) -> Outcome:
    """Run with a JSON report, which must follow its schema; info counts too."""
    outcome = gaplint(
        "--format=json", "--min-severity=info", *arguments, folder=folder, stdin=stdin, powerless=powerless
    )
    assert outcome.code in (0, 1), (outcome.code, outcome.errors)
    outcome.report = json.loads(outcome.out)
    jsonschema.validate(outcome.report, _SCHEMA)
    return outcome


def lint_file(folder: Path, content: str | bytes, name: str = "job.yaml", *arguments: str) -> Outcome:
    """Write a file into an empty folder and lint it by its name, so that it is judged whatever is in it."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    return lint(*arguments, f"./{name}", folder=folder)


@cache
def job(name: str = "train", *, extra: str = "", container: str = "", script: str = "torchrun train.py") -> str:
    """A training job with gaps: what is wrong beside it must not hide them. `script` is what its shell runs."""
    lines = "\n".join(f"              {line}" for line in script.split("\n"))
    return (
        f"apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\nspec:\n  backoffLimit: 0\n{extra}"
        "  template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - name: main\n"
        "          image: pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime\n"
        f"          command: [bash, -c]\n          args:\n            - |\n{lines}\n"
        f"          resources: {{limits: {{nvidia.com/gpu: 8}}}}\n{container}"
    )


JOB_CODES = frozenset({"RETRY001", "GPU001"})
"""Some of what is found in that job."""


def raw_controls(text: str) -> list[str]:
    """Characters that a terminal or a log viewer would obey."""
    return re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]", text)


def sequence(items: Sequence[object]) -> str:
    return "".join(f"{item}" for item in items)
