"""Work in several processes over what this one has read.

The others are forks: they see everything that was parsed without a copy, and hand back findings. A text that both
sides have is handed over as a number, and YAML nodes (which only fixes need) are left behind.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar

from msgspec import Struct

from kube_gaplint import progress, trace
from kube_gaplint.text.nodes import Node
from kube_gaplint.text.source import Source

T = TypeVar("T")


class Tickets:
    """Numbers from 0, each for the one process that takes it: made before processes are forked off, and iterated in
    each of them. A number that an ended process had taken is lost."""

    _SIZE = 4
    _MOST = 2_048
    """Numbers fit into a pipe that nobody reads yet; of more, each stands for several neighbours."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._step = -(-count // self._MOST) or 1
        self._reading, writing = os.pipe()
        with io.FileIO(writing, "w") as pipe:
            for first in range(0, count, self._step):
                pipe.write(first.to_bytes(self._SIZE, "little"))

    def __enter__(self) -> Tickets:
        return self

    def __exit__(self, *_exception: object) -> None:
        os.close(self._reading)

    def __iter__(self) -> Iterator[int]:
        while data := os.read(self._reading, self._SIZE):
            first = int.from_bytes(data, "little")
            yield from range(first, min(first + self._step, self._count))


class _Fork(Struct):
    """A process that was forked off: its number, and the end of a pipe where it says what it found."""

    pid: int
    pipe: io.FileIO

    def ended_well(self) -> bool:
        """Wait for its end."""
        self.pipe.close()
        _, status = os.waitpid(self.pid, 0)
        return status == 0


def shared(work: Callable[[int], T], number: int, sources: Sequence[Source]) -> list[T]:
    """`work(0)` in this process, and at the same time `work(1)` to `work(number - 1)`, each in a fork of it.

    Where the system gives no process, or ends one, its work is done here. What `work` raises is raised here.
    """
    forks: list[_Fork] = []
    try:
        with _signals_later():
            forks.extend(_forked(work, range(1, number), sources))
        results = [work(0)]
        for at in range(1, number):
            outcome = _heard(forks.pop(0)) if forks else None
            if outcome is None:
                results.append(work(at))
                continue
            found, failure, noted = _unpacked(outcome, sources)
            if failure is not None:
                raise failure
            trace.take_over(noted)
            results.append(found)
    finally:
        for fork in forks:  # nobody waits for them any more
            with suppress(OSError):
                os.kill(fork.pid, signal.SIGKILL)
            fork.ended_well()
    return results


def _forked(work: Callable[[int], object], numbers: Iterable[int], sources: Sequence[Source]) -> Iterator[_Fork]:
    """Forks that have begun with `work`, as many as the system gives."""
    with suppress(OSError):
        for at in numbers:
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reading)
                _serve(work, at, sources, writing)
            os.close(writing)
            yield _Fork(pid, io.FileIO(reading))


def _heard(fork: _Fork) -> bytes | None:
    """What a fork has said; None where it ended before."""
    data = fork.pipe.readall()
    return data if fork.ended_well() else None


def _serve(work: Callable[[int], object], at: int, sources: Sequence[Source], writing: int) -> NoReturn:
    """In a fork: say in the pipe what `work` gives or raises, and end without what this process would do at its end."""
    status = 1
    try:
        _begin()
        found, failure, noted = None, None, None
        try:
            with progress.heard_by(None):
                found, noted = trace.apart(lambda: work(at))
        except BaseException as error:
            failure = error
        data = memoryview(_packed((found, failure, noted), sources))
        while data:
            data = data[os.write(writing, data) :]
        status = 0
    finally:
        os._exit(status)


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


def _source_at(number: int) -> Source:
    """Stands in packed bytes for the look-up of a source, which `_Reader` puts in its place."""
    raise LookupError(number)


def _nothing() -> None:
    """What becomes of a node."""


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, sources: Sequence[Source]) -> None:
        super().__init__(file)
        self._sources = sources

    def find_class(self, module: str, name: str) -> Any:
        return self._sources.__getitem__ if name == _source_at.__name__ else super().find_class(module, name)


def _packed(thing: object, sources: Sequence[Source]) -> bytes:
    """A thing as bytes for a process that has the same sources."""
    numbers = {id(source): number for number, source in enumerate(sources)}

    def packed_source(source: Source) -> Any:
        number = numbers.get(id(source))
        return source.__reduce__() if number is None else (_source_at, (number,))

    file = io.BytesIO()
    writer = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
    # A table by type costs nothing for what is not in it, unlike a `persistent_id`.
    writer.dispatch_table = {Source: packed_source} | {kind: lambda _: (_nothing, ()) for kind in Node.__subclasses__()}
    writer.dump(thing)
    return file.getvalue()


def _unpacked(data: bytes, sources: Sequence[Source]) -> Any:
    """What `_packed` gave in a fork of this process; never for bytes from elsewhere."""
    return _Reader(io.BytesIO(data), sources).load()
