"""Public clusters with settings of their own."""

from __future__ import annotations

import pytest

from kube_gaplint.facts.clusters import MACHINES, SITES, machine_of, site_of


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


@pytest.mark.parametrize(
    ("directives", "text", "gpus", "name"),
    [
        ({}, "cd /lustre/orion/abc123/scratch", 8, "Frontier"),
        ({}, "cd /lustre/orion/abc123/scratch", 2, None),
        ({}, "cd /lustre/other", 8, None),
        ({"partition": "standard-g", "account": "project_462000353"}, "", 8, "LUMI-G"),
        ({"partition": "standard", "account": "project_462000353"}, "", 8, None),
        ({"constraint": "gpu&hbm80g", "account": "m4321_g"}, "", 4, "Perlmutter"),
        ({"constraint": "gpu"}, "", 4, None),
        ({"partition": "boost_usr_prod"}, "", 4, "Leonardo"),
        ({"partition": "boost_usr_prod"}, "", 1, None),
        ({"partition": "develbooster"}, "", 4, "JUWELS Booster"),
    ],
)
def test_a_machine_is_known_by_its_signs_or_its_path(
    directives: dict[str, str], text: str, gpus: int, name: str | None
) -> None:
    found = machine_of(directives, text, gpus)
    assert (found.name if found else None) == name


def test_every_machine_has_a_source_and_something_to_know_it_by() -> None:
    for machine in MACHINES:
        assert bool(machine.signs) is not bool(machine.path)
        assert "https://" in machine.source
