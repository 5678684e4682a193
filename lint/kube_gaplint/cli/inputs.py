"""What commands read: standard input, and the answer to paths that are not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from kube_gaplint.cli import console
from kube_gaplint.cli.app import COMMANDS
from kube_gaplint.cli.types import did_you_mean


def standard_input(paths: Sequence[str], filename: str) -> bytes | None:
    """The bytes of standard input where a path is `-`, else None. Raises click's errors for a wrong use."""
    if "-" not in paths:
        if filename:
            raise click.UsageError("--stdin-filename names standard input, but no path is `-`.")
        return None
    if sys.stdin is None:
        raise click.ClickException("standard input is closed")
    if sys.stdin.isatty():
        console.hint("reading manifests from the terminal; end them with Ctrl-D")
    return sys.stdin.buffer.read()


def wrong_paths(problem: Exception, paths: Sequence[str]) -> click.ClickException:
    """The error for a request that cannot be served; a missing path may be a misspelt command."""
    for path in paths:
        if path != "-" and not os.path.lexists(path):
            near = did_you_mean(path, COMMANDS)
            if near:
                return click.ClickException(f"{problem}\nThere is no command {path!r} either.{near}")
    return click.ClickException(str(problem))
