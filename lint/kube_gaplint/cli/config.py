"""`gaplint config`: the configuration in force, and the schema of what one may hold."""

from __future__ import annotations

import click

from kube_gaplint.cli import console
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.inputs import Inputs
from kube_gaplint.cli.options import CONFIG_OPTIONS
from kube_gaplint.cli.types import Grouped, GroupedCommand, Near
from kube_gaplint.report.escape import visible

_EXAMPLES = """\
gaplint config show                 what is in force here, and where it comes from
gaplint config show jobs/llama      what is in force for a run over that folder
gaplint config schema               the JSON schema, for an editor"""


@click.command(cls=GroupedCommand, context_settings=CONTEXT, after=(("Examples", _EXAMPLES),))
@click.argument("what", type=Near(("show", "schema")), default="show", metavar="[show|schema]")
@click.argument("paths", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--format",
    "format_",
    cls=Grouped,
    group="Output",
    type=Near(("yaml", "json")),
    default="yaml",
    metavar="FORMAT",
    help="yaml (default) or json.",
)
@CONFIG_OPTIONS[0]
@CONFIG_OPTIONS[1]
def command(what: str, paths: tuple[str, ...], format_: str, config_path: str, isolated: bool) -> int:
    """Show the configuration in force for a run over PATH, or the schema of configurations.

    The closest .gaplint.yaml or pyproject.toml with [tool.gaplint] counts, from the folder that all paths lie in up to
    the root of the repository. Options of `gaplint check` come before it.
    """
    if what == "schema":
        from kube_gaplint.config import schema

        console.write_out(schema.text())
        return 0
    from kube_gaplint.config import show

    config = Inputs(paths or (".",), config_path=config_path, isolated=isolated).config
    if format_ == "json":
        console.write_out(show.as_json(config))
    else:
        console.write_out("".join(f"{visible(line)}\n" for line in show.as_yaml(config).splitlines()))
    return 0
