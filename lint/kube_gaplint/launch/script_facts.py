"""What a visible Python script says of its framework: the facts of `launch.python` in the form that look-ups need."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from kube_gaplint import lazy_re
from kube_gaplint.facts.frameworks import KNOWN_PACKAGES
from kube_gaplint.launch.lookup import ScriptFacts
from kube_gaplint.launch.python import PythonFacts, SignalHandler
from kube_gaplint.launch.python_values import Duration, Value
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options

_CALLBACKS = lazy_re.compile(r"\bcallbacks\s*=|\.add_callback\(|\bshould_save\b")


def script_facts(python: PythonFacts) -> ScriptFacts:
    """The script's imports, calls and keywords; open where it leaves work to modules that are not visible."""
    origin = Origin(python.text.place(0, min(1, len(python.text.text))))
    imports = {found.name: Origin(found.place) for found in reversed(python.imports)}
    keywords: dict[str, dict[str, Setting[str]]] = {}
    calls: dict[str, Origin] = {}
    open_calls: set[str] = set()
    for call in python.calls:
        name = call.name.rsplit(".", 1)[-1]
        calls.setdefault(name, Origin(call.place))
        if call.open_because:
            open_calls.add(name)
        given = keywords.setdefault(name, {})
        for keyword, argument in call.arguments.items():
            value = _text(argument.value, Origin(argument.place))
            before = given.get(keyword)
            if before is not None and not _same(before, value):
                value = Unknown(f"several calls of {name} give different values", Origin(argument.place))
            given[keyword] = value
    stops = [found for found in python.signals if found.tells_to_stop]
    stranger = _stranger(imports)
    open_because = python.problem or (f"it imports {stranger}, which is not visible" if stranger else "")
    return ScriptFacts(
        origin=origin,
        imports=imports,
        keywords=keywords,
        calls=calls,
        open_calls=frozenset(open_calls),
        save_paths=tuple(use.path if isinstance(use.path, Set) else use.folder for use in python.saves),
        saves_once=python.saves_once,
        declared={
            Options.normal(name): _text(option.default, Origin(option.place))
            for option in python.options
            for name in option.names
            if name.startswith("-")
        },
        valued=frozenset(
            Options.normal(name)
            for option in python.options
            for name in option.names
            if name.startswith("--") and option.kind not in {"", "flag", "unset"}
        ),
        restores_if=frozenset(map(Options.normal, python.restores_if)),
        steps=python.steps,
        save_every=python.save_every,
        save_epochs=python.save_epochs,
        hands_callbacks=_CALLBACKS.search(python.text.text) is not None,
        loads=bool(python.loads),
        fetched=tuple(python.fetched()),
        saves_at_stop=_saves_at_stop(python, stops, origin, open_because),
        saves_only_at_stop=python.at_stop.saves_only_then,
        stop_signals=frozenset(found.signal for found in stops if found.signal),
        open_because=open_because,
    )


def _saves_at_stop(
    python: PythonFacts, stops: list[SignalHandler], origin: Origin, open_because: str
) -> Setting[bool] | None:
    """Whether the script saves when it is told to stop; None where modules that are not seen may do that."""
    at = Origin(stops[0].place) if stops else origin
    if stops and python.at_stop.saves:
        return Set(True, at)
    if stops and python.at_stop.saves is None:
        return Unknown("what its handler of the signal leads to is not seen", at)
    return None if open_because else Set(False, at)


def changed_environment(environment: Environment, python: PythonFacts) -> Environment:
    """The environment after the script's own assignments to `os.environ`."""
    changes: dict[str, Setting[str]] = {}
    for change in python.changes:
        before = changes.get(change.name, environment.get(change.name))
        if change.only_if_unset and isinstance(before, Set):
            continue
        value = change.value
        sure = change.context == "always" and not (change.only_if_unset and isinstance(before, Unknown))
        if not sure and not (isinstance(before, Set) and isinstance(value, Set) and before.value == value.value):
            value = Unknown("the script sets it under a condition", Origin(change.place))
        changes[change.name] = value
    return environment.over(changes)


def _stranger(imports: Iterable[str]) -> str:
    """A module that is neither Python's own nor a package whose behaviour is known: the user's own code."""
    for name in imports:
        top = name.split(".", 1)[0]
        if not top:
            return name  # a relative import
        if top not in sys.stdlib_module_names and top not in KNOWN_PACKAGES:
            return top
    return ""


def _text(value: Setting[Value], origin: Origin) -> Setting[str]:
    if not isinstance(value, Set):
        return value if isinstance(value, Absent) else Unknown(value.reason, value.origin or origin, value.prefix)
    read = value.value
    if read is None:
        return Absent(origin)
    if isinstance(read, bool):
        return Set(str(read).lower(), origin)
    if isinstance(read, Duration):
        return Set(f"{read.seconds:g}", origin)
    if isinstance(read, tuple):
        return Unknown("it is a sequence", origin)
    return Set(str(read), origin)


def _same(first: Setting[str], second: Setting[str]) -> bool:
    if isinstance(first, Set) and isinstance(second, Set):
        return first.value == second.value
    return isinstance(first, Absent) and isinstance(second, Absent)
