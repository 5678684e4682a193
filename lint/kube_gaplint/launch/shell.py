"""Shell scripts, read symbolically: what they run, with which words and environment. Nothing is executed.

The parts: `shell_tokens` cuts words, `shell_tree` gives structure (tree-sitter), `shell_words` expands, `shell_state`
holds variables, `shell_walk` follows control flow, `shell_calls` knows wrappers and how shells are started.
"""

from __future__ import annotations

from collections.abc import Mapping

from kube_gaplint.launch.shell_state import Budget
from kube_gaplint.launch.shell_walk import Files, login_environment, no_files, read, shebang
from kube_gaplint.model.command import Script, Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Setting
from kube_gaplint.text.source import PlacedText

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
    return read(
        text,
        environment,
        shell=shell,
        arguments=arguments,
        zero=zero,
        files=files,
        options=switched,
        parent=parent,
        budget=budget or Budget(),
        directory=directory,
    )
