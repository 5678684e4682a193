"""From the text of a configuration file to its settings, and every mistake in it with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kube_gaplint import registry
from kube_gaplint.config.find import ConfigFile, ConfigProblem
from kube_gaplint.config.schema import mistakes
from kube_gaplint.config.settings import RELEASES, Config
from kube_gaplint.config.written import Value, values_of
from kube_gaplint.facts.images import release
from kube_gaplint.findings import Severity
from kube_gaplint.model.profile import Profile

if TYPE_CHECKING:
    from kube_gaplint.kinds.generic import UserKind


def parse(file: ConfigFile) -> Config:
    """The settings in a configuration file. Raises ConfigProblem with a line for every mistake."""
    value = values_of(file)
    wrong = mistakes(value) or [*_unknown_rules(value), *_bad_patterns(value)]
    if wrong:
        raise ConfigProblem("\n".join(wrong))
    top = _entries(value)
    return Config(
        path=file.shown,
        folder=file.folder,
        select=_texts(top.get("select")),
        ignore=_texts(top.get("ignore")),
        per_file_ignores=tuple((key, _texts(below)) for key, below in _entries(top.get("per-file-ignores")).items()),
        severity=tuple((key, Severity.parse(_text(below))) for key, below in _entries(top.get("severity")).items()),
        min_severity=_text(top.get("min-severity")) or None,
        fail_on=_text(top.get("fail-on")) or None,
        exclude=_texts(top.get("exclude")),
        baseline=_text(top.get("baseline")),
        kinds=tuple(_kind(_entries(below)) for below in _elements(top.get("kinds"))),
        profile=_profile(_entries(top.get("profile"))),
        places=dict(_places(top)),
        hints=tuple(f"{where}: {said}" for name, where in _named(value) if (said := registry.outdated(name))),
    )


def _named(value: Value) -> Iterator[tuple[str, str]]:
    """The names of rules in a configuration, with their places."""
    top = _entries(value)
    for one in (*_entries(top.get("per-file-ignores")).values(), top.get("select"), top.get("ignore")):
        for element in _elements(one):
            yield _text(element), element.where
    for key, below in _entries(top.get("severity")).items():
        yield key, below.where


def _unknown_rules(value: Value) -> Iterator[str]:
    for name, where in _named(value):
        try:
            registry.resolve(name)
        except registry.UnknownSelector as unknown:
            near = f"; did you mean {' or '.join(unknown.suggestions)}?" if unknown.suggestions else ""
            yield f"{where}: there is no rule or family {name!r}{near}"


def _bad_patterns(value: Value) -> Iterator[str]:
    """Patterns that git does not understand."""
    top = _entries(value)
    patterns = [(key, below.where) for key, below in _entries(top.get("per-file-ignores")).items()]
    patterns += [(_text(element), element.where) for element in _elements(top.get("exclude"))]
    if not patterns:
        return
    from kube_gaplint import git_patterns

    if len(patterns) > git_patterns.MOST:
        yield f"{patterns[0][1]}: there are more than {git_patterns.MOST:,} patterns"
        return
    for pattern, where in patterns:
        reason = git_patterns.wrong_because(pattern)
        if reason:
            yield f"{where}: {pattern[:100]!r} is no pattern as in .gitignore: {reason}"


def _kind(entries: dict[str, Value]) -> UserKind:
    from kube_gaplint.kinds.generic import UserKind

    return UserKind(
        group=_text(entries["group"]),
        kind=_text(entries["kind"]),
        pod_templates=_texts(entries["pod-templates"]),
        replicas=_text(entries.get("replicas")) or "replicas",
    )


def _profile(entries: dict[str, Value]) -> Profile:
    declared: dict[str, Any] = {}
    for name, value in entries.items():
        data = value.data
        if name in RELEASES:
            declared[name] = release(value.text or str(data)) or ()
        elif name == "gpus_per_node":
            assert isinstance(data, int | float)
            declared[name] = int(data)
        else:
            declared[name] = float(data) if isinstance(data, int) and not isinstance(data, bool) else data
    return Profile(**declared)


def _places(top: dict[str, Value]) -> Iterator[tuple[str, str]]:
    for key, value in top.items():
        yield key, value.where
        if key in ("profile", "severity", "per-file-ignores"):
            yield from ((f"{key}.{name}", below.where) for name, below in _entries(value).items())


# Values that the schema has checked


def _entries(value: Value | None) -> dict[str, Value]:
    return value.data if value is not None and isinstance(value.data, dict) else {}


def _elements(value: Value | None) -> list[Value]:
    return value.data if value is not None and isinstance(value.data, list) else []


def _texts(value: Value | None) -> tuple[str, ...]:
    return tuple(_text(element) for element in _elements(value))


def _text(value: Value | None) -> str:
    return value.data if value is not None and isinstance(value.data, str) else ""
