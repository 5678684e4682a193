"""What Hydra gives a program: its configuration, and the classes and functions that this names as `_target_`.

`hydra.utils.instantiate` and `get_class` take them from the configuration that the script's `@hydra.main` and the
command line choose (https://hydra.cc/docs/advanced/instantiate_objects/overview/).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.launch.config_files import Config
from kube_gaplint.launch.hydra import named_config
from kube_gaplint.model.command import Word
from kube_gaplint.model.setting import Absent, Origin, Set
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Files

_MAIN = lazy_re.compile(r"@hydra\.main\((?P<arguments>.{0,600}?)\)\s*(?:#[^\n]*)?\n\s*(?:@|def )", re.DOTALL)
_PATH = lazy_re.compile(r"config_path\s*=\s*(?P<value>.*?)(?=,\s*\w+\s*=|,?\s*\Z)", re.DOTALL)
_NAME = lazy_re.compile(r"config_name\s*=\s*[\"'](?P<value>[^\"']+)[\"']")
_LITERAL = lazy_re.compile(r"[\"']([^\"']*)[\"']")
_OVERRIDE = lazy_re.compile(r"[+~]{0,2}(?P<key>[\w./@-]+)=(?P<value>.*)\Z", re.DOTALL)
_TARGET = Options.normal("_target_")
_NAMES = frozenset({"--config-name", "-cn"})
_FOLDERS = frozenset({"--config-path", "-cp", "--config-dir", "-cd"})


class Main(Struct, frozen=True):
    """What a script's `@hydra.main` gives it: the configuration, with the parts that the command line chooses."""

    config: Config
    folder: str
    overrides: tuple[tuple[str, str], ...]
    """What the command line changes, by key; an empty value is one that is not known."""


def main_config(script: str, path: str, words: Sequence[Word], home: Origin, files: Files) -> Main | None:
    """The configuration that a script is started with; None where it has none, or where it is not seen. `words` are
    the script's arguments, and `home` is where it is started."""
    found = _MAIN.search(script)
    if found is None:
        return None
    arguments = found["arguments"]
    place, name = _PATH.search(arguments), _NAME.search(arguments)
    literals = _LITERAL.findall(place["value"]) if place is not None else []
    given = _given(words)
    if not literals or given is None:
        return None
    chosen, overrides = given
    chosen = chosen or (name["value"] if name is not None else "")
    groups = {key: value for key, value in overrides if "." not in key}
    for folder in (posixpath.join(posixpath.dirname(path), literals[-1]), literals[-1]):
        config = named_config(folder, chosen, home, files, (), groups) if chosen else None
        if config is not None:
            return Main(config, folder, tuple(overrides))
    return None


def objects(script: str, path: str, words: Sequence[Word], home: Origin, files: Files) -> frozenset[str] | None:
    """The dotted names of all that the configuration of a script names; None where some of it is not seen."""
    main = main_config(script, path, words, home, files)
    if main is None or any(not value and "." not in key for key, value in main.overrides):
        return None
    return _all_of(main.config, main.folder, main.overrides, files)


def _given(words: Sequence[Word]) -> tuple[str, list[tuple[str, str]]] | None:
    """The configuration's name on the command line, and what the command line changes; None where that is not seen."""
    chosen, overrides = "", []
    waiting = iter(words)
    for word in waiting:
        option, equals, value = word.prefix.partition("=")
        if option in _FOLDERS or (word.known is None and not equals):
            return None
        if option in _NAMES:
            following = word if equals else next(waiting, None)
            text = None if following is None or following.known is None else following.known
            if text is None:
                return None
            chosen = value if equals else text
            continue
        change = _OVERRIDE.match(word.known or word.prefix)
        if change is not None:
            overrides.append((change["key"], change["value"] if word.known is not None else ""))
    return chosen, overrides


def _all_of(config: Config, folder: str, overrides: Iterable[tuple[str, str]], files: Files) -> frozenset[str] | None:
    """The names in a configuration and in the parts that the command line chooses instead of others."""
    parts = [config]
    names: set[str] = set()
    for key, value in overrides:
        if key.endswith("_target_"):
            names.add(value)
        elif "." not in key and value:
            part = named_config(folder, f"{key}/{value}", config.home, files, ())
            parts.extend(() if part is None else (part,))
    for part in parts:
        if part.open_because:
            return None
        for key, setting in part.values.items():
            if key.rpartition(".")[2] != _TARGET or isinstance(setting, Absent):
                continue
            if not isinstance(setting, Set):
                return None
            names.add(setting.value)
    return None if any("." not in name or "$" in name for name in names) else frozenset(names)
