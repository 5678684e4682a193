"""Searching the incident library, as people would."""

from __future__ import annotations

import pytest

from kube_gaplint import incidents
from kube_gaplint.incident_search import COUNTED, Query, counts, near_words, search, values_of

EVERYTHING = {found.id for found in incidents.all_incidents()}


def ids(words: str = "", **facets: tuple[str, ...]) -> list[str]:
    return [found.id for found in search(Query(words, facets))]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("HBM", "meta-llama3-405b"),  # the report says HBM3
        ("watchdog", "pytorch-97191"),
        ("/dev/shm", "k8s-shm-64mb"),
        ("bloom", "IL-0125"),
        ("IL-0032", "IL-0032"),
        ("NCCL_IB_TIMEOUT", "IL-0128"),
        ("IB_TIMEOUT", "IL-0128"),
        ("megascale nic", "IL-0128"),
        ('"device plugin"', "IL-0116"),
        ("unattended upgrades", "IL-0198"),
        ("spot preemption", "ray-63968"),
        ("datadog", "IL-0198"),
        ("daemonset", "nvml-unknown-error"),
        ("CKPT003", "IL-0125"),
    ],
)
def test_words_find(words: str, wanted: str) -> None:
    assert wanted in ids(words)


def test_upper_and_lower_case_and_plurals_are_one() -> None:
    assert ids("NCCL hangs") == ids("nccl hang")
    assert set(ids("restarts")) == set(ids("restart"))


def test_a_word_begins_where_the_query_does() -> None:
    assert "IL-0128" in ids("flap")  # flaps
    assert all("oom" in str(found).lower() for found in search(Query("oom")))
    assert not {found.id for found in search(Query("oom"))} & {"IL-0025"}  # "room", "boom" are no OOM


def test_all_words_must_be_there() -> None:
    assert set(ids("checkpoint disk")) == set(ids("checkpoint")) & set(ids("disk"))


def test_a_phrase_is_narrower_than_its_words() -> None:
    phrase, words = ids('"async error handling"'), ids("async error handling")
    assert set(phrase) <= set(words)
    assert "IL-0125" in phrase
    assert ids('"handling async"') == []


def test_the_clearest_comes_first() -> None:
    assert ids("IL-0125")[0] == "IL-0125"
    assert ids("llama")[0] == "meta-llama3-405b"
    found = ids("watchdog")
    assert found.index("pytorch-97191") < found.index("pytorch-dataloader-hang"), "the title before a condition"


def test_without_words_the_newest_first() -> None:
    found = search(Query())
    assert {one.id for one in found} == EVERYTHING
    assert [one.year for one in found] == sorted((one.year for one in found), reverse=True)


def test_values_of_one_facet_are_alternatives_and_facets_narrow() -> None:
    hang, crash = set(ids(symptoms=("hang",))), set(ids(symptoms=("crash",)))
    assert set(ids(symptoms=("hang", "crash"))) == hang | crash
    assert set(ids(symptoms=("hang",), components=("nccl",))) == hang & set(ids(components=("nccl",)))
    assert set(ids("hang", symptoms=("crash",))) <= crash


def test_organisation_year_and_rule() -> None:
    assert {"meta-llama3-405b", "meta-rsc-reliability", "opt-175b"} <= set(ids(organisations=("meta",)))
    assert "IL-0125" in ids(organisations=("hugging face",))
    assert all(found.year == 2024 for found in search(Query("", {"years": ("2024",)})))
    assert {"meta-llama3-405b", "IL-0025", "IL-0128"} <= set(ids(years=("2024",)))
    assert {"IL-0125", "meta-llama3-405b", "glm-130b"} <= set(ids(rules=("CKPT003",)))
    assert all("CKPT003" in found.rules for found in search(Query("", {"rules": ("CKPT003",)})))


def test_counts_are_of_the_hits() -> None:
    hits = search(Query("", {"components": ("slurm",)}))
    counted = counts(hits)
    assert list(counted) == list(COUNTED)
    assert dict(counted["components"])["slurm"] == len(hits)
    for facet, values in counted.items():
        for value, number in values:
            assert number == sum(value in values_of(hit, facet) for hit in hits) > 0
    numbers = [number for _, number in counted["symptoms"]]
    assert numbers == sorted(numbers, reverse=True)
    assert [year for year, _ in counted["years"]] == sorted(year for year, _ in counted["years"])
    assert not any(counts([]).values())


def test_misspelt_words() -> None:
    assert near_words(Query("wathcdog")) == ("watchdog",)
    assert near_words(Query("checkpiont loss")) == ("checkpoint",)
    assert near_words(Query("zzzzqqq")) == ()
    assert near_words(Query("hang")) == ()
