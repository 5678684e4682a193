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
    return max(0.0, first * (1.0 + math.sqrt(half) / 3.0 + half / 9.0) - blocking)  # 0: below what numbers tell apart


def lost_gpu_hours(interval: float, gpus: float) -> float:
    """GPU-hours of work that one failure throws away on average: half an interval on every GPU."""
    return interval / 2.0 / HOUR * gpus


def goodput(interval: float, blocking: float, mtbf: float, recovery: float = 0.0) -> float:
    """The share of time that trains the model and is not lost again, from 0 to 1, in a run much longer than `mtbf`.

    Daly's complete model of failures that come at random (FGCS 22(3), section 3): of `interval` seconds of training
    and `blocking` seconds of saving a failure may hit any; then all since the last save is done again, and `recovery`
    seconds pass from the failure until training goes on, in which the next failure may come. Raises ValueError for
    negative times and for a time between failures that is not positive.
    """
    if min(interval, blocking, recovery) < 0 or not mtbf > 0:
        raise ValueError("times are not negative, and the time between failures is positive")
    if math.isinf(mtbf):
        return 1.0 if math.isinf(interval) or blocking == 0 else interval / (interval + blocking)
    segment = (interval + blocking) / mtbf
    if segment > _LARGEST_EXPONENT:
        return 0.0
    trained = 1.0 if segment == 0 else interval / mtbf / math.expm1(segment)
    return min(1.0, trained * math.exp(-recovery / mtbf))


_LARGEST_EXPONENT = 700.0
"""exp() of more overflows; the goodput is then 0 to 300 digits."""


def flat_range(blocking: float, mtbf: float, within: float = 0.1) -> tuple[float, float]:
    """The intervals between which saving and repeating cost at most `within` (0.1: a tenth) more than at the optimum.

    To first order it reaches from 0.64 to 1.56 times the optimum. (0, inf) where nearly all time is lost at any
    interval. Raises ValueError as `young` does.
    """
    best = daly(blocking, mtbf)
    least = 1.0 - goodput(best, blocking, mtbf)
    if math.isinf(mtbf) or least < 1e-9:  # beyond what floating-point numbers tell apart: the first order is exact
        spread = math.sqrt((1.0 + within) ** 2 - 1.0)
        return best * (1.0 + within - spread), best * (1.0 + within + spread)
    limit = least * (1.0 + within)
    if limit >= 1.0:
        return 0.0, math.inf

    def edge(factor: float) -> float:
        """Where the cost reaches the limit, on the way down (factor below 1) or up from the optimum."""
        inside = outside = best
        while 1.0 - goodput(outside, blocking, mtbf) < limit:
            inside, outside = outside, outside * factor
        for _ in range(60):
            middle = math.sqrt(inside) * math.sqrt(outside)
            if 1.0 - goodput(middle, blocking, mtbf) < limit:
                inside = middle
            else:
                outside = middle
        return inside

    return edge(0.5), edge(2.0)


def chance_of_at_most(count: int, expected: float) -> float:
    """The probability of at most `count` failures where `expected` are expected (Poisson distribution).

    Beyond 10,000 expected failures by Wilson and Hilferty's approximation, whose error is then far below 0.001.
    """
    if expected < 0 or not math.isfinite(expected):
        raise ValueError("the expected number is finite and not negative")
    if count < 0:
        return 0.0
    if expected == 0 or count > expected + 40.0 * math.sqrt(expected) + 40.0:
        return 1.0
    if expected > _MOST_COUNTED:
        freedom = count + 1.0
        z = 3.0 * math.sqrt(freedom) * ((expected / freedom) ** (1.0 / 3.0) - 1.0 + 1.0 / (9.0 * freedom))
        return math.erfc(z / math.sqrt(2.0)) / 2.0
    start = min(count, math.floor(expected))  # the largest term, so that none that counts underflows
    largest = math.exp(start * math.log(expected) - expected - math.lgamma(start + 1.0))
    total = term = largest
    for number in range(start, 0, -1):
        term *= number / expected
        total += term
    term = largest
    for number in range(start + 1, count + 1):
        term *= expected / number
        total += term
    return min(1.0, total)


_MOST_COUNTED = 10_000.0
"""Up to so many expected failures the probabilities are summed one by one."""


def failures_at_quantile(expected: float, quantile: float = 0.99) -> int:
    """The smallest number that the failures stay within with probability `quantile`: the restarts to allow.

    Raises ValueError for a quantile that is not between 0 and 1.
    """
    if not 0 < quantile < 1:
        raise ValueError("a quantile is between 0 and 1")
    low, high = -1, math.ceil(expected + 40.0 * math.sqrt(expected) + 40.0)
    while high - low > 1:
        middle = (low + high) // 2
        if chance_of_at_most(middle, expected) >= quantile:
            high = middle
        else:
            low = middle
    return high
