"""The configuration in force, each setting with where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from kube_gaplint import lazy_re
from kube_gaplint.config.settings import PROFILE_KEYS, RELEASES, Config

_DEFAULT = "default"
_PLAIN = lazy_re.compile(r"[A-Za-z_./][\w./-]*")
_SPECIAL = {"null", "true", "false", "yes", "no", "on", "off", "y", "n", "~"}
_COLUMN = 40


class Row(NamedTuple):
    """One setting: the key's path, its value, and `file:line` or `default`. No value is an undeclared one."""

    key: tuple[str, ...]
    value: Any
    origin: str


def rows(config: Config) -> Iterator[Row]:
    """All settings, in the order of the documentation."""

    def row(value: Any, *key: str) -> Row:
        return Row(key, value, config.places.get(".".join(key), _DEFAULT))

    select = row(list(config.select), "select")
    yield select if config.select else select._replace(origin=f"{select.origin}: all rules")
    yield row(list(config.ignore), "ignore")
    for pattern, names in config.per_file_ignores:
        yield row(list(names), "per-file-ignores", pattern)
    for name, severity in config.severity:
        yield row(str(severity), "severity", name)
    yield row(config.min_severity or "warning", "min-severity")
    yield row(config.fail_on or "warning", "fail-on")
    yield row(list(config.exclude), "exclude")
    yield row(config.baseline or None, "baseline")
    kinds = [
        {"group": one.group, "kind": one.kind, "pod-templates": list(one.pod_templates), "replicas": one.replicas}
        for one in config.kinds
    ]
    yield row(kinds, "kinds")
    for name in PROFILE_KEYS:
        value = getattr(config.profile, name)
        if name in RELEASES:
            value = ".".join(map(str, value))
        yield row(None if value == "" else value, "profile", name)


def as_yaml(config: Config) -> str:
    """A configuration that says the same, with origins as comments; what is not declared is a comment as well."""
    lines = [f"# {config.path}" if config.path else "# no configuration file"]
    section = ""
    for key, value, origin in rows(config):
        if len(key) > 1 and key[0] != section:
            lines.append(f"{key[0]}:")
        section = key[0]
        indent = "  " if len(key) > 1 else ""
        if value is None:
            lines.append(f"{indent}# {_text(key[-1])}: not declared")
        else:
            lines.append(f"{f'{indent}{_text(key[-1])}: {_shown(value)}':{_COLUMN}} # {origin}")
    return "\n".join(lines) + "\n"


def as_json(config: Config) -> str:
    """The same for programs: the file, and a list of settings."""
    settings = [{"key": list(row.key), "value": row.value, "origin": row.origin} for row in rows(config)]
    return json.dumps({"version": 1, "file": config.path or None, "settings": settings}, indent=2) + "\n"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_shown(below)}' for key, below in value.items())}}}"
    if isinstance(value, str):
        return _text(value)
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)


def _text(text: str) -> str:
    """A text as YAML; releases are quoted, as 2.10 is no number."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _SPECIAL else json.dumps(text)
