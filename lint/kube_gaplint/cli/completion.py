"""Completion in a shell: commands, options, their values, rules and files.

The shell asks by a variable: `bash_source` for the script that it is to read, `bash_complete` for what may stand at the
cursor; the same for zsh and fish.
"""

from __future__ import annotations

import importlib

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from kube_gaplint.cli import console
from kube_gaplint.cli.app import WRONG
from kube_gaplint.cli.names import COMMANDS, COMPLETION


class _Everything(click.Group):
    """All that may follow `gaplint`: a command, or the options and paths of `check`."""

    def __init__(self, shell: str) -> None:
        self.shell = shell
        super().__init__("gaplint", params=[one for one in _command("check").params if isinstance(one, click.Option)])

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        names = [CompletionItem(name, help=line) for name, line in COMMANDS.items() if name.startswith(incomplete)]
        files = [CompletionItem(incomplete, type="file")]
        if ctx.args:
            return files
        # The script for bash forgets what stood before files; that for zsh misreads what follows an empty value.
        return [*names, *files] if self.shell == "zsh" else [*files, *names]


def answer(instruction: str) -> int:
    """Print what the shell asks for. The result is the exit code."""
    shell, _, what = instruction.partition("_")
    kind = get_completion_class(shell)
    if kind is None or what not in ("source", "complete"):
        console.error(f"{COMPLETION}={instruction} asks for nothing; there are bash_source, zsh_source and fish_source")
        return WRONG
    completer = kind(_Everything(shell), {}, "gaplint", COMPLETION)
    # The class for bash would start bash to ask for its version.
    text = ShellComplete.source(completer) if what == "source" else completer.complete()
    console.write_out(f"{text}\n")
    return 0


def _command(name: str) -> click.Command:
    command: click.Command = importlib.import_module(f"kube_gaplint.cli.{name}").command
    return command
