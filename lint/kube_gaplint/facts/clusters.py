"""Public clusters whose slurm.conf differs from Slurm's defaults in what decides a run's end, and how their scripts
give them away. A script that names such a site is judged by the site's own settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from kube_gaplint import lazy_re


class Site(Struct, frozen=True):
    """One cluster. All of `signs` must match: directive to a pattern of its whole value. `values` are keys of
    slurm.conf in lower case. Keys that are not there are unknown."""

    name: str
    signs: Mapping[str, re.Pattern[str]]
    values: Mapping[str, str]
    source: str


SITES: Final = (
    Site(
        "LUMI",
        {
            "partition": lazy_re.compile(r"(standard|small|dev|debug|bench|q_)[-\w]*"),
            "account": lazy_re.compile(r"project_46\d{7}"),
        },
        {"killonbadexit": "1"},
        "derived from the course logs of https://lumi-supercomputer.github.io/LUMI-training-materials/ (2023, 2024): a "
        "plain srun terminates the step when one task fails",
    ),
)


def site_of(directives: Mapping[str, str]) -> Site | None:
    """The site whose signs all stand in a script's directives (name to value); None where none does."""
    for site in SITES:
        if all(pattern.fullmatch(directives.get(name, "")) for name, pattern in site.signs.items()):
            return site
    return None
