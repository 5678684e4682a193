"""Which torch a project's own files ask for: the requirements beside a script whose software nobody else tells."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from kube_gaplint import lazy_re
from kube_gaplint.facts.images import release
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.training import Release
from kube_gaplint.text.source import Files, PlacedText, WholeText

_FILES = (
    "requirements.txt", "constraints.txt", "requirements.lock", "pyproject.toml", "uv.lock", "poetry.lock",
    "environment.yml", "environment.yaml", "setup.py", "setup.cfg",
)  # fmt: skip
_LARGEST = 3_000_000
_ASKED = lazy_re.compile(
    r"""(?m)^(?!\s*\#)[^\n\#]*?(?<![\w.-])(?:torch|pytorch)(?:\[[^\]\n]*\])?"""
    r"""["' ]*(?:(?P<exact>={2,3}(?!=))|=|>=?|~=)["' ^]*(?P<least>\d+(?:\.\d+)+)"""
)
"""A line that asks for torch at a release or a later one: `torch>=2.2`, `- pytorch=2.1.0`, `torch = "^2.3"`."""
_LOCKED = lazy_re.compile(r"""(?m)^name = "torch"\r?\nversion = "(?P<least>\d+(?:\.\d+)+)""")


def asked_torch(files: Files, around: Callable[[], Iterable[Iterable[WholeText]]] = lambda: ()) -> Set[Release] | None:
    """The oldest torch that fits what the project asks for; None where no file of it says. Where several files say
    different things, the oldest of all.

    `around` gives the files whose names are no standard ones (`requirements-gpu.txt`), of one folder after the other:
    they count where no other says anything.
    """
    found = [one for name in _FILES if (text := files(name)) is not None for one in _asked(text, name)]
    for texts in around() if not found else ():
        found = [one for text in texts for one in _asked(text, text.source.path)]
        if found:
            break
    return min(found, key=lambda one: one.value) if found else None


def _asked(text: PlacedText, path: str) -> Iterator[Set[Release]]:
    if len(text.text) > _LARGEST:
        return
    for start, end, exact in _places(text.text, path.endswith(".lock")):
        shown = text.text[start:end]
        least = release(shown)
        if least is not None:
            note = f"{posixpath.basename(path)} asks for torch {shown}" + ("" if exact else " or later")
            yield Set(least, Origin(text.place(start, end), "derived", note))


@lru_cache(maxsize=64)
def _places(text: str, is_lock: bool) -> tuple[tuple[int, int, bool], ...]:
    """Where the releases stand, and whether no other one will do. All scripts of a folder share its requirements."""
    if is_lock and "name = " in text:
        return tuple((*found.span("least"), True) for found in _LOCKED.finditer(text))
    return tuple((*found.span("least"), found["exact"] is not None) for found in _ASKED.finditer(text))
