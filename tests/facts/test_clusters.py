"""Public clusters with settings of their own."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.clusters import SITES, site_of


@pytest.mark.parametrize(
    ("directives", "name"),
    [
        ({"partition": "standard-g", "account": "project_462000353"}, "LUMI"),
        ({"partition": "small-g", "account": "project_465000001"}, "LUMI"),
        ({"partition": "standard-g"}, None),
        ({"partition": "standard-g", "account": "project_46"}, None),
        ({"partition": "gpu", "account": "project_462000353"}, None),
        ({}, None),
    ],
)
def test_a_site_is_known_by_all_of_its_signs(directives: dict[str, str], name: str | None) -> None:
    found = site_of(directives)
    assert (found.name if found else None) == name


def test_every_site_has_a_source_and_keys_in_lower_case() -> None:
    for site in SITES:
        assert site.signs
        assert "https://" in site.source
        assert all(key == key.lower() for key in site.values)
