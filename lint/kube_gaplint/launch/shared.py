"""What shells, launchers and frameworks share, whichever of them a command needs: files, and how much is followed."""

from __future__ import annotations

import posixpath
from typing import Final

from msgspec import Struct, field

from kube_gaplint.model.setting import Set, Setting, Unknown
from kube_gaplint.text.limits import COMMANDS, EXPANDED, WORDS, Limit, reached
from kube_gaplint.text.source import Files, Place, PlacedText

HOLE: Final = "\ue000"
"""Stands for an unknown part where a text with unknown parts is read as a script (a private-use character)."""


def path_of(setting: Setting[str] | None) -> str | None:
    """The path that a value is, as far as files can be looked up by it: below a folder that only the run tells, too."""
    return setting.value if isinstance(setting, Set) else setting.path if isinstance(setting, Unknown) else None


def in_directory(files: Files, path: str, directory: Setting[str] | None) -> PlacedText | None:
    """The text of a file by a path that may be relative to a working directory."""
    folder = path_of(directory)
    if folder and not path.startswith("/"):
        found = files(posixpath.normpath(posixpath.join(folder, path)))
        if found is not None:
            return found
    return files(path)


def module_files(name: str) -> tuple[str, ...]:
    """Where `python -m` finds a module by its dotted name: in the working directory, or in a `src` folder there."""
    path = name.replace(".", "/")
    return f"{path}.py", f"{path}/__main__.py", f"src/{path}.py", f"src/{path}/__main__.py"


class Budget(Struct, eq=False):
    """What one reading may still do; all scripts that it comes to share it, so that no script can blow it up."""

    commands: int = COMMANDS.most
    """Commands that are followed, those of functions once a call."""
    words: int = WORDS.most
    """Words and parts of words that expansion may give."""
    characters: int = EXPANDED.most
    """Characters that expansion may give."""
    depth: int = 0
    """Nesting of statements, calls, substitutions and scripts at this moment."""
    met: set[str] = field(default_factory=set)
    """The limits that were told of."""

    def spend(self, characters: int, words: int = 1) -> bool:
        """Take from the budget; False where it is used up."""
        self.characters -= characters
        self.words -= words
        return self.characters >= 0 and self.words >= 0

    def over(self, limit: Limit, place: Place) -> None:
        """Tell once that a limit was met."""
        if limit.of not in self.met:
            self.met.add(limit.of)
            reached(limit, place)

    @property
    def spent(self) -> bool:
        """Whether nothing more may be expanded."""
        return self.characters < 0 or self.words < 0
