"""The answer of `gaplint show` as one JSON document; `show.schema.json` beside this module describes it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from kube_gaplint import __version__
from kube_gaplint.report.escape import encodable
from kube_gaplint.report.show.shape import Shown, Value

VERSION = 1


def render(shown: Shown) -> str:
    """Pure ASCII, so that no control character and no encoding stands between gaplint and its reader."""
    return json.dumps(show_data(shown), indent=2, allow_nan=False) + "\n"


def show_data(shown: Shown) -> dict[str, Any]:
    """The whole as JSON has it. Fields may be added within a version, never renamed."""
    return {"version": VERSION, "tool": {"name": "gaplint", "version": __version__}, **_object(shown)}


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return _value(value)
    if dataclasses.is_dataclass(value):
        return _object(value)
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {encodable(key): _plain(item) for key, item in value.items()}
    return value


def _object(value: Any) -> dict[str, Any]:
    return {camel(field.name): _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}


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
