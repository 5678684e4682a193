# ruff: noqa: PTH118, PTH120
# Paths are strings here, as in discover.
"""Which configuration file a run reads: the closest one, up to the root of the repository."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from kube_gaplint import disk
from kube_gaplint.discover import FileId, read_file, within
from kube_gaplint.disk import one_line

YAML_NAMES = (".gaplint.yaml", ".gaplint.yml")
PYPROJECT = "pyproject.toml"
_TABLE = b"tool.gaplint"


class ConfigFile(Struct, frozen=True):
    """A configuration file. `shown` is the path as the user reads it, `folder` the real folder that holds it."""

    shown: str
    folder: str
    data: bytes

    @property
    def is_toml(self) -> bool:
        return self.shown.endswith(".toml")


class ConfigProblem(Exception):
    """The configuration cannot be used. The message has a line for each mistake, with its place."""


def find(paths: Sequence[str]) -> ConfigFile | None:
    """The closest configuration file, or None.

    The search begins in the folder that all given paths lie in (standard input counts as the current folder) and ends
    at the git top level; without git, at the current folder where that is further up, else where it began. In one
    folder `.gaplint.yaml` comes before `pyproject.toml`. Raises ConfigProblem.
    """
    here = disk.real(os.curdir)
    folder = _common_folder(paths, here)
    last = disk.boundary_of(folder) or (here if within(folder, here) else folder)
    while True:
        found = _in_folder(folder, last, here)
        if found is not None or folder == last or folder == os.path.dirname(folder):
            return found
        folder = os.path.dirname(folder)


def in_folder(path: str) -> ConfigFile | None:
    """The configuration file that stands in a folder itself. Raises ConfigProblem."""
    folder = disk.real(path)
    return _in_folder(folder, folder, disk.real(os.curdir))


def read(path: str) -> ConfigFile:
    """The configuration file that the user named. Raises ConfigProblem."""
    real = disk.real(path)
    data = read_file(FileId(path, real))
    if data is None:
        reason = "no such file" if not disk.exists(real) else "it cannot be read as a file"
        raise ConfigProblem(f"{one_line(path)}: {reason}")
    return ConfigFile(path, os.path.dirname(real), data)


def _common_folder(paths: Sequence[str], here: str) -> str:
    folders = []
    for path in paths:
        real = here if path == "-" else disk.real(path)
        folders.append(real if disk.is_folder(real) else os.path.dirname(real))
    try:
        return os.path.commonpath(folders) if folders else here
    except ValueError:  # several drives
        return here


def _in_folder(folder: str, last: str, here: str) -> ConfigFile | None:
    for name in (*YAML_NAMES, PYPROJECT):
        path = os.path.join(folder, name)
        if disk.exists(path):
            found = _file(path, last, here)
            if name != PYPROJECT or _TABLE in found.data:
                return found
    return None


def _file(path: str, root: str, here: str) -> ConfigFile:
    shown = os.path.relpath(path, here) if within(path, here) else path
    real = disk.real(path)
    if not within(real, root):
        raise ConfigProblem(f"{shown}: it is a symbolic link out of {root}, which is not followed")
    data = read_file(FileId(shown, real, root))
    if data is None:
        raise ConfigProblem(f"{shown}: it cannot be read as a file")
    return ConfigFile(shown, os.path.dirname(path), data)
