"""What a configuration may hold: the published schema, and what is wrong with a given one, in words and with places.

The schema is JSON Schema. It is read here and not by a library, because every run with a configuration would wait for
that, and because its messages would have to be translated. Only the keywords in `_CHECKS` may stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import isfinite
from typing import Any, TypeAlias

from kube_gaplint import packaged
from kube_gaplint.config.written import Value

Schema: TypeAlias = dict[str, Any]
_MOST = 20
"""Mistakes that are told at once."""

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "nothing",
}


@cache
def text() -> str:
    """The schema as it is published."""
    return packaged.text("kube_gaplint.config", "schema.json")


@cache
def schema() -> Schema:
    import json

    data: Schema = json.loads(text())
    return data


def mistakes(value: Value) -> list[str]:
    """What is wrong with a configuration, one line a mistake: `file:line: what`."""
    found = []
    for where, message in _mistakes(value, schema(), "the configuration"):
        found.append(f"{where}: {message}")
        if len(found) == _MOST:
            break
    return found


def near(wanted: str, known: Iterable[str]) -> str:
    """`; did you mean ignore?`, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(wanted.lower(), list(known), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""


_Mistakes: TypeAlias = Iterator[tuple[str, str]]


def _mistakes(value: Value, part: Schema, name: str) -> _Mistakes:
    if "$ref" in part:
        part = part | schema()["$defs"][part["$ref"].rpartition("/")[2]]
    if "type" in part and not _is_one_of(value.data, part["type"]):
        yield value.where, f"{name} must be {_either(part['type'])}{_instead(value, part)}"
        return
    for keyword, check in _CHECKS.items():
        if keyword in part:
            yield from check(value, part[keyword], part, name)


def _is_one_of(data: object, types: str | list[str]) -> bool:
    if isinstance(data, float) and not isfinite(data):
        return False  # YAML and TOML can write what JSON cannot
    for one in [types] if isinstance(types, str) else types:
        if isinstance(data, _TYPES[one]) and (one == "boolean" or not isinstance(data, bool)):
            return True
        if one == "integer" and isinstance(data, float) and data.is_integer():
            return True
    return False


def _either(types: str | list[str]) -> str:
    return " or ".join(_NAMES[one] for one in ([types] if isinstance(types, str) else types))


def _instead(value: Value, part: Schema) -> str:
    data = value.data
    if part["type"] == "array" and isinstance(data, str) and data:
        return f": [{', '.join(word.strip() for word in data.split(','))}]"
    return f", not {_shown(value)}"


def _shown(value: Value) -> str:
    data = value.data
    if isinstance(data, dict | list):
        return "a mapping" if isinstance(data, dict) else "a list"
    if data is None:
        return "empty"
    if isinstance(data, bool):
        return str(data).lower()
    return repr(data) if isinstance(data, str) else value.text or str(data)


# The keywords of JSON Schema that the schema uses. Each says something only of values that it is about.


def _enum(value: Value, allowed: list[Any], _: Schema, name: str) -> _Mistakes:
    if value.data not in allowed:
        wanted = value.data if isinstance(value.data, str) else ""
        yield value.where, f"{name} is {_shown(value)}, not one of {', '.join(allowed)}{near(wanted, allowed)}"


def _pattern(value: Value, pattern: str, part: Schema, name: str) -> _Mistakes:
    if isinstance(value.data, str) and not re.search(pattern, value.data):
        described = part.get("description", "").rstrip(".")
        yield value.where, f"{name} is {value.data!r}{f'; it is: {described}' if described else ''}"


def _min_length(value: Value, least: int, _: Schema, name: str) -> _Mistakes:
    if isinstance(value.data, str) and len(value.data) < least:
        yield value.where, f"{name} is empty"


def _min_items(value: Value, least: int, _: Schema, name: str) -> _Mistakes:
    if isinstance(value.data, list) and len(value.data) < least:
        yield value.where, f"{name} is empty"


def _minimum(value: Value, least: float, _: Schema, name: str) -> _Mistakes:
    if _is_one_of(value.data, "number") and not value.data >= least:  # type: ignore[operator]
        yield value.where, f"{name} is {_shown(value)}; it is at least {least}"


def _above(value: Value, bound: float, _: Schema, name: str) -> _Mistakes:
    if _is_one_of(value.data, "number") and not value.data > bound:  # type: ignore[operator]
        yield value.where, f"{name} is {_shown(value)}; it is more than {bound}"


def _required(value: Value, keys: list[str], _: Schema, name: str) -> _Mistakes:
    if isinstance(value.data, dict):
        for key in keys:
            if key not in value.data:
                yield value.where, f"{name} lacks the key {key}"


def _properties(value: Value, known: dict[str, Schema], part: Schema, name: str) -> _Mistakes:
    if not isinstance(value.data, dict):
        return
    for key, below in value.data.items():
        if key in known:
            yield from _mistakes(below, known[key], key)
        elif part.get("additionalProperties") is False:
            yield below.where, f"{name} has no key {key!r}{near(key, known)}"


def _any_key(value: Value, wanted: Schema | bool, _: Schema, name: str) -> _Mistakes:
    if isinstance(value.data, dict) and isinstance(wanted, dict):
        for key, below in value.data.items():
            yield from _mistakes(below, wanted, f"{key!r} in {name}")


def _items(value: Value, wanted: Schema, _: Schema, name: str) -> _Mistakes:
    if isinstance(value.data, list):
        for below in value.data:
            yield from _mistakes(below, wanted, f"an element of {name}")


_CHECKS: dict[str, Callable[[Value, Any, Schema, str], _Mistakes]] = {
    "enum": _enum,
    "pattern": _pattern,
    "minLength": _min_length,
    "minItems": _min_items,
    "minimum": _minimum,
    "exclusiveMinimum": _above,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _any_key,
    "items": _items,
}
