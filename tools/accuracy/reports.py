"""What gaplint says of a repository: its JSON reports, read into records."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from accuracy.repositories import Repository

Answer = TypeVar("Answer")


class Location(Struct, frozen=True, rename="camel"):
    file: str
    line: int
    column: int = 1
    end_line: int = 0


class Subject(Struct, frozen=True, rename="camel"):
    """The object that a finding or a workload is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    container: str = ""

    @property
    def named(self) -> str:
        """The object in words, without its container."""
        return " ".join(part for part in (self.kind, "/".join(filter(None, (self.namespace, self.name)))) if part)


class Related(Struct, frozen=True, rename="camel"):
    location: Location
    message: str = ""


class Fix(Struct, frozen=True):
    title: str = ""


class Finding(Struct, frozen=True, rename="camel"):
    code: str
    name: str
    severity: str
    message: str
    location: Location
    fingerprint: str
    consequence: str = ""
    object: Subject | None = None
    also_for: tuple[Subject, ...] = ()
    related: tuple[Related, ...] = ()
    fixable: str = "no"
    fix: Fix | None = None
    suppressed: Any = None

    @property
    def subject(self) -> Subject:
        return self.object or Subject()


class Problem(Struct, frozen=True):
    file: str
    reason: str


class Summary(Struct, frozen=True, rename="camel"):
    files: int = 0
    documents: int = 0
    workloads: int = 0
    by_class: dict[str, int] = field(default_factory=dict)


class Report(Struct, frozen=True):
    """`gaplint --format json`."""

    findings: tuple[Finding, ...]
    errors: tuple[Problem, ...] = ()
    summary: Summary = Summary()


class Workload(Struct, frozen=True, rename="camel"):
    object: Subject
    location: Location
    purpose: str
    purpose_reason: str = ""


class Shown(Struct, frozen=True):
    """`gaplint show --format json`."""

    workloads: tuple[Workload, ...]


class RuleRow(Struct, frozen=True):
    """`gaplint rules --format json`."""

    code: str
    name: str
    severity: str
    tier: str
    summary: str


class Gaplint(Struct, frozen=True):
    """A gaplint to run.

    `kept`: a folder that reports are kept in, so that a second command over the same repositories need not run gaplint
    again. It must be emptied when gaplint changes.

    Its methods raise SystemExit where gaplint fails or says something else than a report.
    """

    command: tuple[str, ...] = ("gaplint",)
    environment: Mapping[str, str] = {}
    kept: Path | None = None

    def findings(self, repository: Repository, min_severity: str = "warning") -> Report:
        """All findings of a repository but the suppressed ones, with paths from its folder."""
        words = ("check", ".", "--format", "json", "--isolated", "--fail-on", "never", "--min-severity", min_severity)
        report = _decoded(self._said(words, repository), Report)
        return msgspec.structs.replace(
            report, findings=tuple(finding for finding in report.findings if finding.suppressed is None)
        )

    def workloads(self, repository: Repository) -> tuple[Workload, ...]:
        """All workloads of a repository."""
        words = ("show", ".", "--format", "json", "--isolated")
        return _decoded(self._said(words, repository), Shown).workloads

    def shown(self, repository: Repository) -> str:
        """What `gaplint show` prints of a repository."""
        return self._said(("show", ".", "--isolated", "--quiet", "--color", "never"), repository).decode()

    def rules(self) -> dict[str, RuleRow]:
        """The rules by code."""
        rows = _decoded(self._said(("rules", "--format", "json")), list[RuleRow])
        return {row.code: row for row in rows}

    def page(self, code: str) -> str:
        """A rule's page as text."""
        return self._said(("explain", code, "--color", "never")).decode()

    def _said(self, words: Sequence[str], repository: Repository | None = None) -> bytes:
        kept = None
        if self.kept is not None and repository is not None:
            key = f"{repository.name} {repository.commit} {shlex.join(words)}"
            kept = self.kept / f"{repository.folder.name}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
            if kept.is_file():
                return kept.read_bytes()
        command = [*self.command, *words]
        try:
            outcome = subprocess.run(
                command,
                capture_output=True,
                cwd=repository.folder if repository else None,
                env={**os.environ, "COLUMNS": "160", **self.environment},
                check=False,
            )
        except OSError as problem:
            raise SystemExit(f"{shlex.join(command)}: {problem.strerror}") from None
        if outcome.returncode not in {0, 1}:
            place = f" in {repository.folder}" if repository else ""
            said = outcome.stderr.decode(errors="replace")
            raise SystemExit(f"{shlex.join(command)}{place} ended with {outcome.returncode}:\n{said}")
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(outcome.stdout)
        return outcome.stdout


def _decoded(text: bytes, form: type[Answer]) -> Answer:
    try:
        return msgspec.json.decode(text, type=form)
    except msgspec.MsgspecError as problem:
        raise SystemExit(f"gaplint's report is not of the expected form: {problem}") from None


def command(text: str) -> tuple[str, ...]:
    """A command line as words; a path in it is made absolute, since gaplint runs inside the repositories."""
    words = shlex.split(text)
    # Links stay: the Python of a virtual environment is one, and what it leads to knows none of its packages.
    return tuple(str(Path(word).absolute()) if "/" in word and Path(word).exists() else word for word in words)
