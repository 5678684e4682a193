"""Where the cache lies, and why it may not be used there."""

from __future__ import annotations

import os

from kube_gaplint import filesystem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = "GAPLINT_CACHE_DIR"
"""The variable that names the folder."""
OFF = "GAPLINT_NO_CACHE"
"""The variable that switches the cache off, whatever it is set to."""
OPTION = "--no-cache"


def folder() -> str:
    """The folder of the cache: $GAPLINT_CACHE_DIR, else `gaplint` in $XDG_CACHE_HOME, else ~/.cache/gaplint.

    Empty where the user has no home.
    """
    if named := os.environ.get(FOLDER, ""):
        return named
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the specification has relative ones ignored
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            return ""
        base = os.path.join(home, ".cache")
    return os.path.join(base, "gaplint")


def switched_off(arguments: Sequence[str]) -> bool:
    """Whether the user wants no cache, by the command line or by the variable."""
    return OPTION in arguments or bool(os.environ.get(OFF))


def why_not(path: str, linted: Sequence[str] = ()) -> str:
    """Why the cache is not used, in words; empty where it is. `linted`: what may be paths that are linted.

    What lies in a git work tree or in a folder that is linted may come from a stranger: nothing there is believed.
    """
    if os.name != "posix":
        return "this system does not tell who owns a file and when it was changed last"
    if os.environ.get(OFF):
        return f"{OFF} is set"
    if not path:
        return "there is no home folder"
    if not os.path.isabs(path):
        return f"{FOLDER} is no absolute path"
    real = os.path.join(filesystem.real(os.path.dirname(path)), os.path.basename(path))
    if top := filesystem.boundary_of(real):
        return f"it lies in the git work tree {top}, where others may put files"
    for one in (os.curdir, *linted):
        around = os.path.normpath(os.path.join(os.getcwd(), one))
        if real == around or real.startswith(os.path.join(around, "")):
            return f"it lies in {around}, which is linted"
    home = os.path.dirname(os.path.dirname(path))
    if not filesystem.exists(home):  # what has no home gets none
        return f"there is no folder {home}"
    return ""
