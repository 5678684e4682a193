"""Shell scripts, read symbolically: what they run, with which words and environment. Nothing is executed.

The parts, each knowing only those before it:

    shell_text        ropes: text whose characters know where they were written
    shell_reader      where quotes, brackets and words end; shell_tokens: tokens
    shell_tree        statements; shell_parser: the grammar, from tokens to statements
    shell_state       variables, options, functions, with branches that can be taken back and merged
    shell_words       expansion of words, shell_parameters: of what `$` begins, into shell_sinks
    shell_calls       wrappers (`exec numactl …`), and how a shell is started
    shell_walk        control flow, with shell_flow (branches), shell_loops, shell_builtins, shell_files
                      (redirections) and shell_emit (commands, nested scripts)
"""

from __future__ import annotations

from collections.abc import Mapping

from kube_gaplint import collector
from kube_gaplint.launch.shared import Budget
from kube_gaplint.launch.shell_calls import Invocation, shebang
from kube_gaplint.launch.shell_emit import read
from kube_gaplint.launch.shell_process import login_environment
from kube_gaplint.model.command import Script, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Setting
from kube_gaplint.text.source import Files, PlacedText, no_files

__all__ = ["Files", "login_environment", "no_files", "read_script"]


def read_script(
    text: PlacedText,
    environment: Environment,
    *,
    shell: str = "",
    arguments: tuple[Word, ...] | None = (),
    zero: Word | None = None,
    files: Files = no_files,
    options: Mapping[str, bool] | None = None,
    parent: Script | None = None,
    budget: Budget | None = None,
    directory: Setting[str] | None = None,
) -> Script:
    """Read a script that is started with an environment.

    `shell`: the shell's name; by default that of the `#!` line, else bash. `arguments`: `$1` and so on; None where
    they are not known (a batch script that anybody may submit with arguments). `zero`: `$0`. `files` gives the text
    of a file by the path at which the process sees it. `options`: `errexit`, `pipefail`, `allexport` as switched on
    by the command line; those of the `#!` line are read from the text where `shell` is not given. `directory`: the
    working directory. Scripts that the script starts by `bash …` or by their path are followed as well: their
    commands stand in `Script.commands` in order, each with its own `script`.

    Nothing is raised for any text: what is not understood is in `errors`, what is not known is unknown.
    """
    switched = dict(options or {})
    if not shell:
        shell, found = shebang(text.text)
        switched = {**found, **switched}
    call = Invocation(shell, "file", None, zero, arguments, switched)
    with collector.kept_out():  # the budget bounds how many objects there are
        script = read(
            text,
            environment,
            call,
            files=files,
            budget=budget or Budget(),
            parent=parent,
            directory=directory,
        )
    script.form = ""
    return script
