"""Data files that come with a package, from the folder where they are installed.

`importlib.resources` also reads packages out of archives, which ours cannot be (they need compiled parsers), and brings
zipfile and tempfile along for it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def text(package: str, name: str) -> str:
    """A file beside the modules of a package, which is imported. Raises FileNotFoundError and ModuleNotFoundError."""
    return (_folder(package) / name).read_text(encoding="utf-8")


def names(package: str, folder: str) -> list[str]:
    """The names of what a folder beside the modules of a package holds, in order. Raises as `text` does."""
    return sorted(path.name for path in (_folder(package) / folder).iterdir())


def _folder(package: str) -> Path:
    return Path(import_module(package).__path__[0])
