"""What is new in one run beside an earlier one.

Findings are known again by what they mean, as in a baseline: moved lines and renamed files bring up nothing. Each
finding answers to one of before, the most alike first: in its own file with the same words, in its own file, elsewhere.

A gap that was there counts as new all the same where the change has made it worse, or has written another value there
that is no better: whoever reviews that line has to see it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import TypeAlias

from kube_gaplint import disk
from kube_gaplint.findings import Finding

_Key: TypeAlias = Callable[[Finding, str], Hashable]
"""What two findings must have in common, of a finding and the path of its file before; None: nothing."""

_KEYS: tuple[_Key, ...] = (
    lambda finding, file: (finding.digest, file, finding.message, finding.place.text),
    lambda finding, file: (finding.digest, file),
    lambda finding, _: (finding.digest, finding.message, finding.place.text),
    lambda finding, _: finding.digest,
    # A script without a job name is called as its file is.
    lambda finding, file: (finding.code, file, finding.message) if finding.subject.kind == "sbatch" else None,
)


def new_findings(now: Sequence[Finding], before: Sequence[Finding], renamed: Mapping[str, str]) -> list[Finding]:
    """The findings of `now` that `before` does not account for. `renamed` gives old real paths by new ones.

    What is suppressed in the files accounts for nothing that counts.
    """
    left = dict(enumerate(before))
    counting = {index for index, finding in left.items() if not _is_silent(finding)}
    new: set[int] = set()
    for silent in (False, True):
        open_now = {index: finding for index, finding in enumerate(now) if _is_silent(finding) is silent}
        for key in _KEYS:
            for index, other in _pairs(open_now, left, key, renamed, among=left.keys() if silent else counting):
                if _is_worse(now[index], before[other]):
                    new.add(index)
                del open_now[index], left[other]
        new |= open_now.keys()
    return [finding for index, finding in enumerate(now) if index in new]


def _pairs(
    now: Mapping[int, Finding],
    before: Mapping[int, Finding],
    key: _Key,
    renamed: Mapping[str, str],
    *,
    among: Set[int],
) -> list[tuple[int, int]]:
    there: dict[Hashable, list[int]] = defaultdict(list)
    for index, finding in before.items():
        if index in among:
            there[key(finding, _file(finding))].append(index)
    pairs = []
    for index, finding in now.items():
        file = _file(finding)
        wanted = key(finding, renamed.get(file, file))
        if wanted is not None and there.get(wanted):
            pairs.append((index, there[wanted].pop(0)))
    return pairs


def _file(finding: Finding) -> str:
    return disk.real(finding.place.source.path)


def _is_silent(finding: Finding) -> bool:
    return finding.suppressed is not None and finding.suppressed.how != "baseline"


def _is_worse(finding: Finding, before: Finding) -> bool:
    """Whether a gap is more severe than it was, or is spoken of differently because its own line is another."""
    if finding.severity > before.severity:
        return True
    start, end = finding.place.start, finding.place.end
    return start.line == end.line and finding.message != before.message and finding.place.text != before.place.text
