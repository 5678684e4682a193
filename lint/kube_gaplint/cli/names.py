"""The names of the commands, for those who ask before anything heavy is imported."""

import os

COMMANDS = {
    "check": "Lint files and folders. This is what happens without a command.",
    "show": "Show what gaplint understood of each workload.",
    "explain": "Show the page of a rule or an incident.",
    "rules": "List the rules.",
    "incidents": "Search the incidents that the rules stand on.",
    "plan": "Compute failures, save intervals, restart budgets and goodput of a run.",
    "config": "Show the configuration in force, or the schema of configurations.",
    "cache": "Show where results are remembered, or forget them.",
    "init": "Write a configuration to start from.",
    "lsp": "Serve an editor by the Language Server Protocol.",
}
"""The commands with their line in the help; each is a module here with a click command `command`."""
ASKING = frozenset({"-h", "--help", "-V", "--version"})
"""Options that are answered instead of anything else."""
COMPLETION = "_GAPLINT_COMPLETE"
"""The variable by which a shell asks for completions."""


def is_check(arguments: list[str]) -> bool:
    """Whether a command line lints, and does not ask for help, versions or completions."""
    first = arguments[0] if arguments else ""
    lints = first == "check" or first not in COMMANDS
    return lints and ASKING.isdisjoint(arguments) and not os.environ.get(COMPLETION)
