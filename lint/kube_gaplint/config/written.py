"""The content of a configuration file, with the place of every value: from YAML, and from TOML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.config.find import ConfigFile, ConfigProblem
from kube_gaplint.text import nodes
from kube_gaplint.text.nodes import Node
from kube_gaplint.text.read import Unreadable, decode
from kube_gaplint.text.source import Source

_DEEPEST = 12
"""Values nested deeper than this are no configuration."""


class Value(Struct, frozen=True):
    """A value as written. `data` is text, number, bool, None, a list of values or values by key.

    `where` is `file:line`, that of the key for a value that has one. `text` is a number as it is written: 2.10 is a
    version and no 2.1.
    """

    data: str | int | float | bool | list[Value] | dict[str, Value] | None
    where: str
    text: str = ""


def values_of(file: ConfigFile) -> Value:
    """The configuration in a file; that of `[tool.gaplint]` in pyproject.toml. Raises ConfigProblem."""
    try:
        source = Source(file.shown, decode(file.data))
    except Unreadable as error:
        raise ConfigProblem(f"{file.shown}: it {error.reason}") from error
    return _from_toml(source) if file.is_toml else _from_yaml(source)


# YAML


def _from_yaml(source: Source) -> Value:
    from kube_gaplint.text.compose import compose

    composed = compose(source)
    if composed.problems:
        lines = (f"{source.path}:{problem.place.start.line}: {problem.message}" for problem in composed.problems)
        raise ConfigProblem("\n".join(lines))
    roots = [document.root for document in composed.documents if document.root is not None]
    if not roots:
        return Value({}, f"{source.path}:1")
    if len(roots) > 1:
        line = roots[1].place.start.line
        raise ConfigProblem(f"{source.path}:{line}: a configuration is one document; here begins a second")
    return _value_of(roots[0], None, 0)


def _value_of(node: Node, key: Node | None, depth: int) -> Value:
    place = (key or node).place
    where = f"{place.source.path}:{place.start.line}"
    if depth > _DEEPEST:
        raise ConfigProblem(f"{where}: this is nested too deeply for a configuration")
    if isinstance(node, nodes.Mapping):
        return Value({entry.name: _value_of(entry.value, entry.key, depth + 1) for entry in node}, where)
    if isinstance(node, nodes.Sequence):
        return Value([_value_of(below, None, depth + 1) for below in node], where)
    assert isinstance(node, nodes.Scalar)
    return Value(node.value, where, node.text)


# TOML


class _Float(float):
    """A number that remembers how it is written."""

    text: str

    @classmethod
    def written(cls, text: str) -> _Float:
        number = cls(text)
        number.text = text
        return number


def _from_toml(source: Source) -> Value:
    import tomllib

    try:
        data = tomllib.loads(source.text.replace("\r\n", "\n"), parse_float=_Float.written)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        message = str(error) or "it is nested too deeply"
        line = re.search(r"\(at line (\d+), column \d+\)$", message)
        where = f"{source.path}:{line[1] if line else source.line_count}"
        raise ConfigProblem(f"{where}: {message.partition(' (at ')[0]}") from error
    tool = data.get("tool")
    table = tool.get("gaplint", {}) if isinstance(tool, dict) else {}
    lines = _TomlLines(source)
    return _value_in(table, ("tool", "gaplint"), lines.where, 0)


def _value_in(data: object, path: tuple[str, ...], where: Callable[[tuple[str, ...]], str], depth: int) -> Value:
    at = where(path)
    if depth > _DEEPEST:
        raise ConfigProblem(f"{at}: this is nested too deeply for a configuration")
    if isinstance(data, dict):
        return Value({key: _value_in(below, (*path, key), where, depth + 1) for key, below in data.items()}, at)
    if isinstance(data, list):
        return Value([_value_in(below, path, where, depth + 1) for below in data], at)
    if isinstance(data, bool | int | float | str):
        return Value(data, at, data.text if isinstance(data, _Float) else str(data))
    return Value(str(data), at, str(data))  # a date or a time


_TOML_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_TOML_KEYS = rf"{_TOML_KEY}(?:[ \t]*\.[ \t]*{_TOML_KEY})*"
_TOML_HEADER = lazy_re.compile(rf"[ \t]*\[\[?[ \t]*({_TOML_KEYS})[ \t]*\]")
_TOML_ENTRY = lazy_re.compile(rf"[ \t]*({_TOML_KEYS})[ \t]*=")


class _TomlLines:
    """On which line a key stands: tomllib does not say. A value within a line counts as the key of that line."""

    def __init__(self, source: Source) -> None:
        self.path = source.path
        self.lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(source.text.splitlines(), 1):
            header = _TOML_HEADER.match(line)
            entry = None if header else _TOML_ENTRY.match(line)
            if header:
                table = tuple(_parts(header[1]))
                self.lines.setdefault(table, number)
            elif entry:
                self.lines.setdefault((*table, *_parts(entry[1])), number)

    def where(self, path: tuple[str, ...]) -> str:
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.path}:{self.lines.get(path, 1)}"


def _parts(keys: str) -> Iterator[str]:
    for match in re.finditer(_TOML_KEY, keys):
        yield match[0][1:-1] if match[0][0] in "\"'" else match[0]
