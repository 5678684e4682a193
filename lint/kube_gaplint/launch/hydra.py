"""Hydra's composition of a configuration: the file that the command line names, and those that its defaults list takes
in (https://hydra.cc/docs/advanced/defaults_list/).

What comes later in the list wins, and the file's own keys win over the list unless `_self_` stands in it. A file says
by `# @package _global_` that its keys stand at the top, and by `override /group: option` what is taken of a group.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.launch.config_files import Config, read_config
from kube_gaplint.model.setting import Origin, Set, Setting
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Files

_DEEPEST = 5
_MOST_FILES = 40
_SELF = "_self_"
_PACKAGE = lazy_re.compile(
    r"\A(?:[ \t]*(?:#[^\n]*)?\n)*?[ \t]*#[ \t]*@package[ \t]+(?P<name>[\w.]+)[ \t]*$", re.MULTILINE
)
_GLOBAL = "_global_"
_LONGEST_HEAD = 4000
"""Characters in which a file says its package: it stands above the first key."""
_NUMBER = lazy_re.compile(r"\.\d+\Z")
"""Which of several files of one group an entry is: `callbacks: [early, late]`."""


class _Entry(Struct, frozen=True):
    """One line of a defaults list: the file, and the key below which its keys come."""

    file: str
    package: str
    problem: str = ""
    optional: bool = False
    """The file need not be there."""
    explicit: bool = False
    """The list itself says the key, whatever the file says."""


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
    path = _path(folder, name)
    read[0] += 1
    text = files(path) if depth <= _DEEPEST and read[0] <= _MOST_FILES else None
    if text is None:
        return None
    config = read_config(text, path)
    listed = any(key == "defaults" or key.startswith("defaults.") for key in config.values)
    appended = [] if depth else _appended(config, chosen)
    if not listed and not appended:
        return config
    if not depth:
        chosen = {**_overridden((*_entries(config, chosen), *appended), folder, files), **chosen}
    values: dict[str, Setting[str]] = {}
    written: dict[str, str] = {}
    raw: dict[str, Set[str]] = {}
    problem = "" if listed else config.open_because
    entries = list(_entries(config, chosen))
    if all(entry.file != _SELF for entry in entries):
        entries.append(_Entry(_SELF, ""))
    entries += appended
    for entry in entries:
        if entry.file == _SELF:
            own = {key: value for key, value in config.values.items() if key.partition(".")[0] != "defaults"}
            values.update(own)
            written.update(config.written)
            raw.update(config.raw)
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
        package = entry.package if entry.explicit else _package(folder, file, files) or entry.package
        prefix = "" if package in ("", _GLOBAL) else f"{package}."
        values.update((Options.normal(prefix + key), value) for key, value in part.values.items())
        written.update((Options.normal(prefix + key), prefix + name) for key, name in part.written.items())
        raw.update((Options.normal(prefix + key), value) for key, value in part.raw.items())
    return Config(path, config.home, values, written, problem, raw)


def _entries(config: Config, chosen: Mapping[str, str]) -> Iterator[_Entry]:
    for line in _lines(config):
        if not isinstance(line, list):
            yield _line(line)
            continue
        for group, option in line:
            found = _choice(group, option, chosen)
            if found is not None:
                yield found


def _lines(config: Config) -> Iterator[Setting[str] | list[tuple[str, Setting[str]]]]:
    """The lines of the defaults list: the name of a file, or groups with what is taken of them."""
    for at in range(_MOST_FILES):
        line = config.values.get(f"defaults.{at}")
        if line is not None:
            yield line
            continue
        start = f"defaults.{at}."
        pairs = [(config.written.get(key, key)[len(start) :], value) for key, value in config.values.items()
                 if key.startswith(start)]  # fmt: skip
        if not pairs:
            return
        several = {_NUMBER.sub("", group) for group, _ in pairs if _NUMBER.search(group)}
        yield [(_NUMBER.sub("", group), option) for group, option in pairs if group not in several]


def _groups(config: Config) -> Iterator[tuple[str, str, bool]]:
    """The groups in the defaults list, what is taken of each, and whether another list is overridden."""
    for line in _lines(config):
        for group, option in line if isinstance(line, list) else ():
            *words, name = group.split() or [""]
            yield name.partition("@")[0].strip("/"), _taken(option), "override" in words


def _taken(option: Setting[str]) -> str:
    return option.value if isinstance(option, Set) else "null"


def _overridden(entries: Iterable[_Entry], folder: str, files: Files) -> dict[str, str]:
    """What the files that a list takes in choose of its other groups (`override /trainer: long`)."""
    found: dict[str, str] = {}
    for entry in entries:
        text = files(_path(folder, entry.file.lstrip("/"))) if entry.file not in ("", _SELF) else None
        if text is not None and "override" in text.text:
            groups = _groups(read_config(text, entry.file + ".yaml"))
            found.update((group, option) for group, option, overrides in groups if overrides)
    return found


def _appended(config: Config, chosen: Mapping[str, str]) -> list[_Entry]:
    """What the command line takes of groups that the list does not have (`+experiment=long`); a key that is no group
    has no file."""
    listed = {group for group, _, overrides in _groups(config) if not overrides}
    return [
        _Entry(f"{group}/{option.removesuffix('.yaml')}", group.replace("/", "."), optional=True)
        for group, option in chosen.items()
        if option and group not in listed and "@" not in group
    ]


def _path(folder: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(folder, name + ".yaml"))


def _package(folder: str, name: str, files: Files) -> str:
    """The key that a file says itself by `# @package`; empty where it says none."""
    text = files(_path(folder, name))
    found = _PACKAGE.match(text.text[:_LONGEST_HEAD]) if text is not None else None
    return "" if found is None or found["name"] in ("_group_", "_name_") else found["name"]


def _line(line: Setting[str]) -> _Entry:
    if not isinstance(line, Set):
        return _Entry("", "", "a part of its defaults list is not known")
    file, _, package = line.value.partition("@")
    return _Entry(file, package, explicit=bool(package))


def _choice(group: str, option: Setting[str], chosen: Mapping[str, str]) -> _Entry | None:
    """`group: option`; None for what only changes another choice, or chooses nothing."""
    words = group.split()
    name = words[-1] if words else ""
    folder, _, package = name.partition("@")
    taken = chosen.get(folder.strip("/"), _taken(option))
    if "override" in words[:-1] or taken == "null":
        return None
    if not taken:
        return _Entry("", "", f"what it takes of {folder} is not known")
    file = f"{folder}/{taken.removesuffix('.yaml')}"
    default = folder.strip("/").replace("/", ".")
    return _Entry(file, package or default, optional="optional" in words[:-1], explicit=bool(package))
