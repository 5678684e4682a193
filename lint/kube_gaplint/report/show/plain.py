"""The answer of `gaplint show` as one JSON document; `show.schema.json` beside this module describes it."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from kube_gaplint import __version__
from kube_gaplint.report.escape import encodable, json_text
from kube_gaplint.report.show.shape import Shown, Value

VERSION = 1


def render(shown: Shown) -> str:
    """One line of pure ASCII, so that no control character and no encoding stands between gaplint and its reader.

    It is long: a repository of jobs gives megabytes, which an indented form would triple.
    """
    return json_text(show_data(shown))


def show_data(shown: Shown) -> dict[str, Any]:
    """The whole as JSON has it. Fields may be added within a version, never renamed."""
    return {"version": VERSION, "tool": {"name": "gaplint", "version": __version__}, **_object(shown)}


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return _value(value)
    if isinstance(value, Struct):
        return _object(value)
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {encodable(key): _plain(item) for key, item in value.items()}
    return value


def _object(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    return {shown: _plain(getattr(value, name)) for name, shown in _names(kind)}


@cache
def _names(kind: Any) -> tuple[tuple[str, str], ...]:
    """The fields of a class, each with its name in JSON."""
    return tuple((name, camel(name)) for name in kind.__struct_fields__)


def _value(value: Value) -> dict[str, Any]:
    """A setting with the fields that say something about it."""
    out: dict[str, Any] = {"state": value.state}
    if value.hidden:
        out["hidden"] = True
    elif value.state == "set":
        out["value"] = _plain(value.value)
    for name in ("via", "note", "reason", "prefix"):
        text = getattr(value, name)
        if text:
            out[name] = encodable(text)
    if value.location is not None:
        out["location"] = _object(value.location)
    if value.through:
        out["through"] = _plain(value.through)
    return out


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
