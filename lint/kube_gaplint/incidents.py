"""The incident library: public reports that show what a gap costs, and documents that rules cite.

They are data of the rule pack: `incidents/<id>.yaml`, checked against `incidents.schema.json`, and `sources.yaml`. A
pack is named by its package; nothing of it is imported but its data, and an incident is read when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from kube_gaplint import BUILTIN_PACK, lazy_re, packaged
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Mapping, Node, Scalar, Sequence
from kube_gaplint.text.source import Source

FACETS = ("symptoms", "causes", "components", "factors")
"""The fields that hold words of a closed vocabulary."""
_ID = lazy_re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,80}\Z", re.ASCII)


class Visible(Struct, frozen=True):
    """A condition that a manifest or script would have shown, where, and the rules that find it."""

    condition: str
    where: str
    rules: tuple[str, ...]


class Incident(Struct, frozen=True):
    """One public report. `sources` are pairs of title and address, the best one first.

    `symptom` to `lesson` are sentences, empty where the report is silent; `symptoms`, `causes`, `components` and
    `factors` are words of the schema's vocabularies. `verification` says how far the primary source was read: full,
    excerpt, abstract, secondary.
    """

    id: str
    title: str
    organisation: str
    year: int
    sources: tuple[tuple[str, str], ...]
    verification: str
    dates: tuple[str, ...] = ()
    symptom: str = ""
    trigger: str = ""
    cause: str = ""
    detection: str = ""
    remediation: str = ""
    follow_up: str = ""
    lesson: str = ""
    note: str = ""
    symptoms: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    visible: tuple[Visible, ...] = ()
    not_visible: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """The codes of all rules that would have found something, each once."""
        return tuple(dict.fromkeys(code for condition in self.visible for code in condition.rules))

    def facets(self) -> dict[str, tuple[str, ...]]:
        """The words under which the incident is filed, by facet."""
        return {name: getattr(self, name) for name in FACETS}


class Document(Struct, frozen=True):
    """A paper, manual page or source file that a rule cites as the source of a fact.

    `verification` says how far it was read: as for incidents, or `unopened`.
    """

    id: str
    title: str
    address: str
    verification: str = "unopened"
    date: str = ""
    says: str = ""


@lru_cache(maxsize=1024)  # a report asks for those of each finding
def incident(identifier: str, pack: str = BUILTIN_PACK) -> Incident | None:
    """The incident of this id, in upper or lower case, or None."""
    if not _ID.match(identifier):
        return None
    wanted = identifier.lower()
    return next((_read(pack, name) for name in ids(pack) if name.lower() == wanted), None)


def all_incidents(pack: str = BUILTIN_PACK) -> tuple[Incident, ...]:
    """All incidents of a pack, by id."""
    return tuple(_read(pack, name) for name in ids(pack))


@cache
def ids(pack: str = BUILTIN_PACK) -> tuple[str, ...]:
    """The ids of all incidents of a pack, sorted; no file is opened. A pack need not have any."""
    try:
        names = packaged.names(pack, "incidents")
    except (FileNotFoundError, ModuleNotFoundError):
        return ()
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def near(text: str, pack: str = BUILTIN_PACK) -> tuple[str, ...]:
    """The ids that come close to a text, the closest first."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in ids(pack)}
    return tuple(by_lower[found] for found in get_close_matches(text.lower(), by_lower, n=3, cutoff=0.6))


def for_rule(code: str, pack: str = BUILTIN_PACK) -> tuple[Incident, ...]:
    """The incidents in which this rule would have found something."""
    return tuple(found for found in all_incidents(pack) if code in found.rules)


@cache
def documents(pack: str = BUILTIN_PACK) -> dict[str, Document]:
    """The documents that rules cite, by id."""
    return {row["id"]: Document(**row) for row in document_data(pack)}


def document(identifier: str, pack: str = BUILTIN_PACK) -> Document | None:
    """The document of this id, or None."""
    return documents(pack).get(identifier)


def data(identifier: str, pack: str = BUILTIN_PACK) -> Any:
    """An incident's file as plain data, to be checked against the schema. Raises FileNotFoundError."""
    name = f"incidents/{identifier}.yaml"
    return _plain_text(f"{pack}/{name}", packaged.text(pack, name))


def document_data(pack: str = BUILTIN_PACK) -> Any:
    """The file of documents as plain data, to be checked against the schema."""
    return _plain_text(f"{pack}/sources.yaml", packaged.text(pack, "sources.yaml"))


def schema(pack: str = BUILTIN_PACK) -> Any:
    """The JSON schema of incident files."""
    return _json(pack, "incidents.schema.json")


def document_schema(pack: str = BUILTIN_PACK) -> Any:
    """The JSON schema of `sources.yaml`."""
    return _json(pack, "sources.schema.json")


def _json(pack: str, name: str) -> Any:
    import json

    return json.loads(packaged.text(pack, name))


@cache
def vocabulary(pack: str = BUILTIN_PACK) -> dict[str, dict[str, str]]:
    """The words of each of `FACETS` with their definitions, in the schema's order."""
    properties = schema(pack)["properties"]
    return {
        facet: {choice["const"]: choice["description"] for choice in properties[facet]["items"]["oneOf"]}
        for facet in FACETS
    }


@cache
def _read(pack: str, identifier: str) -> Incident:
    row = data(identifier, pack)
    row["sources"] = tuple((source["title"], source["address"]) for source in row["sources"])
    row["visible"] = tuple(
        Visible(condition["condition"], condition["where"], _words(condition["rules"]))
        for condition in row.get("visible", ())
    )
    for name in (*FACETS, "dates", "systems", "not_visible"):
        row[name] = _words(row.get(name, ()))
    known = set(Incident.__struct_fields__)
    return Incident(**{name: value for name, value in row.items() if name in known})


def _words(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _plain_text(name: str, text: str) -> Any:
    composed = compose(Source(name, text))
    if composed.problems:
        raise ValueError(f"{composed.problems[0].place!r}: {composed.problems[0].message}")
    return _plain(composed.documents[0].root)


def _plain(node: Node | None) -> Any:
    """A node of one of the pack's own files as plain data; they are flat, so that recursion is bounded."""
    if isinstance(node, Mapping):
        return {entry.name: _plain(entry.value) for entry in node}
    if isinstance(node, Sequence):
        return [_plain(value) for value in node]
    return node.value if isinstance(node, Scalar) else None
