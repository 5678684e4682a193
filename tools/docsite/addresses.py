"""Where things stand on the site, as paths of its Markdown files, and links between them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "lint/kube_gaplint/report/schema.json": "schemas/report.json",
    "lint/kube_gaplint/report/library.schema.json": "schemas/incidents.json",
    "lint/kube_gaplint/report/show/show.schema.json": "schemas/show.json",
    "lint/kube_gaplint/config/schema.json": "schemas/config.json",
    "rules/kube_gaplint_rules/incidents.schema.json": "schemas/incident.json",
}
"""Files of the repository outside of docs/ that the site has too, with their place there."""
ROOT = Path(__file__).parent.parent.parent
_COPIES = "repository/"
"""Where copies of other files stand that pages lead to: tables, data."""

_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")


def rule(code: str) -> str:
    return f"rules/{code}.md"


def incident(identifier: str) -> str:
    return f"incidents/{identifier}.md"


def relative(target: str, page: str) -> str:
    """The link from a page to another one."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def rewritten(markdown: str, source: str, page: str) -> str:
    """The Markdown of a repository's file as that of a page of the site, with its links made to fit.

    `source` is the file's path in the repository. Raises KeyError for a link to what the site cannot have.
    """

    def link(match: re.Match[str]) -> str:
        path = _path(source, match[2])
        target = path.removeprefix("docs/") if path.startswith("docs/") else OUTSIDE.get(path) or _copy(path)
        return f"{match[1]}{relative(target, page)}{match[3] or ''}{match[4]}"

    return _LINK.sub(link, markdown)


def copies(markdown: str, source: str) -> Iterator[tuple[str, str]]:
    """The files that a page leads to and that have no page of their own: their place on the site and their path."""
    for match in _LINK.finditer(markdown):
        path = _path(source, match[2])
        if not path.startswith("docs/") and path not in OUTSIDE:
            yield _copy(path), path


def _path(source: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def _copy(path: str) -> str:
    """The place of a copy. Raises KeyError where there is no such file, or where it would become a page."""
    if path.endswith(".md") or not (ROOT / path).is_file():
        raise KeyError(path)
    return _COPIES + path
