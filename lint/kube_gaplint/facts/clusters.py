"""Public clusters, and how their scripts give them away: those whose slurm.conf differs from Slurm's defaults in what
decides a run's end, and those whose nodes join their GPUs by fast links. A script that names such a site is judged by
the site's own settings and machines."""

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


class Machine(Struct, frozen=True):
    """Nodes whose GPUs are joined. Known by `signs`, as those of a `Site`, or by a path that stands in the script.

    `least`: GPUs a node that a job of these nodes asks for; with fewer it may be on others of the site.
    """

    name: str
    link: str
    signs: Mapping[str, re.Pattern[str]]
    path: str
    least: int
    source: str


MACHINES: Final = (
    Machine(
        "Frontier",
        "Infinity Fabric",
        {},
        "/lustre/orion/",
        8,
        "https://docs.olcf.ornl.gov/systems/frontier_user_guide.html: 4 MI250X with 2 dies each, joined by Infinity "
        "Fabric; the file system Orion is also that of clusters with fewer GPUs a node",
    ),
    Machine(
        "LUMI-G",
        "Infinity Fabric",
        {
            "partition": lazy_re.compile(r"(standard|small|dev)-g"),
            "account": lazy_re.compile(r"project_46\d{7}"),
        },
        "",
        2,
        "https://docs.lumi-supercomputer.eu/hardware/lumig/: 4 MI250X with 2 dies each, joined by Infinity Fabric",
    ),
    Machine(
        "Perlmutter",
        "NVLink",
        {"constraint": lazy_re.compile(r"gpu(&hbm[48]0g)?"), "account": lazy_re.compile(r"m\d{4}(_g)?")},
        "",
        2,
        "https://docs.nersc.gov/systems/perlmutter/architecture/: 4 A100 a node, each pair joined by NVLink",
    ),
    Machine(
        "Leonardo",
        "NVLink",
        {"partition": lazy_re.compile(r"boost_usr_prod")},
        "",
        2,
        "https://docs.hpc.cineca.it/hpc/leonardo.html: 4 A100 a node, joined by NVLink",
    ),
    Machine(
        "JUWELS Booster",
        "NVLink",
        {"partition": lazy_re.compile(r"develbooster")},
        "",
        2,
        "https://apps.fz-juelich.de/jsc/hps/juwels/booster-overview.html: 4 A100 a node, joined by NVLink",
    ),
)


def machine_of(directives: Mapping[str, str], text: str, gpus: int) -> Machine | None:
    """The machine that a script runs on, by all of a machine's signs in the directives or its path in the text."""
    for machine in MACHINES:
        signed = machine.signs and all(
            pattern.fullmatch(directives.get(name, "")) for name, pattern in machine.signs.items()
        )
        if gpus >= machine.least and (signed or (machine.path and machine.path in text)):
            return machine
    return None
