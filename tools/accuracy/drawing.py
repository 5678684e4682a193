"""The draw: seeded, and spread so that neither one rule nor one repository speaks for all.

Findings: the rules take turns, in an order of the seed, and each time a rule gives one finding, from the repository
that has given the fewest so far; equals are ordered by a hash of the seed and what the finding says. A rule gives one
finding a file at most, and a repository no more than its share of the sample (an eighth). Quiet workloads: the
repositories take turns, under the same share.

A drawn finding stands for the findings of its rule in the whole corpus, divided by those of the rule that were drawn:
with these weights the sample speaks of what a user meets, not of what rules exist.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from accuracy.reports import Finding, Workload
from accuracy.repositories import Repository

REPOSITORY_SHARE = 1 / 8


class Candidate(Struct, frozen=True):
    """A finding with the repository that it was made in."""

    repository: Repository
    finding: Finding

    @property
    def said(self) -> tuple[object, ...]:
        place = self.finding.location
        return (self.repository.name, self.finding.code, place.file, place.line, place.column, self.finding.message)


class Drawn(Struct, frozen=True):
    """A finding in the sample, and how many findings of its rule it stands for."""

    candidate: Candidate
    stands_for: float


class Quiet(Struct, frozen=True):
    """A training workload that nothing was found of."""

    repository: Repository
    workload: Workload
    ordinal: int = 0
    """Among the workloads of the same file, kind and name: the first is 0."""

    @property
    def said(self) -> tuple[object, ...]:
        one = self.workload.object
        return (self.repository.name, self.workload.location.file, one.kind, one.namespace, one.name, self.ordinal)


def rank(seed: str, said: Iterable[object]) -> str:
    """A place in the draw."""
    return hashlib.sha256(json.dumps([seed, *said]).encode()).hexdigest()


def draw(candidates: Sequence[Candidate], count: int, seed: str) -> list[Drawn]:
    """Up to `count` findings. The order of the candidates does not matter."""
    left: dict[str, list[tuple[str, Candidate]]] = {}
    for one in candidates:
        left.setdefault(one.finding.code, []).append((rank(seed, one.said), one))
    for ranked in left.values():
        ranked.sort(key=lambda pair: pair[0])
    order = sorted(left, key=lambda code: rank(seed, (code,)))
    most = math.ceil(count * REPOSITORY_SHARE)
    given: Counter[str] = Counter()
    seen: set[tuple[str, str, str]] = set()
    drawn: list[Candidate] = []
    while len(drawn) < count and any(left.values()):
        for code in order:
            if len(drawn) == count:
                break
            left[code] = [
                (place, one)
                for place, one in left[code]
                if given[one.repository.name] < most and (code, *_file(one)) not in seen
            ]
            if left[code]:
                _, chosen = min(left[code], key=lambda pair: (given[pair[1].repository.name], pair[0]))
                drawn.append(chosen)
                given[chosen.repository.name] += 1
                seen.add((code, *_file(chosen)))
    found, taken = (Counter(one.finding.code for one in some) for some in (candidates, drawn))
    return [Drawn(one, found[one.finding.code] / taken[one.finding.code]) for one in drawn]


def _file(one: Candidate) -> tuple[str, str]:
    return one.repository.name, one.finding.location.file


def draw_quiet(candidates: Sequence[Quiet], count: int, seed: str) -> list[Quiet]:
    """Up to `count` quiet workloads. The order of the candidates does not matter."""
    groups: dict[str, list[Quiet]] = {}
    for one in candidates:
        groups.setdefault(one.repository.name, []).append(one)
    for group in groups.values():
        group.sort(key=lambda one: rank(seed, one.said))
    order = sorted(groups, key=lambda name: rank(seed, (name,)))
    most = math.ceil(count * REPOSITORY_SHARE)
    turns = [groups[name][turn] for turn in range(most) for name in order if turn < len(groups[name])]
    return turns[:count]
