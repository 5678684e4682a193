"""The formats of a report: one module each, imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from kube_gaplint.findings import Report
    from kube_gaplint.report.options import RenderOptions

FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson", "html")
"""Names of formats; each is a module of this package with `render(report, options) -> str`."""
FOR_PEOPLE = frozenset({"full", "concise"})
"""Formats that carry the closing lines and the unreadable files themselves."""


def render(name: str, report: Report, options: RenderOptions) -> str:
    """The report in a format. Raises KeyError for a format that does not exist."""
    if name not in FORMATS:
        raise KeyError(name)
    module = importlib.import_module(f"kube_gaplint.report.{name}")
    return cast("Callable[[Report, RenderOptions], str]", module.render)(report, options)
