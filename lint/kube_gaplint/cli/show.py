"""`gaplint show`: what gaplint understood of each workload."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.failure import did_you_mean
from kube_gaplint.cli.inputs import Inputs, read, understood
from kube_gaplint.cli.options import OUTPUT, color_option, with_inputs
from kube_gaplint.cli.types import CommaList, Grouped, GroupedCommand, Near
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.show import FORMATS, render

if TYPE_CHECKING:
    from kube_gaplint.engine import Reading
    from kube_gaplint.report.show.gather import Choice

_CHOICE = "What is shown"

_EXAMPLES = """\
gaplint show train.yaml                      all that is understood of a file
gaplint show jobs/ --kind PyTorchJob,sbatch  two kinds of workloads
gaplint show . --name 'llama-*'              objects by name
kustomize build . | gaplint show -           what a cluster would get
gaplint show --format json . | jq '.workloads[].purpose'"""


@click.command(cls=GroupedCommand, context_settings=CONTEXT, after=(("Examples", _EXAMPLES),))
@click.option(
    "--kind",
    "kinds",
    cls=Grouped,
    group=_CHOICE,
    type=CommaList("it names no kind; give PyTorchJob, sbatch, NodePool …"),
    multiple=True,
    metavar="KINDS",
    help="Only objects of these kinds, with commas: PyTorchJob, sbatch, NodePool, … Repeatable.",
)
@click.option(
    "--name",
    "names",
    cls=Grouped,
    group=_CHOICE,
    type=CommaList("it names no object."),
    multiple=True,
    metavar="NAMES",
    help="Only objects of these names, with commas; * and ? stand for any text, NAMESPACE/ may come first. Repeatable.",
)
@click.option(
    "--format",
    "format_",
    cls=Grouped,
    group=OUTPUT,
    type=Near(FORMATS),
    default="tree",
    metavar="FORMAT",
    help="tree (default) or json.",
)
@color_option
@click.option("-q", "--quiet", cls=Grouped, group=OUTPUT, is_flag=True, help="No summary, no hints.")
@with_inputs
def command(
    inputs: Inputs,
    kinds: tuple[tuple[str, ...], ...],
    names: tuple[tuple[str, ...], ...],
    format_: str,
    color: str,
    quiet: bool,
) -> int:
    """Show what gaplint understood of each workload, batch script and node pool, and judge nothing.

    Every value says where it comes from: a place in a file, a default, whoever injects it, or why it is not known.
    PATH is a file or a folder; without one it is the current folder, and `-` is standard input.
    """
    from kube_gaplint.report.show.gather import Choice

    reading = read(inputs.request())
    choice = Choice(tuple(one for many in kinds for one in many), tuple(one for many in names for one in many))
    shown = understood(reading, choice)
    options = RenderOptions(
        width=console.width(),
        color=console.wants_color(color, sys.stdout),
        ascii_only=console.is_ascii_only(sys.stdout),
        summary=not quiet,
    )
    console.write_out(render(format_, shown, options))
    if choice and not shown.summary.matched and not quiet:
        _nothing_matches(choice, reading)
    return 0


def _nothing_matches(choice: Choice, reading: Reading) -> None:
    """Say so on standard error, with what there is."""
    views: list[Any] = reading.model.views
    for word, wanted, there in (
        ("kind", choice.kinds, {view.subject.kind for view in views}),
        ("name", choice.names, {view.subject.name for view in views}),
    ):
        if wanted:
            names = sorted(there - {""})
            near = next(filter(None, (did_you_mean(one, names) for one in wanted)), "")
            some = f" There are {', '.join(names[:8])}{' …' if len(names) > 8 else ''}." if names and not near else near
            console.hint(f"nothing matches --{word} {','.join(wanted)}.{some}")
