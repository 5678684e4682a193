"""Which torch a project's own files ask for: the requirements beside a script whose software nobody else tells."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.facts.images import release
from kube_gaplint.facts.torch import COMPANIONS, WHEEL_INDEXES, torch_beside
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.training import Release
from kube_gaplint.text.source import Files, PlacedText, WholeText

_FILES = (
    "requirements.txt", "constraints.txt", "requirements.lock", "pyproject.toml", "uv.lock", "poetry.lock",
    "environment.yml", "environment.yaml", "setup.py", "setup.cfg",
)  # fmt: skip
_LARGEST = 3_000_000
_LARGEST_GUIDE = 200_000
_ASKED = lazy_re.compile(
    r"""(?m)^(?!\s*\#)[^\n\#]*?(?<![\w.-])(?:torch|pytorch)(?:\[[^\]\n]*\])?"""
    r"""["' ]*(?:(?P<exact>={1,3}(?!["' ]*[=^]))|=|>=?|~=)["' ^]*(?P<least>\d+(?:\.\d+)+)"""
)
"""A line that asks for torch at a release or a later one: `torch>=2.2`, `- pytorch=2.1.0`, `torch = "^2.3"`."""
_BESIDE = lazy_re.compile(
    rf"""(?m)^(?!\s*\#)[^\n\#]*?(?<![\w.-])(?P<name>{"|".join(COMPANIONS)})"""
    r"""["' ]*(?P<how>={1,3}|>=?|~=)["' ^]*(?P<least>\d+(?:\.\d+)+)"""
)
"""A line that asks for a package that belongs to one release of torch."""
_SAID = lazy_re.compile(
    r"""(?i)(?<![\w.-])(?:py)?torch[ \t`*_\])]*[(:]?(?:versions?|v|={1,3}|[>~]=|≥)?[ \t`*(]*v?"""
    r"""(?P<least>[0-2]\.\d+(?:\.\d+)*)"""
)
"""A release of torch in the words of a README or a command that installs it: `PyTorch 2.1`, `torch>=2.2`."""
_ENVIRONMENT = lazy_re.compile(
    r"""(?m)^[^\n\#]*\b(?:(?:conda|mamba|micromamba)[ \t]+activate|(?:source|\.)[ \t]+(?:\S*/)?activate)[ \t]+"""
    r"""["']?(?:\S*/)?(?P<name>[\w.-]+)"""
)
"""A command that activates one of conda's environments by its name or its path."""
_VENV = lazy_re.compile(
    r"""(?m)^[^\n#]*(?<![\w.-])(?:source|\.)[ \t]+(?!\S*(?:conda|mamba|forge))\S+/bin/activate["' \t]*(?:$|[;&|#])"""
)
"""A command that activates one of Python's virtual environments."""
_NAMED = lazy_re.compile(r"""(?m)^name:[ \t]*["']?(?P<name>[\w.-]+)""")
_CONDA_FILE = lazy_re.compile(r"(?m)^dependencies:")
_INDEX = lazy_re.compile(
    r"""(?m)^(?!\s*\#)[^\n\#]*?\bdownload\.pytorch\.org/whl/"""
    rf"""(?P<tag>{"|".join(map(re.escape, WHEEL_INDEXES))})(?![\w.])"""
)
"""A line that names one of PyTorch's own package indexes."""
_LOCKED = lazy_re.compile(r"""(?m)^name = "torch"\r?\nversion = "(?P<least>\d+(?:\.\d+)+)""")


class Activated(Struct, frozen=True):
    """Which environment a script activates, as far as its text says: lists of packages for others do not count."""

    conda: frozenset[str] = frozenset()
    """Names of conda's environments."""
    venv: bool = False
    """It is one of Python's own."""

    def keeps(self, text: PlacedText) -> bool:
        return not self.venv or not _CONDA_FILE.search(text.text)

    def named_by(self, text: PlacedText) -> bool:
        """Whether a conda file makes just this environment."""
        found = _NAMED.search(text.text)
        return found is not None and found["name"] in self.conda and _CONDA_FILE.search(text.text) is not None


ANY = Activated()


def activated(scripts: Iterable[str]) -> Activated:
    """What the texts of scripts activate."""
    texts = list(scripts)
    names = frozenset(found["name"] for text in texts for found in _ENVIRONMENT.finditer(text))
    return Activated(names, not names and any(_VENV.search(text) for text in texts))


_Groups: TypeAlias = Callable[[], Iterable[Iterable[WholeText]]]
"""Gives files, those of one folder after those of the other."""


def _none() -> Iterable[Iterable[WholeText]]:
    return ()


def asked_torch(
    files: Files, around: _Groups = _none, guides: _Groups = _none, environment: Activated = ANY
) -> Set[Release] | None:
    """The oldest torch that fits what the project asks for; None where no file of it says. Where several files of one
    folder say different things, the oldest of all. A folder inside another one has its own say: an example's pin counts
    before the range that the repository around it allows. The file of the conda environment that is activated counts
    alone.

    Packages that belong to one release of torch (triton, torchvision) tell it where torch is not named with a release.
    `around` gives the files whose names are no standard ones (`requirements-gpu.txt`): they count where no other says
    anything. `guides` gives READMEs and scripts that install: their words count where no list says anything.
    """
    texts = [(text, name) for name in _FILES if (text := files(name)) is not None and environment.keeps(text)]
    found, beside = _of_files([one for one in texts if environment.named_by(one[0])])
    listed: list[list[tuple[PlacedText, str]]] = []
    if environment.conda and not found:
        listed = list(_kept(around(), environment))
        for group in listed:
            found, _ = _of_files([one for one in group if environment.named_by(one[0])])
            if found:
                break
    if not found:
        found, beside = _of_files(texts)
    for group in (listed or _kept(around(), environment)) if not found else ():
        found, more = _of_files(group)
        beside = beside or more
        if found:
            break
    return min(_innermost(found or beside or _said(guides())), key=lambda one: one.value, default=None)


def indexed_torch(scripts: Iterable[PlacedText]) -> Set[Release] | None:
    """The oldest torch in the index from which a script itself installs packages."""
    return next((found for text in scripts for found in _of_index(text, "the script")), None)


def _of_index(text: PlacedText, who: str) -> Iterator[Set[Release]]:
    for match in _INDEX.finditer(text.text) if len(text.text) <= _LARGEST else ():
        tag = match["tag"]
        oldest = ".".join(map(str, WHEEL_INDEXES[tag]))
        note = f"{who} names PyTorch's index {tag}, which begins with torch {oldest}"
        yield Set(WHEEL_INDEXES[tag], Origin(text.place(*match.span("tag")), "derived", note))


def _kept(groups: Iterable[Iterable[WholeText]], environment: Activated) -> Iterator[list[tuple[PlacedText, str]]]:
    for group in groups:
        yield [(text, text.source.path) for text in group if environment.keeps(text)]


def _said(guides: Iterable[Iterable[WholeText]]) -> list[Set[Release]]:
    """The releases of torch that the nearest folder with one in its guides names."""
    for group in guides:
        found = [one for text in group for one in _words(text)]
        if found:
            return found
    return []


def _words(text: WholeText) -> Iterator[Set[Release]]:
    if len(text.text) > _LARGEST_GUIDE:
        return
    yield from _of_index(text, posixpath.basename(text.source.path))
    for match in _SAID.finditer(text.text):
        version = release(match["least"])
        if version is not None:
            note = f"{posixpath.basename(text.source.path)} speaks of torch {match['least']}"
            yield Set(version, Origin(text.place(*match.span("least")), "derived", note))


def _innermost(found: list[Set[Release]]) -> list[Set[Release]]:
    """Those in whose folders no other one has a folder of its own."""
    folders = {posixpath.dirname(one.origin.place.source.path) for one in found}
    outer = {folder for folder in folders if any(_lies_in(other, folder) for other in folders)}
    return [one for one in found if posixpath.dirname(one.origin.place.source.path) not in outer]


def _lies_in(inner: str, outer: str) -> bool:
    return inner != outer and (not outer or inner.startswith(outer.rstrip("/") + "/"))


def _of_files(texts: Iterable[tuple[PlacedText, str]]) -> tuple[list[Set[Release]], list[Set[Release]]]:
    """What files ask for by torch's own name, and by those of its companions."""
    found: list[Set[Release]] = []
    beside: list[Set[Release]] = []
    for text, path in texts:
        found.extend(_asked(text, path))
        told = _told_beside(text, path)
        if told is not None:
            beside.append(told)
    return found, beside


def _asked(text: PlacedText, path: str) -> Iterator[Set[Release]]:
    if len(text.text) > _LARGEST:
        return
    for start, end, exact in _places(text.text, path.endswith(".lock")):
        shown = text.text[start:end]
        least = release(shown)
        if least is not None:
            note = f"{posixpath.basename(path)} asks for torch {shown}" + ("" if exact else " or later")
            yield Set(least, Origin(text.place(start, end), "derived", note))


def _told_beside(text: PlacedText, path: str) -> Set[Release] | None:
    """The oldest torch that goes with its companions in one file, all of which have to fit."""
    found = list(_of_index(text, posixpath.basename(path)))
    for match in _BESIDE.finditer(text.text) if len(text.text) <= _LARGEST else ():
        version = release(match["least"])
        least = None if version is None else torch_beside(match["name"], version)
        if least is not None:
            later = "" if match["how"].startswith("=") else " or later"
            asked = f"{posixpath.basename(path)} asks for {match['name']} {match['least']}{later}"
            note = f"{asked}, which goes with torch {'.'.join(map(str, least))} or later"
            found.append(Set(least, Origin(text.place(*match.span("least")), "derived", note)))
    return max(found, key=lambda one: one.value) if found else None


@lru_cache(maxsize=64)
def _places(text: str, is_lock: bool) -> tuple[tuple[int, int, bool], ...]:
    """Where the releases stand, and whether no other one will do. All scripts of a folder share its requirements."""
    if is_lock and "name = " in text:
        return tuple((*found.span("least"), True) for found in _LOCKED.finditer(text))
    return tuple((*found.span("least"), found["exact"] is not None) for found in _ASKED.finditer(text))
