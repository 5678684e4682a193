"""Hydra's composition of a configuration: the file that the command line names, and those that its defaults list takes
in (https://hydra.cc/docs/advanced/defaults_list/).

What comes later in the list wins, and the file's own keys win over the list unless `_self_` stands in it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from kube_gaplint.launch.config_files import Config, read_config
from kube_gaplint.model.setting import Origin, Set, Setting
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Files

_DEEPEST = 5
_MOST_FILES = 40
_SELF = "_self_"


class _Entry(Struct, frozen=True):
    """One line of a defaults list: the file, and the key below which its keys come."""

    file: str
    package: str
    problem: str = ""
    optional: bool = False
    """The file need not be there."""


def named_config(
    folder: str,
    name: str,
    origin: Origin,
    files: Files,
    standard: tuple[str, ...],
    chosen: Mapping[str, str] = MappingProxyType({}),
) -> Config | None:
    """The configuration `name` in `folder`; None where there is no such file. `standard`: names of configurations that
    the framework ships, whose values are its defaults. `chosen`: what the command line takes of a group instead, an
    empty text where that is not known."""
    own = name.removesuffix(".yaml")
    if posixpath.basename(own) in standard:
        return Config(own, origin)
    return _composed(folder, own, files, standard, 0, [0], chosen)


def _composed(
    folder: str,
    name: str,
    files: Files,
    standard: tuple[str, ...],
    depth: int,
    read: list[int],
    chosen: Mapping[str, str],
) -> Config | None:
    path = posixpath.normpath(posixpath.join(folder, name + ".yaml"))
    read[0] += 1
    text = files(path) if depth <= _DEEPEST and read[0] <= _MOST_FILES else None
    if text is None:
        return None
    config = read_config(text, path)
    if not any(key == "defaults" or key.startswith("defaults.") for key in config.values):
        return config
    values: dict[str, Setting[str]] = {}
    written: dict[str, str] = {}
    problem = ""
    entries = list(_entries(config, chosen))
    if all(entry.file != _SELF for entry in entries):
        entries.append(_Entry(_SELF, ""))
    for entry in entries:
        if entry.file == _SELF:
            own = {key: value for key, value in config.values.items() if key.partition(".")[0] != "defaults"}
            values.update(own)
            written.update(config.written)
            continue
        if posixpath.basename(entry.file) in standard:
            continue
        around = posixpath.dirname(name) if not entry.file.startswith("/") else ""
        part = None
        if not entry.problem:
            file = posixpath.join(around, entry.file.lstrip("/"))
            part = _composed(folder, file, files, standard, depth + 1, read, chosen)
        if part is None and entry.optional:
            continue
        if part is None:
            problem = problem or entry.problem or f"{path} takes in {entry.file}, which is not visible"
            continue
        problem = problem or part.open_because
        prefix = f"{entry.package}." if entry.package else ""
        values.update((Options.normal(prefix + key), value) for key, value in part.values.items())
        written.update((Options.normal(prefix + key), prefix + name) for key, name in part.written.items())
    return Config(path, config.home, values, written, problem)


def _entries(config: Config, chosen: Mapping[str, str]) -> Iterator[_Entry]:
    at = 0
    while at < _MOST_FILES:
        line = config.values.get(f"defaults.{at}")
        if line is not None:
            yield _line(line)
        else:
            start = f"defaults.{at}."
            pairs = [(config.written.get(key, key)[len(start) :], value) for key, value in config.values.items()
                     if key.startswith(start)]  # fmt: skip
            if not pairs:
                return
            for group, option in pairs:
                found = _choice(group, option, chosen)
                if found is not None:
                    yield found
        at += 1


def _line(line: Setting[str]) -> _Entry:
    if not isinstance(line, Set):
        return _Entry("", "", "a part of its defaults list is not known")
    file, _, package = line.value.partition("@")
    return _Entry(file, package)


def _choice(group: str, option: Setting[str], chosen: Mapping[str, str]) -> _Entry | None:
    """`group: option`; None for what only changes another choice, or chooses nothing."""
    words = group.split()
    name = words[-1] if words else ""
    folder, _, package = name.partition("@")
    taken = chosen.get(folder.strip("/"), option.value if isinstance(option, Set) else "null")
    if "override" in words[:-1] or taken == "null":
        return None
    if not taken:
        return _Entry("", "", f"what it takes of {folder} is not known")
    file = f"{folder}/{taken.removesuffix('.yaml')}"
    return _Entry(file, package or folder.strip("/").replace("/", "."), optional="optional" in words[:-1])
