"""A line on the terminal that tells a waiting person how far a run is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from kube_gaplint import progress
from kube_gaplint.cli import console

PATIENCE = 1.0
"""Seconds before the line appears: most runs are over by then."""
_PAUSE = 0.1


class Ticker:
    """Writes one line over and over, and takes it away in the end."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next = clock() + PATIENCE
        self._shown = 0

    def tell(self, what: str, done: int, total: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + _PAUSE
        amount = f"{done:,} of {total:,}" if total else f"{done:,}"
        self._write(f"gaplint: {what} {amount}"[: console.width() - 1])

    def clear(self) -> None:
        if self._shown:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(self._shown))
        self._stream.flush()
        self._shown = len(line)


@contextmanager
def shown(*, quiet: bool) -> Iterator[None]:
    """Show progress within it: on standard error, where that is a terminal and `--quiet` does not forbid it."""
    stream = sys.stderr
    if quiet or stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    ticker = Ticker(stream)
    try:
        with progress.heard_by(ticker.tell):
            yield
    finally:
        ticker.clear()
