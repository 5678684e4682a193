"""Commands as click reads them: options, help, mistakes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import click

from kube_gaplint.cli.app import CONTEXT
from kube_gaplint.cli.failure import Failure, Misuse
from kube_gaplint.cli.names import COMMANDS


def invoke(name: str, arguments: Sequence[str]) -> int:
    """Run a command of `COMMANDS` and return its exit code. Raises Failure."""
    command: click.Command = importlib.import_module(f"kube_gaplint.cli.{name}").command
    try:
        with command.make_context(f"gaplint {name}", list(arguments)) as context:
            return int(command.invoke(context))
    except click.exceptions.Exit as finished:  # --help
        return finished.exit_code
    except click.UsageError as problem:
        raise Misuse(problem.format_message()) from problem
    except click.ClickException as problem:
        raise Failure(problem.format_message()) from problem


def overview() -> str:
    """The help of `gaplint`: that of linting, with the commands."""
    from kube_gaplint.cli.check import command

    context = click.Context(command, info_name="gaplint", **CONTEXT)
    formatter = context.make_formatter()
    formatter.write_usage("gaplint", "[COMMAND] [OPTIONS] [PATH]...")
    command.format_help_text(context, formatter)
    with formatter.section("Commands"):
        formatter.write_dl(list(COMMANDS.items()))
    command.format_options(context, formatter)
    command.format_epilog(context, formatter)
    return formatter.getvalue()
