"""The command line: the help of each command, as it prints it."""

from __future__ import annotations

import importlib

import click

from docsite.text import front
from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.names import COMMANDS


def page() -> str:
    parts = [
        front(title="Command line", description="Every command of gaplint with its options"),
        "# Command line\n",
        "What `gaplint COMMAND --help` prints. Without a command, `check` is meant.\n",
    ]
    for name, line in COMMANDS.items():
        command: click.Command = importlib.import_module(f"kube_gaplint.cli.{name}").command
        context = click.Context(command, info_name=f"gaplint {name}", **{**CONTEXT, "terminal_width": 78})
        shown = command.get_help(context).strip()
        parts.append(f"## gaplint {name} {{ #{name} }}\n\n{line}\n\n```text\n{shown}\n```\n")
    return "\n".join(parts)
