"""`gaplint lsp`: gaplint in an editor."""

from __future__ import annotations

import gc
import importlib.util

import click

from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.failure import Failure
from kube_gaplint.cli.types import GroupedCommand


@click.command(cls=GroupedCommand, context_settings=CONTEXT)
def command() -> int:
    """Serve an editor by the Language Server Protocol, on standard input and output.

    It shows findings while a file is edited, judged with everything that the file refers to; explains them; and offers
    fixes and suppressions. How editors start it: docs/editors.md.
    """
    if importlib.util.find_spec("pygls") is None:
        raise Failure("this needs the extra `lsp`: pip install 'kube-gaplint[lsp]'")
    from kube_gaplint.lsp.server import serve

    gc.enable()
    serve()
    return 0
