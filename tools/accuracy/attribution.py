"""Which workload a finding is about.

A finding names its object and a place, which may be in another file (a ConfigMap, a base). Where several workloads have
one name, the file tells which of them is meant, and in one file the last that begins at or above the place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from accuracy.reports import Finding, Subject, Workload


def attribute(
    workloads: Sequence[Workload], findings: Iterable[Finding]
) -> tuple[dict[int, list[Finding]], list[Finding]]:
    """Findings by the workload's index, and those that are about no workload (node pools, slurm.conf, files)."""
    by_name: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for index, workload in enumerate(workloads):
        by_name[_key(workload.object)].append(index)
    about: dict[int, list[Finding]] = defaultdict(list)
    others: list[Finding] = []
    for finding in findings:
        candidates = by_name.get(_key(finding.subject), [])
        if not candidates:
            others.append(finding)
            continue
        about[_meant(workloads, candidates, finding)].append(finding)
    return about, others


def _meant(workloads: Sequence[Workload], candidates: Sequence[int], finding: Finding) -> int:
    place = finding.location
    inside = [index for index in candidates if workloads[index].location.file == place.file]
    above = [index for index in inside if workloads[index].location.line <= place.line]
    return max(above, key=lambda index: workloads[index].location.line) if above else (inside or candidates)[0]


def _key(subject: Subject) -> tuple[str, str, str]:
    return subject.kind, subject.namespace, subject.name
