"""Fixtures under `fixtures/<CODE>/` and the marks in them.

`# expect: CODE [severity]` stands on the line that a finding must point at. Where a comment cannot stand there,
`# expect+N: CODE [severity]` stands N lines above it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Report, Severity

ROOT = Path(__file__).parent.parent / "fixtures"
MARK = re.compile(r"#\s*expect(?:\+(\d+))?:\s*([A-Z]+\d+)(?:\s+(error|warning|info))?")


@dataclass(frozen=True)
class Expected:
    file: str
    line: int
    code: str
    severity: str | None


def fixtures(prefix: str) -> list[Path]:
    """All fixtures whose name starts with `prefix`, in a stable order."""
    return sorted(path for path in ROOT.glob(f"*/{prefix}-*") if path.parent.name not in {"demo", "incidents"})


def expected(path: Path) -> Iterator[Expected]:
    """The marks in a fixture: one file, or a folder of files."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if not file.is_file():
            continue
        name = str(file.relative_to(path.parent))
        for number, line in enumerate(file.read_bytes().decode("utf-8", "replace").splitlines(), 1):
            for mark in MARK.finditer(line):
                yield Expected(name, number + int(mark[1] or 0), mark[2], mark[3])


def lint_copy(path: Path, folder: Path, *codes: str) -> Report:
    """Lint a copy of a fixture in an empty folder, so that nothing beside it plays a part."""
    target = folder / path.name
    if path.is_dir():
        shutil.copytree(path, target)
    else:
        shutil.copy(path, target)
    return lint(Request(paths=(str(target),), select=codes, min_severity=Severity.INFO))
