"""Runs that cannot be served: what any part of a command raises, whoever read its options."""

from __future__ import annotations

from collections.abc import Iterable


class Failure(Exception):
    """The run itself is wrong. The message says what, where and what to do."""


class Misuse(Failure):
    """Options or paths that do not go together, or that the command does not have: its help tells more."""


def did_you_mean(wanted: str, names: Iterable[str]) -> str:
    """` Did you mean json?`, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(wanted, list(names), n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(near)}?" if near else ""
