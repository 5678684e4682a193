# ruff: noqa: PTH118, PTH123, PTH208
# Paths are strings here: pathlib is slow to import.
"""Data files that come with a package, from the folder where they are installed.

`importlib.resources` also reads packages out of archives, which ours cannot be (they need compiled parsers), and brings
zipfile and tempfile along for it.
"""

from __future__ import annotations

import os
from importlib import import_module


def text(package: str, name: str) -> str:
    """A file beside the modules of a package, which is imported. Raises FileNotFoundError and ModuleNotFoundError."""
    with open(os.path.join(_folder(package), name), encoding="utf-8") as file:
        return file.read()


def names(package: str, folder: str) -> list[str]:
    """The names of what a folder beside the modules of a package holds, in order. Raises as `text` does."""
    return sorted(os.listdir(os.path.join(_folder(package), folder)))  # noqa: TID251 - no folder of the user's


def _folder(package: str) -> str:
    return import_module(package).__path__[0]
