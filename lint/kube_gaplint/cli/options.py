"""Options that several commands have, each said once."""

from __future__ import annotations

import click

from kube_gaplint.cli.types import Grouped, Near

OUTPUT = "Output"
"""The group of the help that says how things are shown."""

color_option = click.option(
    "--color",
    cls=Grouped,
    group=OUTPUT,
    type=Near(("auto", "always", "never")),
    default="auto",
    metavar="WHEN",
    help="auto (default; NO_COLOR switches it off), always or never.",
)
