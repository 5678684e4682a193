"""What one rule says of a manifest or a batch script, for the tests of single rules."""

from __future__ import annotations

from pathlib import Path

from kube_gaplint.engine import Request, lint
from kube_gaplint.findings import Finding, Severity
from kube_gaplint.model.profile import Profile


def finding(code: str, text: str, profile: Profile | None = None) -> Finding | None:
    """The one finding of a rule in a text from standard input, of any severity; None where it is quiet."""
    request = Request(
        paths=("-",), stdin=text.encode(), select=(code,), min_severity=Severity.INFO, profile=profile or Profile()
    )
    return _only(request)


def finding_in(code: str, folder: Path, profile: Profile | None = None, /, **files: str) -> Finding | None:
    """The same of a folder with these files; a double underscore in a name stands for the point."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return _only(
        Request(paths=(str(folder),), select=(code,), min_severity=Severity.INFO, profile=profile or Profile())
    )


def _only(request: Request) -> Finding | None:
    findings = lint(request).findings
    assert len(findings) <= 1, [one.message for one in findings]
    return findings[0] if findings else None
