"""`gaplint check`: lint files and folders."""

from __future__ import annotations

from typing import Any

import click

from kube_gaplint.__main__ import version
from kube_gaplint.cli import checking, console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.inputs import Inputs
from kube_gaplint.cli.options import OUTPUT, color_option, with_inputs
from kube_gaplint.cli.types import (
    File,
    FormatAndFile,
    Grouped,
    GroupedCommand,
    IncidentId,
    Jobs,
    Near,
    RuleList,
)
from kube_gaplint.facts.candidates import BASELINE_NAME
from kube_gaplint.report import FORMATS

_SEVERITIES = ("error", "warning", "info")
_SELECTION = "What is reported"
_FIXES = "Fixes"
_ADOPTION = "Living with findings"
_INPUT = "Input"

_EXAMPLES = """\
gaplint train/ nodes/               lint two folders
helm template . | gaplint -         lint what a cluster would get
gaplint --select NCCL,CKPT .        two families of rules
gaplint --min-severity info .       show notes, too
gaplint --diff .                    show what --fix would change
gaplint --format github .           annotate a pull request
gaplint --output json=out.json .    report on the terminal, JSON in a file
gaplint explain NCCL001             why a rule exists, with its incident"""
_EXIT_CODES = """\
0    nothing at or above --fail-on
1    findings (or --diff would change something)
2    the run itself is wrong: usage, an unknown code, a missing path, a crash
3    nothing to check, with --fail-if-empty
130  interrupted (143: terminated)
141  whoever read the report went away (| head)"""


def _tell_version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        console.write_out(f"{version()}\n")
        context.exit()


@click.command(
    cls=GroupedCommand,
    context_settings=CONTEXT,
    after=(("Examples", _EXAMPLES), ("Exit codes", _EXIT_CODES)),
)
@click.option(
    "--select",
    cls=Grouped,
    group=_SELECTION,
    type=RuleList(),
    multiple=True,
    metavar="RULES",
    help="Only these rules: codes, families (NCCL) or names, with commas; instead of the configuration's. Repeatable.",
)
@click.option(
    "--ignore",
    cls=Grouped,
    group=_SELECTION,
    type=RuleList(),
    multiple=True,
    metavar="RULES",
    help="All but these rules. Repeatable.",
)
@click.option(
    "--incident",
    "incidents_",
    cls=Grouped,
    group=_SELECTION,
    type=IncidentId(),
    multiple=True,
    metavar="ID",
    help="Only the rules that would have found something in this incident (IL-0125), their notes included. "
    "Repeatable; `gaplint incidents` lists all incidents.",
)
@click.option(
    "--min-severity",
    cls=Grouped,
    group=_SELECTION,
    type=Near(_SEVERITIES),
    metavar="SEVERITY",
    help="Show findings from here up: error, warning (default) or info. The summary counts what is hidden.",
)
@click.option(
    "--fail-on",
    cls=Grouped,
    group=_SELECTION,
    type=Near((*_SEVERITIES, "never")),
    metavar="SEVERITY",
    help="Exit with 1 from here up: error, warning (default), info or never.",
)
@click.option(
    "--format",
    "format_",
    cls=Grouped,
    group=OUTPUT,
    type=Near(FORMATS),
    default="full",
    metavar="FORMAT",
    help=f"Format on standard output: {', '.join(FORMATS)}. Default: full.",
)
@click.option(
    "--output",
    "outputs",
    cls=Grouped,
    group=OUTPUT,
    type=FormatAndFile(FORMATS),
    multiple=True,
    metavar="FORMAT=FILE",
    help="Write a report to a file as well. Repeatable.",
)
@color_option
@click.option("-q", "--quiet", cls=Grouped, group=OUTPUT, is_flag=True, help="Findings only: no summary, no hints.")
@click.option(
    "--statistics",
    cls=Grouped,
    group=OUTPUT,
    is_flag=True,
    help="Add counts by rule and by kind of workload (formats full and concise).",
)
@click.option(
    "--baseline",
    cls=Grouped,
    group=_ADOPTION,
    type=File(),
    metavar="FILE",
    default="",
    help="Findings in FILE are accepted: they do not count.",
)
@click.option("--no-baseline", cls=Grouped, group=_ADOPTION, is_flag=True, help="Leave the configured baseline alone.")
@click.option(
    "--write-baseline",
    cls=Grouped,
    group=_ADOPTION,
    is_flag=True,
    help=f"Accept all findings: write them to the baseline (default: {BASELINE_NAME}), and take out what is gone.",
)
@click.option(
    "--add-suppressions",
    cls=Grouped,
    group=_ADOPTION,
    metavar="REASON",
    help="Write a comment (or annotation) at every finding that suppresses it for REASON; with --diff only show them.",
)
@click.option(
    "--diff-base",
    cls=Grouped,
    group=_ADOPTION,
    metavar="REV",
    default="",
    help="Only findings that were not there where the branch left REV (a branch, tag or commit).",
)
@click.option(
    "--changed",
    cls=Grouped,
    group=_ADOPTION,
    is_flag=True,
    help="The paths are files that change, as hooks name them: read the repository around them, and report only "
    "findings with a place in them: also those of workloads that refer to them.",
)
@click.option(
    "--fix", cls=Grouped, group=_FIXES, is_flag=True, help="Make the safe fixes in the files, then report what remains."
)
@click.option(
    "--unsafe-fixes",
    cls=Grouped,
    group=_FIXES,
    is_flag=True,
    help="With --fix or --diff: also fixes that a person must look at.",
)
@click.option(
    "--diff",
    cls=Grouped,
    group=_FIXES,
    is_flag=True,
    help="Print what --fix would change as a patch, change nothing; exit 1 when it would.",
)
@click.option(
    "--fail-if-empty", cls=Grouped, group=_INPUT, is_flag=True, help="Exit with 3 when there was nothing to judge."
)
@click.option(
    "--jobs",
    cls=Grouped,
    group=_INPUT,
    type=Jobs(),
    default="auto",
    metavar="N",
    help="Processes to use; auto (default) chooses. The result is the same whatever the number.",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Show the versions of gaplint and its rules, and exit.",
)
@click.option(
    "--no-cache",
    cls=Grouped,
    group=_INPUT,
    is_flag=True,
    expose_value=False,  # it is heeded before this is loaded
    help="Judge everything again, and remember nothing. The result is the same; `gaplint cache` tells more.",
)
@with_inputs
def command(inputs: Inputs, **values: Any) -> int:
    """Find what will hang a GPU training run, lose its work or leave it dead, in its manifests, before it starts.

    PATH is a file or a folder; without one it is the current folder, and `-` is standard input.
    """
    return checking.run(checking.Asked(inputs=inputs, **values))
