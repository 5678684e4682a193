# ruff: noqa: PTH118, PTH122
# Paths are strings here, as everywhere in the bundle.
"""Files that by their names tell what is to be installed: lists of packages, and the words of people about them."""

from __future__ import annotations

import os
from collections.abc import Callable

from kube_gaplint import disk, lazy_re

_LIST = lazy_re.compile(r"(?i)[\w.-]*req[\w.-]*\.(?:txt|in|ya?ml)|[\w.-]*(?:conda|env)[\w.-]*\.ya?ml")
"""How people call their lists of packages, misspelt ones included."""
_FOLDER_OF_LISTS = lazy_re.compile(
    r"(?i)(?:[\w.]*[-_])?(?:req(?:uirement)?s?|env(?:ironment)?s?|conda|dep(?:endencie)?s)(?:[-_][\w.-]*)?"
)
"""A folder in which every list is one of packages (`requirements/base.txt`, `envs/gpu.yml`)."""
_FOLDER_WITH_LISTS = lazy_re.compile(
    r"(?i)(?:[\w.]*[-_])?(?:docker|containers?|install(?:ation)?|setup)(?:[-_][\w.-]*)?"
)
_ENDINGS = frozenset({".txt", ".in", ".yml", ".yaml", ".lock"})
_GUIDE = lazy_re.compile(r"(?i)(?:[\w.-]*(?:readme|install|setup)[\w.-]*)\.(?:md|rst|txt|sh)|README")
_MOST = 20


def lists_around(folder: str) -> tuple[list[str], list[str]]:
    """The paths of the lists of packages in a folder, and of those in folders that it has for them."""
    inner: list[str] = []
    for name in disk.folder_names(folder):
        path = os.path.join(folder, name)
        if _FOLDER_OF_LISTS.fullmatch(name):
            inner += _named(path, lambda name: os.path.splitext(name)[1].lower() in _ENDINGS)
        elif _FOLDER_WITH_LISTS.fullmatch(name):
            inner += _named(path, _is_list)
    return _named(folder, _is_list), inner[:_MOST]


def guides(folder: str) -> list[str]:
    """The paths of the READMEs of a folder, and of its texts and scripts about how to install."""
    return _named(folder, lambda name: _GUIDE.fullmatch(name) is not None)


def _is_list(name: str) -> bool:
    return _LIST.fullmatch(name) is not None


def _named(folder: str, fits: Callable[[str], bool]) -> list[str]:
    return [os.path.join(folder, name) for name in disk.file_names(folder) if fits(name)][:_MOST]
