"""Write the schema of `gaplint show --format json` from the classes that it is made of.

    tools/show_schema.py            writes lint/kube_gaplint/report/show/show.schema.json
    tools/show_schema.py --check    exits with 1 where the file is not what would be written

The classes in `report/show/shape.py` say what each field means; so the schema cannot fall behind them.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import sys
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kube_gaplint.report.show import plain, shape

FILE = Path(shape.__file__).parent / "show.schema.json"
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    type(None): {"type": "null"},
}
_COUNTS = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    options = parser.parse_args(arguments)
    text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    if options.check:
        return 0 if FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    return 0


def schema() -> dict[str, Any]:
    """The whole schema."""
    texts = field_texts()
    classes = [
        one
        for one in vars(shape).values()
        if isinstance(one, type) and issubclass(one, Struct) and one not in (Struct, shape.Shown)
    ]
    whole = _object(shape.Shown, texts)
    whole["required"] = ["version", "tool", *whole["required"]]
    whole["properties"] = {
        "version": {"const": plain.VERSION},
        "tool": {
            "type": "object",
            "required": ["name", "version"],
            "properties": {"name": {"const": "gaplint"}, "version": {"type": "string"}},
        },
        **whole["properties"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"What gaplint understood, version {plain.VERSION}",
        "description": "What `gaplint show --format json` prints. Fields may be added within a version, never renamed "
        "or removed. Names that end in Seconds hold seconds, runDays holds days.",
        **{key: value for key, value in whole.items() if key != "description"},
        "$defs": {one.__name__: _value(texts) if one is shape.Value else _object(one, texts) for one in classes},
    }


def _object(kind: type, texts: dict[tuple[str, str], str]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    properties = {}
    for one in msgspec.structs.fields(kind):
        described = texts.get((kind.__name__, one.name))
        form = _form(hints[one.name])
        properties[plain.camel(one.name)] = {"description": described, **form} if described else form
    return {
        "description": _flat(inspect.cleandoc(kind.__doc__ or "")),
        "type": "object",
        "required": list(properties),
        "properties": properties,
    }


def _value(texts: dict[tuple[str, str], str]) -> dict[str, Any]:
    """A setting has only the fields that say something about it."""
    found = _object(shape.Value, texts)
    form = found["properties"]
    form["value"] = {"description": "Of any type; only where the state is set and nothing is hidden."}
    form["hidden"] = {"description": "The value looks like a credential.", "const": True}
    form["location"] = {"$ref": "#/$defs/Location"}
    form["via"] = {"enum": ["written", "default", "injected", "derived"]}
    states = [
        {"properties": {"state": {"const": "set"}}, "oneOf": [{"required": ["value"]}, {"required": ["hidden"]}]},
        {"properties": {"state": {"const": "absent"}, "value": False}},
        {"properties": {"state": {"const": "unknown"}, "value": False}, "required": ["reason"]},
    ]
    return {**found, "required": ["state"], "oneOf": states}


def _form(hint: Any) -> dict[str, Any]:
    """The schema of a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if isinstance(hint, type) and issubclass(hint, Struct):
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        return {"type": "array", "items": _form(arguments[0])}
    if origin is dict:
        return dict(_COUNTS)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_form(one) for one in arguments]}
    return {}


def field_texts() -> dict[tuple[str, str], str]:
    """What the strings below fields say, by class and field."""
    texts = {}
    for node in ast.parse(Path(shape.__file__).read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for before, after in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(before, ast.AnnAssign)
                and isinstance(before.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                texts[node.name, before.target.id] = _flat(after.value.value)
    return texts


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


if __name__ == "__main__":
    sys.exit(main())
