"""Configurations that Python makes: a `get_config` that fills a ConfigDict of ml_collections, value by value.

Nothing runs: where the function does more than give values (conditions, loops, other modules), it says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.text.source import PlacedText

_LARGEST = 100_000
_WORKED_OUT = "Python works it out"


def makes_config(text: str) -> bool:
    """Whether a text is such a configuration."""
    return "ConfigDict(" in text and "def get_config(" in text and len(text) <= _LARGEST


def python_values(text: PlacedText) -> Iterator[tuple[str, Setting[str]]] | None:
    """The keys and values of the configuration; None where it may have others than those that are seen."""
    try:
        body = ast.parse(text.text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "get_config"]
    if len(functions) != 1 or functions[0].args.args or functions[0].decorator_list:
        return None
    found: list[tuple[str, ast.expr]] = []
    prefixes: dict[str, str] = {}
    for statement in functions[0].body:
        if isinstance(statement, ast.Assign):
            if not _takes(statement, prefixes, found):
                return None
        elif isinstance(statement, ast.Return):
            if not isinstance(statement.value, ast.Name) or prefixes.get(statement.value.id) != "":
                return None
            return ((name, _setting(value, text)) for name, value in found)
        elif not isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass) and not _is_comment(statement):
            return None
    return None


def _is_comment(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _takes(statement: ast.Assign, prefixes: dict[str, str], found: list[tuple[str, ast.expr]]) -> bool:
    """Take one assignment, which may give a part of the configuration several names; False where it is another."""
    value = statement.value
    paths = [_path(one, prefixes) for one in statement.targets if isinstance(one, ast.Attribute)]
    names = [one.id for one in statement.targets if isinstance(one, ast.Name)]
    if "" in paths or len(paths) + len(names) != len(statement.targets):
        return False
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "ConfigDict":
        if value.args or value.keywords or len(paths) > 1:
            return False
        prefixes.update(dict.fromkeys(names, paths[0] if paths else ""))
        return True
    found.extend((path, value) for path in paths)
    return prefixes.keys().isdisjoint(names)


def _path(target: ast.expr, prefixes: dict[str, str]) -> str:
    """The key that an attribute of a configuration is (`training.steps`); empty for anything else."""
    owner, _, rest = ast.unparse(target).partition(".")
    if owner not in prefixes or not rest.replace(".", "").isidentifier():
        return ""
    return f"{prefixes[owner]}.{rest}".lstrip(".")


def _setting(value: ast.expr, text: PlacedText) -> Setting[str]:
    origin = Origin(text.place(0, len(text.text)))
    if not isinstance(value, ast.Constant):
        return Unknown(_WORKED_OUT, origin)
    if value.value is None:
        return Absent(origin)
    shown = str(value.value).lower() if isinstance(value.value, bool) else str(value.value)
    lines = text.text.split("\n")
    start = sum(len(line) + 1 for line in lines[: value.lineno - 1])
    at = start + len(lines[value.lineno - 1].encode()[: value.col_offset].decode())
    return Set(shown, Origin(text.place(at, at + len(ast.get_source_segment(text.text, value) or ""))))
