"""`gaplint init`: a configuration to start from."""

from __future__ import annotations

from pathlib import Path

import click

from kube_gaplint import packaged
from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.failure import Failure
from kube_gaplint.cli.types import Grouped, GroupedCommand
from kube_gaplint.config import YAML_NAMES, ConfigProblem, find

_EXAMPLES = """\
gaplint init                  .gaplint.yaml in the current folder
gaplint init --stdout         print it instead"""


@click.command(cls=GroupedCommand, context_settings=CONTEXT, after=(("Examples", _EXAMPLES),))
@click.option("--stdout", cls=Grouped, group="Output", is_flag=True, help="Print the configuration, write no file.")
def command(stdout: bool) -> int:
    """Write a configuration to start from: every setting as a comment, with questions about your cluster.

    The answers make findings sharper: no manifest says how long a step takes or what restarts a run.
    """
    text = packaged.text("kube_gaplint.config", "starter.yaml")
    if stdout:
        console.write_out(text)
        return 0
    try:
        there = find.in_folder(".")
    except ConfigProblem as problem:
        raise Failure(str(problem)) from problem
    if there is not None:
        raise Failure(f"{there.shown} is there already; `gaplint init --stdout` prints a new one.")
    path = Path(YAML_NAMES[0])
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise Failure(f"cannot write {path}: {problem.strerror}") from problem
    console.write_out(f"{path} is written. Answer its questions about your cluster, then: gaplint config show\n")
    return 0
