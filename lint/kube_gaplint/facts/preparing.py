"""Commands that get something ready for the next one: nobody writes them to test something.

Behind `mkdir -p /logs && …` stands what is meant to run; behind `[ -e /done ] && …` or `grep -q` what may not.
Source: the programs' own manuals.
"""

from __future__ import annotations

from collections.abc import Sequence

_PROGRAMS = frozenset(
    {
        "touch", "mkdir", "mkfifo", "cp", "mv", "ln", "rm", "install", "chmod", "chown", "cd", "pushd", "echo",
        "printf", "export", "set", "source", ".", "date", "hostname", "whoami", "pwd", "env", "sleep", "true", ":",
        "pip", "pip3", "uv", "conda", "mamba", "apt-get", "apt", "apk", "dnf", "yum", "microdnf", "npm", "git",
        "wget", "tar", "unzip", "ssh-keygen", "service", "useradd", "adduser", "mount", "sysctl", "ulimit", "umask",
    }
)  # fmt: skip
_ASKING = frozenset({"diff", "diff-index", "diff-files", "rev-parse", "ls-remote", "status", "merge-base"})
"""Words of git with which a script asks something."""


def prepares(words: Sequence[str]) -> bool:
    """Whether a command only gets something ready. `words`: it and its arguments, as written."""
    if not words:
        return False
    name = words[0].rpartition("/")[2]
    if name in ("python", "python3"):
        return tuple(words[1:3]) == ("-m", "pip")
    return name in _PROGRAMS and (name != "git" or _ASKING.isdisjoint(words))
