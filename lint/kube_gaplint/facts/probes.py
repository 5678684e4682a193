"""What the commands of probes ask.

Sources: procps (pgrep, pidof, ps), coreutils (test, cat), NVIDIA's and AMD's tools: each answers from the kernel, the
file system or the driver. Dates (`date`, `find -mmin`, `stat`) are left out: they tell how old a heartbeat is.
"""

from __future__ import annotations

from kube_gaplint import lazy_re

ASKS_NO_PROGRAM = frozenset({
    "pgrep", "pidof", "ps", "kill", "grep", "egrep", "fgrep", "awk", "head", "tail", "wc", "tr", "cut", "sort",
    "nvidia-smi", "rocm-smi", "amd-smi", "test", "[", "[[", "cat", "ls", "echo", "printf", "true", "false", "exit", ":",
})  # fmt: skip
"""Commands that a training program need not answer: they are done at once, however busy it is."""

PARTS = lazy_re.compile(r"\|\|?|&&?|;|\n|\$\(|`|[()]")
"""What stands between the commands of a line of shell."""
WORDS_BEFORE = frozenset({"if", "then", "else", "elif", "fi", "!", "exec", "while", "do", "done", "sudo", "command"})
"""Words of the shell that a command may follow."""
