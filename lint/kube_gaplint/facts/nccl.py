"""NCCL's own defaults by release, and the arithmetic of its InfiniBand timeout."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

Release: TypeAlias = tuple[int, ...]


class IbTimeout(Struct, frozen=True):
    """The default of NCCL_IB_TIMEOUT from a release on."""

    since: Release
    value: int
    source: str


IB_TIMEOUT_DEFAULTS: tuple[IbTimeout, ...] = (
    IbTimeout((2, 3), 14, "src/transport/net_ib.cc, v2.3.5-5 to v2.13.4-1"),
    IbTimeout((2, 14), 18, "src/transport/net_ib.cc, v2.14.3-1 to v2.22.3-1"),
    IbTimeout((2, 23), 20, "src/transport/net_ib.cc, v2.23.4-1 to v2.30.7-1"),
)

IB_RETRY_COUNT_DEFAULT = 7
IB_RETRY_COUNT_RANGE = (0, 7)
IB_TIMEOUT_LIMIT = 32
"""The field has 5 bits: 0 and everything from here on wait for ever."""


def ib_timeout_default(release: Release) -> int:
    """The default of NCCL_IB_TIMEOUT in a release; before the first that was read (2.3), as in that one."""
    value = IB_TIMEOUT_DEFAULTS[0].value
    for row in IB_TIMEOUT_DEFAULTS:
        if release >= row.since:
            value = row.value
    return value


def ib_try_seconds(timeout: int) -> float | None:
    """Seconds until a queue pair retries: 4.096 µs × 2^timeout; None for values that wait for ever."""
    return None if timeout <= 0 or timeout >= IB_TIMEOUT_LIMIT else 4.096e-6 * 2**timeout


def ib_total_seconds(timeout: int, retries: int = IB_RETRY_COUNT_DEFAULT) -> float | None:
    """Seconds that a dead link is waited for in all, about; None for ever."""
    each = ib_try_seconds(timeout)
    return None if each is None else each * max(0, min(retries, IB_RETRY_COUNT_RANGE[1]))


STRICT_ALGORITHMS_SINCE: Release = (2, 24)
"""From here an unknown token in NCCL_ALGO or NCCL_PROTO fails init; before it was passed over."""

EMPTY_FILTER_HIDES: tuple[Release, Release] = ((2, 8), (2, 30, 7))
"""The releases, without the last, in which an NCCL_DEBUG_SUBSYS that names no subsystem hides every line, warnings as
well (src/debug.cc, v2.8.3-1 to v2.30.4-1). Before, warnings passed; since, the default is taken instead."""

RAS_SINCE: Release = (2, 24)
RAS_DEFAULT_ADDRESS = "localhost:28028"


class Token(Struct, frozen=True):
    """A word that NCCL_ALGO or NCCL_PROTO understands (in any case), and the first release that does."""

    variable: str
    word: str
    since: Release


TOKENS: tuple[Token, ...] = tuple(
    Token(variable, word, since)
    for variable, word, since in (
        ("NCCL_ALGO", "tree", (2, 4)),
        ("NCCL_ALGO", "ring", (2, 4)),
        ("NCCL_ALGO", "collnet", (2, 6)),
        ("NCCL_ALGO", "collnetdirect", (2, 14)),
        ("NCCL_ALGO", "collnetchain", (2, 14)),
        ("NCCL_ALGO", "nvls", (2, 17)),
        ("NCCL_ALGO", "nvlstree", (2, 18)),
        ("NCCL_ALGO", "pat", (2, 23)),
        ("NCCL_PROTO", "ll", (2, 4)),
        ("NCCL_PROTO", "ll128", (2, 4)),
        ("NCCL_PROTO", "simple", (2, 4)),
    )
)
TOKENS_SOURCE = "src/graph/tuning.cc ncclAlgoStr and ncclProtoStr by tag"


ERAS: tuple[Release, ...] = ((2, 8), (2, 14), (2, 17), (2, 18), (2, 23), (2, 24), (2, 30, 7))
"""Releases at which a fact above changes: two releases with none of them between behave alike here."""


def same_era(first: Release, second: Release) -> bool:
    """Whether nothing that this module knows changes between two releases."""
    return all((first >= era) == (second >= era) for era in ERAS)
