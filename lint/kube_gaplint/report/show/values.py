"""Settings, origins and places of the model as plain values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kube_gaplint.facts.credentials import is_credential_name, without_credentials
from kube_gaplint.model.environment import Environment as ModelEnvironment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Quantity, Release
from kube_gaplint.model.workload import UNBOUNDED
from kube_gaplint.report.show.shape import Environment, Location, Named, Noted, Plain, Reference, Value
from kube_gaplint.text.source import Place

T = TypeVar("T")


def value_of(setting: Setting[T], plain: Callable[[T], Plain] | None = None) -> Value:
    """A setting. `plain` makes a plain value of one that is none."""
    if isinstance(setting, Set):
        origin = setting.origin
        return Value(
            "set",
            as_plain(setting.value) if plain is None else plain(setting.value),
            via=origin.via,
            note=origin.note,
            location=location_of(origin.place),
            through=through(origin),
        )
    if isinstance(setting, Absent):
        origin = setting.origin
        via = "" if origin.written else origin.via
        return Value("absent", via=via, note=origin.note, location=location_of(origin.place), through=through(origin))
    at = setting.origin
    return Value(
        "unknown",
        via="" if at is None or at.written else at.via,
        note="" if at is None else at.note,
        reason=setting.reason,
        prefix=without_credentials(setting.prefix),
        location=None if at is None else location_of(at.place),
        through=() if at is None else through(at),
    )


def as_plain(value: Any) -> Plain:
    """A value as JSON has it."""
    if isinstance(value, str):
        return without_credentials(value)
    if isinstance(value, tuple | list):
        return [as_plain(item) for item in value]
    if isinstance(value, Quantity):
        return {"amount": number(value.amount), "unit": value.unit}
    if isinstance(value, float):
        return number(value)
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)


def number(value: float) -> int | float | str:
    """A number that JSON can hold; whole ones without a point."""
    if not math.isfinite(value):
        return str(value)
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value


def release(value: Release) -> str:
    return ".".join(map(str, value))


def budget(value: int) -> int | str:
    """A restart budget: a number, or "unbounded"."""
    return "unbounded" if value >= UNBOUNDED else value


def stated(value: Plain, origin: Origin | None = None, note: str = "") -> Value:
    """A fact of the model that is no setting."""
    location = None if origin is None else location_of(origin.place)
    return Value("set", value, via="derived" if note else "", note=note, location=location)


def location_of(place: Place) -> Location:
    start, end = place.start, place.end
    return Location(place.source.path, start.line, start.column, end.line, end.column)


def origin_location(origin: Origin | None) -> Location | None:
    return None if origin is None else location_of(origin.place)


def through(origin: Origin) -> tuple[Reference, ...]:
    return tuple(Reference(link.note, location_of(link.place)) for link in origin.chain)


def named(name: str, setting: Setting[Any]) -> Named:
    """A setting under its name; of a credential nothing but that it is there."""
    found = value_of(setting)
    if found.state != "absent" and is_credential_name(name) and not _refers(found):
        found = Value(found.state, None, True, found.via, found.note, found.reason, "", found.location, found.through)
    return Named(name, found)


def _refers(value: Value) -> bool:
    """Whether a value is nothing but a reference to what another place holds."""
    return value.state == "set" and isinstance(value.value, str) and (not value.value or value.value.startswith("$"))


def all_named(settings: Mapping[str, Setting[Any]]) -> list[Named]:
    """The settings of a table that are there, in its order."""
    return [named(name, setting) for name, setting in settings.items() if not isinstance(setting, Absent)]


def noted(what: str, origin: Origin | None) -> Noted:
    return Noted(what, origin_location(origin))


def environment_of(environment: ModelEnvironment) -> Environment:
    return Environment(environment.open_because, all_named(environment.variables))


def changes_of(environment: ModelEnvironment, base: ModelEnvironment) -> Environment:
    """What an environment has that its base has not, or has otherwise; a variable that was unset is absent."""
    changed = [
        named(name, setting)
        for name, setting in environment.variables.items()
        if not _same(setting, base.variables.get(name))
    ]
    reason = "" if environment.open_because == base.open_because else environment.open_because
    return Environment(reason, changed)


def _same(setting: Setting[str], other: Setting[str] | None) -> bool:
    if other is None:
        return isinstance(setting, Absent)
    if isinstance(setting, Unknown) and isinstance(other, Unknown):
        return (setting.reason, setting.origin) == (other.reason, other.origin)
    return setting is other or setting == other


def texts(values: Iterable[object]) -> list[str]:
    return [str(value) for value in values]
