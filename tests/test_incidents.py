"""The incident library and the documents: every file against its schema, and the loader."""

from __future__ import annotations

import jsonschema
import pytest

from kube_gaplint import incidents, registry

ALL = incidents.all_incidents()
IDS = [found.id for found in ALL]
SCHEMA = incidents.schema()


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("identifier", IDS)
def test_file_fits_the_schema(identifier: str) -> None:
    row = incidents.data(identifier)
    jsonschema.Draft202012Validator(SCHEMA).validate(row)
    assert row["id"] == identifier, "the file is named by its id"


@pytest.mark.parametrize("identifier", IDS)
def test_years_and_dates_agree(identifier: str) -> None:
    found = incidents.incident(identifier)
    assert found is not None
    assert list(found.dates) == sorted(found.dates)
    if found.dates:
        assert found.year in {int(date[:4]) for date in found.dates} | {int(found.dates[-1][:4])}


@pytest.mark.parametrize("identifier", IDS)
def test_sentences_are_whole(identifier: str) -> None:
    found = incidents.incident(identifier)
    assert found is not None
    for name in ("symptom", "trigger", "cause", "detection", "remediation", "follow_up", "lesson", "note"):
        text = getattr(found, name)
        assert not text or text[-1] in ".!?)", f"{name}: {text}"
        assert "  " not in text


def test_addresses_are_given_once_an_incident() -> None:
    for found in ALL:
        addresses = [address for _, address in found.sources]
        assert len(set(addresses)) == len(addresses), found.id


def test_every_word_of_the_vocabularies_is_used() -> None:
    for facet in ("symptoms", "causes", "components", "factors"):
        words = {choice["const"] for choice in SCHEMA["properties"][facet]["items"]["oneOf"]}
        used = {word for found in ALL for word in found.facets()[facet]}
        assert used == words, facet


def test_look_up() -> None:
    found = incidents.incident("IL-0125")
    assert found is not None
    assert found.year == 2022
    assert found.sources[0][1].endswith("chronicles.md")
    assert {"NCCL001", "SLURM001", "CKPT003"} <= set(found.rules)
    assert found in incidents.for_rule("SLURM001")
    assert incidents.incident("IL-9999") is None
    assert incidents.incident("../sources") is None
    assert incidents.incident("IL-0125", pack="no_such_pack") is None


def test_the_library_is_whole() -> None:
    assert len(ALL) >= 91
    assert sorted(IDS) == IDS


def test_documents() -> None:
    documents = incidents.documents()
    jsonschema.Draft202012Validator(incidents.document_schema()).validate(incidents.document_data())
    assert incidents.document("daly-2006") == documents["daly-2006"]
    assert incidents.document("none") is None
    assert not [document.id for document in documents.values() if document.says and not document.says.endswith(".")]
    assert len({document.address for document in documents.values()}) == len(documents)
    assert not set(documents) & set(IDS)


def test_every_document_is_cited() -> None:
    cited = {identifier for row in registry.rules() if row.module for identifier in registry.load(row.code).sources}
    assert cited == set(incidents.documents())


def test_rules_of_incidents_exist() -> None:
    codes = {row.code for row in registry.rules()}
    for found in ALL:
        assert set(found.rules) <= codes, found.id


def test_vocabularies() -> None:
    words = incidents.vocabulary()
    assert list(words) == list(incidents.FACETS)
    assert words["symptoms"]["hang"] == "processes live, nothing progresses"
    for facet in incidents.FACETS:
        assert all(definition and definition[-1] != "." for definition in words[facet].values()), facet


def test_ids_in_any_case_and_nearly_right() -> None:
    assert incidents.incident("il-0125") == incidents.incident("IL-0125")
    assert incidents.near("IL-125")[0] == "IL-0125"
    assert incidents.near("metallama3") == ("meta-llama3-405b",)
    assert incidents.near("zzzz-qqqq") == ()
    assert incidents.ids("no_such_pack") == ()
