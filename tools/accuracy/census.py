"""census.tsv: how many workloads of each class there are in the tried repositories, and how much is found of them.

One row counts the workloads of one repository and class with the same numbers of errors, warnings and infos. What is
found of other objects (node pools, slurm.conf, files that are not valid) stands in rows of the class `other`, one a
repository, which count no workload.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from accuracy.attribution import attribute
from accuracy.reports import Finding, Workload
from accuracy.repositories import Repository

CENSUS = Path(__file__).parent / "census.tsv"
OTHER = "other"
SEVERITIES = ("error", "warning", "info")


class Count(Struct, frozen=True, order=True):
    """One line of the table."""

    repository: str
    commit: str
    purpose: str
    errors: int
    warnings: int
    infos: int
    workloads: int


COLUMNS = Count.__struct_fields__


def count(repository: Repository, workloads: Sequence[Workload], findings: Sequence[Finding]) -> list[Count]:
    """The rows of one repository: a row of zeros where there is nothing, to show that it was tried."""
    about, others = attribute(workloads, findings)
    alike = Counter((workload.purpose, *_by_severity(about.get(index, ()))) for index, workload in enumerate(workloads))
    rows = [Count(repository.name, repository.commit, *key, number) for key, number in alike.items()]
    if others or not rows:
        rows.append(Count(repository.name, repository.commit, OTHER, *_by_severity(others), 0))
    return sorted(rows)


def _by_severity(findings: Iterable[Finding]) -> tuple[int, int, int]:
    found = Counter(finding.severity for finding in findings)
    errors, warnings, infos = (found[severity] for severity in SEVERITIES)
    return errors, warnings, infos


class Density(Struct, frozen=True):
    """What is found of the workloads of one class: errors and warnings, and infos apart."""

    purpose: str
    workloads: int
    quiet: int
    """Workloads without an error or a warning."""
    errors: int
    warnings: int
    median: float
    """Of errors and warnings of a workload."""
    infos: int

    @property
    def mean(self) -> float:
        """Errors and warnings a workload."""
        return (self.errors + self.warnings) / self.workloads if self.workloads else 0.0


def densities(rows: Iterable[Count]) -> list[Density]:
    """By class, the most frequent first; other objects last."""
    classes: dict[str, list[Count]] = {}
    for row in rows:
        classes.setdefault(row.purpose, []).append(row)
    found = []
    for purpose, members in classes.items():
        loud = [member.errors + member.warnings for member in members for _ in range(member.workloads)]
        weight = [member.workloads or 1 for member in members]
        found.append(
            Density(
                purpose,
                len(loud),
                loud.count(0),
                sum(member.errors * times for member, times in zip(members, weight, strict=True)),
                sum(member.warnings * times for member, times in zip(members, weight, strict=True)),
                statistics.median(loud) if loud else 0.0,
                sum(member.infos * times for member, times in zip(members, weight, strict=True)),
            )
        )
    return sorted(found, key=lambda one: (one.purpose == OTHER, -one.workloads, one.purpose))


def read(path: Path) -> list[Count]:
    """The rows of a table; none where there is no file yet."""
    if not path.exists():
        return []
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    if tuple(header.split("\t")) != COLUMNS:
        raise SystemExit(f"{path}:1: the columns must be {', '.join(COLUMNS)}")
    return [msgspec.convert(dict(zip(COLUMNS, line.split("\t"), strict=True)), Count, strict=False) for line in lines]


def write(path: Path, rows: Iterable[Count]) -> None:
    cells = (map(str, msgspec.structs.astuple(row)) for row in sorted(rows))
    text = "".join("\t".join(row) + "\n" for row in [COLUMNS, *cells])
    path.write_text(text, encoding="utf-8")
