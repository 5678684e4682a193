# ruff: noqa: PTH118, PTH120
# Paths are strings here, as in discover.
"""The baseline: findings that are accepted for now, so that only new ones count.

A finding is known again by its fingerprint, which holds no path and no line. Equal fingerprints (the same gap in two
copies of an object) are counted: of three where two are accepted, one is new. The file is JSON with one finding a line,
in the order of files and codes, so that a change of it can be reviewed.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kube_gaplint import disk
from kube_gaplint.discover import STDIN, FileId, read_file, within
from kube_gaplint.disk import one_line
from kube_gaplint.findings import Finding, Suppressed

VERSION = 1
_REWRITE = "remove it and let `gaplint --write-baseline` write a new one"


class BaselineProblem(Exception):
    """The baseline cannot be used. The message says which, why and what to do."""


class Accepted(Struct, frozen=True, order=True):
    """Findings that are let go: how many of one fingerprint in one file. `file` starts from the baseline's folder."""

    file: str
    code: str
    object: str
    fingerprint: str
    count: int = 1


class Scope(Struct, frozen=True):
    """What a run is able to find again: the real paths that it was given, standard input by its name, and its codes."""

    roots: tuple[str, ...]
    codes: frozenset[str]
    stdin: str = ""

    @classmethod
    def of(cls, paths: Sequence[str], codes: frozenset[str], stdin: str) -> Scope:
        roots = tuple(disk.real(path) for path in paths if path != "-")
        return cls(roots, codes, (stdin or STDIN) if "-" in paths else "")


class Baseline(Struct, frozen=True):
    """The accepted findings in a file. `path` is as the user gave it, `folder` the real folder that it lies in."""

    path: str
    folder: str
    rows: tuple[Accepted, ...] = ()

    def text(self) -> str:
        """The content of the file."""
        lines = [f'{{"version": {VERSION}, "findings": [']
        rows = [
            json.dumps(
                {
                    "file": row.file,
                    "code": row.code,
                    "object": row.object,
                    "fingerprint": row.fingerprint,
                    "count": row.count,
                }
            )
            for row in sorted(self.rows)
        ]
        return "\n".join([*lines, ",\n".join(rows), "]}"] if rows else ["".join(lines) + "]}"]) + "\n"

    def accept(self, findings: Iterable[Finding], scope: Scope) -> tuple[list[Finding], list[Accepted]]:
        """The findings with the accepted ones marked, and what is accepted and gone."""
        findings = list(findings)
        left: dict[str, Counter[str]] = defaultdict(Counter)
        for row in self.rows:
            left[row.fingerprint][row.file] += row.count
        accepted: set[int] = set()
        # Those in their own files come first: of two copies, the new one is to be told.
        for own_file in (True, False):
            for index, finding in enumerate(findings):
                files = left.get(finding.digest)
                if not files or finding.suppressed is not None or index in accepted:
                    continue
                file = self._file(finding) if own_file else next(iter(files))
                if file in files:
                    files[file] -= 1
                    files += Counter()  # lets go of what has come to nothing
                    accepted.add(index)
        reason = Suppressed(f"accepted in the baseline {self.path}", None, how="baseline")
        marked = [
            finding.with_suppression(reason) if index in accepted else finding for index, finding in enumerate(findings)
        ]
        return marked, list(self._gone(left, scope))

    def _gone(self, left: dict[str, Counter[str]], scope: Scope) -> Iterator[Accepted]:
        for row in self.rows:
            gone = min(row.count, left[row.fingerprint][row.file])
            if gone and self._in(scope, row):
                left[row.fingerprint][row.file] -= gone
                yield replace(row, count=gone)

    def renewed(self, findings: Iterable[Finding], scope: Scope) -> Baseline:
        """The baseline that accepts these findings, and what the run was not able to find again."""
        rows = Counter[Accepted]()
        for finding in findings:
            if finding.suppressed is None or finding.suppressed.how == "baseline":
                rows[Accepted(self._file(finding), finding.code, _name(finding), finding.digest)] += 1
        kept = [row for row in self.rows if not self._in(scope, row)]
        return replace(self, rows=(*(replace(row, count=count) for row, count in rows.items()), *kept))

    def beyond(self, other: Baseline) -> int:
        """How many findings this one accepts and another does not."""
        return (self._counts() - other._counts()).total()

    def _counts(self) -> Counter[str]:
        counts = Counter[str]()
        for row in self.rows:
            counts[row.fingerprint] += row.count
        return counts

    def _in(self, scope: Scope, row: Accepted) -> bool:
        """Whether a run would find it again, were it still there. A file that is no more holds no finding."""
        if row.code not in scope.codes:
            return False
        if scope.stdin and row.file == self._relative(scope.stdin):
            return True
        path = os.path.normpath(os.path.join(self.folder, row.file))
        return any(within(path, root) for root in scope.roots) or not disk.exists(path)

    def _file(self, finding: Finding) -> str:
        return self._relative(finding.place.source.path)

    def _relative(self, path: str) -> str:
        if path == STDIN:
            return path
        return os.path.relpath(disk.real(path), self.folder).replace(os.sep, "/")


def at(path: str) -> Baseline:
    """An empty baseline that is to be written at a path."""
    return Baseline(path, os.path.dirname(disk.real(path)))


def read(path: str) -> Baseline:
    """The baseline in a file. Raises BaselineProblem."""
    empty, shown = at(path), one_line(path)
    real = disk.real(path)
    data = read_file(FileId(path, real))
    if data is None:
        if disk.exists(real):
            raise BaselineProblem(f"the baseline {shown} cannot be read as a file")
        raise BaselineProblem(f"there is no baseline {shown}; `gaplint --write-baseline` writes it")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise BaselineProblem(f"the baseline {shown}{line} is not JSON: mend it, or {_REWRITE}") from error
    version = content.get("version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise BaselineProblem(
            f"the baseline {shown} has version {version}, and this gaplint knows version {VERSION}: "
            f"it was written by a newer one. Use that, or {_REWRITE}"
        )
    if version != VERSION or not isinstance(content.get("findings"), list):
        raise BaselineProblem(f"{shown} is no baseline of gaplint; name another file, or {_REWRITE}")
    return replace(empty, rows=tuple(_row(shown, row) for row in content["findings"]))


def _row(path: str, row: Any) -> Accepted:
    if isinstance(row, dict):
        texts: list[Any] = [row.get(key) for key in ("file", "code", "object", "fingerprint")]
        count = row.get("count", 1)
        if all(isinstance(text, str) for text in texts) and type(count) is int and count > 0:
            file, code, name, fingerprint = texts
            return Accepted(file, code, name, fingerprint, count)
    raise BaselineProblem(f"the baseline {path} holds {json.dumps(row)[:80]}, which is no finding; {_REWRITE}")


def _name(finding: Finding) -> str:
    subject = finding.subject
    name = f"{subject.namespace}/{subject.name}" if subject.namespace else subject.name
    return f"{subject.kind} {name}".rstrip()
