"""Options that several commands have, each said once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from kube_gaplint.cli.inputs import Inputs
from kube_gaplint.cli.types import File, Grouped, Near

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

_INPUT = "Input"
CONFIG_OPTIONS = (
    click.option(
        "--config",
        "config_path",
        cls=Grouped,
        group=_INPUT,
        type=File(),
        metavar="FILE",
        default="",
        help="Read this configuration instead of the closest .gaplint.yaml or pyproject.toml.",
    ),
    click.option("--isolated", cls=Grouped, group=_INPUT, is_flag=True, help="Read no configuration file."),
)
_OPTIONS = (
    click.argument("paths", nargs=-1, type=File()),
    click.option(
        "--stdin-filename",
        cls=Grouped,
        group=_INPUT,
        metavar="NAME",
        default="",
        help="What to call standard input (`-`).",
    ),
    click.option(
        "--exclude",
        cls=Grouped,
        group=_INPUT,
        multiple=True,
        metavar="PATTERN",
        help="Pass over paths that match, as in .gitignore; adds to the configuration. Repeatable.",
    ),
    click.option(
        "--force-exclude",
        cls=Grouped,
        group=_INPUT,
        is_flag=True,
        help="Pass over excluded paths even where they are named, as hooks do.",
    ),
    *CONFIG_OPTIONS,
)


def with_inputs(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the argument PATH and the options of `Inputs`, which it gets as its first argument."""

    @functools.wraps(command)
    def takes_options(
        *,
        paths: tuple[str, ...],
        stdin_filename: str,
        exclude: tuple[str, ...],
        force_exclude: bool,
        config_path: str,
        isolated: bool,
        **others: Any,
    ) -> int:
        inputs = Inputs(paths or (".",), stdin_filename, exclude, force_exclude, config_path, isolated)
        return command(inputs, **others)

    for option in reversed(_OPTIONS):
        takes_options = option(takes_options)
    return takes_options


def with_config(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options `--config` and `--isolated`."""
    for option in reversed(CONFIG_OPTIONS):
        command = option(command)
    return command
