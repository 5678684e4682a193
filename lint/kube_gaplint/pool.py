"""Work in several processes over what this one has read.

The processes are forks: they see everything that was parsed without a copy, and hand back findings. A text that both
sides have is handed over as a number, and YAML nodes (which only fixes need) are left behind.
"""

from __future__ import annotations

import io
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kube_gaplint import progress, trace
from kube_gaplint.text.nodes import Node
from kube_gaplint.text.source import Source
from kube_gaplint.trace import Trace

_work: Callable[[int], bytes] | None = None


def forked(work: Callable[[int], bytes], number: int) -> list[bytes] | None:
    """`work(0)` to `work(number - 1)`, each in a process of its own; None where the system gives no processes or ends
    one. What `work` raises is raised here."""
    global _work  # noqa: PLW0603 - how a fork is told what to do: work itself cannot be pickled
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    _work = work
    try:
        with ProcessPoolExecutor(number, get_context("fork"), _begin) as pool:
            try:
                with _signals_later():
                    running = pool.map(_run, range(number))
                results = list(running)
            except BaseException:
                for process in (pool._processes or {}).values():
                    process.terminate()  # nobody waits for the others any more
                raise
    except (BrokenProcessPool, OSError, ImportError):
        return None
    finally:
        _work = None
    for _, noted in results:
        trace.take_over(noted)
    return [result for result, _ in results]


_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def _signals_later() -> Iterator[None]:
    """Signals wait while processes are started: between the halves of a fork one would be lost, or end a child before
    it knows what to do with signals."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def _begin() -> None:
    """An interrupt ends the first process, which ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in _SIGNALS:
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def _run(number: int) -> tuple[bytes, Trace | None]:
    work = _work
    assert work is not None
    with progress.heard_by(None):
        return trace.apart(lambda: work(number))


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, numbers: dict[int, int]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._numbers = numbers

    def persistent_id(self, thing: Any) -> int | None:
        if isinstance(thing, Source):
            return self._numbers.get(id(thing))
        return -1 if isinstance(thing, Node) else None


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, sources: Sequence[Source]) -> None:
        super().__init__(file)
        self._sources = sources

    def persistent_load(self, number: Any) -> Source | None:
        return None if number < 0 else self._sources[number]


def packed(thing: object, sources: Sequence[Source]) -> bytes:
    """A thing as bytes for a process that has the same sources."""
    file = io.BytesIO()
    _Writer(file, {id(source): number for number, source in enumerate(sources)}).dump(thing)
    return file.getvalue()


def unpacked(data: bytes, sources: Sequence[Source]) -> Any:
    """What `packed` gave in a fork of this process; never for bytes from elsewhere."""
    return _Reader(io.BytesIO(data), sources).load()
