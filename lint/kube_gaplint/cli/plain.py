"""Command lines that need no parser: paths, and the options that hooks and CI jobs give most.

click is a tenth of what a run on one manifest costs. What is written in the one way that leaves nothing to interpret is
read here; everything else, and every mistake, is left to click. The tests read with both and compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube_gaplint.cli.checking import Asked
from kube_gaplint.cli.inputs import Inputs
from kube_gaplint.report import FORMATS

HEEDED = frozenset({"--no-cache"})
"""Flags that did their work before this is loaded."""
INPUT_FLAGS = {"--isolated": "isolated", "--force-exclude": "force_exclude"}
"""Flags and the fields of `Inputs` that they set."""
FLAGS = {
    "-q": "quiet",
    "--quiet": "quiet",
    "--statistics": "statistics",
    "--changed": "changed",
    "--fail-if-empty": "fail_if_empty",
}
"""Flags and the fields of `Asked` that they set."""
CHOICES = {
    "--format": ("format_", FORMATS),
    "--color": ("color", ("auto", "always", "never")),
    "--min-severity": ("min_severity", ("error", "warning", "info")),
    "--fail-on": ("fail_on", ("error", "warning", "info", "never")),
}
"""Options, the fields of `Asked` that they set, and the values that are taken here."""


def read(arguments: Sequence[str]) -> Asked | None:
    """What a command line asks for; None where it takes click to say so."""
    paths: list[str] = []
    inputs: dict[str, Any] = {}
    others: dict[str, Any] = {}
    words = iter(arguments)
    for word in words:
        if word == "-" or not word.startswith("-"):
            paths.append(word)
        elif word in HEEDED:
            continue
        elif word in INPUT_FLAGS:
            inputs[INPUT_FLAGS[word]] = True
        elif word in FLAGS:
            others[FLAGS[word]] = True
        else:
            option, equals, value = word.partition("=")
            field, values = CHOICES.get(option, ("", ()))
            value = value if equals else next(words, "")
            if value not in values:
                return None
            others[field] = value
    return Asked(inputs=Inputs(tuple(paths) or (".",), **inputs), **others)
