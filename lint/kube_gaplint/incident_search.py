"""Searching the incident library: words, facets, and what is left to choose from.

A word of a query is met where a word of the incident begins with it, in upper or lower case: `HBM` finds HBM3, `hangs`
and `hang` are one. Several words must all be met, anywhere in the incident; a phrase in quotes stands as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from kube_gaplint import BUILTIN_PACK, incidents, lazy_re
from kube_gaplint.incidents import FACETS, Incident

COUNTED = (*FACETS, "rules", "organisations", "years")
"""What hits are counted by."""

_TERM = lazy_re.compile(r'"([^"]+)"|(\S+)')
_WORD = lazy_re.compile(r"[a-z0-9][a-z0-9_]{2,}")
_PLURAL = lazy_re.compile(r"(?<=[a-z0-9]{2}[a-rt-z])s\Z")  # one s at the end, and the stem is worth looking for


class Query(Struct, frozen=True):
    """What is looked for: all of the words; and of every facet that names values, at least one of these.

    `facets` has keys of `COUNTED`; an organisation counts where one of its words begins with the value.
    """

    words: str = ""
    facets: Mapping[str, Sequence[str]] = {}

    @property
    def terms(self) -> tuple[str, ...]:
        """The words and phrases, in lower case."""
        return tuple((phrase or word).lower() for phrase, word in _TERM.findall(self.words))


def search(query: Query, pack: str = BUILTIN_PACK) -> list[Incident]:
    """The incidents that match: the ones that say it most clearly first, then the newest, then by id."""
    patterns = [_pattern(term) for term in query.terms]
    hits = []
    for incident in incidents.all_incidents(pack):
        if all(_files_under(incident, facet, values) for facet, values in query.facets.items() if values):
            weight = _weight(patterns, _texts(incident))
            if weight is not None:
                hits.append((-weight, -incident.year, incident.id, incident))
    return [incident for *_, incident in sorted(hits, key=lambda hit: hit[:3])]


def counts(found: Iterable[Incident]) -> dict[str, list[tuple[str, int]]]:
    """How many of these incidents each value of each of `COUNTED` has, the most first; years in their order."""
    counters: dict[str, Counter[str]] = {facet: Counter() for facet in COUNTED}
    for incident in found:
        for facet, counter in counters.items():
            counter.update(values_of(incident, facet))
    ranked = {
        facet: sorted(counter.items(), key=lambda item: (-item[1], item[0])) for facet, counter in counters.items()
    }
    return ranked | {"years": sorted(ranked["years"])}


def values_of(incident: Incident, facet: str) -> tuple[str, ...]:
    """What an incident is filed under in one of `COUNTED`."""
    match facet:
        case "rules":
            return incident.rules
        case "organisations":
            return (incident.organisation,)
        case "years":
            return (str(incident.year),)
        case _:
            return incident.facets()[facet]


def is_organisation(name: str, incident: Incident) -> bool:
    """Whether the incident is this organisation's: `meta`, `hugging face`."""
    return _pattern(name.lower()).search(incident.organisation) is not None


def near_words(query: Query, pack: str = BUILTIN_PACK) -> tuple[str, ...]:
    """Words of the library that come close to those of the query that it does not hold."""
    from difflib import get_close_matches

    known = _words(pack)
    missing = [term for term in query.terms if not any(word.startswith(term) for word in known)]
    return tuple(word for term in missing for word in get_close_matches(term, known, n=1, cutoff=0.75))


def _files_under(incident: Incident, facet: str, values: Sequence[str]) -> bool:
    if facet == "organisations":
        return any(is_organisation(value, incident) for value in values)
    return not set(values).isdisjoint(values_of(incident, facet))


def _pattern(term: str) -> re.Pattern[str]:
    """Where a word begins with the term; blanks of a phrase stand for any blanks."""
    begin = r"(?<![A-Za-z0-9])" if term[:1].isalnum() else ""
    stem = _PLURAL.sub("", term)
    return re.compile(begin + r"\s+".join(map(re.escape, stem.split())), re.IGNORECASE)


def _weight(patterns: list[re.Pattern[str]], texts: list[tuple[int, str]]) -> int | None:
    """How clearly a text says it: for every pattern the weight of the best place; None where one is missing."""
    total = 0
    for pattern in patterns:
        best = max((weight for weight, text in texts if pattern.search(text)), default=0)
        if not best:
            return None
        total += best
    return total


def _texts(incident: Incident) -> list[tuple[int, str]]:
    """All that an incident says, by how much a hit there means."""
    words = [word for facet in FACETS for word in incident.facets()[facet]]
    told = (incident.symptom, incident.trigger, incident.cause, incident.note)
    later = (incident.detection, incident.remediation, incident.follow_up, incident.lesson)
    seen = [text for one in incident.visible for text in (one.condition, one.where)]
    return [
        (8, f"{incident.id}\n{incident.title}"),
        (6, incident.organisation),
        (4, "\n".join((*words, *incident.systems, *incident.rules))),
        (3, "\n".join(told)),
        (2, "\n".join((*later, *seen))),
        (1, "\n".join((*incident.not_visible, *incident.dates, *(title for title, _ in incident.sources)))),
    ]


@cache
def _words(pack: str) -> tuple[str, ...]:
    texts = "\n".join(text for found in incidents.all_incidents(pack) for _, text in _texts(found))
    return tuple(sorted(set(_WORD.findall(texts.lower()))))
