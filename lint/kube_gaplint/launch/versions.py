"""Which torch and NCCL a container runs: declared, installed by a visible command, or known by its image."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.bundle.recipes import Recipes
from kube_gaplint.facts.images import UNKNOWN, contents, is_image_file, release
from kube_gaplint.facts.torch import shipped_nccl
from kube_gaplint.model.command import Command, Word
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Release
from kube_gaplint.text.source import Files, Place

_Held: TypeAlias = tuple[Setting[Release], Setting[Release], Setting[bool]]
"""The releases of torch and NCCL, and whether torch is there."""


def releases(
    image: Setting[str],
    profile: Profile,
    hints: Sequence[Command] = (),
    *,
    home: Origin,
    files: Files | None = None,
    recipes: Recipes | None = None,
) -> _Held:
    """The torch release, the NCCL release and whether torch is used at all, as far as each is known.

    `hints` are the container's commands in order: those that install torch or load a module of it count. `files`
    gives the text of a requirements file by its path; `recipes` the Dockerfile of an image that no table knows. `home`
    stands in where nothing better is there to point at. What the profile declares wins. A release from an image is
    derived: its origin's note says by what.
    """
    held = _of_image(image, home)
    if recipes is not None and not isinstance(image, Absent) and not any(isinstance(one, Set) for one in held):
        held = _of_recipe(image, recipes, home) or held
    torch, nccl, uses = _changed(held, _changes(hints, files))
    if profile.torch:
        declared = Origin(home.place, "derived", "declared as profile.torch")
        if not (isinstance(torch, Set) and torch.value[: len(profile.torch)] == profile.torch):
            torch = Set(profile.torch, declared)
            nccl = Unknown("the profile declares torch, but not the NCCL that comes with it", home)
    if profile.nccl:
        nccl = Set(profile.nccl, Origin(home.place, "derived", "declared as profile.nccl"))
    return torch, nccl, uses


def _of_image(image: Setting[str], home: Origin) -> _Held:
    if isinstance(image, Absent):
        unknown = Unknown("what is installed on the node is not seen", image.origin)
        return unknown, unknown, unknown
    if isinstance(image, Unknown) and is_image_file(image.prefix) and contents(image.prefix) is not UNKNOWN:
        image = Set(image.prefix, image.origin or home)
    if isinstance(image, Unknown):
        unknown = Unknown(f"the image is not known: {image.reason}", image.origin or home)
        return unknown, unknown, unknown
    found = contents(image.value)
    origin = Origin(image.origin.place, "derived", found.note, image.origin.chain)
    unknown = Unknown(f"the image {image.value} does not tell it", image.origin)
    return (
        unknown if found.torch is None else Set(found.torch, origin),
        unknown if found.nccl is None else Set(found.nccl, origin),
        unknown if found.uses_torch is None else Set(found.uses_torch, origin),
    )


def _of_recipe(image: Set[str] | Unknown, recipes: Recipes, home: Origin) -> _Held | None:
    """What the Dockerfile of an image puts into it; None where there is none."""
    reference = image.value if isinstance(image, Set) else image.prefix
    recipe = recipes(reference)
    if recipe is None:
        return None
    from kube_gaplint.launch.dockerfile import built

    image_built = built(recipe)
    if image_built is None:
        return None
    return _changed(_of_image(image_built.base, home), _changes(image_built.commands, image_built.files))


def _changed(held: _Held, changes: Iterable[_Change]) -> _Held:
    torch, nccl, uses = held
    for change in changes:
        if change.torch is not None:
            torch = change.torch
            uses = Set(True, change.origin)
        if change.nccl is not None:
            nccl = change.nccl
    return torch, nccl, uses


class _Change(Struct, frozen=True):
    """What one command does to the installed releases; None: nothing."""

    torch: Setting[Release] | None
    nccl: Setting[Release] | None
    origin: Origin


_NO_NCCL = "which NCCL comes with it is not known"


def _changes(commands: Iterable[Command], files: Files | None) -> Iterator[_Change]:
    for command in commands:
        for change in _changes_of(command, files):
            if command.certainty in {"always", "repeated"} and not command.fallback:
                yield change
            else:
                reason = f"torch is installed by a command that runs only {command.condition or 'under a condition'}"
                unknown = Unknown(reason, change.origin)
                yield _Change(change.torch and unknown, change.nccl and unknown, change.origin)


_PYTHON = lazy_re.needing(("python",), r"python[\d.]*")
_PIP = lazy_re.needing(("pip",), r"pip[\d.]*")


def _changes_of(command: Command, files: Files | None) -> Iterator[_Change]:
    words = list(command.words)
    name = command.name
    if _PYTHON.fullmatch(name) and [word.known for word in words[1:3]] == ["-m", "pip"]:
        words, name = words[2:], "pip"
    if name in {"uv", "micromamba"} and len(words) > 1 and words[1].known == "pip":
        words, name = words[1:], "pip"
    if len(words) < 2:
        return
    verb = words[1].known
    if _PIP.fullmatch(name) and verb == "install":
        yield from _pip(words[2:], files)
    elif name in {"conda", "mamba", "micromamba"} and verb in {"install", "create"}:
        yield from _conda(words[2:])
    elif (name == "module" and verb in {"load", "add"}) or name == "ml":
        yield from _modules(words[1:])


_VALUE_OPTIONS = frozenset(
    {
        "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-c", "--constraint", "-t", "--target",
        "--prefix", "--root", "--cache-dir", "--timeout", "--trusted-host", "--retries", "--proxy", "--log",
        "--only-binary", "--no-binary", "--progress-bar", "--upgrade-strategy", "--python-version", "--platform",
        "-e", "--editable", "--config-settings", "--global-option", "--src", "-n", "--name", "-p", "--channel",
        "--no-build-isolation-package", "--torch-backend", "--python",
    }
)  # fmt: skip
_REQUIREMENT = lazy_re.compile(
    r"(?P<name>[A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<specifiers>(?:[<>=!~]=?=?[^;#]*)?)(?:[;#].*)?\Z", re.ASCII
)
_WHEEL = lazy_re.compile(r"(?:^|/)(?P<name>torch|nvidia_nccl_cu\d+)-(?P<version>\d+(?:\.\d+)+)", re.ASCII)
_MAX_REQUIREMENTS = 100_000


_RENEWS = frozenset({"-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed"})
"""Options with which an installed release does not satisfy a bare name."""


def _pip(words: Sequence[Word], files: Files | None) -> Iterator[_Change]:
    renews = any(word.known in _RENEWS for word in words)
    takes_value = ""
    for word in words:
        text = word.known
        if takes_value:
            if takes_value in {"-r", "--requirement"}:
                yield from _requirements_file(word, files)
            takes_value = ""
        elif text is None:
            yield from _unknown_word(word)
        elif text in _VALUE_OPTIONS or text in {"-r", "--requirement"}:
            takes_value = text
        elif text.startswith("--requirement="):
            yield from _requirements_file(word.from_offset(len("--requirement=")), files)
        elif not text.startswith("-"):
            yield from _requirement(text, word.place, renews=renews)


def _unknown_word(word: Word) -> Iterator[_Change]:
    """`torch==${VERSION}` changes torch to something unknown; `$PACKAGES` may."""
    prefix = word.prefix
    if not prefix or re.match(r"torch(?![\w-])", prefix) or prefix in {"t", "to", "tor", "torc"}:
        unknown = Unknown("a value that is not known decides which torch is installed", Origin(word.place))
        yield _Change(unknown, unknown, Origin(word.place))


def _requirement(text: str, place: Place, *, renews: bool = False) -> Iterator[_Change]:
    """One requirement as pip takes it: a name with version specifiers, or the address of a wheel."""
    origin = Origin(place)
    wheel = _WHEEL.search(text)
    found = None if wheel else _REQUIREMENT.match(text.strip())
    if wheel is not None:
        name, version = wheel["name"].replace("_", "-"), release(wheel["version"])
    elif found is not None:
        name, version = found["name"].lower().replace("_", "-"), _pinned(found["specifiers"])
        if not found["specifiers"].strip() and not renews:
            return  # an installed torch satisfies it; which one it is, the image tells or nobody does
    else:
        return
    if name == "torch":
        if version is None:
            reason = f"“{text}” leaves the release open"
            yield _Change(Unknown(reason, origin), Unknown(reason, origin), origin)
            return
        nccl = None if version >= (2, 6) and "cu11" in text else shipped_nccl(version)
        derived = Origin(place, "derived", f"NCCL as the wheel of torch {'.'.join(map(str, version))} brings it")
        yield _Change(Set(version, origin), Unknown(_NO_NCCL, origin) if nccl is None else Set(nccl, derived), origin)
    elif re.fullmatch(r"nvidia-nccl-cu\d+", name):
        unknown = Unknown(f"“{text}” leaves the release open", origin)
        yield _Change(None, unknown if version is None else Set(version, origin), origin)


def _pinned(specifiers: str) -> Release | None:
    """The release that version specifiers leave, as far as they pin it: `==2.1.*` gives (2, 1)."""
    for specifier in map(str.strip, specifiers.split(",")):
        if specifier.startswith("==="):
            return release(specifier[3:].strip())
        if specifier.startswith("=="):
            return release(specifier[2:].strip())
        if specifier.startswith("~="):
            found = release(specifier[2:].strip())
            return found[:-1] if found and len(found) > 2 else None
    return None


def _requirements_file(word: Word, files: Files | None) -> Iterator[_Change]:
    path = word.known
    text = files(path) if files is not None and path is not None else None
    if text is None:
        reason = f"{path or 'a requirements file'} is not in the paths and may install another torch"
        unknown = Unknown(reason, Origin(word.place))
        yield _Change(unknown, unknown, Origin(word.place))
        return
    at = 0
    for line in text.text[:_MAX_REQUIREMENTS].splitlines(keepends=True):
        stripped = line.split(" #", 1)[0].strip()
        if stripped and not stripped.startswith(("#", "-")):
            start = at + line.index(stripped)
            yield from _requirement(stripped, text.place(start, start + len(stripped)))
        at += len(line)


_CONDA = lazy_re.compile(r"(?:[\w-]+::)?(?:pytorch|torch)(?P<specifier>[=<>!~].*)\Z", re.ASCII)


def _conda(words: Sequence[Word]) -> Iterator[_Change]:
    for word in words:
        text = word.known
        if text is None:
            continue
        found = _CONDA.match(text)
        if found is None:
            continue
        origin = Origin(word.place)
        version = release(found["specifier"].lstrip("=")) if found["specifier"].startswith("=") else None
        unknown = Unknown(f"“{text}” leaves the release open", origin)
        yield _Change(unknown if version is None else Set(version, origin), Unknown(_NO_NCCL, origin), origin)


_MODULE = lazy_re.compile(
    r"(?:^|/)pytorch(?:[-_][\w-]+)?(?:/[a-z][\w.-]*)*/v?(?P<version>\d+\.\d+(?:\.\d+)*)", re.I | re.ASCII
)


def _modules(words: Sequence[Word]) -> Iterator[_Change]:
    """Environment modules: `module load pytorch-gpu/py3/2.1.1`, `ml PyTorch/2.1.2-foss-2023a`."""
    for word in words:
        found = _MODULE.search(word.known or "")
        version = release(found["version"]) if found else None
        if version is not None:
            origin = Origin(word.place)
            yield _Change(Set(version, origin), Unknown(_NO_NCCL, origin), origin)
