"""Command lines that are run in this process, with a cache of their own."""

from __future__ import annotations

import gc
import io
import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kube_gaplint.__main__ import run
from kube_gaplint.cache import place
from kube_gaplint.cli import app


class Said(NamedTuple):
    """What a run gave."""

    code: int
    out: bytes
    errors: bytes


class Runner:
    """Runs command lines in a folder. `runs` counts those that were not repeated."""

    def __init__(self, home: Path, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.folder = folder
        self.runs = 0
        self._patch = patch
        original = app.run

        def counted(arguments: list[str]) -> int:
            self.runs += 1
            return original(arguments)

        patch.setattr(app, "run", counted)
        patch.setenv(place.FOLDER, str(home))
        patch.delenv(place.OFF, raising=False)

    def __call__(self, *arguments: str) -> Said:
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        errors = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", write_through=True)
        before = Path.cwd()
        with self._patch.context() as patch:
            patch.setattr(sys, "argv", ["gaplint", *arguments])
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", errors)
            os.chdir(self.folder)
            try:
                code = run()
            finally:
                os.chdir(before)
                gc.enable()  # a process of its own would end here
        return Said(code, out.buffer.getvalue(), errors.buffer.getvalue())  # type: ignore[attr-defined]

    def fresh(self, *arguments: str) -> Said:
        """The same without the cache."""
        return self(place.OPTION, *arguments)

    def repeats(self, *arguments: str) -> bool:
        """Whether a run is repeated; it must give what a fresh one gives."""
        before = self.runs
        said = self(*arguments)
        repeated = self.runs == before
        assert said == self.fresh(*arguments)
        return repeated

    @property
    def environment(self) -> dict[str, str]:
        """The variables for a process of its own that has this cache."""
        return {**os.environ, place.FOLDER: str(self.home)}

    @property
    def entries(self) -> list[Path]:
        return sorted(self.home.glob("*.run"))


def later(folder: Path) -> None:
    """Wait until the file system gives a later time to a change than it did to any before."""
    probe = folder / ".probe"

    def now() -> int:
        probe.write_bytes(b"")
        os.utime(probe)
        return probe.stat().st_ctime_ns

    first = now()
    while now() <= first:
        pass
    probe.unlink()
