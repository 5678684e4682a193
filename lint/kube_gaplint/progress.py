"""How far a run is, for whoever listens.

Loops that may take long call `tell`; without a listener that costs nothing to speak of. The command line listens where
a person waits at a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, int, int], None]
"""Hears what is being done (`reading`), how many are done, and of how many (0: not known yet)."""

_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)


def tell(what: str, done: int, total: int = 0) -> None:
    """Say how far a loop has come."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def heard_by(listener: Listener | None) -> Iterator[None]:
    """Within it, `listener` hears of every step."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
