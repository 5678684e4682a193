"""How often nodes fail, and how far apart saves should be.

Rates are failures that end a job, per thousand 8-GPU nodes and day. Times are seconds unless a name says otherwise.
"""

from __future__ import annotations

import math

from msgspec import Struct

DAY = 86_400.0
HOUR = 3_600.0

DEFAULT_RATE = 5.0
"""Failures per 1000 node-days where the user declares none: between the published figures below."""

FLAT_FACTOR = 4.0
"""The cost around the optimum interval is flat: twice or half of it costs little. Speak only beyond this factor."""


class FailureRate(Struct, frozen=True):
    """A published failure rate. `basis` says whether the figure itself was published or computed from others."""

    who: str
    nodes: int
    rate: float
    basis: str
    source: str


FAILURE_RATES: tuple[FailureRate, ...] = (
    FailureRate(
        "BLOOM 176B",
        48,
        3.0,
        "computed: one GPU failure about every week on 48 nodes",
        "https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md",
    ),
    FailureRate(
        "Meta Llama 3 405B",
        2048,
        3.8,
        "computed: 419 unexpected interruptions in 54 days on 16,384 GPUs",
        "https://arxiv.org/abs/2407.21783",
    ),
    FailureRate("Meta RSC-1", 2000, 6.5, "published", "https://arxiv.org/abs/2410.21680"),
    FailureRate("Meta RSC-2", 1000, 2.34, "published", "https://arxiv.org/abs/2410.21680"),
    FailureRate(
        "Imbue 70B",
        511,
        4.3,
        "computed: about 3 % of the machines a week",
        "https://imbue.com/research/70b-infrastructure",
    ),
)


def job_mtbf_seconds(nodes: int, rate: float = DEFAULT_RATE) -> float:
    """Mean time between failures of a job on `nodes` nodes, one of which ends it; infinite at rate 0.

    Raises ValueError for fewer than one node or a negative rate.
    """
    if nodes < 1 or rate < 0:
        raise ValueError("a job has at least one node, and a rate is not negative")
    return math.inf if rate == 0 else 1000.0 * DAY / (nodes * rate)


def expected_failures(nodes: int, days: float, rate: float = DEFAULT_RATE) -> float:
    """Failures to expect while `nodes` nodes run for `days` days."""
    return nodes * days * rate / 1000.0


def young(blocking: float, mtbf: float) -> float:
    """Young's optimum of the compute time between two saves (CACM 17(9):530, 1974).

    `blocking` is the time for which a save stops training, `mtbf` the job's. Raises ValueError where either is
    not positive: without a cost of saving there is no optimum.
    """
    if blocking <= 0 or mtbf <= 0:
        raise ValueError("the time of a save and the time between failures are positive")
    return math.sqrt(2.0 * blocking * mtbf)


def daly(blocking: float, mtbf: float) -> float:
    """Daly's higher-order optimum (FGCS 22(3):303-312, 2006), with the arguments of `young`.

    Where a save takes twice the time between failures or more, the formula ends and the answer is `mtbf`.
    """
    first = young(blocking, mtbf)
    if blocking >= 2.0 * mtbf:
        return mtbf
    if math.isinf(first):
        return first
    half = blocking / (2.0 * mtbf)
    return first * (1.0 + math.sqrt(half) / 3.0 + half / 9.0) - blocking


def lost_gpu_hours(interval: float, gpus: int) -> float:
    """GPU-hours of work that one failure throws away on average: half an interval on every GPU."""
    return interval / 2.0 / HOUR * gpus


def wasted_fraction(interval: float, blocking: float, mtbf: float, restart: float = 0.0) -> float:
    """The share of time that saving, repeating lost work and restarting take, to first order, at most 1.

    `restart` is the time from a failure until training goes on.
    """
    saving = blocking / (interval + blocking) if interval + blocking > 0 else 1.0
    repeating = 0.0 if math.isinf(mtbf) else (interval / 2.0 + restart) / mtbf
    return min(1.0, saving + repeating)
