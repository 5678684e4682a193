"""The real repositories that gaplint is tried on: a folder each, with a name and a commit."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

COMMITS = "COMMITS"
"""A file beside the folders, for snapshots that are no clones: `folder owner/name commit`, a line each."""


class Repository(Struct, frozen=True):
    """One checked-out repository."""

    folder: Path
    name: str
    """owner/name where it is known, else the folder's name."""
    commit: str
    """The full commit; empty where it is not known."""


def repositories(folders: Iterable[Path]) -> list[Repository]:
    """The given folders with their names and commits, by name.

    Raises:
        SystemExit: a folder is missing, or two folders hold the same repository.
    """
    found: dict[str, Repository] = {}
    for folder in folders:
        if not folder.is_dir():
            raise SystemExit(f"{folder}: no such folder")
        one = _listed(folder) or _cloned(folder) or Repository(folder, folder.resolve().name, "")
        if one.name in found:
            raise SystemExit(f"{folder} and {found[one.name].folder} are both {one.name}")
        found[one.name] = one
    return [found[name] for name in sorted(found, key=str.casefold)]


def _listed(folder: Path) -> Repository | None:
    listing = folder.resolve().parent / COMMITS
    if not listing.is_file():
        return None
    for line in listing.read_text(encoding="utf-8").splitlines():
        match line.split():
            case [name, repository, commit] if name == folder.resolve().name:
                return Repository(folder, repository, commit)
    return None


def _cloned(folder: Path) -> Repository | None:
    if not (folder / ".git").exists():
        return None
    origin = _git(folder, "remote", "get-url", "origin").removesuffix("/").removesuffix(".git")
    name = "/".join(origin.replace(":", "/").split("/")[-2:]) if origin else folder.resolve().name
    return Repository(folder, name, _git(folder, "rev-parse", "HEAD"))


def _git(folder: Path, *words: str) -> str:
    outcome = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    return outcome.stdout.strip() if outcome.returncode == 0 else ""
