"""Packages of others without what they bring along and a run does not use.

Most of what a run on one manifest costs is importing, and more than a third of that are modules of two packages that
nobody calls: all that reads and writes YAML in Python beside libyaml, and the schemas and formats of msgspec. Here the
modules in need are imported without the `__init__` of their package, which would bring everything. Whoever asks the
package for anything else gets it whole, at that moment.

Only the program `gaplint` does this, before anything else imports the packages; a library leaves its host's modules
alone. Where a package is not built as expected, nothing is done, and it is imported as always.
"""

from __future__ import annotations

import os
import sys
import typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, cast

_modules = cast("dict[str, Any]", sys.modules)


class _Nothing(ModuleType):
    """Has every name, each for nothing."""

    def __getattr__(self, _attribute: str) -> None:
        return None


class _Shell(ModuleType):
    """Stands for a package that has not run: it has the modules that were imported, and becomes whole when asked."""

    def __init__(self, name: str, path: Iterable[str]) -> None:
        super().__init__(name)
        self.__path__ = list(path)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(self._whole(), attribute)

    def _whole(self) -> ModuleType:
        name = self.__name__
        if _modules.get(name) is self:
            del _modules[name]
        whole = import_module(name)
        for module in [one for one in _modules if one.startswith(f"{name}.")]:
            setattr(whole, module.removeprefix(f"{name}.").partition(".")[0], _modules[module])
        return whole


def _shell(name: str) -> _Shell | None:
    """A shell in the place of a package; None where the package is imported already, or is nowhere."""
    if name in _modules:
        return None
    parent, _, _ = name.rpartition(".")
    spec = PathFinder.find_spec(name, import_module(parent).__path__ if parent else None)
    if spec is None or spec.submodule_search_locations is None:
        return None
    _modules[name] = shell = _Shell(name, spec.submodule_search_locations)
    if parent:
        setattr(_modules[parent], name.rpartition(".")[2], shell)
    return shell


@contextmanager
def _standing_in(modules: dict[str, Any]) -> Iterator[None]:
    """Within it, imports of these names give these modules, unless the real ones have been imported before."""
    modules = {name: module for name, module in modules.items() if name not in _modules}
    _modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            _modules.pop(name, None)


def import_msgspec() -> None:
    """Import the records of msgspec."""
    shell = _shell("msgspec")
    if shell is None:
        return
    kept = typing.ForwardRef
    typing.ForwardRef = _no_forward_reference  # type: ignore[misc,assignment]
    try:
        # It prefers typing_extensions, for older Pythons' sake, which brings `inspect`.
        with _standing_in({"typing_extensions": None, "platform": _platform()}):
            core = import_module("msgspec._core")
        vars(shell).update(Struct=core.Struct, NODEFAULT=core.NODEFAULT, field=_field_of(core.Field, core.NODEFAULT))
    except (ImportError, AttributeError):
        del _modules["msgspec"]
    finally:
        typing.ForwardRef = kept  # type: ignore[misc]


def _platform() -> ModuleType:
    """What msgspec's import of `uuid` asks `platform` for, the name of the system: the module compiles ten patterns."""
    module = ModuleType("platform")
    vars(module)["system"] = lambda: os.uname().sysname  # where there is none, it is not asked either
    return module


def _no_forward_reference(*_arguments: object, **_named: object) -> None:
    """msgspec makes one to see what this Python takes: it would be all that a run compiles."""


def _field_of(made: Any, nothing: Any) -> Any:
    def field(*, default: Any = nothing, default_factory: Any = nothing, name: str | None = None) -> Any:
        return made(default=default, default_factory=default_factory, name=name)

    return field


_ERRORS = {
    "reader": "ReaderError", "scanner": "ScannerError", "parser": "ParserError", "composer": "ComposerError",
    "constructor": "ConstructorError", "emitter": "EmitterError", "serializer": "SerializerError",
    "representer": "RepresenterError",
}  # fmt: skip
"""Modules of ruamel.yaml from which libyaml's parser takes an error alone."""


def import_yaml_events() -> None:
    """Import libyaml's parser and the events that it gives."""
    if _shell("ruamel.yaml") is None:
        return
    try:
        errors = import_module("ruamel.yaml.error")
        stand_ins: dict[str, Any] = {f"ruamel.yaml.{name}": _Nothing(name) for name in (*_ERRORS, "tokens")}
        for name, error in _ERRORS.items():
            basis = errors.YAMLError if name == "reader" else errors.MarkedYAMLError  # of a character, not of a place
            setattr(stand_ins[f"ruamel.yaml.{name}"], error, type(error, (basis,), {}))
        with _standing_in(stand_ins):
            import_module("_ruamel_yaml")
    except (ImportError, AttributeError):  # there is no libyaml here: the parser in Python needs all of it
        del _modules["ruamel.yaml"]
